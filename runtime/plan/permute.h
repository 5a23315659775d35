/* permute.h: keys and keyed permutations (docs/plan.md, section 2).  No table, no start-up work, runs backwards as well. */
#ifndef LEAT_PLAN_PERMUTE_H
#define LEAT_PLAN_PERMUTE_H
#include <stddef.h>
#include <stdint.h>

uint64_t leat_plan_mix(uint64_t x);
/* First 8 bytes, little-endian, of SHA-256("leat-plan-1\0" seed purpose "\0" name "\0" n). */
uint64_t leat_plan_key(uint64_t seed, const char *purpose, const char *name, uint64_t n);

typedef struct leat_permutation {
    uint64_t n;
    uint32_t low_bits, high_bits, rounds;
    uint64_t round_keys[16];
} leat_permutation;

void leat_permutation_init(leat_permutation *permutation, uint64_t key, uint64_t n);
uint64_t leat_permutation_at(const leat_permutation *permutation, uint64_t x); /* x < max(n,1) */
uint64_t leat_permutation_inverse(const leat_permutation *permutation,
                                  uint64_t y); /* at(inverse(y)) = y */
/* values[i] = at(values[i]); several times as fast as one by one. */
void leat_permutation_apply(const leat_permutation *permutation, uint64_t *values, size_t count);
#endif
