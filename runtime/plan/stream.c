#include "plan/stream.h"
#include "base/arith.h"
#include "base/memory.h"
#include "plan/permute.h"
#include <string.h>

/* A count from here on is no document's (2^30 bytes of text give fewer tokens by far): it counts as bad, so that places in
 * documents and sums of them cannot wrap. */
static const uint64_t count_end = (uint64_t)1 << 56;

void leat_stream_scratch_deinit(leat_stream_scratch *scratch)
{
    leat_free(scratch->places);
    leat_free(scratch->pieces);
    *scratch = (leat_stream_scratch){0};
}

void leat_stream_init(leat_stream *stream, const leat_plan_spec *spec,
                      const leat_plan_dataset *dataset, leat_stream_place place)
{
    *stream = (leat_stream){.dataset = dataset,
                            .seed = spec->seed,
                            .piece = spec->piece,
                            .truncate = spec->truncate,
                            .end = leat_plan_stream_end(dataset),
                            .place = place,
                            .fed = place.position,
                            .next_position = place.position,
                            .next_offset = place.offset,
                            .scan_position = place.position,
                            .scan_offset = place.offset};
    if (dataset->documents > 0) {
        stream->epoch_end = (place.position / dataset->documents + 1) * dataset->documents;
        /* A window that begins inside an epoch begins behind a piece of it. */
        stream->epoch_has_tokens = place.position % dataset->documents != 0 || place.offset > 0;
    }
}

void leat_stream_deinit(leat_stream *stream)
{
    leat_free(stream->counts);
    leat_free(stream->wides);
    leat_free(stream->pieces);
    *stream = (leat_stream){0};
}

static uint64_t used_tokens(const leat_stream *stream, uint64_t count)
{
    return stream->truncate ? leat_min_u64(count, stream->piece) : count;
}

static void make_room(leat_stream *stream, size_t count)
{
    if (stream->tail + count <= stream->capacity) {
        return;
    }
    if (stream->head > 0) {
        memmove(stream->counts, stream->counts + stream->head,
                (stream->tail - stream->head) * sizeof *stream->counts);
        stream->tail -= stream->head;
        stream->head = 0;
    }
    /* At least half stays free, so that a document is moved a bounded number of times on average. */
    LEAT_GROW(stream->counts, stream->capacity, 2 * (stream->tail + count));
}

static void add_wide(leat_stream *stream, uint64_t position, uint64_t count)
{
    if (stream->wide_head == stream->wide_tail) {
        stream->wide_head = stream->wide_tail = 0;
    }
    LEAT_GROW(stream->wides, stream->wide_capacity, stream->wide_tail + 1);
    stream->wides[stream->wide_tail++] = (leat_stream_wide){position, count};
}

void leat_stream_feed(leat_stream *stream, const uint64_t *counts, size_t count)
{
    LEAT_ASSERT(count <= stream->end - stream->fed);
    make_room(stream, count);
    uint32_t *to = stream->counts + stream->tail;
    for (size_t i = 0; i < count; i++) {
        uint64_t tokens = counts[i] < count_end ? counts[i] : LEAT_COUNT_BAD, skipped = 0;
        to[i] = tokens < UINT32_MAX ? (uint32_t)tokens : UINT32_MAX;
        if (tokens >= UINT32_MAX) {
            add_wide(stream, stream->fed + i, tokens);
        }
        if (tokens != LEAT_COUNT_BAD) {
            tokens = used_tokens(stream, tokens);
            if (stream->fed + i == stream->place.position) {
                skipped = leat_min_u64(tokens, stream->place.offset);
            }
            stream->ahead += tokens - skipped;
        }
    }
    stream->tail += count;
    stream->fed += count;
}

static uint64_t head_count(const leat_stream *stream)
{
    uint32_t count = stream->counts[stream->head];
    return count < UINT32_MAX ? count : stream->wides[stream->wide_head].count;
}

static void drop_head(leat_stream *stream)
{
    if (stream->counts[stream->head] == UINT32_MAX) {
        stream->wide_head++;
    }
    stream->head++;
    stream->scan_position++;
    stream->scan_offset = 0;
}

