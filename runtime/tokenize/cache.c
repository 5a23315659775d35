#include "tokenize/cache.h"
#include "base/memory.h"

enum { BUCKET_SMALL = 2 * sizeof(leat_cache_small), BUCKET_LARGE = 2 * sizeof(leat_cache_large) };
_Static_assert(sizeof(leat_cache_small) == 32, "two slots are a cache line");
_Static_assert(sizeof(leat_cache_large) == 128, "a slot is two cache lines");

static size_t buckets_in(size_t bytes, size_t bucket)
{
    size_t count = 64;
    while (2 * count * bucket <= bytes) {
        count *= 2;
    }
    return count;
}

/* On huge pages: the table is hit at random, and its address translations would miss else. */
static void *table(size_t bytes)
{
    size_t huge = (size_t)2 << 20;
    return leat_alloc_aligned(bytes, bytes >= huge ? huge : 64);
}

void leat_cache_init(leat_cache *cache, size_t bytes)
{
    /* Four fifths for small pieces: 9 of 10 pieces of any text are. */
    size_t small = buckets_in(bytes / 5 * 4, BUCKET_SMALL);
    size_t large = buckets_in(bytes / 5, BUCKET_LARGE);
    cache->small_mask = small - 1;
    cache->large_mask = large - 1;
    cache->bytes = small * BUCKET_SMALL + large * BUCKET_LARGE;
    cache->small = table(small * BUCKET_SMALL);
    cache->large = table(large * BUCKET_LARGE);
}

void leat_cache_deinit(leat_cache *cache)
{
    leat_free(cache->small);
    leat_free(cache->large);
    *cache = (leat_cache){0};
}

static leat_cache_large *large_bucket(const leat_cache *cache, leat_bytes piece,
                                      uint8_t key[LEAT_CACHE_LARGE_BYTES + 1])
{
    memset(key, 0, LEAT_CACHE_LARGE_BYTES + 1);
    memcpy(key, piece.data, piece.size);
    key[LEAT_CACHE_LARGE_BYTES] = (uint8_t)piece.size;
    uint64_t hash = 0;
    for (size_t i = 0; i < LEAT_CACHE_LARGE_BYTES + 1; i += 16) {
        uint64_t words[2];
        memcpy(words, key + i, 16);
        hash = leat_cache_hash((leat_cache_key){words[0] ^ hash, words[1]});
    }
    return cache->large + 2 * ((size_t)hash & cache->large_mask);
}

const leat_cache_large *leat_cache_large_find(const leat_cache *cache, leat_bytes piece)
{
    uint8_t key[LEAT_CACHE_LARGE_BYTES + 1];
    const leat_cache_large *bucket = large_bucket(cache, piece, key);
    for (size_t i = 0; i < 2; i++) {
        if (memcmp(bucket[i].key, key, sizeof key) == 0) {
            return &bucket[i];
        }
    }
    return NULL;
}

void leat_cache_keep(leat_cache *cache, leat_bytes piece, const uint32_t *ids, size_t count)
{
    if (piece.size <= LEAT_CACHE_SMALL_BYTES && count <= LEAT_CACHE_SMALL_IDS) {
        leat_cache_key key = leat_cache_key_of(piece.data, piece.size, piece.data + piece.size);
        leat_cache_small *bucket = leat_cache_bucket(cache, leat_cache_hash(key));
        bucket[1] = bucket[0];
        bucket[0].key = key;
        bucket[0].count = (uint32_t)count;
        memcpy(bucket[0].ids, ids, count * sizeof *ids);
        return;
    }
    if (piece.size > LEAT_CACHE_LARGE_BYTES || count > LEAT_CACHE_LARGE_IDS) {
        return;
    }
    uint8_t key[LEAT_CACHE_LARGE_BYTES + 1];
    leat_cache_large *bucket = large_bucket(cache, piece, key);
    bucket[1] = bucket[0];
    memcpy(bucket[0].key, key, sizeof key);
    bucket[0].count = (uint32_t)count;
    memcpy(bucket[0].ids, ids, count * sizeof *ids);
}
