/* spec.h: everything that defines the plan, as integers.  Made from the job file and the corpus' sizes (loader/), read by
 * plan/ alone.  Pointers belong to whoever fills the spec in. */
#ifndef LEAT_PLAN_SPEC_H
#define LEAT_PLAN_SPEC_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LEAT_PLAN_VERSION = 1 };

/* The token count of a document that cannot be read: the plan is refused at the first draw that needs its piece window. */
#define LEAT_COUNT_BAD UINT64_MAX

typedef enum leat_unit {
    LEAT_UNIT_NONE,
    LEAT_UNIT_DOCUMENT,
    LEAT_UNIT_BLOCK,
    LEAT_UNIT_SHARD
} leat_unit;
typedef enum leat_packing {
    LEAT_PACKING_CONCAT,
    LEAT_PACKING_BEST_FIT,
    LEAT_PACKING_SINGLE
} leat_packing;

typedef struct leat_plan_dataset {
    const char *name;
    uint64_t weight;    /* integer weight before the first stage; 0 never drawn outside stages */
    uint64_t documents; /* N */
    uint64_t epochs;    /* 0: no limit */
    uint32_t holdout_millionths; /* 0 … 1000000 */
    bool use_holdout;            /* use: holdout */
    leat_unit unit;
    uint64_t block, buffer, piece_window, window_tokens;
    uint64_t shards;
    const uint64_t *shard_ends; /* [shards]: documents up to and with that shard; the last is N */
} leat_plan_dataset;

typedef struct leat_plan_stage {
    uint64_t from_row;       /* from_step is translated by leat_plan_step_first_row */
    const uint64_t *weights; /* [datasets], 0 for datasets that the stage does not name */
} leat_plan_stage;

typedef struct leat_plan_batch_size {
    uint64_t from_step, rows;
} leat_plan_batch_size;

typedef struct leat_plan_spec {
    uint64_t seed;
    uint64_t row_tokens; /* R = sequence_length + 1 */
    uint64_t piece;      /* P */
    leat_packing packing;
    uint64_t pack_window;
    bool truncate; /* long_documents: truncate */
    bool mix_by_documents;
    bool drop_exhausted; /* on_exhausted: drop */
    bool drop_last;
    uint64_t dataset_count, stage_count, batch_size_count;
    const leat_plan_dataset *datasets;
    const leat_plan_stage *stages;           /* ascending by from_row */
    const leat_plan_batch_size *batch_sizes; /* ascending, first from_step 0 */
    uint8_t digest
        [32]; /* of the order-defining settings; stands in the cursor (all the plan does with it) */
} leat_plan_spec;

/* INVALID where a rule of docs/plan.md is broken; the text names the setting. */
leat_status leat_plan_spec_check(const leat_plan_spec *spec, leat_error *error) LEAT_MUST_USE;
/* N·epochs: the first stream position past the end; 0 where there are no documents, UINT64_MAX where there is no limit. */
uint64_t leat_plan_stream_end(const leat_plan_dataset *dataset);

/* Rows before step `step`, and the rows of that step, for a schedule of batch sizes. */
uint64_t leat_plan_step_first_row(const leat_plan_batch_size *sizes, uint64_t count, uint64_t step);
uint64_t leat_plan_step_rows(const leat_plan_batch_size *sizes, uint64_t count, uint64_t step);
/* Slice of rank `rank` of `ranks` in a batch of `rows` rows: rows [*first, *end). */
void leat_plan_slice(uint64_t rows, uint64_t rank, uint64_t ranks, uint64_t *first, uint64_t *end);
#endif
