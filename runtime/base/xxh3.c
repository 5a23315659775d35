#include "base/xxh3.h"
#include "base/memory.h"
#include "base/status.h"
#include <string.h>
#include <xxhash.h>

struct leat_xxh3 {
    XXH3_state_t *state;
};

uint64_t leat_xxh3_64(const void *data, size_t bytes)
{
    return XXH3_64bits(data, bytes);
}

leat_xxh3 *leat_xxh3_open(void)
{
    leat_xxh3 *hash = leat_alloc(1, sizeof *hash);
    hash->state = XXH3_createState(); /* the library aligns it as it needs */
    LEAT_ASSERT(hash->state != NULL);
    leat_xxh3_start(hash);
    return hash;
}

void leat_xxh3_close(leat_xxh3 *hash)
{
    if (hash != NULL) {
        XXH3_freeState(hash->state);
        leat_free(hash);
    }
}

void leat_xxh3_start(leat_xxh3 *hash)
{
    XXH3_128bits_reset(hash->state);
}

void leat_xxh3_add(leat_xxh3 *hash, const void *data, size_t bytes)
{
    XXH3_128bits_update(hash->state, data, bytes);
}

void leat_xxh3_end(const leat_xxh3 *hash, uint8_t out[16])
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(hash->state));
    memcpy(out, canonical.digest, sizeof canonical.digest);
}
