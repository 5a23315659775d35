/* check.h: what is worth knowing about a job before GPUs are spent: bad records, files that look wrong, reading in the job's
 * order, memory.  The loader is of leat_loader_open_job with options.look. */
#ifndef LEAT_AUDIT_CHECK_H
#define LEAT_AUDIT_CHECK_H
#include "loader/loader.h"

typedef struct leat_check_shard {
    uint32_t dataset;
    size_t shard;
} leat_check_shard;

typedef struct leat_check_shards {
    leat_check_shard *items;
    size_t count, capacity;
} leat_check_shards;
void leat_check_shards_deinit(leat_check_shards *shards);
const char *leat_check_shard_path(const leat_loader *loader, leat_check_shard shard);

/* LOCAL.  Files of equal content, sorted by it: neighbours with equal hashes belong together. */
void leat_check_duplicates(const leat_loader *loader, leat_check_shards *out);
bool leat_check_same_content(const leat_loader *loader, leat_check_shard a, leat_check_shard b);
/* LOCAL.  Files without text, or with less than a hundredth of the mean of their dataset. */
void leat_check_near_empty(const leat_loader *loader, leat_check_shards *out);

/* LOCAL.  All bad records, and the lines "file:line: reason" of the first `most` of them; *listed is how many lines there are.
 * *files counts the files that have some. */
leat_status leat_check_bad(const leat_loader *loader, uint64_t most, uint64_t *bad, uint64_t *files,
                           uint64_t *listed, leat_buffer *lines, leat_error *error) LEAT_MUST_USE;

/* How the order of a dataset meets its files, from a look at one stretch of the stream of 16384 documents. */
typedef struct leat_check_reading {
    uint64_t documents, runs; /* looked at; stretches of neighbours in a file among them */
    uint64_t bytes;           /* of the records looked at */
    uint64_t files;           /* that they lie in */
} leat_check_reading;
leat_status leat_check_read_order(leat_loader *loader, uint32_t dataset, leat_check_reading *out,
                                  leat_error *error) LEAT_MUST_USE;

/* About the most bytes a rank of `ranks` holds: batches ahead, tokens of documents ahead, caches of the threads. */
uint64_t leat_check_memory(const leat_loader *loader, uint64_t ranks, uint32_t threads);

/* Legal rank counts are 1 … *most; with those that divide *equal every rank always has as many rows as the others. */
void leat_check_ranks(const leat_plan_spec *spec, uint64_t *most, uint64_t *equal);
#endif
