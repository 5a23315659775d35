/* job.h: a job file as checked values (docs/job-file.md lists every key).  Decimals are kept as integers, never as floats.
 * A leat_job owns everything it points to.  LOCAL. */
#ifndef LEAT_JOB_JOB_H
#define LEAT_JOB_JOB_H
#include "base/bytes.h"
#include "plan/spec.h"

typedef enum leat_bad_records { LEAT_BAD_FAIL, LEAT_BAD_REPLACE, LEAT_BAD_SKIP } leat_bad_records;
typedef enum leat_collectives {
    LEAT_COLLECTIVES_AUTO,
    LEAT_COLLECTIVES_MPI,
    LEAT_COLLECTIVES_NCCL
} leat_collectives;
typedef enum leat_tokens_way {
    LEAT_TOKENS_AUTO,
    LEAT_TOKENS_OWN,
    LEAT_TOKENS_EXCHANGE
} leat_tokens_way;

/* bos and eos: nothing, an id, or a token's text that the tokenizer resolves. */
typedef struct leat_token_name {
    enum { LEAT_TOKEN_NONE, LEAT_TOKEN_ID, LEAT_TOKEN_TEXT } kind;
    uint32_t id;
    char *text;
} leat_token_name;

enum { LEAT_WEIGHT_NONE = 0, LEAT_WEIGHT_BYTES = 1, LEAT_WEIGHT_NUMBER = 2 };

typedef struct leat_job_dataset {
    char *name;
    int weight_kind; /* LEAT_WEIGHT_… */
    uint64_t weight_millionths;
    char **files; /* globs, as written */
    size_t file_count;
    char *format; /* NULL: by name and magic */
    char *text;   /* default "text" */
    uint64_t epochs;
    uint32_t holdout_millionths;
    bool use_holdout;
    leat_unit unit;
    uint64_t block, buffer, piece_window, window_tokens;
    bool add_special;
    char *tokens, *offsets, *dtype, *mask; /* NULL: not given */
    bool has_eos_id;
    uint32_t eos_id;
    uint32_t line; /* in the job file, for messages */
} leat_job_dataset;

typedef struct leat_job_stage {
    bool by_step; /* from_step, else from_row */
    uint64_t from;
    struct leat_job_stage_weight {
        uint32_t dataset;
        uint64_t millionths;
    } * weights;
    size_t weight_count;
} leat_job_stage;

typedef struct leat_job {
    char *path;   /* of the file, "" for a text */
    char *folder; /* globs and the tokenizer are relative to it */
    uint64_t seed, sequence_length;
    leat_plan_batch_size *batch_sizes;
    size_t batch_size_count;
    leat_packing packing;
    uint64_t pack_window, piece; /* piece: the value in force */
    bool truncate;
    uint64_t part_bytes; /* the value in force; 0 never */
    bool mix_by_documents, drop_exhausted, drop_last;
    uint64_t
        passes; /* 0: not given.  Where given, epochs and on_exhausted below already follow from it */
    leat_bad_records bad_records;
    uint32_t pad_id;
    char *tokenizer; /* path as written, or "bytes"; NULL: not given */
    leat_token_name bos, eos;
    char *index_dir; /* NULL: default */
    leat_collectives collectives;
    leat_tokens_way tokens_way;
    leat_job_dataset *datasets;
    size_t dataset_count;
    leat_job_stage *stages;
    size_t stage_count;
    uint64_t record_bytes_max, read_cache; /* read_cache 0: default */
    uint32_t threads, look_ahead;          /* 0: default */
    uint64_t peer_timeout_s;
    bool mask_boundaries;
} leat_job;

/* `text` is the file's content (YAML or JSON), `path` names it and gives the folder; `overrides` are "key=value" (a.b.c=… and
 * datasets.NAME.key=… reach nested keys).  INVALID with file, line, key, found, wanted. */
