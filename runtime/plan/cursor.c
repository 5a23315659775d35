#include "plan/cursor.h"
#include "base/sha256.h"
#include "plan/state.h"
#include <inttypes.h>

static const char magic[8] = {'L', 'E', 'A', 'T', 'C', 'U', 'R', '1'};
enum { HEAD_BYTES = 124, ITEM_BYTES = 40, CHECK_BYTES = 8 };
enum { FLAG_ENDED = 1, FLAG_MET_END = 2, FLAG_REST = 4 };
static const uint64_t item_ended = (uint64_t)1 << 63; /* in the field of the offset */

void leat_plan_state_write(const leat_plan_state *state, const leat_plan_spec *spec,
                           leat_buffer *out)
{
    leat_buffer_clear(out);
    leat_buffer_add(out, magic, sizeof magic);
    leat_buffer_add_u32(out, LEAT_PLAN_VERSION);
    leat_buffer_add(out, spec->digest, sizeof spec->digest);
    leat_buffer_add_u64(out, state->step);
    leat_buffer_add_u64(out, state->first_row);
    leat_buffer_add_u32(out, (uint32_t)spec->dataset_count);
    bool has_rest = state->rest.start != state->rest.end;
    leat_buffer_add_u32(out, (state->ended ? FLAG_ENDED : 0u) |
                                 (state->met_end ? FLAG_MET_END : 0u) |
                                 (has_rest ? FLAG_REST : 0u));
    leat_buffer_add_u32(out, state->stage);
    leat_buffer_add_u64(out, state->rows);
    leat_buffer_add_u32(out, state->rest.dataset);
    leat_buffer_add_u64(out, state->rest.position);
    leat_buffer_add_u64(out, state->rest.start);
    leat_buffer_add_u64(out, state->rest.end);
    leat_buffer_add_u64(out, state->pack_window);
    leat_buffer_add_u64(out, state->served);
    LEAT_ASSERT(out->size == HEAD_BYTES);
    uint8_t *at = leat_buffer_extend(out, spec->dataset_count * ITEM_BYTES);
    for (uint64_t d = 0; d < spec->dataset_count; d++, at += ITEM_BYTES) {
        const leat_plan_item *item = &state->items[d];
        leat_put_u64(at, item->place.position);
        leat_put_u64(at + 8, item->place.offset | (item->ended ? item_ended : 0));
        leat_put_u64(at + 16, item->place.window);
        leat_put_u64(at + 24, item->place.taken);
        leat_put_u64(at + 32, (uint64_t)item->credit);
    }
    uint8_t digest[LEAT_SHA256_BYTES];
    leat_sha256_of(out->data, out->size, digest);
    leat_buffer_add(out, digest, CHECK_BYTES);
}

/* Magic and size, not the check sum. */
static leat_status check_frame(leat_bytes cursor, uint32_t *datasets, leat_error *error)
{
    if (cursor.size < HEAD_BYTES + CHECK_BYTES || memcmp(cursor.data, magic, sizeof magic) != 0) {
        LEAT_FAIL(error, LEAT_CORRUPT, "these bytes are not a cursor");
        leat_error_found(error, "%zu bytes%s", cursor.size,
                         cursor.size >= sizeof magic &&
                                 memcmp(cursor.data, magic, sizeof magic) == 0
                             ? ""
                             : " that do not begin with LEATCUR1");
        leat_error_wanted(error, "at least %d bytes that begin with LEATCUR1",
                          HEAD_BYTES + CHECK_BYTES);
        leat_error_hint(error, "use another checkpoint, or resume at a step that was logged");
        return error->status;
    }
    if (leat_get_u32(cursor.data + 8) != LEAT_PLAN_VERSION) {
        return LEAT_OK; /* its size may follow another rule */
    }
    *datasets = leat_get_u32(cursor.data + 60);
    uint64_t size = HEAD_BYTES + (uint64_t)*datasets * ITEM_BYTES + CHECK_BYTES;
    if (cursor.size != size) {
        LEAT_FAIL(error, LEAT_CORRUPT, "the cursor has a wrong size");
        leat_error_found(error, "%zu bytes", cursor.size);
        leat_error_wanted(error, "%" PRIu64 " bytes for %" PRIu32 " datasets", size, *datasets);
        leat_error_hint(error, "use another checkpoint, or resume at a step that was logged");
        return error->status;
    }
    return LEAT_OK;
}

