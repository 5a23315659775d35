#include "tokenize/merge.h"
#include "base/arith.h"
#include "base/memory.h"

/* Up to here the flat scan is faster than the heap; it is quadratic above. */
enum { SHORT_MAX = 64 };
#define NOTHING UINT32_MAX

void leat_merges_init(leat_merges *merges, size_t pairs, size_t ranks)
{
    size_t slots = 1024;
    while (slots < pairs + pairs / 2) {
        slots *= 2;
    }
    merges->slots = leat_alloc(slots, sizeof *merges->slots);
    for (size_t i = 0; i < slots; i++) {
        merges->slots[i].pair = UINT64_MAX;
    }
    merges->slot_mask = slots - 1;
    merges->into = leat_alloc(ranks, sizeof *merges->into);
    merges->count = 0;
}

void leat_merges_deinit(leat_merges *merges)
{
    leat_free(merges->slots);
    leat_free(merges->into);
    *merges = (leat_merges){0};
}

static inline size_t slot_of(const leat_merges *merges, uint64_t pair)
{
    uint64_t hash = pair * 0x9e3779b97f4a7c15u;
    return (size_t)((hash ^ hash >> 32) * 0xbf58476d1ce4e5b9u >> 32) & merges->slot_mask;
}

void leat_merges_add_ranked(leat_merges *merges, uint32_t left, uint32_t right, uint32_t into,
                            uint32_t rank)
{
    uint64_t pair = (uint64_t)left << 32 | right;
    size_t at = slot_of(merges, pair);
    while (merges->slots[at].pair != UINT64_MAX && merges->slots[at].pair != pair) {
        at = (at + 1) & merges->slot_mask;
    }
    merges->slots[at] = (leat_merge_slot){pair, rank, into};
    merges->into[rank] = into;
    merges->count = rank >= merges->count ? (size_t)rank + 1 : merges->count;
}

void leat_merges_add(leat_merges *merges, uint32_t left, uint32_t right, uint32_t into)
{
    leat_merges_add_ranked(merges, left, right, into, leat_u32(merges->count));
}

static inline uint32_t rank_of(const leat_merges *merges, uint32_t left, uint32_t right)
{
    uint64_t pair = (uint64_t)left << 32 | right;
    size_t at = slot_of(merges, pair);
    for (;; at = (at + 1) & merges->slot_mask) {
        if (merges->slots[at].pair == pair) {
            return merges->slots[at].rank;
        }
        if (merges->slots[at].pair == UINT64_MAX) {
            return LEAT_NO_RANK;
        }
    }
}

static size_t merge_short(const leat_merges *merges, uint32_t *ids, size_t count)
{
    uint32_t ranks[SHORT_MAX]; /* ranks[i]: of the pair (i, i + 1) */
    for (size_t i = 0; i + 1 < count; i++) {
        ranks[i] = rank_of(merges, ids[i], ids[i + 1]);
    }
    while (count > 1) {
        uint32_t best = LEAT_NO_RANK;
        size_t at = 0;
        for (size_t i = 0; i + 1 < count; i++) {
            at = ranks[i] < best ? i : at;
            best = ranks[i] < best ? ranks[i] : best;
        }
        if (best == LEAT_NO_RANK) {
            break;
        }
        ids[at] = merges->into[best];
        count--;
        for (size_t i = at + 1; i < count; i++) {
            ids[i] = ids[i + 1];
            ranks[i - 1] = ranks[i];
        }
        if (at + 1 < count) {
            ranks[at] = rank_of(merges, ids[at], ids[at + 1]);
        }
        if (at != 0) {
            ranks[at - 1] = rank_of(merges, ids[at - 1], ids[at]);
        }
    }
    return count;
}

/* A binary heap of rank << 32 | position: the lowest rank, and the leftmost of equals, on top. */
typedef struct rank_heap {
    uint64_t *items;
    size_t count;
} rank_heap;

static void sift_down(rank_heap *heap, size_t at, uint64_t item)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= heap->count) {
            break;
        }
        if (child + 1 < heap->count && heap->items[child + 1] < heap->items[child]) {
            child++;
        }
        if (item <= heap->items[child]) {
            break;
        }
        heap->items[at] = heap->items[child];
        at = child;
    }
    heap->items[at] = item;
}

