/* batch_log.h: DIR/batches.jsonl: one line a step, appended, flushed line by line; every step once.
 *     {"step":0,"batch":"<hex>","chain":"<hex>","rows":1024,"tokens":…,"by_dataset":[[0,…],[1,…]]}
 * One writer (rank 0).  A torn last line is dropped when the log is opened. */
#ifndef LEAT_DIGEST_BATCH_LOG_H
#define LEAT_DIGEST_BATCH_LOG_H
#include "base/bytes.h"

typedef struct leat_batch_line {
    uint64_t step, rows, tokens;
    uint8_t batch[32], chain[32];
    const uint64_t *dataset_tokens; /* [datasets]; those with 0 are left out of the line */
    uint64_t datasets;
} leat_batch_line;

typedef struct leat_batch_log leat_batch_log;

/* Opens for appending; creates.  Steps already there are kept and compared.  CORRUPT: a line that is not the last is damaged. */
leat_status leat_batch_log_open(leat_batch_log **out, const char *path,
                                leat_error *error) LEAT_MUST_USE;
/* A new step is appended; a step that is there must have the same digests: MISMATCH names the step and both digests.
 * INVALID: a gap.  IO: nothing of the line stays. */
leat_status leat_batch_log_add(leat_batch_log *log, const leat_batch_line *line,
                               leat_error *error) LEAT_MUST_USE;
uint64_t leat_batch_log_steps(const leat_batch_log *log); /* steps in it: 0 … steps-1 */
leat_status leat_batch_log_close(leat_batch_log *log, leat_error *error); /* accepts NULL */

/* Reads one step's digests from a log, without scanning it all.  NOT_FOUND: not there. */
leat_status leat_batch_log_find(const char *path, uint64_t step, uint8_t batch[32],
                                uint8_t chain[32], uint64_t *rows, leat_error *error) LEAT_MUST_USE;
#endif
