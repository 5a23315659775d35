/* state.h: the inside of a feed, shared by the files of this folder.
 *
 * Fields under "driver" belong to the thread that drives the feed; the ones under "shared" are met by the trainer's thread
 * too and are guarded by `mutex` unless they are atomic. */
#ifndef LEAT_FEED_STATE_H
#define LEAT_FEED_STATE_H
#include "digest/digest.h"
#include "feed/feed.h"
#include "feed/live.h"
#include "feed/pool.h"
#include "plan/order.h"
#include <pthread.h>
#include <stdatomic.h>

enum {
    LEAT_CURSORS_KEPT = 64,
    LEAT_DIGESTS_KEPT = 128,
    LEAT_HEAD_BYTES = 40,
    LEAT_ROUNDS_AHEAD = 2
};
enum { LEAT_VERDICT_BYTES = LEAT_ERROR_BYTES + 8 };
#define LEAT_COUNT_BAD_WIRE UINT32_MAX /* 4 bytes a document in a gather */
#define LEAT_NO_STEP UINT64_MAX

/* One document of a round, in the order of places: the order in which shares are cut. */
typedef struct leat_round_item {
    leat_place place;
    uint64_t position;
    uint32_t dataset;
    bool set_apart; /* by holdout: no tokens, nothing is read */
} leat_round_item;

/* A stretch of a dataset's stream that a round counts. */
typedef struct leat_round_stretch {
    uint32_t dataset;
    uint64_t from, count;
    uint64_t bytes;
} leat_round_stretch;

/* A round of look-ahead: what is counted between two ticks. */
typedef struct leat_round {
    leat_round_item *items;
    leat_round_stretch *stretches;
    uint32_t *counts;     /* [item_count], of all ranks once gathered */
    uint64_t *share_ends; /* [ranks] index behind each rank's last item */
    size_t item_count, item_capacity, stretch_count, stretch_capacity, count_capacity;
    uint64_t bytes;
    size_t tasks_left; /* of this rank's share */
} leat_round;

typedef enum leat_slot_state {
    LEAT_SLOT_FREE,
    LEAT_SLOT_PLANNED,
    LEAT_SLOT_ASSEMBLING,
    LEAT_SLOT_READY
} leat_slot_state;

typedef struct leat_parcel leat_parcel;

/* Where the tokens of a segment come from. */
typedef struct leat_slot_source {
    const uint32_t *tokens; /* first token of the segment; NULL: not here yet, or token data */
    leat_parcel *parcel;    /* they come, or came, in this message; NULL: they are tokenized here */
    uint64_t position;
} leat_slot_source;

/* One batch of the ring: this rank's slice of a step. */
typedef struct leat_slot {
    leat_slot_state state; /* driver; the trainer learns of READY by `ready_steps` */
    uint64_t step, global_rows, first_row, rows, missing, tasks_left;
    uint32_t *tokens;
    uint8_t *digests; /* [rows · 32] */
    leat_batch_segment *segments;
    leat_slot_source *sources;
    uint64_t *row_segments; /* [rows] */
    uint64_t *dataset_tokens, *lows;
    uint64_t total_tokens;
    size_t segment_count, segment_capacity, source_capacity;
} leat_slot;

/* A step whose digests are to be gathered. */
typedef struct leat_digest_item {
    uint64_t tick, step, rows, tokens;
} leat_digest_item;

typedef struct leat_feed_counters {
    atomic_uint_fast64_t read_ns, tokenize_ns, assemble_ns, document_bytes,
        tokenized_documents; /* relaxed: statistics */
} leat_feed_counters;

struct leat_feed {
    leat_feed_options options;
    leat_wire *wire;
    const leat_plan_spec *spec;
    bool threaded, all_threaded;
    uint64_t slot_count, window; /* steps between ticks */
    uint64_t row_capacity;       /* rows of the largest slice */

