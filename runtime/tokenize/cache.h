/* cache.h: ids of pieces seen before; a thread's own, of a fixed number of bytes.  Keys and ids are inline, and a bucket of
 * small pieces is one cache line.  What it holds never changes a result: a miss is computed again. */
#ifndef LEAT_TOKENIZE_CACHE_H
#define LEAT_TOKENIZE_CACHE_H
#include "base/bytes.h"

enum {
    LEAT_CACHE_SMALL_BYTES = 15,
    LEAT_CACHE_SMALL_IDS = 3,
    LEAT_CACHE_LARGE_BYTES = 63,
    LEAT_CACHE_LARGE_IDS = 15
};

/* A piece of up to 15 bytes as two words; the top byte of `high` is its size, so that no key is all zero. */
typedef struct leat_cache_key {
    uint64_t low, high;
} leat_cache_key;

typedef struct leat_cache_small {
    leat_cache_key key;
    uint32_t ids[LEAT_CACHE_SMALL_IDS];
    uint32_t count;
} leat_cache_small;

typedef struct leat_cache_large {
    uint8_t key[LEAT_CACHE_LARGE_BYTES + 1]; /* the last byte is the size */
    uint32_t ids[LEAT_CACHE_LARGE_IDS];
    uint32_t count;
} leat_cache_large;

typedef struct leat_cache {
    leat_cache_small *small;       /* buckets of two */
    leat_cache_large *large;       /* buckets of two */
    size_t small_mask, large_mask; /* over buckets */
    size_t bytes;
} leat_cache;

/* Uses at most `bytes` (but at least some kilobytes). */
void leat_cache_init(leat_cache *cache, size_t bytes);
void leat_cache_deinit(leat_cache *cache);

/* `end` is the end of readable memory: a piece at its border is copied, any other read in two words. */
static inline leat_cache_key leat_cache_key_of(const uint8_t *data, size_t size, const uint8_t *end)
{
    uint8_t copy[16] = {0};
    if (end - data < 16) {
        memcpy(copy, data, size);
        data = copy;
    }
    uint64_t low, high;
    memcpy(&low, data, 8);
    memcpy(&high, data + 8, 8);
    /* Little-endian or not, the key need only be a function of the bytes; masks follow the order in memory. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t low_mask = size >= 8 ? UINT64_MAX : ((uint64_t)1 << (8 * size)) - 1;
    uint64_t high_mask = size <= 8 ? 0 : ((uint64_t)1 << (8 * (size - 8))) - 1;
#else
    uint64_t low_mask = size >= 8 ? UINT64_MAX : ~(UINT64_MAX >> (8 * size));
    uint64_t high_mask = size <= 8 ? 0 : ~(UINT64_MAX >> (8 * (size - 8)));
#endif
    low &= low_mask;
    high &= high_mask;
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    high >>= 8;
#endif
    return (leat_cache_key){low, high | (uint64_t)size << 56};
}

static inline uint64_t leat_cache_hash(leat_cache_key key)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)(key.low ^ 0x9e3779b97f4a7c15u) * (key.high ^ 0xbf58476d1ce4e5b9u);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline leat_cache_small *leat_cache_bucket(const leat_cache *cache, uint64_t hash)
{
    return cache->small + 2 * ((size_t)hash & cache->small_mask);
}

/* NULL: not there. */
static inline const leat_cache_small *leat_cache_small_find(const leat_cache_small *bucket,
                                                            leat_cache_key key)
{
    if (bucket[0].key.low == key.low && bucket[0].key.high == key.high) {
        return &bucket[0];
    }
    if (bucket[1].key.low == key.low && bucket[1].key.high == key.high) {
        return &bucket[1];
    }
    return NULL;
}

/* Pieces of up to LEAT_CACHE_LARGE_BYTES; NULL: not there. */
const leat_cache_large *leat_cache_large_find(const leat_cache *cache, leat_bytes piece);
/* Keeps the ids of a piece where they fit; what was in the bucket longest goes. */
void leat_cache_keep(leat_cache *cache, leat_bytes piece, const uint32_t *ids, size_t count);
#endif
