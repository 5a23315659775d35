/* work_source.h: the plan of a job as a program over integers (docs/plan.md is the contract).
 *
 * A work source gives the steps of the job one after another: for every row the runs of document tokens it is made of.  It
 * is a pure function of its spec and its start cursor: no I/O, no clock, no rank count.  It knows documents only by dataset
 * and stream position and by their token counts, which its owner feeds in stream order; when it needs a count that was
 * not fed it says so, changes nothing that can be seen, and goes on later from the same place.
 *
 * LOCAL.  One thread at a time uses one work source.  Nothing is allocated per document once buffers have grown. */
#ifndef LEAT_PLAN_WORK_SOURCE_H
#define LEAT_PLAN_WORK_SOURCE_H
#include "base/bytes.h"
#include "plan/spec.h"

typedef struct leat_work_source leat_work_source;

/* A run of tokens of one document in a row. */
typedef struct leat_segment {
    uint32_t dataset;
    uint32_t row_start; /* place of its first token in the row */
    uint32_t length;    /* tokens, at least 1 */
    uint64_t position;  /* stream position of the document */
    uint64_t start;     /* first token of the run in the document */
} leat_segment;

/* One step, owned by the caller; zero-initialized is ready, arrays grow and are reused. */
typedef struct leat_step_plan {
    uint64_t step;
    uint64_t first_row; /* number of its first row in the whole plan */
    uint64_t rows;
    leat_segment *segments;   /* of row 0, then of row 1, … */
    uint64_t *row_ends;       /* [rows]: index behind the last segment of each row */
    uint64_t *dataset_tokens; /* [datasets]: tokens without padding */
    size_t segment_count, segment_capacity, row_capacity, dataset_capacity;
} leat_step_plan;
void leat_step_plan_deinit(leat_step_plan *plan);

typedef enum leat_plan_event {
    LEAT_PLAN_STEP,   /* *plan holds the next step */
    LEAT_PLAN_NEED,   /* counts of need->dataset from need->position on are missing */
    LEAT_PLAN_END,    /* the plan has ended; see leat_work_source_ending */
    LEAT_PLAN_REFUSED /* need->dataset: "dataset X has no tokens", its document at need->position is bad, or the cursor is */
} leat_plan_event;

typedef enum leat_plan_refusal {
    LEAT_REFUSED_BAD_COUNT = 0, /* a count fed as LEAT_COUNT_BAD (or 2^56 and more) was met */
    LEAT_REFUSED_NO_TOKENS = 1, /* no document of a whole epoch has tokens */
    LEAT_REFUSED_CURSOR =
        2 /* the cursor names a place that these documents do not have: it is not of this corpus */
} leat_plan_refusal;

typedef struct leat_plan_need {
    uint32_t dataset;
    uint64_t position;
    int no_tokens; /* REFUSED: one of leat_plan_refusal */
} leat_plan_need;

/* `spec` is copied.  `cursor` is NULL for the start, else a cursor of the same spec (leat_cursor_check first).
 * INVALID: a rule of the plan is broken, the text names the setting.  CORRUPT/MISMATCH: the cursor. */
leat_status leat_work_source_open(leat_work_source **out, const leat_plan_spec *spec,
                                  leat_bytes cursor, leat_error *error) LEAT_MUST_USE;
void leat_work_source_close(leat_work_source *source);

/* The next step.  `plan` may hold part of a step between calls that give NEED: pass the same one again, untouched. */
leat_plan_event leat_work_source_next(leat_work_source *source, leat_step_plan *plan,
                                      leat_plan_need *need);

/* Feeds the token counts (bos and eos included; before `truncate`) of `count` documents of `dataset` at stream positions
 * `position` on; position must be leat_work_source_fed(…).  Held-out documents are fed as 0. */
void leat_work_source_feed(leat_work_source *source, uint32_t dataset, uint64_t position,
                           const uint64_t *counts, size_t count);
/* Next stream position to feed. */
uint64_t leat_work_source_fed(const leat_work_source *source, uint32_t dataset);
/* First stream position that is past the dataset's end (N·epochs), UINT64_MAX where there is no limit. */
uint64_t leat_work_source_stream_end(const leat_work_source *source, uint32_t dataset);
/* Tokens fed and not yet drawn (an upper bound is fine: whole current window less pieces taken). */
uint64_t leat_work_source_ahead_tokens(const leat_work_source *source, uint32_t dataset);
/* 1 where the dataset can be drawn: not ended, and weight above 0 now or in a later stage. */
int leat_work_source_live(const leat_work_source *source, uint32_t dataset);
/* The weight in force now (0: not drawn in this stage). */
uint64_t leat_work_source_weight(const leat_work_source *source, uint32_t dataset);

/* The cursor of the next step (before its batch), in normal form; canonical bytes (plan/cursor.h).  Valid between calls of
 * next that gave STEP or END, and right after open; not while a step is half made.  Replaces the buffer's content. */
void leat_work_source_cursor(const leat_work_source *source, leat_buffer *out);
uint64_t leat_work_source_step(const leat_work_source *source); /* the next step's number */
/* First stream position of `dataset` that the next step or a later one can still need. */
uint64_t leat_work_source_low(const leat_work_source *source, uint32_t dataset);

typedef struct leat_plan_ending {
    uint64_t rows;           /* whole rows the plan gave */
    uint64_t dropped_rows;   /* rows of a last batch that was not full */
    uint64_t dropped_tokens; /* tokens of a concat row that was not full */
} leat_plan_ending;
leat_plan_ending leat_work_source_ending(const leat_work_source *source);
#endif
