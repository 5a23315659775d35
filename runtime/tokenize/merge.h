/* merge.h: the merges of a byte-pair encoding, and their application in order of rank, leftmost first.
 * The table is built once and read by all threads; a scratch belongs to one thread. */
#ifndef LEAT_TOKENIZE_MERGE_H
#define LEAT_TOKENIZE_MERGE_H
#include "base/bytes.h"

#define LEAT_NO_RANK UINT32_MAX

typedef struct leat_merge_slot {
    uint64_t pair; /* left << 32 | right; UINT64_MAX: free */
    uint32_t rank, into;
} leat_merge_slot;

typedef struct leat_merges {
    leat_merge_slot *slots;
    size_t slot_mask;
    uint32_t *into; /* by rank */
    size_t count;   /* of ranks in use: the highest and one */
} leat_merges;

/* Room for `pairs` pairs and for ranks below `ranks`. */
void leat_merges_init(leat_merges *merges, size_t pairs, size_t ranks);
void leat_merges_deinit(leat_merges *merges);
/* The next rank; a pair given again takes the later one, as in the reference. */
void leat_merges_add(leat_merges *merges, uint32_t left, uint32_t right, uint32_t into);
/* A rank that pairs with the same result share. */
void leat_merges_add_ranked(leat_merges *merges, uint32_t left, uint32_t right, uint32_t into,
                            uint32_t rank);

typedef struct leat_merge_scratch {
    uint32_t *after, *before, *ranks;
    uint64_t *heap;
    size_t after_capacity, before_capacity, ranks_capacity, heap_capacity;
} leat_merge_scratch;
void leat_merge_scratch_deinit(leat_merge_scratch *scratch);

/* Merges ids[0 … count) in place and gives the new count.  O(n log n). */
size_t leat_merge(const leat_merges *merges, leat_merge_scratch *scratch, uint32_t *ids,
                  size_t count);
#endif