leat_status leat_cursor_inspect(leat_bytes cursor, leat_cursor_info *out, leat_error *error)
{
    *out = (leat_cursor_info){0};
    leat_cursor_info info = {0};
    leat_status status = check_frame(cursor, &info.datasets, error);
    if (status != LEAT_OK) {
        return status;
    }
    uint8_t digest[LEAT_SHA256_BYTES];
    leat_sha256_of(cursor.data, cursor.size - CHECK_BYTES, digest);
    if (memcmp(digest, cursor.data + cursor.size - CHECK_BYTES, CHECK_BYTES) != 0) {
        LEAT_FAIL(error, LEAT_CORRUPT, "the cursor's check sum is wrong");
        leat_error_hint(error, "use another checkpoint, or resume at a step that was logged");
        return error->status;
    }
    leat_reader reader = {cursor.data, cursor.size, sizeof magic, false};
    info.plan_version = leat_reader_u32(&reader);
    if (info.plan_version != LEAT_PLAN_VERSION) {
        LEAT_FAIL(error, LEAT_MISMATCH, "the cursor is of another version of the plan");
        leat_error_found(error, "%" PRIu32, info.plan_version);
        leat_error_wanted(error, "%d", LEAT_PLAN_VERSION);
        leat_error_hint(error, "resume with the leat that wrote it");
        return error->status;
    }
    memcpy(info.digest, leat_reader_take(&reader, sizeof info.digest), sizeof info.digest);
    info.step = leat_reader_u64(&reader);
    info.first_row = leat_reader_u64(&reader);
    leat_reader_u32(&reader); /* datasets */
    uint32_t flags = leat_reader_u32(&reader);
    info.ended = (flags & FLAG_ENDED) != 0;
    info.any_ended = (flags & FLAG_MET_END) != 0;
    *out = info;
    return LEAT_OK;
}

leat_status leat_cursor_dataset(leat_bytes cursor, uint32_t dataset, uint64_t *position,
                                bool *ended, leat_error *error)
{
    *position = 0;
    *ended = false;
    uint32_t datasets = 0;
    leat_status status = check_frame(cursor, &datasets, error);
    if (status != LEAT_OK) {
        return status;
    }
    if (dataset >= datasets) {
        LEAT_FAIL(error, LEAT_MISMATCH, "the cursor has no dataset of that number");
        leat_error_found(error, "dataset %" PRIu32, dataset);
        leat_error_wanted(error, "below %" PRIu32, datasets);
        return error->status;
    }
    const uint8_t *item = cursor.data + HEAD_BYTES + (size_t)dataset * ITEM_BYTES;
    *position = leat_get_u64(item);
    *ended = (leat_get_u64(item + 8) & item_ended) != 0;
    return LEAT_OK;
}

/* What a rule of the cursor forbids; `what` names it. */
static leat_status refuse(leat_error *error, const char *what, uint64_t found)
{
    LEAT_FAIL(error, LEAT_CORRUPT, "the cursor does not fit this plan: %s", what);
    leat_error_found(error, "%" PRIu64, found);
    leat_error_hint(error, "use another checkpoint, or resume at a step that was logged");
    return error->status;
}

