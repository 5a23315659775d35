/* xxh3.h: XXH3 fingerprints (libxxhash behind it, in xxh3.c alone): for finding damage and change, not against forgery. */
#ifndef LEAT_BASE_XXH3_H
#define LEAT_BASE_XXH3_H
#include <stddef.h>
#include <stdint.h>

uint64_t leat_xxh3_64(const void *data, size_t bytes);

/* XXH3-128 of a stream of bytes; out is the canonical (big-endian) form that xxhsum prints. */
typedef struct leat_xxh3 leat_xxh3;
leat_xxh3 *leat_xxh3_open(void);
void leat_xxh3_close(leat_xxh3 *hash);
void leat_xxh3_start(leat_xxh3 *hash);
void leat_xxh3_add(leat_xxh3 *hash, const void *data, size_t bytes);
void leat_xxh3_end(const leat_xxh3 *hash, uint8_t out[16]);
#endif
