/* corpus_inside.h: what the files behind corpus.h share. */
#ifndef LEAT_IO_CORPUS_INSIDE_H
#define LEAT_IO_CORPUS_INSIDE_H
#include "base/xxh3.h"
#include "io/formats/jsonl.h"
#include "io/index/files.h"
#include "io/index/sidecar.h"
#include <pthread.h>
#include <stdatomic.h>

enum {
    LEAT_CACHE_BLOCKS = 64,
    LEAT_CACHE_RUN = 16
}; /* blocks a reader keeps; at most that many are read at once */

typedef struct leat_corpus_shard {
    char *path;
    leat_shard_summary summary;
    atomic_uint repairs; /* times this process built its index anew, in place of a damaged one */
} leat_corpus_shard;

typedef struct leat_corpus_part { /* one dataset */
    char *name;
    leat_record_rules rules;
    leat_corpus_shard *shards;
    size_t shard_count;
    uint64_t *first; /* [shard_count + 1] documents before each shard */
    uint64_t key;    /* of the first shard's files */
    bool tokens;
} leat_corpus_part;

struct leat_corpus {
    leat_store *store;
    char *index_folder;
    leat_corpus_part *datasets;
    size_t dataset_count;
    leat_files *files;
    pthread_mutex_t repair_lock;
    atomic_uint_fast64_t bytes_read; /* a statistic: relaxed, orders nothing */
};

/* Identifies a block of a side-car: key of the shard and number of the block. */
typedef struct leat_block_id {
    uint64_t shard, number;
} leat_block_id;

struct leat_corpus_reader {
    leat_corpus *corpus;
    uint8_t (*blocks)[LEAT_SIDECAR_BLOCK]; /* [LEAT_CACHE_BLOCKS] */
    leat_block_id ids[LEAT_CACHE_BLOCKS];  /* shard UINT64_MAX: empty */
    size_t shard;                          /* where the last document was found, of which dataset */
    uint32_t shard_dataset;
    leat_jsonl **jsonl; /* [dataset_count] made when first needed */
    leat_buffer raw;    /* bytes of the file */
    leat_buffer text;   /* decoded texts of one call */
    leat_buffer whole;  /* decoded text of the record whose parts were asked for last */
    uint32_t whole_dataset, whole_shard;
    uint64_t whole_record;
    bool whole_known;
};

/* Files of a shard.  Both are checked against its summary when they are opened. */
leat_status leat_corpus_acquire_data(leat_corpus *corpus, uint32_t dataset, size_t shard,
                                     leat_file **out, leat_error *error) LEAT_MUST_USE;
leat_status leat_corpus_acquire_index(leat_corpus *corpus, uint32_t dataset, size_t shard,
                                      leat_file **out, leat_error *error) LEAT_MUST_USE;
/* Builds a shard's index anew after damage was met.  `seen` is the shard's number of repairs before the damaged bytes were
 * read: where another thread has repaired it since, nothing is left to do.  CORRUPT: it was repaired before and is damaged again. */
leat_status leat_corpus_repair(leat_corpus *corpus, uint32_t dataset, size_t shard, unsigned seen,
                               leat_error *error) LEAT_MUST_USE;
static inline unsigned leat_corpus_repairs(leat_corpus *corpus, uint32_t dataset, size_t shard)
{
    return atomic_load_explicit(&corpus->datasets[dataset].shards[shard].repairs,
                                memory_order_acquire);
}
#endif