/* Puts the window's pieces in the order in which they are drawn. */
static leat_stream_state close_window(leat_stream *stream, leat_stream_scratch *scratch)
{
    size_t count = stream->piece_count;
    if (stream->place.taken >= count) {
        stream->misplaced = true;
        return LEAT_STREAM_MISPLACED;
    }
    if (count > 1) {
        leat_permutation permutation;
        uint64_t key =
            leat_plan_key(stream->seed, "pieces", stream->dataset->name, stream->place.window);
        leat_permutation_init(&permutation, key, count);
        LEAT_GROW(scratch->places, scratch->place_capacity, count);
        LEAT_GROW(scratch->pieces, scratch->piece_capacity, count);
        for (size_t j = 0; j < count; j++) {
            scratch->places[j] = j;
        }
        leat_permutation_apply(&permutation, scratch->places, count);
        for (size_t j = 0; j < count; j++) {
            scratch->pieces[j] = stream->pieces[scratch->places[j]];
        }
        memcpy(stream->pieces, scratch->pieces, count * sizeof *stream->pieces);
    }
    for (size_t j = 0; j < stream->place.taken; j++) {
        stream->ahead -= stream->pieces[j].length;
    }
    stream->whole = true;
    return LEAT_STREAM_READY;
}

/* Cuts the document at the head of the queue, as far as the window takes it.  true: the window is full. */
static bool cut_document(leat_stream *stream, uint64_t tokens)
{
    const leat_plan_dataset *dataset = stream->dataset;
    while (stream->scan_offset < tokens) {
        uint64_t length = leat_min_u64(stream->piece, tokens - stream->scan_offset);
        LEAT_GROW(stream->pieces, stream->piece_capacity, stream->piece_count + 1);
        stream->pieces[stream->piece_count++] =
            (leat_piece){stream->scan_position, stream->scan_offset, (uint32_t)length,
                         stream->scan_offset + length == tokens};
        stream->window_tokens += length;
        stream->scan_offset += length;
        stream->epoch_has_tokens = true;
        bool done = stream->scan_offset == tokens;
        stream->next_position = stream->scan_position + done;
        stream->next_offset = done ? 0 : stream->scan_offset;
        if (stream->piece_count >= dataset->piece_window ||
            stream->window_tokens >= dataset->window_tokens) {
            if (done) {
                drop_head(stream);
            }
            return true;
        }
    }
    drop_head(stream);
    return false;
}

static void begin_next_window(leat_stream *stream)
{
    stream->place = (leat_stream_place){stream->next_position, stream->next_offset,
                                        stream->place.window + 1, 0};
    stream->piece_count = 0;
    stream->window_tokens = 0;
    stream->whole = false;
}

leat_stream_state leat_stream_ready(leat_stream *stream, leat_stream_scratch *scratch)
{
    if (stream->whole) {
        if (stream->place.taken < stream->piece_count) {
            return LEAT_STREAM_READY;
        }
        begin_next_window(stream);
    }
    if (stream->misplaced) {
        return LEAT_STREAM_MISPLACED;
    }
    if (stream->dataset->documents == 0) {
        return LEAT_STREAM_NO_TOKENS;
    }
    for (;;) {
        if (stream->scan_position == stream->epoch_end) {
            if (!stream->epoch_has_tokens) {
                return LEAT_STREAM_NO_TOKENS;
            }
            stream->epoch_has_tokens = false;
            stream->epoch_end += stream->dataset->documents;
            if (stream->piece_count > 0) {
                return close_window(stream, scratch);
            }
        }
        if (stream->scan_position >= stream->end) {
            return stream->place.taken > 0 ? LEAT_STREAM_MISPLACED : LEAT_STREAM_ENDED;
        }
        if (stream->head == stream->tail) {
            return LEAT_STREAM_NEED;
        }
        uint64_t tokens = head_count(stream);
        if (tokens == LEAT_COUNT_BAD) {
            return LEAT_STREAM_BAD;
        }
        tokens = used_tokens(stream, tokens);
        if (stream->scan_offset > 0 && stream->scan_offset >= tokens) {
            stream->misplaced = true;
            return LEAT_STREAM_MISPLACED;
        }
        if (cut_document(stream, tokens)) {
            return close_window(stream, scratch);
        }
    }
}

const leat_piece *leat_stream_take(leat_stream *stream)
{
    const leat_piece *piece = &stream->pieces[stream->place.taken++];
    stream->ahead -= piece->length;
    return piece;
}

leat_stream_place leat_stream_place_of(const leat_stream *stream)
{
    if (stream->whole && stream->place.taken == stream->piece_count) {
        return (leat_stream_place){stream->next_position, stream->next_offset,
                                   stream->place.window + 1, 0};
    }
    return stream->place;
}