leat_status leat_job_open(leat_job **out, leat_bytes text, const char *path,
                          const char *const *overrides, size_t override_count,
                          leat_error *error) LEAT_MUST_USE;
void leat_job_close(leat_job *job);
/* A path of the job, relative to its folder; for leat_free. */
char *leat_job_path(const leat_job *job, const char *path);

/* First row of a mixture stage; from_step is translated by the job's batch sizes. */
uint64_t leat_job_stage_row(const leat_job *job, size_t stage);

/* What the corpus and tokenizer add to the job's identity. */
typedef struct leat_job_shard {
    const char *name; /* below the glob's fixed part */
    uint64_t records;
    const uint8_t *content_hash; /* 16 bytes */
} leat_job_shard;
typedef struct leat_job_identity {
    const uint8_t *tokenizer_sha256; /* 32 bytes; NULL: no tokenizer */
    bool has_bos, has_eos;
    uint32_t bos, eos;
    const uint64_t *weights; /* [datasets] the integers in force before the first stage */
    const leat_job_shard *const *shards; /* [datasets][shard_counts[d]] */
    const size_t *shard_counts;
    const uint64_t *documents, *text_bytes; /* [datasets] */
} leat_job_identity;

/* Integer weights (docs/plan.md, section 5) of the job (stage == SIZE_MAX) or of a stage, [dataset_count] each. */
leat_status leat_job_weights(const leat_job *job, size_t stage, const uint64_t *text_bytes,
                             uint64_t *weights, leat_error *error) LEAT_MUST_USE;

/* The order-defining settings as canonical JSON (one object; every value that the digest covers, shards as one SHA-256 a
 * dataset), and its SHA-256.  docs/formats.md documents the layout. */
void leat_job_order_settings(const leat_job *job, const leat_job_identity *identity,
                             leat_buffer *json, uint8_t digest[32]);
/* The whole job in canonical form (all keys, defaults filled in). */
void leat_job_canonical(const leat_job *job, leat_buffer *json);
/* What a run may change within limits, as canonical JSON: passes, epochs by dataset, batch sizes.  Kept beside the settings
 * (in the checkpoint's info and the manifest). */
void leat_job_limits(const leat_job *job, leat_buffer *json);
/* SHA-256 over names, record counts and content hashes of a dataset's shards, in order. */
void leat_job_shards_digest(const leat_job_shard *shards, size_t count, uint8_t digest[32]);

/* First difference of two order-settings documents: MISMATCH naming the key, both values and both places; OK where equal.
 * CORRUPT: not JSON. */
leat_status leat_job_compare_settings(leat_bytes ours, const char *our_name, leat_bytes theirs,
                                      const char *their_name, leat_error *error) LEAT_MUST_USE;
/* The same, for a run that goes on at row `row` (the first row of the step it resumes at): mixture stages that begin there or
 * later may differ.  Where they do, the digests differ too, and the cursor goes on under the digest of `ours`. */
leat_status leat_job_compare_settings_at(leat_bytes ours, const char *our_name, leat_bytes theirs,
                                         const char *their_name, uint64_t row,
                                         leat_error *error) LEAT_MUST_USE;
/* Every difference of two documents (settings, limits or jobs in canonical form), "KEY: ours in A, theirs in B" a line;
 * datasets are matched by name.  No line: they are equal. */
leat_status leat_job_list_differences(leat_bytes ours, const char *our_name, leat_bytes theirs,
                                      const char *their_name, leat_buffer *lines,
                                      leat_error *error) LEAT_MUST_USE;
/* Two limits documents, for a run that goes on at step `step`: epochs may only grow, and not at all where the cursor has
 * `any_ended`; batch sizes of the steps before `step` are the same.  MISMATCH as above. */
leat_status leat_job_compare_limits(leat_bytes ours, const char *our_name, leat_bytes theirs,
                                    const char *their_name, uint64_t step, bool any_ended,
                                    leat_error *error) LEAT_MUST_USE;
#endif