    /* driver: plan and look-ahead */
    leat_work_source *source;
    leat_step_plan plan;
    leat_order **orders;        /* [datasets] */
    leat_corpus_reader *reader; /* for places */
    leat_live live;
    leat_pool *pool;
    uint64_t tasks_out; /* submitted and not collected */
    leat_round rounds[LEAT_ROUNDS_AHEAD];
    uint64_t *asked;       /* [datasets] stream position behind the last round's stretch */
    uint64_t *asked_bytes; /* [datasets] bytes in rounds that are not gathered yet */
    uint64_t *fed_bytes, *fed_tokens, *fed_documents; /* [datasets] totals, for estimates */
    uint64_t *boost; /* [datasets] grows while the plan still needs more */
    bool plan_over;  /* END, REFUSED or options.steps reached */
    bool refused;
    uint64_t planned;                  /* steps before it are planned */
    uint64_t assembled;                /* steps before it are assembled here */
    uint64_t released;                 /* documents that only steps before it need are let go */
    struct leat_exchange *exchange;    /* NULL: every rank tokenizes the documents of its rows */
    leat_slot *slots;                  /* [slot_count] */
    leat_buffer *cursors;              /* [cursor_count] of step s at s mod cursor_count */
    uint64_t cursor_count, cursor_low; /* oldest step whose cursor is held */

    /* driver: ticks */
    uint64_t tick;            /* number of the next one to join */
    bool tick_open, tick_due; /* due: join as soon as the share is done */
    leat_wire_group tick_group;
    uint64_t tick_since_ns, tick_last_ns;
    leat_buffer tick_mine, tick_all;
    uint64_t *tick_sizes, *tick_offsets;
    uint64_t told_consumed; /* in the last head of ours */
    uint64_t min_consumed;  /* of all ranks, as of the last tick */
    bool frozen;
    uint64_t stop_step;
    leat_status local_status; /* this rank's own failure, which it told the others by a poke */
    leat_error local_error;
    leat_error round_error; /* why a count is bad here; status OK: none */
    bool verdict_open;
    leat_wire_group verdict_group;
    leat_buffer verdict_all;
    uint8_t verdict_mine[LEAT_VERDICT_BYTES];
    uint64_t *verdict_sizes, *verdict_offsets;

    /* driver: digests */
    leat_digest_item *digest_items;
    size_t digest_count, digest_capacity;
    leat_buffer digest_mine;           /* this rank's row digests of all items, in order */
    leat_buffer digest_dataset_tokens; /* u64 [items][datasets], host order */
    leat_buffer digest_all, digest_sent;
    uint64_t *digest_sizes, *digest_offsets, *digest_at;
    size_t digest_under_way; /* items in the open gather */
    leat_wire_group digest_group;
    bool digest_open;
    uint64_t digest_queued; /* steps before it are queued */
    leat_sha256 *hash;
    uint8_t chain[32];
    leat_buffer batch_rows;

    leat_feed_counters counters;

    /* shared */
    pthread_mutex_t mutex;
    pthread_cond_t driver_wake, trainer_wake;
    pthread_t thread;
    bool thread_runs;
    bool wake_pending; /* an event for the driver since it last looked */
    bool closing;
    uint64_t ready_steps;     /* steps before it are READY */
    uint64_t taken, consumed; /* steps handed out, given back */
    bool hold;                /* next hands nothing out (a stop is being agreed) */
    uint64_t end_step;        /* no batch from this step on; LEAT_NO_STEP: not known */
    bool ended_by_stop;
    leat_status verdict; /* of the whole job; next gives it at step `error_step` */
    leat_error error;
    uint64_t error_step;
    uint64_t join_limit;      /* ticks from this one on are not joined */
    uint64_t joined, settled; /* ticks joined; ticks that ended */
    bool messages_idle;       /* no digest queued or under way, no parcel under way */
    bool flush;               /* somebody waits for digests: ticks are joined at once */
    bool waiting;             /* the trainer waits in next */
    uint64_t digested;        /* steps before it have a digest */
    uint8_t (*digests)[64];   /* [LEAT_DIGESTS_KEPT] batch and chain */
    struct {
        bool asked, open, done;
        const void *mine;
        void *all;
        leat_wire_group group;
        uint64_t *sizes, *offsets;
    } call;
    uint64_t wait_ns;
    atomic_bool verdict_done, wire_failed; /* written by the driver */
    atomic_bool stop;                      /* set by leat_feed_stop, also in signal handlers */
};

