#include "tokenize/pairs.h"
#include "base/memory.h"
#include "tokenize/unicode.h"

/* 16 KB stay in the first-level cache and are enough for 10^4 pairs, 128 KB for 10^5. */
enum { BITS_FEW = 17, BITS_MANY = 20, MERGES_MANY = 100000 };

void leat_pairs_init(leat_pairs *pairs, size_t merges)
{
    uint32_t size = merges < MERGES_MANY ? BITS_FEW : BITS_MANY;
    *pairs = (leat_pairs){.shift = 32 - size};
    pairs->bits = leat_alloc(((size_t)1 << size) / 64, sizeof *pairs->bits);
}

void leat_pairs_deinit(leat_pairs *pairs)
{
    leat_free(pairs->bits);
    pairs->bits = NULL;
}

static inline uint32_t bit_of(const leat_pairs *pairs, uint32_t left, uint32_t right)
{
    return (left * 0x9e3779b1u + right) * 0x85ebca6bu >> pairs->shift;
}

void leat_pairs_add(leat_pairs *pairs, leat_bytes token)
{
    uint32_t left = 0;
    for (size_t at = 0; at < token.size; at += leat_utf8_size(token.data[at])) {
        uint32_t right = leat_utf8_at(token.data + at);
        if (at != 0) {
            uint32_t bit = bit_of(pairs, left, right);
            pairs->bits[bit >> 6] |= (uint64_t)1 << (bit & 63);
        }
        left = right;
    }
    if (token.size != 0 && leat_utf8_size(token.data[0]) == token.size && left < 0x10000) {
        pairs->known[left >> 6] |= (uint64_t)1 << (left & 63);
    }
}

static inline bool is_known(const leat_pairs *pairs, uint32_t c)
{
    return pairs->all_known || (c < 0x10000 && (pairs->known[c >> 6] >> (c & 63) & 1) != 0);
}

static inline bool is_cut(const leat_pairs *pairs, uint32_t left, uint32_t right)
{
    uint32_t bit = bit_of(pairs, left, right);
    return (pairs->bits[bit >> 6] >> (bit & 63) & 1) == 0 && is_known(pairs, left) &&
           is_known(pairs, right);
}

void leat_pairs_finish(leat_pairs *pairs)
{
    for (uint32_t left = 0; left < 128; left++) {
        for (uint32_t right = 0; right < 128; right++) {
            uint64_t joined = is_cut(pairs, left, right) ? 0 : 1;
            pairs->ascii[left][right >> 6] |= joined << (right & 63);
        }
    }
}

/* The end of the piece that begins at `at`. */
static size_t end_of(const leat_pairs *pairs, leat_bytes text, size_t at)
{
    const uint8_t *data = text.data;
    while (at < text.size) {
        while (data[at] < 128 && at + 1 < text.size && data[at + 1] < 128) {
            uint8_t right = data[at + 1];
            if ((pairs->ascii[data[at]][right >> 6] >> (right & 63) & 1) == 0) {
                return at + 1;
            }
            at++;
        }
        size_t next = at + leat_utf8_size(data[at]);
        if (next >= text.size ||
            is_cut(pairs, leat_utf8_at(data + at), leat_utf8_at(data + next))) {
            return next;
        }
        at = next;
    }
    return at;
}

size_t leat_pairs_fill(const leat_pairs *pairs, leat_bytes text, size_t at, size_t *ends,
                       size_t max)
{
    size_t count = 0;
    while (at < text.size && count < max) {
        at = end_of(pairs, text, at);
        ends[count++] = at;
    }
    return count;
}
