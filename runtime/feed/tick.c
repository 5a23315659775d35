/* tick.c: the one gather a window that keeps all ranks at one place: counts, progress, failures, stop wishes.
 *
 * A head, then 4 bytes a document of the rank's share.  After it all ranks hold the same bytes and decide alike. */
#include "base/arith.h"
#include "base/memory.h"
#include "feed/state.h"
#include <inttypes.h>

/* A rank with nothing to say joins all the same, so that a silent rank is one that is gone. */
static const uint64_t LAZY_NS = 1000000000;

enum { HEAD_STOP = 1, HEAD_FROZEN = 2 };

typedef struct tick_head {
    uint64_t tick, plan, taken, consumed, flags;
} tick_head;

static void head_encode(const tick_head *head, uint8_t *at)
{
    const uint64_t fields[] = {head->tick, head->plan, head->taken, head->consumed, head->flags};
    _Static_assert(sizeof fields == LEAT_HEAD_BYTES, "a head is its fields");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        leat_put_u64(at + 8 * i, fields[i]);
    }
}

static tick_head head_decode(const uint8_t *at)
{
    return (tick_head){leat_get_u64(at), leat_get_u64(at + 8), leat_get_u64(at + 16),
                       leat_get_u64(at + 24), leat_get_u64(at + 32)};
}

static leat_round *round_of(leat_feed *feed, uint64_t tick)
{
    return &feed->rounds[tick % LEAT_ROUNDS_AHEAD];
}

static uint64_t share_begin(const leat_round *round, int rank)
{
    return rank == 0 ? 0 : round->share_ends[rank - 1];
}

/* The cursor of the next step stands for the whole state of the plan. */
uint64_t leat_tick_plan_digest(leat_feed *feed)
{
    const leat_buffer *cursor = &feed->cursors[feed->planned % feed->cursor_count];
    return leat_get_u64(cursor->data + cursor->size - 8);
}

static void join(leat_feed *feed)
{
    leat_round *round = round_of(feed, feed->tick);
    tick_head head = {.tick = feed->tick, .plan = leat_tick_plan_digest(feed)};
    pthread_mutex_lock(&feed->mutex);
    head.taken = feed->taken;
    head.consumed = feed->consumed;
    head.flags = (atomic_load_explicit(&feed->stop, memory_order_relaxed) ? HEAD_STOP : 0u) |
                 (feed->hold ? HEAD_FROZEN : 0u);
    feed->told_consumed = head.consumed;
    pthread_mutex_unlock(&feed->mutex);
    leat_buffer_clear(&feed->tick_mine);
    head_encode(&head, leat_buffer_extend(&feed->tick_mine, LEAT_HEAD_BYTES));
    int rank = feed->wire->rank, size = feed->wire->size;
    for (uint64_t i = share_begin(round, rank); i < round->share_ends[rank]; i++) {
        leat_buffer_add_u32(&feed->tick_mine, round->counts[i]);
    }
    uint64_t total = 0;
    for (int r = 0; r < size; r++) {
        feed->tick_sizes[r] = LEAT_HEAD_BYTES + 4 * (round->share_ends[r] - share_begin(round, r));
        feed->tick_offsets[r] = total;
        total += feed->tick_sizes[r];
    }
    leat_buffer_clear(&feed->tick_all);
    leat_buffer_extend(&feed->tick_all, (size_t)total);
    leat_error error;
    leat_status status = feed->wire->ops->gather(feed->wire, &feed->tick_group, LEAT_CHANNEL_TICK,
                                                 feed->tick_mine.data, feed->tick_all.data,
                                                 feed->tick_sizes, feed->tick_offsets, &error);
    feed->tick_open = true;
    feed->tick_due = false;
    feed->tick_since_ns = feed->wire->clock->now_ns(feed->wire->clock->context);
    if (status != LEAT_OK) {
        leat_feed_fail(feed, &error, 0);
    }
}