/* drive.c */
void leat_feed_wake_driver(leat_feed *feed);
/* The job has failed; next gives `error` from step `step` on.  The first verdict stays. */
void leat_feed_fail(leat_feed *feed, const leat_error *error, uint64_t step);
/* This rank has failed and cannot deliver `step`: tells the others, and all agree on the reason. */
void leat_feed_fail_here(leat_feed *feed, const leat_error *error, uint64_t step);

/* round.c: defines the next round from the plan's state, deals it and starts this rank's share. */
leat_status leat_round_begin(leat_feed *feed, leat_round *round, leat_error *error) LEAT_MUST_USE;
/* Feeds the plan with the counts of a gathered round. */
void leat_round_feed(leat_feed *feed, leat_round *round);
void leat_round_deinit(leat_round *round);

/* tasks.c */
/* Tokenizes `count` documents of one dataset; round NULL: for rows of this rank. */
void leat_feed_tokenize(leat_feed *feed, leat_round *round, const leat_round_item *items,
                        size_t count);
void leat_feed_assemble(leat_feed *feed, leat_slot *slot, uint64_t first, uint64_t end);
/* Tasks that were never collected. */
void leat_feed_free_tasks(leat_task *list);
/* Takes in what workers have finished; true where something was. */
bool leat_feed_collect(leat_feed *feed);

/* steps.c */
/* Plans all steps that the last tick allows. */
void leat_steps_plan(leat_feed *feed);
/* Starts the assembly of planned steps whose documents are here. */
void leat_steps_advance(leat_feed *feed);
void leat_steps_slot_assembled(leat_feed *feed, leat_slot *slot);

/* Asks for a document whose tokens are not here; false where they are on the way already or were asked for. */
bool leat_steps_fetch(leat_feed *feed, uint32_t dataset, uint64_t position);

/* exchange.c */
void leat_exchange_open(leat_feed *feed);
void leat_exchange_close(leat_feed *feed);
/* Notes what the rows of a step just planned make this rank send; before leat_exchange_post. */
void leat_exchange_plan(leat_feed *feed, const leat_step_plan *plan);
/* A segment of a slot comes in a message from `owner`; called in the order of this rank's segments. */
void leat_exchange_expect(leat_feed *feed, leat_slot *slot, size_t segment, int owner);
/* All steps of a tick are noted: receives are posted, sends as soon as their tokens are here. */
void leat_exchange_post(leat_feed *feed);
/* Posts what can be sent, takes in what has come; true where anything moved. */
bool leat_exchange_advance(leat_feed *feed);
/* A row that uses the parcel's tokens is assembled: one use less. */
void leat_exchange_used(leat_feed *feed, leat_parcel *parcel);
/* What this rank owes to the rows of all steps before it is sent. */
uint64_t leat_exchange_sent(const leat_feed *feed);
/* Is a message under way? */
bool leat_exchange_under_way(const leat_feed *feed);

/* tick.c */
/* 8 bytes that stand for the whole state of the plan. */
uint64_t leat_tick_plan_digest(leat_feed *feed);
void leat_tick_advance(leat_feed *feed);
/* Begins the agreement on an error that all ranks know of. */
void leat_verdict_begin(leat_feed *feed, uint64_t step);
/* Takes the verdict where all ranks have brought theirs. */
void leat_verdict_take(leat_feed *feed);

/* digests.c */
void leat_digests_queue(leat_feed *feed, uint64_t until);
void leat_digests_advance(leat_feed *feed);
#endif