static leat_status check_rest(const leat_plan_state *state, const leat_plan_spec *spec,
                              bool has_rest, leat_error *error)
{
    const leat_plan_rest *rest = &state->rest;
    if (!has_rest) {
        bool clear =
            rest->dataset == 0 && rest->position == 0 && rest->start == 0 && rest->end == 0;
        return clear ? LEAT_OK : refuse(error, "rest of a piece where there is none", rest->end);
    }
    if (spec->packing != LEAT_PACKING_CONCAT || state->ended) {
        return refuse(error, "rest of a piece with this packing or at the end", rest->end);
    }
    if (rest->dataset >= spec->dataset_count) {
        return refuse(error, "dataset of the unfinished piece", rest->dataset);
    }
    if (rest->start >= rest->end || rest->end >> 56 != 0 || rest->start % spec->piece == 0 ||
        rest->start / spec->piece != (rest->end - 1) / spec->piece ||
        (spec->truncate && rest->end > spec->piece)) {
        return refuse(error, "tokens of the unfinished piece", rest->start);
    }
    const leat_stream_place *place = &state->items[rest->dataset].place;
    bool before = rest->position < place->position ||
                  (rest->position == place->position && rest->start < place->offset);
    if (rest->position >= leat_plan_stream_end(&spec->datasets[rest->dataset]) ||
        rest->position >> 62 != 0 || (place->taken == 0 && !before) ||
        (place->window == 0 && place->taken == 0) || (place->taken > 0 && before)) {
        return refuse(error, "position of the unfinished piece", rest->position);
    }
    return LEAT_OK;
}

static uint64_t stage_weight(const leat_plan_spec *spec, uint32_t stage, uint64_t dataset)
{
    return stage >= LEAT_STAGE_FIRST ? spec->stages[stage - LEAT_STAGE_FIRST].weights[dataset]
                                     : spec->datasets[dataset].weight;
}

/* Credits within the bound that mixture.h proves, 0 where they must be, and of sum 0 while no dataset has ended. */
static leat_status check_credits(const leat_plan_state *state, const leat_plan_spec *spec,
                                 leat_error *error)
{
    __extension__ typedef __int128 wide;
    wide weights = 0, sum = 0;
    bool any_ended = false;
    for (uint64_t d = 0; d < spec->dataset_count; d++) {
        weights += stage_weight(spec, state->stage, d);
        sum += state->items[d].credit;
        any_ended = any_ended || state->items[d].ended;
    }
    wide bound = weights * (wide)spec->piece * ((wide)spec->dataset_count + 1);
    for (uint64_t d = 0; d < spec->dataset_count; d++) {
        int64_t credit = state->items[d].credit;
        bool must_be_0 = state->items[d].ended || state->stage == LEAT_STAGE_NONE ||
                         stage_weight(spec, state->stage, d) == 0;
        if (must_be_0 ? credit != 0 : credit > bound || credit < -bound) {
            return refuse(error, "credit of a dataset", (uint64_t)credit);
        }
    }
    return !any_ended && sum != 0 ? refuse(error, "sum of the credits", (uint64_t)sum) : LEAT_OK;
}

static leat_status check_item(const leat_plan_item *item, const leat_plan_spec *spec,
                              uint64_t dataset, leat_error *error)
{
    uint64_t end = leat_plan_stream_end(&spec->datasets[dataset]);
    const leat_stream_place *place = &item->place;
    if (place->position > end || (end == UINT64_MAX && place->position >> 62 != 0)) {
        return refuse(error, "stream position of a dataset", place->position);
    }
    if (place->offset >> 56 != 0 || place->offset % spec->piece != 0 ||
        (place->offset > 0 && (spec->truncate || place->position == end))) {
        return refuse(error, "token offset of a dataset", place->offset);
    }
    if (place->window >> 62 != 0 ||
        (place->window == 0 && (place->position != 0 || place->offset != 0))) {
        return refuse(error, "piece window of a dataset", place->window);
    }
    if (item->ended && end == UINT64_MAX) {
        return refuse(error, "end of a dataset that has none", place->position);
    }
    if (place->taken > 0 && (place->taken >= spec->datasets[dataset].piece_window ||
                             place->taken >= spec->datasets[dataset].window_tokens ||
                             place->position == end || item->ended)) {
        return refuse(error, "pieces taken from a window", place->taken);
    }
    return LEAT_OK;
}

