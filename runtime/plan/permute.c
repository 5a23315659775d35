#include "plan/permute.h"
#include "base/arith.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "base/sha256.h"

static const uint64_t golden = 0x9e3779b97f4a7c15u;

uint64_t leat_plan_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    x ^= x >> 31;
    return x;
}

uint64_t leat_plan_key(uint64_t seed, const char *purpose, const char *name, uint64_t n)
{
    static const char magic[] = "leat-plan-1"; /* its NUL is hashed too */
    uint8_t stack[256], digest[LEAT_SHA256_BYTES];
    size_t purpose_size = strlen(purpose) + 1, name_size = strlen(name) + 1;
    size_t size = sizeof magic + 8 + purpose_size + name_size + 8;
    uint8_t *bytes = size <= sizeof stack ? stack : leat_alloc(size, 1), *at = bytes;
    memcpy(at, magic, sizeof magic);
    at += sizeof magic;
    leat_put_u64(at, seed);
    at += 8;
    memcpy(at, purpose, purpose_size);
    at += purpose_size;
    memcpy(at, name, name_size);
    at += name_size;
    leat_put_u64(at, n);
    leat_sha256_of(bytes, size, digest);
    if (bytes != stack) {
        leat_free(bytes);
    }
    return leat_get_u64(digest);
}

void leat_permutation_init(leat_permutation *permutation, uint64_t key, uint64_t n)
{
    permutation->n = n;
    if (n <= 1) {
        permutation->low_bits = permutation->high_bits = permutation->rounds = 0;
        return;
    }
    uint32_t bits = 64 - (uint32_t)__builtin_clzll(n - 1);
    bits = bits < 2 ? 2 : bits;
    permutation->low_bits = bits / 2;
    permutation->high_bits = bits - bits / 2;
    permutation->rounds = n <= 65536 ? 16 : 8;
    for (uint32_t r = 0; r < permutation->rounds; r++) {
        permutation->round_keys[r] = leat_plan_mix(key + (r + 1) * golden);
    }
}

/* One pass through the network; the domain is 2^(high_bits + low_bits).  high_bits ≤ 32. */
static inline uint64_t pass(const leat_permutation *p, uint64_t x)
{
    uint64_t high = ((uint64_t)1 << p->high_bits) - 1, low = ((uint64_t)1 << p->low_bits) - 1;
    uint64_t left = x >> p->low_bits, right = x & low;
    for (uint32_t r = 0; r < p->rounds; r += 2) {
        left ^= leat_plan_mix((right + 1) * golden + p->round_keys[r]) & high;
        right ^= leat_plan_mix((left + 1) * golden + p->round_keys[r + 1]) & low;
    }
    return left << p->low_bits | right;
}

uint64_t leat_permutation_at(const leat_permutation *permutation, uint64_t x)
{
    if (permutation->n <= 1) {
        return x;
    }
    do {
        x = pass(permutation, x);
    } while (x >= permutation->n);
    return x;
}

/* One round waits for the one before it, so four values go through the network side by side: the processor overlaps them. */
static void pass_four(const leat_permutation *p, uint64_t *values, const uint32_t *at)
{
    uint64_t high = ((uint64_t)1 << p->high_bits) - 1, low = ((uint64_t)1 << p->low_bits) - 1;
    uint64_t left[4], right[4];
    for (int i = 0; i < 4; i++) {
        left[i] = values[at[i]] >> p->low_bits;
        right[i] = values[at[i]] & low;
    }
    for (uint32_t r = 0; r < p->rounds; r += 2) {
        uint64_t first = p->round_keys[r], second = p->round_keys[r + 1];
        for (int i = 0; i < 4; i++) {
            left[i] ^= leat_plan_mix((right[i] + 1) * golden + first) & high;
        }
        for (int i = 0; i < 4; i++) {
            right[i] ^= leat_plan_mix((left[i] + 1) * golden + second) & low;
        }
    }
    for (int i = 0; i < 4; i++) {
        values[at[i]] = left[i] << p->low_bits | right[i];
    }
}

void leat_permutation_apply(const leat_permutation *permutation, uint64_t *values, size_t count)
{
    enum { BLOCK = 64 };
    if (permutation->n <= 1) {
        return;
    }
    for (size_t begin = 0; begin < count; begin += BLOCK) {
        uint64_t *block = values + begin;
        uint32_t size = (uint32_t)leat_min_u64(BLOCK, count - begin), at[BLOCK];
        for (uint32_t i = 0; i < size; i++) {
            at[i] = i;
        }
        while (size > 0) { /* cycle walking: those that fell outside go round again */
            uint32_t i = 0, left = 0;
            for (; i + 4 <= size; i += 4) {
                pass_four(permutation, block, at + i);
            }
            for (; i < size; i++) {
                block[at[i]] = pass(permutation, block[at[i]]);
            }
            for (i = 0; i < size; i++) {
                if (block[at[i]] >= permutation->n) {
                    at[left++] = at[i];
                }
            }
            size = left;
        }
    }
}

uint64_t leat_permutation_inverse(const leat_permutation *permutation, uint64_t y)
{
    const leat_permutation *p = permutation;
    if (p->n <= 1) {
        return y;
    }
    uint64_t high = ((uint64_t)1 << p->high_bits) - 1, low = ((uint64_t)1 << p->low_bits) - 1;
    do {
        uint64_t left = y >> p->low_bits, right = y & low;
        for (uint32_t r = p->rounds; r > 0; r -= 2) {
            right ^= leat_plan_mix((left + 1) * golden + p->round_keys[r - 1]) & low;
            left ^= leat_plan_mix((right + 1) * golden + p->round_keys[r - 2]) & high;
        }
        y = left << p->low_bits | right;
    } while (y >= p->n);
    return y;
}
