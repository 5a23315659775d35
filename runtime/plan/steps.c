/* steps.c: draws, rows and steps (docs/plan.md, sections 5 to 7). */
#include "base/memory.h"
#include "plan/source.h"
#include "plan/work_source.h"

typedef enum draw_result { DRAW_PIECE, DRAW_END, DRAW_NEED, DRAW_REFUSED } draw_result;
typedef enum fill_result { FILL_DONE, FILL_END, FILL_NEED, FILL_REFUSED } fill_result;

static draw_result refuse(leat_plan_need *need, uint32_t dataset, uint64_t position,
                          leat_plan_refusal why)
{
    *need = (leat_plan_need){dataset, position, (int)why};
    return DRAW_REFUSED;
}

/* The next piece of the plan.  NEED and REFUSED leave everything so that the same draw can be made again. */
static draw_result draw(leat_work_source *source, leat_drawn *out, leat_plan_need *need)
{
    if (source->ended) {
        return DRAW_END;
    }
    uint32_t stage = leat_work_source_stage(source);
    if (stage != source->stage) {
        leat_work_source_use_stage(source, stage, NULL);
    }
    for (;;) {
        uint32_t dataset = leat_mixture_top(&source->mixture);
        if (dataset == LEAT_MIXTURE_NONE) {
            source->ended = true;
            return DRAW_END;
        }
        leat_stream *stream = &source->streams[dataset];
        switch (leat_stream_ready(stream, &source->scratch)) {
        case LEAT_STREAM_READY: {
            const leat_piece *piece = leat_stream_take(stream);
            *out = (leat_drawn){dataset, piece->length, piece->position, piece->start};
            leat_mixture_draw(&source->mixture, dataset,
                              source->spec.mix_by_documents ? piece->last : piece->length);
            return DRAW_PIECE;
        }
        case LEAT_STREAM_NEED:
            *need = (leat_plan_need){dataset, stream->scan_position, 0};
            return DRAW_NEED;
        case LEAT_STREAM_NO_TOKENS:
            return refuse(need, dataset, stream->scan_position, LEAT_REFUSED_NO_TOKENS);
        case LEAT_STREAM_BAD:
            return refuse(need, dataset, stream->scan_position, LEAT_REFUSED_BAD_COUNT);
        case LEAT_STREAM_MISPLACED:
            return refuse(need, dataset, stream->scan_position, LEAT_REFUSED_CURSOR);
        case LEAT_STREAM_ENDED:
            source->stream_ended[dataset] = source->met_end = true;
            leat_mixture_remove(&source->mixture, dataset);
            if (!source->spec.drop_exhausted) {
                source->ended = true;
                return DRAW_END;
            }
            break;
        }
    }
}

/* The result of a draw that gave no piece. */
static fill_result without_piece(draw_result result)
{
    return result == DRAW_END ? FILL_END : result == DRAW_NEED ? FILL_NEED : FILL_REFUSED;
}

static void add_segment(leat_step_plan *plan, leat_segment segment)
{
    LEAT_GROW(plan->segments, plan->segment_capacity, plan->segment_count + 1);
    plan->segments[plan->segment_count++] = segment;
    plan->dataset_tokens[segment.dataset] += segment.length;
}

static void end_row(leat_step_plan *plan)
{
    LEAT_GROW(plan->row_ends, plan->row_capacity, plan->rows + 1);
    plan->row_ends[plan->rows++] = plan->segment_count;
}

/* Lays as much of the unfinished piece as the row takes; what continues the segment before it becomes part of it. */
static void lay_rest(leat_work_source *source, leat_step_plan *plan)
{
    leat_plan_rest *rest = &source->rest;
    uint64_t room = source->spec.row_tokens - source->row_filled, left = rest->end - rest->start;
    uint32_t length = (uint32_t)(left < room ? left : room);
    size_t row_first = plan->rows > 0 ? plan->row_ends[plan->rows - 1] : 0;
    leat_segment *last =
        plan->segment_count > row_first ? &plan->segments[plan->segment_count - 1] : NULL;
    if (last != NULL && last->dataset == rest->dataset && last->position == rest->position &&
        last->start + last->length == rest->start) {
        last->length += length;
        plan->dataset_tokens[rest->dataset] += length;
    } else {
        add_segment(plan, (leat_segment){rest->dataset, (uint32_t)source->row_filled, length,
                                         rest->position, rest->start});
    }
    source->row_filled += length;
    rest->start += length;
}

/* The plan has ended in an unfinished row: it is padded, or taken back. */
static void end_last_row(leat_work_source *source, leat_step_plan *plan)
{
    if (source->row_filled == 0) {
        return;
    }
    if (!source->spec.drop_last) {
        end_row(plan);
    } else {
        size_t row_first = plan->rows > 0 ? plan->row_ends[plan->rows - 1] : 0;
        while (plan->segment_count > row_first) {
            const leat_segment *segment = &plan->segments[--plan->segment_count];
            plan->dataset_tokens[segment->dataset] -= segment->length;
        }
        source->ending.dropped_tokens = source->row_filled;
    }
    source->row_filled = 0;
}

static fill_result fill_concat(leat_work_source *source, leat_step_plan *plan, leat_plan_need *need)
{
    while (plan->rows < source->wanted_rows) {
        if (source->rest.start == source->rest.end) {
            leat_drawn piece;
            draw_result result = draw(source, &piece, need);
            if (result == DRAW_END) {
                end_last_row(source, plan);
            }
            if (result != DRAW_PIECE) {
                return without_piece(result);
            }
            source->rest = (leat_plan_rest){piece.dataset, piece.position, piece.start,
                                            piece.start + piece.length};
        }
        lay_rest(source, plan);
        if (source->row_filled == source->spec.row_tokens) {
            end_row(plan);
            source->row_filled = 0;
            source->rows++;
        }
    }
    return FILL_DONE;
}

