#include "plan/work_source.h"
#include "base/memory.h"
#include "plan/source.h"

void leat_step_plan_deinit(leat_step_plan *plan)
{
    leat_free(plan->segments);
    leat_free(plan->row_ends);
    leat_free(plan->dataset_tokens);
    *plan = (leat_step_plan){0};
}

static void *copy_items(const void *items, size_t count, size_t item_bytes)
{
    void *copy = leat_alloc(count, item_bytes);
    if (count > 0) {
        memcpy(copy, items, count * item_bytes);
    }
    return copy;
}

/* The copies are const in the spec; they are reached for release through these names. */
typedef struct owned_spec {
    leat_plan_dataset *datasets;
    leat_plan_stage *stages;
} owned_spec;

static void copy_spec(leat_plan_spec *to, const leat_plan_spec *from)
{
    owned_spec own = {copy_items(from->datasets, from->dataset_count, sizeof *from->datasets),
                      copy_items(from->stages, from->stage_count, sizeof *from->stages)};
    *to = *from;
    for (uint64_t d = 0; d < from->dataset_count; d++) {
        own.datasets[d].name = leat_strdup(from->datasets[d].name);
        own.datasets[d].shard_ends = NULL; /* of leat_order's concern alone */
        own.datasets[d].shards = 0;
    }
    for (uint64_t i = 0; i < from->stage_count; i++) {
        own.stages[i].weights =
            copy_items(from->stages[i].weights, from->dataset_count, sizeof(uint64_t));
    }
    to->datasets = own.datasets;
    to->stages = own.stages;
    to->batch_sizes =
        copy_items(from->batch_sizes, from->batch_size_count, sizeof *from->batch_sizes);
}

/* Casting const away is the price of a spec that everybody else only reads. */
static void release(const void *memory)
{
    union {
        const void *seen;
        void *owned;
    } both = {memory};
    leat_free(both.owned);
}

static void release_spec(leat_plan_spec *spec)
{
    for (uint64_t d = 0; d < spec->dataset_count; d++) {
        release(spec->datasets[d].name);
    }
    for (uint64_t i = 0; i < spec->stage_count; i++) {
        release(spec->stages[i].weights);
    }
    release(spec->datasets);
    release(spec->stages);
    release(spec->batch_sizes);
}

uint32_t leat_work_source_stage(const leat_work_source *source)
{
    uint32_t stage = source->stage == LEAT_STAGE_NONE ? LEAT_STAGE_OWN : source->stage;
    while (stage - LEAT_STAGE_OWN < source->spec.stage_count &&
           source->spec.stages[stage - LEAT_STAGE_OWN].from_row <= source->rows) {
        stage++;
    }
    return stage;
}

static uint64_t weight_in(const leat_plan_spec *spec, uint32_t stage, uint64_t dataset)
{
    return stage >= LEAT_STAGE_FIRST ? spec->stages[stage - LEAT_STAGE_FIRST].weights[dataset]
                                     : spec->datasets[dataset].weight;
}

void leat_work_source_use_stage(leat_work_source *source, uint32_t stage, const int64_t *credits)
{
    for (uint32_t d = 0; d < source->datasets; d++) {
        source->weights[d] = source->stream_ended[d] ? 0 : weight_in(&source->spec, stage, d);
    }
    source->stage = stage;
    leat_mixture_set(&source->mixture, source->weights, credits);
}

void leat_work_source_note(const leat_work_source *source, leat_plan_state *state)
{
    state->ended = source->ended;
    state->met_end = source->met_end;
    state->stage = source->stage;
    state->rows = source->rows;
    state->rest = source->rest.start != source->rest.end ? source->rest : (leat_plan_rest){0};
    state->pack_window = source->window_number;
    state->served = 0;
    for (uint32_t d = 0; d < source->datasets; d++) {
        state->items[d] =
            (leat_plan_item){leat_stream_place_of(&source->streams[d]),
                             leat_mixture_credit(&source->mixture, d), source->stream_ended[d]};
    }
}

/* Takes over the state `now`, which the cursor or the beginning gave. */
static void begin_at_now(leat_work_source *source)
{
    const leat_plan_state *now = &source->now;
    int64_t *credits = leat_alloc(source->datasets, sizeof *credits);
    for (uint32_t d = 0; d < source->datasets; d++) {
        leat_stream_init(&source->streams[d], &source->spec, &source->spec.datasets[d],
                         now->items[d].place);
        source->stream_ended[d] = now->items[d].ended;
        credits[d] = now->items[d].credit;
    }
    source->step = now->step;
    source->first_row = now->first_row;
    source->rows = now->rows;
    source->rest = now->rest;
    source->ended = now->ended;
    source->met_end = now->met_end;
    source->window_number = now->pack_window;
    source->skip = now->served;
    if (now->stage != LEAT_STAGE_NONE) {
        leat_work_source_use_stage(source, now->stage, credits);
    }
    leat_free(credits);
}

