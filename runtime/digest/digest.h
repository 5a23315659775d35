/* digest.h: row, batch and chain digests (docs/plan.md, section 9).  Pure. */
#ifndef LEAT_DIGEST_DIGEST_H
#define LEAT_DIGEST_DIGEST_H
#include "base/sha256.h"

typedef struct leat_row_view {
    uint32_t row_tokens;          /* R */
    const uint32_t *tokens;       /* [R] */
    const uint32_t *segment_ends; /* [segments] end of each in the row */
    uint32_t segments;
    const uint32_t *mask; /* [2·masks] start, end of each mask run; may be NULL */
    uint32_t masks;
} leat_row_view;

void leat_digest_row(leat_sha256 *hash, const leat_row_view *row, uint8_t out[32]);
/* rows·32 bytes of row digests in order. */
void leat_digest_batch(leat_sha256 *hash, const uint8_t *row_digests, uint64_t rows,
                       uint8_t out[32]);
void leat_digest_chain(leat_sha256 *hash, const uint8_t previous[32], const uint8_t batch[32],
                       uint8_t out[32]);
#endif
