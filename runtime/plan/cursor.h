/* cursor.h: the canonical bytes of a cursor (docs/plan.md, section 10; layout documented in docs/formats.md): begins with
 * the magic "LEATCUR1", plan version u32, digest of the order-defining settings (32 bytes), step u64, first row u64, dataset
 * count u32, flags; then stage, rest of the unfinished piece, packing window, and 40 bytes a dataset; the last 8 bytes are
 * the first 8 of the SHA-256 of what is before them.  All little-endian. */
#ifndef LEAT_PLAN_CURSOR_H
#define LEAT_PLAN_CURSOR_H
#include "base/bytes.h"

typedef struct leat_cursor_info {
    uint32_t plan_version;
    uint8_t digest[32];
    uint64_t step, first_row;
    uint32_t datasets;
    bool ended; /* a draw has found the end of the plan */
    bool
        any_ended; /* a draw has found a dataset ended, or a packing window that met one is open: `epochs` may not change */
} leat_cursor_info;

/* CORRUPT: the bytes are no whole cursor.  MISMATCH: a plan version that is not ours. */
leat_status leat_cursor_inspect(leat_bytes cursor, leat_cursor_info *out,
                                leat_error *error) LEAT_MUST_USE;
/* Per dataset: stream position at which its current piece window begins, and whether it ended.  Looks at magic and size
 * only: for a cursor that was inspected. */
leat_status leat_cursor_dataset(leat_bytes cursor, uint32_t dataset, uint64_t *position,
                                bool *ended, leat_error *error) LEAT_MUST_USE;
#endif