static void push(rank_heap *heap, uint64_t item)
{
    size_t at = heap->count++;
    while (at != 0 && heap->items[(at - 1) / 2] > item) {
        heap->items[at] = heap->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->items[at] = item;
}

static uint64_t pop(rank_heap *heap)
{
    uint64_t top = heap->items[0];
    uint64_t last = heap->items[--heap->count];
    if (heap->count != 0) {
        sift_down(heap, 0, last);
    }
    return top;
}

/* The rank of the pair that begins at `left` has changed. */
static void rank_anew(const leat_merges *merges, leat_merge_scratch *scratch, rank_heap *heap,
                      const uint32_t *ids, uint32_t left)
{
    uint32_t right = scratch->after[left];
    uint32_t rank = right == NOTHING ? LEAT_NO_RANK : rank_of(merges, ids[left], ids[right]);
    scratch->ranks[left] = rank;
    if (rank != LEAT_NO_RANK) {
        push(heap, (uint64_t)rank << 32 | left);
    }
}

static void merge_at(const leat_merges *merges, leat_merge_scratch *scratch, rank_heap *heap,
                     uint32_t *ids, uint32_t left)
{
    uint32_t right = scratch->after[left], next = scratch->after[right];
    ids[left] = merges->into[scratch->ranks[left]];
    scratch->after[left] = next;
    scratch->ranks[right] = LEAT_NO_RANK; /* what the heap says of it is void */
    if (next != NOTHING) {
        scratch->before[next] = left;
    }
    rank_anew(merges, scratch, heap, ids, left);
    if (scratch->before[left] != NOTHING) {
        rank_anew(merges, scratch, heap, ids, scratch->before[left]);
    }
}

static size_t merge_long(const leat_merges *merges, leat_merge_scratch *scratch, uint32_t *ids,
                         size_t count)
{
    LEAT_GROW(scratch->after, scratch->after_capacity, count);
    LEAT_GROW(scratch->before, scratch->before_capacity, count);
    LEAT_GROW(scratch->ranks, scratch->ranks_capacity, count);
    /* Each merge takes one item away and adds two at most, and there are fewer merges than symbols. */
    LEAT_GROW(scratch->heap, scratch->heap_capacity, 2 * count);
    rank_heap heap = {scratch->heap, 0};
    uint32_t symbols = leat_u32(count);
    for (uint32_t i = 0; i < symbols; i++) {
        scratch->before[i] = i == 0 ? NOTHING : i - 1;
        scratch->after[i] = i + 1 == symbols ? NOTHING : i + 1;
        scratch->ranks[i] = i + 1 == symbols ? LEAT_NO_RANK : rank_of(merges, ids[i], ids[i + 1]);
        if (scratch->ranks[i] != LEAT_NO_RANK) {
            heap.items[heap.count++] = (uint64_t)scratch->ranks[i] << 32 | i;
        }
    }
    for (size_t i = heap.count / 2; i-- > 0;) {
        sift_down(&heap, i, heap.items[i]);
    }
    while (heap.count != 0) {
        uint64_t top = pop(&heap);
        if (scratch->ranks[(uint32_t)top] == top >> 32) {
            merge_at(merges, scratch, &heap, ids, (uint32_t)top);
        }
    }
    size_t kept = 0;
    for (uint32_t i = 0; i != NOTHING; i = scratch->after[i]) {
        ids[kept++] = ids[i];
    }
    return kept;
}

void leat_merge_scratch_deinit(leat_merge_scratch *scratch)
{
    leat_free(scratch->after);
    leat_free(scratch->before);
    leat_free(scratch->ranks);
    leat_free(scratch->heap);
    *scratch = (leat_merge_scratch){0};
}

size_t leat_merge(const leat_merges *merges, leat_merge_scratch *scratch, uint32_t *ids,
                  size_t count)
{
    if (count <= SHORT_MAX) {
        return merge_short(merges, ids, count);
    }
    return merge_long(merges, scratch, ids, count);
}