static fill_result fill_single(leat_work_source *source, leat_step_plan *plan, leat_plan_need *need)
{
    while (plan->rows < source->wanted_rows) {
        leat_drawn piece;
        draw_result result = draw(source, &piece, need);
        if (result != DRAW_PIECE) {
            return without_piece(result);
        }
        add_segment(plan,
                    (leat_segment){piece.dataset, 0, piece.length, piece.position, piece.start});
        end_row(plan);
        source->rows++;
    }
    return FILL_DONE;
}

/* Draws and packs a packing window, from where a NEED has left it. */
static fill_result open_window(leat_work_source *source, leat_plan_need *need)
{
    leat_packing_window *window = &source->window;
    if (!source->window_open) {
        leat_packing_window_clear(window);
        leat_work_source_note(source, &source->opening);
        source->window_open = source->opening_new = true;
    }
    uint64_t target = source->spec.pack_window * source->spec.row_tokens;
    while (window->tokens < target) {
        leat_drawn piece;
        draw_result result = draw(source, &piece, need);
        if (result == DRAW_END) {
            break;
        }
        if (result != DRAW_PIECE) {
            return without_piece(result);
        }
        leat_packing_window_add(window, piece);
    }
    if (!source->window_packed) {
        leat_packing_window_pack(window, source->window_number);
        source->window_packed = true;
        source->served = 0;
    }
    if (source->skip > 0) {
        if (source->skip >= window->rows) {
            refuse(need, 0, source->now.items[0].place.position, LEAT_REFUSED_CURSOR);
            return FILL_REFUSED;
        }
        source->served = source->skip;
        source->skip = 0;
    }
    if (window->rows == 0) { /* the end was found before any piece: there is no such window */
        source->window_open = source->window_packed = source->opening_new = false;
        return FILL_END;
    }
    return FILL_DONE;
}

static void serve_row(leat_work_source *source, leat_step_plan *plan)
{
    const leat_packing_window *window = &source->window;
    uint32_t row = window->order[source->served++], place = 0;
    for (uint32_t i = row > 0 ? window->row_ends[row - 1] : 0; i < window->row_ends[row]; i++) {
        const leat_drawn *piece = &window->pieces[window->row_pieces[i]];
        add_segment(plan, (leat_segment){piece->dataset, place, piece->length, piece->position,
                                         piece->start});
        place += piece->length;
    }
    end_row(plan);
    if (source->served == window->rows) {
        source->rows += window->rows;
        source->window_number++;
        source->served = 0;
        source->window_open = source->window_packed = false;
    }
}

static fill_result fill_best_fit(leat_work_source *source, leat_step_plan *plan,
                                 leat_plan_need *need)
{
    while (plan->rows < source->wanted_rows) {
        if (!source->window_packed || source->skip > 0) {
            fill_result result = open_window(source, need);
            if (result != FILL_DONE) {
                return result;
            }
        }
        serve_row(source, plan);
    }
    return FILL_DONE;
}

static void begin_step(leat_work_source *source, leat_step_plan *plan)
{
    plan->step = source->step;
    plan->first_row = source->first_row;
    plan->rows = 0;
    plan->segment_count = 0;
    LEAT_GROW(plan->dataset_tokens, plan->dataset_capacity, source->datasets);
    memset(plan->dataset_tokens, 0, source->datasets * sizeof *plan->dataset_tokens);
    source->wanted_rows =
        leat_plan_step_rows(source->spec.batch_sizes, source->spec.batch_size_count, source->step);
    source->row_filled = 0;
    source->half = true;
}

/* The cursor of the next step: as things stand now, or, inside a packing window, as they stood at its start. */
static void end_step(leat_work_source *source, const leat_step_plan *plan)
{
    source->half = false;
    source->step++;
    source->first_row += plan->rows;
    if (!source->window_packed) {
        leat_work_source_note(source, &source->now);
    } else if (source->opening_new) {
        leat_plan_state swap = source->now;
        source->now = source->opening;
        source->opening = swap;
    }
    source->opening_new = false;
    source->now.step = source->step;
    source->now.first_row = source->first_row;
    source->now.served = source->window_packed ? source->served : 0;
    source->now.met_end = source->met_end;
}

leat_plan_event leat_work_source_next(leat_work_source *source, leat_step_plan *plan,
                                      leat_plan_need *need)
{
    if (source->finished) {
        return LEAT_PLAN_END;
    }
    if (!source->half) {
        begin_step(source, plan);
    }
    fill_result result = FILL_DONE;
    switch (source->spec.packing) {
    case LEAT_PACKING_CONCAT:
        result = fill_concat(source, plan, need);
        break;
    case LEAT_PACKING_BEST_FIT:
        result = fill_best_fit(source, plan, need);
        break;
    case LEAT_PACKING_SINGLE:
        result = fill_single(source, plan, need);
        break;
    }
    if (result == FILL_NEED || result == FILL_REFUSED) {
        return result == FILL_NEED ? LEAT_PLAN_NEED : LEAT_PLAN_REFUSED;
    }
    if (result == FILL_END) {
        bool given = plan->rows > 0 && !source->spec.drop_last;
        if (!given) {
            source->ending.rows = source->first_row;
            source->ending.dropped_rows = plan->rows;
            source->finished = true;
            source->half = false;
            return LEAT_PLAN_END;
        }
    }
    end_step(source, plan);
    return LEAT_PLAN_STEP;
}