/* One gather, once: every rank brings its own failure, if it has one, and the first step it cannot deliver. */
void leat_verdict_begin(leat_feed *feed, uint64_t step)
{
    if (feed->verdict_open || feed->verdict_done) {
        return;
    }
    bool local = feed->local_status != LEAT_OK;
    leat_error error = local ? feed->local_error : feed->round_error;
    leat_error_encode(&error, feed->verdict_mine);
    leat_put_u64(feed->verdict_mine + LEAT_ERROR_BYTES, step);
    for (int r = 0; r < feed->wire->size; r++) {
        feed->verdict_sizes[r] = LEAT_VERDICT_BYTES;
        feed->verdict_offsets[r] = (uint64_t)r * LEAT_VERDICT_BYTES;
    }
    leat_buffer_clear(&feed->verdict_all);
    leat_buffer_extend(&feed->verdict_all, (size_t)feed->wire->size * LEAT_VERDICT_BYTES);
    feed->verdict_open = true;
    leat_status status = feed->wire->ops->gather(
        feed->wire, &feed->verdict_group, LEAT_CHANNEL_VERDICT, feed->verdict_mine,
        feed->verdict_all.data, feed->verdict_sizes, feed->verdict_offsets, &error);
    if (status != LEAT_OK) {
        leat_feed_fail(feed, &error, 0);
    }
}

static void verdict_ends(leat_feed *feed)
{
    feed->verdict_open = false;
    feed->verdict_done = true;
    uint64_t step = LEAT_NO_STEP;
    leat_error verdict;
    LEAT_FAIL(&verdict, LEAT_DEFECT, "the ranks agreed on a failure that no rank explains");
    for (int r = feed->wire->size - 1; r >= 0; r--) {
        const uint8_t *at = feed->verdict_all.data + (size_t)r * LEAT_VERDICT_BYTES;
        leat_error error;
        leat_error_decode(&error, at);
        step = leat_min_u64(step, leat_get_u64(at + LEAT_ERROR_BYTES));
        if (error.status != LEAT_OK) {
            verdict = error;
        }
    }
    leat_feed_fail(feed, &verdict, step);
}

static bool heads_differ(leat_feed *feed, const tick_head *ours, const tick_head *theirs, int rank)
{
    if (ours->tick == theirs->tick && ours->plan == theirs->plan) {
        return false;
    }
    leat_error error;
    LEAT_FAIL(&error, LEAT_MISMATCH, "rank %d and rank %d have different plans", feed->wire->rank,
              rank);
    leat_error_found(&error, "plan %016" PRIx64 " at window %" PRIu64, theirs->plan, theirs->tick);
    leat_error_wanted(&error, "plan %016" PRIx64 " at window %" PRIu64, ours->plan, ours->tick);
    leat_error_hint(&error,
                    "all ranks must see the same job, corpus, tokenizer and version of leat");
    leat_feed_fail(feed, &error, 0);
    return true;
}

/* First tick with a stop wish: nothing more is handed out.  Next one: the step is the largest that anyone took.  Where some
 * rank has no loader thread it might wait in a collective of the trainer: then all planned steps are still delivered. */
static void agree_on_stop(leat_feed *feed, uint64_t flags, uint64_t frozen_all, uint64_t taken_most)
{
    if ((flags & HEAD_STOP) == 0 || feed->stop_step != LEAT_NO_STEP) {
        return;
    }
    pthread_mutex_lock(&feed->mutex);
    if (feed->all_threaded && !frozen_all) {
        feed->hold = true;
        feed->tick_due = true;
        pthread_mutex_unlock(&feed->mutex);
        return;
    }
    feed->stop_step = feed->all_threaded ? taken_most : feed->planned;
    feed->hold = false;
    if (feed->stop_step < feed->end_step) {
        feed->end_step = feed->stop_step;
        feed->ended_by_stop = true;
    }
    pthread_cond_broadcast(&feed->trainer_wake);
    pthread_mutex_unlock(&feed->mutex);
}

