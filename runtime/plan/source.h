/* source.h: the inside of a work source, shared by work_source.c (open, feed, ask) and steps.c (draw and pack). */
#ifndef LEAT_PLAN_SOURCE_H
#define LEAT_PLAN_SOURCE_H
#include "plan/mixture.h"
#include "plan/packing.h"
#include "plan/state.h"
#include "plan/work_source.h"

struct leat_work_source {
    leat_plan_spec spec; /* a copy, with all that it points to */
    uint32_t datasets;
    leat_stream *streams;
    bool *stream_ended; /* by dataset: a draw has found it ended */
    uint32_t *
        last_stages; /* by dataset: the last LEAT_STAGE_… in which its weight is above 0; LEAT_STAGE_NONE: none */
    leat_stream_scratch scratch;
    leat_mixture mixture;
    uint64_t *weights; /* of the stage in force, 0 for datasets that have ended */
    uint32_t stage;    /* as of the last draw */
    uint64_t rows;     /* completed, in the stage's sense */
    bool ended, met_end;
    uint64_t step, first_row; /* of the next step */
    leat_plan_rest rest;
    leat_packing_window window; /* best_fit */
    uint64_t window_number, served,
        skip; /* skip: rows of the first window that the cursor says were served */
    bool window_open, window_packed;
    /* half a step */
    bool half, finished;
    uint64_t wanted_rows, row_filled;
    /* `now` is the cursor of the next step; `opening` the state at the start of the packing window, to become part of it */
    leat_plan_state now, opening;
    bool opening_new;
    leat_plan_ending ending;
};

/* Writes the state as it is into `state` (items, stage, rows, rest; nothing taken of a packing window). */
void leat_work_source_note(const leat_work_source *source, leat_plan_state *state);
/* The stage in force at a draw made now. */
uint32_t leat_work_source_stage(const leat_work_source *source);
/* Sets weights and credits of `stage`; credits NULL: all 0. */
void leat_work_source_use_stage(leat_work_source *source, uint32_t stage, const int64_t *credits);
#endif