static void find_last_stages(leat_work_source *source)
{
    for (uint32_t d = 0; d < source->datasets; d++) {
        uint32_t stage = LEAT_STAGE_OWN + (uint32_t)source->spec.stage_count;
        while (stage > LEAT_STAGE_NONE && weight_in(&source->spec, stage, d) == 0) {
            stage--;
        }
        source->last_stages[d] = stage;
    }
}

leat_status leat_work_source_open(leat_work_source **out, const leat_plan_spec *spec,
                                  leat_bytes cursor, leat_error *error)
{
    *out = NULL;
    leat_status status = leat_plan_spec_check(spec, error);
    if (status != LEAT_OK) {
        return status;
    }
    leat_work_source *source = leat_alloc(1, sizeof *source);
    copy_spec(&source->spec, spec);
    source->datasets = (uint32_t)spec->dataset_count;
    source->streams = leat_alloc(source->datasets, sizeof *source->streams);
    source->stream_ended = leat_alloc(source->datasets, sizeof *source->stream_ended);
    source->last_stages = leat_alloc(source->datasets, sizeof *source->last_stages);
    source->weights = leat_alloc(source->datasets, sizeof *source->weights);
    source->now.items = leat_alloc(source->datasets, sizeof *source->now.items);
    source->opening.items = leat_alloc(source->datasets, sizeof *source->opening.items);
    leat_mixture_init(&source->mixture, source->datasets);
    if (spec->packing == LEAT_PACKING_BEST_FIT) {
        leat_packing_window_init(&source->window, &source->spec);
    }
    find_last_stages(source);
    if (cursor.data != NULL) {
        LEAT_TRY(leat_plan_state_read(&source->now, &source->spec, cursor, error));
    }
    begin_at_now(source);
    *out = source;
    source = NULL;
done:
    leat_work_source_close(source);
    return status;
}

void leat_work_source_close(leat_work_source *source)
{
    if (source == NULL) {
        return;
    }
    for (uint32_t d = 0; d < source->datasets; d++) {
        leat_stream_deinit(&source->streams[d]);
    }
    leat_stream_scratch_deinit(&source->scratch);
    leat_mixture_deinit(&source->mixture);
    leat_packing_window_deinit(&source->window);
    leat_free(source->streams);
    leat_free(source->stream_ended);
    leat_free(source->last_stages);
    leat_free(source->weights);
    leat_free(source->now.items);
    leat_free(source->opening.items);
    release_spec(&source->spec);
    leat_free(source);
}

void leat_work_source_feed(leat_work_source *source, uint32_t dataset, uint64_t position,
                           const uint64_t *counts, size_t count)
{
    LEAT_ASSERT(dataset < source->datasets && position == source->streams[dataset].fed);
    leat_stream_feed(&source->streams[dataset], counts, count);
}

uint64_t leat_work_source_fed(const leat_work_source *source, uint32_t dataset)
{
    return source->streams[dataset].fed;
}

uint64_t leat_work_source_stream_end(const leat_work_source *source, uint32_t dataset)
{
    return source->streams[dataset].end;
}

uint64_t leat_work_source_ahead_tokens(const leat_work_source *source, uint32_t dataset)
{
    return source->streams[dataset].ahead;
}

int leat_work_source_live(const leat_work_source *source, uint32_t dataset)
{
    return !source->ended && !source->stream_ended[dataset] &&
           source->last_stages[dataset] >= leat_work_source_stage(source);
}

uint64_t leat_work_source_weight(const leat_work_source *source, uint32_t dataset)
{
    return source->stream_ended[dataset]
               ? 0
               : weight_in(&source->spec, leat_work_source_stage(source), dataset);
}

void leat_work_source_cursor(const leat_work_source *source, leat_buffer *out)
{
    leat_plan_state_write(&source->now, &source->spec, out);
}

uint64_t leat_work_source_step(const leat_work_source *source)
{
    return source->step;
}

uint64_t leat_work_source_low(const leat_work_source *source, uint32_t dataset)
{
    uint64_t low = source->now.items[dataset].place.position;
    const leat_plan_rest *rest = &source->now.rest;
    return rest->start != rest->end && rest->dataset == dataset && rest->position < low
               ? rest->position
               : low;
}

leat_plan_ending leat_work_source_ending(const leat_work_source *source)
{
    return source->ending;
}