static void take_counts(leat_feed *feed, leat_round *round)
{
    for (int r = 0; r < feed->wire->size; r++) {
        const uint8_t *at = feed->tick_all.data + feed->tick_offsets[r] + LEAT_HEAD_BYTES;
        for (uint64_t i = share_begin(round, r); i < round->share_ends[r]; i++, at += 4) {
            round->counts[i] = leat_get_u32(at);
        }
    }
    leat_round_feed(feed, round);
}

static void tick_ends(leat_feed *feed)
{
    feed->tick_open = false;
    feed->tick_last_ns = feed->wire->clock->now_ns(feed->wire->clock->context);
    tick_head ours = head_decode(feed->tick_all.data + feed->tick_offsets[feed->wire->rank]);
    uint64_t consumed = UINT64_MAX, taken = 0, flags = 0, frozen = 1;
    for (int r = 0; r < feed->wire->size; r++) {
        tick_head head = head_decode(feed->tick_all.data + feed->tick_offsets[r]);
        if (heads_differ(feed, &ours, &head, r)) {
            return;
        }
        consumed = leat_min_u64(consumed, head.consumed);
        taken = leat_max_u64(taken, head.taken);
        flags |= head.flags;
        frozen &= head.flags / HEAD_FROZEN & 1;
    }
    leat_round *round = round_of(feed, feed->tick);
    feed->tick++;
    feed->min_consumed = consumed;
    for (uint64_t s = feed->digest_queued; s < consumed; s++) {
        leat_digests_queue(feed, s + 1);
    }
    agree_on_stop(feed, flags, frozen, taken);
    take_counts(feed, round);
    leat_steps_plan(feed);
    if (feed->exchange != NULL) {
        leat_exchange_post(feed);
    }
    if (feed->verdict_open || feed->verdict != LEAT_OK) {
        return;
    }
    leat_error error;
    if (leat_round_begin(feed, round, &error) != LEAT_OK) {
        leat_feed_fail_here(feed, &error, feed->assembled);
    }
}

/* A reason to join the next tick now; where there is one, it counts as joined. */
static bool due(leat_feed *feed)
{
    const leat_round *round = round_of(feed, feed->tick);
    if (round->tasks_left != 0) {
        return false;
    }
    bool work = round->item_count != 0 || feed->tick_due;
    uint64_t now = feed->wire->clock->now_ns(feed->wire->clock->context);
    pthread_mutex_lock(&feed->mutex);
    bool stop =
        atomic_load_explicit(&feed->stop, memory_order_relaxed) && feed->stop_step == LEAT_NO_STEP;
    bool starving = feed->waiting && feed->taken >= feed->planned && feed->end_step > feed->taken;
    bool behind = feed->join_limit != UINT64_MAX;
    bool answer = work || behind || stop || feed->flush || starving ||
                  feed->consumed >= feed->told_consumed + feed->window ||
                  now - feed->tick_last_ns > LAZY_NS;
    answer = answer && feed->tick < feed->join_limit;
    feed->joined = answer ? feed->tick + 1 : feed->joined;
    pthread_mutex_unlock(&feed->mutex);
    return answer;
}

void leat_verdict_take(leat_feed *feed)
{
    if (feed->verdict_open && feed->verdict_group.pending == 0) {
        verdict_ends(feed);
    }
}

void leat_tick_advance(leat_feed *feed)
{
    if (feed->wire->ops->poked(feed->wire)) {
        leat_verdict_begin(feed, LEAT_NO_STEP); /* a rank has failed */
    }
    if (feed->tick_open && feed->tick_group.pending == 0) {
        tick_ends(feed);
    }
    leat_verdict_take(feed);
    if (!feed->tick_open && !feed->verdict_open && !feed->verdict_done &&
        feed->verdict == LEAT_OK && due(feed)) {
        join(feed);
    }
}
