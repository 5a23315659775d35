/* batch_log.h: DIR/batches.jsonl: one line a step, appended, flushed line by line; every step once.
 *     {"step":0,"batch":"<hex>","chain":"<hex>","rows":1024,"tokens":…,"by_dataset":[[0,…],[1,…]]}
 * Steps ascend by one; a log begins with step 0, or where its run began (forks, --resume-from).
 * One writer (rank 0).  A torn last line is dropped when the log is opened.  Nothing scans a log: its end is read backwards, and
 * a step is found by bisection over byte offsets, so a log of 10^6 steps opens at once. */
#ifndef LEAT_DIGEST_BATCH_LOG_H
#define LEAT_DIGEST_BATCH_LOG_H
#include "base/bytes.h"
#include "base/file_ops.h"

typedef struct leat_batch_line {
    uint64_t step, rows, tokens;
    uint8_t batch[32], chain[32];
    const uint64_t *dataset_tokens; /* [datasets]; those with 0 are left out of the line */
    uint64_t datasets;
} leat_batch_line;

typedef struct leat_batch_log leat_batch_log;

/* Opens for appending; creates.  Steps already there are kept and compared.  CORRUPT: a line that is not the last is damaged
 * (of which only the last two are looked at here; the others when they are compared or found). */
leat_status leat_batch_log_open(leat_batch_log **out, const char *path,
                                leat_error *error) LEAT_MUST_USE;
/* The same through other file calls, for tests; `ops` must outlive the log. */
leat_status leat_batch_log_open_with(leat_batch_log **out, const char *path,
                                     const leat_file_ops *ops, leat_error *error) LEAT_MUST_USE;
/* A new step is appended; a step that is there must have the same digests: MISMATCH names the step and both digests.
 * INVALID: a gap.  IO: nothing of the line stays. */
leat_status leat_batch_log_add(leat_batch_log *log, const leat_batch_line *line,
                               leat_error *error) LEAT_MUST_USE;
uint64_t leat_batch_log_steps(const leat_batch_log *log); /* the next new step; 0 where empty */
uint64_t leat_batch_log_first(const leat_batch_log *log); /* the first step in it; 0 where empty */
/* Makes durable what was added; call it before a checkpoint that counts on it. */
leat_status leat_batch_log_flush(leat_batch_log *log, leat_error *error) LEAT_MUST_USE;
leat_status leat_batch_log_close(leat_batch_log *log,
                                 leat_error *error); /* flushes; accepts NULL */

/* Reads one step's digests from a log, without scanning it all.  NOT_FOUND: not there. */
leat_status leat_batch_log_find(const char *path, uint64_t step, uint8_t batch[32],
                                uint8_t chain[32], uint64_t *rows, leat_error *error) LEAT_MUST_USE;

/* Reading a log in order. */
typedef struct leat_batch_entry {
    uint64_t step, rows, tokens;
    uint8_t batch[32], chain[32];
    const uint64_t *by_dataset; /* [2·datasets]: number, tokens; lives until the next read */
    size_t datasets;
    uint64_t offset; /* of the line in the file */
    bool end;        /* no further line; the other fields are then 0 */
} leat_batch_entry;
typedef struct leat_batch_reader leat_batch_reader;

leat_status leat_batch_reader_open(leat_batch_reader **out, const char *path,
                                   leat_error *error) LEAT_MUST_USE;
/* The next read gives the first line with a step ≥ `step`. */
leat_status leat_batch_reader_seek(leat_batch_reader *reader, uint64_t step,
                                   leat_error *error) LEAT_MUST_USE;
/* CORRUPT: a damaged line, or steps that do not ascend by one; a torn last line is the end. */
leat_status leat_batch_reader_next(leat_batch_reader *reader, leat_batch_entry *out,
                                   leat_error *error) LEAT_MUST_USE;
void leat_batch_reader_close(leat_batch_reader *reader); /* accepts NULL */
#endif