static leat_status check_state(const leat_plan_state *state, const leat_plan_spec *spec,
                               uint32_t flags, leat_error *error)
{
    bool best_fit = spec->packing == LEAT_PACKING_BEST_FIT, any_ended = false;
    if (flags >> 3 != 0) {
        return refuse(error, "flags", flags);
    }
    if (state->step >> 62 != 0 || state->first_row >> 62 != 0 || state->rows >> 62 != 0) {
        return refuse(error, "step or first row", state->first_row);
    }
    if (state->served >> 31 != 0 || state->pack_window >> 62 != 0 ||
        (!best_fit && (state->served != 0 || state->pack_window != 0)) ||
        (state->served > 0 && state->ended)) {
        return refuse(error, "packing window", state->served);
    }
    /* A last, padded row of concat is given but not completed. */
    uint64_t given = state->rows + state->served;
    bool padded = state->ended && spec->packing == LEAT_PACKING_CONCAT;
    if (given != state->first_row && !(padded && given + 1 == state->first_row)) {
        return refuse(error, "rows completed", state->rows);
    }
    if (state->stage >= LEAT_STAGE_FIRST &&
        (state->stage - LEAT_STAGE_FIRST >= spec->stage_count ||
         spec->stages[state->stage - LEAT_STAGE_FIRST].from_row > state->rows)) {
        return refuse(error, "mixture stage in force", state->stage);
    }
    for (uint64_t d = 0; d < spec->dataset_count; d++) {
        leat_status status = check_item(&state->items[d], spec, d, error);
        if (status != LEAT_OK) {
            leat_error_where(error, "dataset %s", spec->datasets[d].name);
            return status;
        }
        any_ended = any_ended || state->items[d].ended;
    }
    if (any_ended && !state->met_end) {
        return refuse(error, "flags", flags);
    }
    leat_status status = check_rest(state, spec, (flags & FLAG_REST) != 0, error);
    return status == LEAT_OK ? check_credits(state, spec, error) : status;
}

leat_status leat_plan_state_read(leat_plan_state *state, const leat_plan_spec *spec,
                                 leat_bytes cursor, leat_error *error)
{
    leat_cursor_info info;
    leat_status status = leat_cursor_inspect(cursor, &info, error);
    if (status != LEAT_OK) {
        return status;
    }
    if (info.datasets != spec->dataset_count) {
        LEAT_FAIL(error, LEAT_MISMATCH, "the cursor is of a job with other datasets");
        leat_error_found(error, "%" PRIu32 " datasets", info.datasets);
        leat_error_wanted(error, "%" PRIu64 " datasets", spec->dataset_count);
        leat_error_hint(error, "resume with the job file of the run, or fork it");
        return error->status;
    }
    leat_reader reader = {cursor.data, cursor.size, 64, false};
    uint32_t flags = leat_reader_u32(&reader);
    state->step = info.step;
    state->first_row = info.first_row;
    state->ended = info.ended;
    state->met_end = info.any_ended;
    state->stage = leat_reader_u32(&reader);
    state->rows = leat_reader_u64(&reader);
    state->rest.dataset = leat_reader_u32(&reader);
    state->rest.position = leat_reader_u64(&reader);
    state->rest.start = leat_reader_u64(&reader);
    state->rest.end = leat_reader_u64(&reader);
    state->pack_window = leat_reader_u64(&reader);
    state->served = leat_reader_u64(&reader);
    for (uint64_t d = 0; d < spec->dataset_count; d++) {
        leat_plan_item *item = &state->items[d];
        item->place.position = leat_reader_u64(&reader);
        uint64_t offset = leat_reader_u64(&reader);
        item->place.offset = offset & ~item_ended;
        item->ended = (offset & item_ended) != 0;
        item->place.window = leat_reader_u64(&reader);
        item->place.taken = leat_reader_u64(&reader);
        item->credit = (int64_t)leat_reader_u64(&reader);
    }
    LEAT_ASSERT(!reader.failed && reader.at == cursor.size - CHECK_BYTES);
    return check_state(state, spec, flags, error);
}
