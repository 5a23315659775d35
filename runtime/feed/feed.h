/* feed.h: from the plan to batches in a ring, on one rank of many.
 *
 *     plan needs counts -> rounds of documents, dealt over the ranks -> counts gathered in ticks -> steps planned
 *     -> documents of this rank's rows (kept from counting, else tokenized again) -> rows in the ring, hashed
 *     -> next/done -> row digests gathered -> batch digest and chain -> `on_step` on every rank
 *
 * All decisions follow from the plan, from the job and from what ticks carried to all ranks alike; never from arrival, time
 * or the fill of a ring.  One state machine (leat_feed_poll) does it all: a loader thread runs it where the wire allows, else
 * the caller's thread does, inside the functions below.  Nothing waits inside the wire. */
#ifndef LEAT_FEED_FEED_H
#define LEAT_FEED_FEED_H
#include "base/log.h"
#include "collectives/wire.h"
#include "io/index/corpus.h"
#include "leat.h"
#include "plan/work_source.h"
#include "tokenize/tokenizer.h"

typedef struct leat_feed leat_feed;

/* What is known of a step once all ranks are done with it. */
typedef struct leat_feed_step {
    uint64_t step, rows, tokens;
    const uint64_t *dataset_tokens; /* [datasets] */
    uint8_t batch[32], chain[32];
} leat_feed_step;

typedef struct leat_feed_options {
    leat_wire *wire;
    const leat_plan_spec
        *spec; /* kept by the caller while the feed is open, and what it points to */
    leat_corpus *corpus;
    const leat_tokenizer *tokenizer; /* NULL where no dataset is text */
    bool has_bos, has_eos;
    uint32_t bos, eos, pad_id;
    uint32_t vocabulary;     /* ids of token data must be below; 0: not checked */
    const bool *add_special; /* [datasets] token data gets bos and eos too */
    bool skip_bad;           /* bad_records: skip */
    leat_bytes cursor;       /* of the step to go on from; size 0: the start */
    uint64_t deliver_from;   /* steps before it are planned, not delivered */
    uint8_t chain[32];       /* before step deliver_from */
    uint64_t steps;          /* end before this step; UINT64_MAX: none */
    uint32_t threads;
    uint32_t look_ahead; /* windows; 0: 3 */
    leat_progress progress;
    int slice, slices;        /* slice -1: no rows */
    bool exchange;            /* tokens go from who counted a document to whose rows need it */
    const int *rank_slices;   /* [ranks] slice of every rank, -1: none */
    const int *slice_owner;   /* [slices] rank that gives the digests of each slice */
    uint64_t token_bytes_max; /* 0: 512 MiB */
    uint64_t timeout_ns;
    const leat_log *log;
    /* On the thread that drives the feed, steps in order, on every rank; a failure ends the run on all ranks. */
    leat_status (*on_step)(void *context, const leat_feed_step *step, leat_error *error);
    void *context;
} leat_feed_options;

/* COLLECTIVE. */
leat_status leat_feed_open(leat_feed **out, const leat_feed_options *options,
                           leat_error *error) LEAT_MUST_USE;
leat_status leat_feed_next(leat_feed *feed, leat_batch *batch, leat_error *error) LEAT_MUST_USE;
void leat_feed_done(leat_feed *feed, const leat_batch *batch);
leat_status leat_feed_poll(leat_feed *feed, leat_error *error) LEAT_MUST_USE;
/* COLLECTIVE.  Waits until all steps before `step` are digested and given to on_step. */
leat_status leat_feed_flush(leat_feed *feed, uint64_t step, leat_error *error) LEAT_MUST_USE;
/* COLLECTIVE.  Every rank's `bytes` bytes to all ranks. */
leat_status leat_feed_gather(leat_feed *feed, const void *mine, void *all, uint64_t bytes,
                             leat_error *error) LEAT_MUST_USE;
/* COLLECTIVE.  One verdict of all ranks' statuses. */
leat_status leat_feed_agree(leat_feed *feed, leat_status mine, leat_error *error) LEAT_MUST_USE;
/* Cursor bytes of any of the last 64 steps or the next one.  NOT_FOUND otherwise.  Replaces the buffer's content. */
leat_status leat_feed_cursor(leat_feed *feed, uint64_t step, leat_buffer *out,
                             leat_error *error) LEAT_MUST_USE;
leat_status leat_feed_digest(leat_feed *feed, uint64_t step, uint8_t batch[32], uint8_t chain[32],
                             leat_error *error) LEAT_MUST_USE;
void leat_feed_stop(leat_feed *feed);
bool leat_feed_stopped(leat_feed *feed);
uint64_t leat_feed_datasets(const leat_feed *feed);
uint64_t leat_feed_step_next(const leat_feed *feed);
leat_loader_figures leat_feed_measure(leat_feed *feed);
/* `gently`: COLLECTIVE, flushes; else LOCAL. */
void leat_feed_close(leat_feed *feed, bool gently);
#endif
