/* stream.h: one dataset's stream of pieces (docs/plan.md, sections 3 and 4): a queue of token counts that were fed, cut into
 * pieces and windows of pieces, each window in its own order.  A stream is at a place that its four numbers describe in
 * full (leat_stream_place): with the counts from there on it gives the same pieces again. */
#ifndef LEAT_PLAN_STREAM_H
#define LEAT_PLAN_STREAM_H
#include "plan/spec.h"

typedef struct leat_piece {
    uint64_t position, start; /* the document's stream position; first token in the document */
    uint32_t length;
    bool last; /* holds the document's last token */
} leat_piece;

/* Where the current piece window begins, its number, and the pieces taken from it.  In normal form taken is less than the
 * window's pieces: a window of which all were taken is the beginning of the next one. */
typedef struct leat_stream_place {
    uint64_t position, offset, window, taken;
} leat_stream_place;

typedef enum leat_stream_state {
    LEAT_STREAM_READY,
    LEAT_STREAM_NEED,      /* the count at stream->scan_position is missing */
    LEAT_STREAM_ENDED,     /* no further piece */
    LEAT_STREAM_NO_TOKENS, /* a whole epoch has none */
    LEAT_STREAM_BAD,       /* the count at stream->scan_position was fed as bad */
    LEAT_STREAM_MISPLACED  /* the place it was opened at does not exist in these documents */
} leat_stream_state;

typedef struct leat_stream_wide {
    uint64_t position, count;
} leat_stream_wide;

typedef struct leat_stream {
    const leat_plan_dataset *dataset;
    uint64_t seed, piece, end; /* end: first stream position past the stream */
    bool truncate;
    /* counts of the documents from scan_position to fed - 1; one of 2^32 - 1 or more stands in `wides` */
    uint32_t *counts;
    size_t head, tail, capacity;
    leat_stream_wide *wides;
    size_t wide_head, wide_tail, wide_capacity;
    uint64_t fed;
    /* the window: `whole` once it is closed and in its order */
    leat_piece *pieces;
    size_t piece_count, piece_capacity;
    uint64_t window_tokens;
    bool whole;
    leat_stream_place
        place; /* where the window begins; of a window not whole, `taken` is what the cursor said */
    uint64_t next_position, next_offset; /* behind the window's last piece */
    uint64_t scan_position, scan_offset; /* how far counts were looked at */
    uint64_t epoch_end;                  /* of the epoch of scan_position */
    bool epoch_has_tokens, misplaced;
    uint64_t ahead; /* tokens fed and not taken, modulo 2^64 */
} leat_stream;

/* Shared by the streams of a work source: room to put a window in order. */
typedef struct leat_stream_scratch {
    uint64_t *places;
    leat_piece *pieces;
    size_t place_capacity, piece_capacity;
} leat_stream_scratch;
void leat_stream_scratch_deinit(leat_stream_scratch *scratch);

/* place.position ≤ the stream's end, or below 2^62 where it has none; place.offset below 2^56. */
void leat_stream_init(leat_stream *stream, const leat_plan_spec *spec,
                      const leat_plan_dataset *dataset, leat_stream_place place);
void leat_stream_deinit(leat_stream *stream);
/* Counts of the documents from stream->fed on; not past the stream's end. */
void leat_stream_feed(leat_stream *stream, const uint64_t *counts, size_t count);
/* READY: there is a piece to take.  Anything else leaves the place as it was. */
leat_stream_state leat_stream_ready(leat_stream *stream, leat_stream_scratch *scratch);
/* After READY. */
const leat_piece *leat_stream_take(leat_stream *stream);
/* In normal form. */
leat_stream_place leat_stream_place_of(const leat_stream *stream);
#endif
