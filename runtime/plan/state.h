/* state.h: what a cursor says, as values; the work source keeps it current at every step, so that writing a cursor is only
 * writing it down.  Layout of the bytes: docs/formats.md, section Cursor. */
#ifndef LEAT_PLAN_STATE_H
#define LEAT_PLAN_STATE_H
#include "base/bytes.h"
#include "plan/stream.h"

/* The stage in force as of the last draw. */
enum {
    LEAT_STAGE_NONE = 0, /* no draw yet */
    LEAT_STAGE_OWN = 1,  /* the datasets' own weights */
    LEAT_STAGE_FIRST = 2 /* mixture_stages[0], and so on */
};

typedef struct leat_plan_item {
    leat_stream_place place;
    int64_t credit;
    bool ended;
} leat_plan_item;

/* The rest of the unfinished piece (concat). */
typedef struct leat_plan_rest {
    uint32_t dataset;
    uint64_t position, start, end; /* start == end: there is none, and all is 0 */
} leat_plan_rest;

typedef struct leat_plan_state {
    uint64_t step, first_row;
    bool ended;   /* a draw has found the end of the plan */
    bool met_end; /* a draw has found a dataset ended, one of the open packing window too */
    uint32_t stage;
    uint64_t rows; /* rows completed, in the stage's sense */
    leat_plan_rest rest;
    uint64_t pack_window,
        served;            /* best_fit: the packing window's number and the rows served from it */
    leat_plan_item *items; /* [datasets] */
} leat_plan_state;

void leat_plan_state_write(const leat_plan_state *state, const leat_plan_spec *spec,
                           leat_buffer *out);
/* state->items has room for the spec's datasets.  CORRUPT, MISMATCH: the text says what does not fit. */
leat_status leat_plan_state_read(leat_plan_state *state, const leat_plan_spec *spec,
                                 leat_bytes cursor, leat_error *error) LEAT_MUST_USE;
#endif
