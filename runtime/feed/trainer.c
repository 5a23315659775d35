/* trainer.c: what the trainer's thread calls: taking batches, giving them back, waiting for all ranks, and asking. */
#include "base/arith.h"
#include "base/memory.h"
#include "feed/drive.h"
#include "feed/feed.h"

enum { NAP_FIRST_NS = 10000 };

static leat_status fail_with_verdict(leat_feed *feed, leat_error *error)
{
    *error = feed->error;
    return error->status;
}

static void give(leat_feed *feed, leat_batch *batch)
{
    const leat_slot *slot = &feed->slots[feed->taken % feed->slot_count];
    LEAT_ASSERT(slot->step == feed->taken);
    *batch = (leat_batch){
        .step = slot->step,
        .first_row = slot->first_row,
        .rows = slot->rows,
        .global_rows = slot->global_rows,
        .row_tokens = leat_u32(feed->spec->row_tokens),
        .tokens = slot->tokens,
        .segments = slot->segments,
        .row_segments = slot->row_segments,
    };
    feed->taken++;
}

/* Before an error is given: the digests of what was delivered, for a moment, so that the log is whole. */
static void linger(leat_feed *feed)
{
    uint64_t until = feed->wire->clock->now_ns(feed->wire->clock->context) + 200000000u,
             ns = NAP_FIRST_NS;
    while (!feed->threaded && !feed->wire_failed &&
           feed->wire->clock->now_ns(feed->wire->clock->context) < until &&
           feed->digest_count != 0) {
        leat_feed_wait(feed, &ns);
    }
}

leat_status leat_feed_next(leat_feed *feed, leat_batch *batch, leat_error *error)
{
    uint64_t begin = feed->wire->clock->now_ns(feed->wire->clock->context), ns = NAP_FIRST_NS;
    leat_status status = LEAT_OK;
    *batch = (leat_batch){0};
    pthread_mutex_lock(&feed->mutex);
    feed->waiting = true;
    for (bool woken = false;;) {
        if (feed->verdict != LEAT_OK && feed->taken >= feed->error_step) {
            linger(feed);
            status = fail_with_verdict(feed, error);
            break;
        }
        if (!feed->hold && feed->taken >= feed->end_step && feed->verdict == LEAT_OK) {
            batch->end = true;
            batch->stopped = feed->ended_by_stop;
            batch->step = feed->taken;
            break;
        }
        if (!feed->hold && feed->taken < feed->ready_steps && feed->taken < feed->end_step) {
            give(feed, batch);
            break;
        }
        if (feed->threaded && !woken) {
            woken = true;
            feed->wake_pending = true;
            pthread_cond_signal(&feed->driver_wake);
        }
        leat_feed_wait(feed, &ns);
    }
    feed->waiting = false;
    feed->wait_ns += feed->wire->clock->now_ns(feed->wire->clock->context) - begin;
    pthread_mutex_unlock(&feed->mutex);
    return status;
}

void leat_feed_done(leat_feed *feed, const leat_batch *batch)
{
    pthread_mutex_lock(&feed->mutex);
    LEAT_ASSERT(batch->step == feed->consumed && feed->consumed < feed->taken);
    feed->consumed++;
    if (feed->consumed >= feed->told_consumed + feed->window) {
        feed->wake_pending = true;
        pthread_cond_signal(&feed->driver_wake);
    }
    pthread_mutex_unlock(&feed->mutex);
    if (!feed->threaded) {
        leat_feed_turn(feed);
    }
}

leat_status leat_feed_poll(leat_feed *feed, leat_error *error)
{
    if (!feed->threaded) {
        leat_feed_turn(feed);
    }
    pthread_mutex_lock(&feed->mutex);
    leat_status status = feed->verdict != LEAT_OK && feed->taken >= feed->error_step
                             ? fail_with_verdict(feed, error)
                             : LEAT_OK;
    pthread_mutex_unlock(&feed->mutex);
    return status;
}

leat_status leat_feed_flush(leat_feed *feed, uint64_t step, leat_error *error)
{
    leat_status status = LEAT_OK;
    uint64_t ns = NAP_FIRST_NS;
    pthread_mutex_lock(&feed->mutex);
    feed->flush = true;
    feed->wake_pending = true;
    pthread_cond_signal(&feed->driver_wake);
    while (feed->digested < step && status == LEAT_OK) {
        if (feed->verdict != LEAT_OK) {
            status = fail_with_verdict(feed, error);
        } else {
            leat_feed_wait(feed, &ns);
        }
    }
    feed->flush = false;
    pthread_mutex_unlock(&feed->mutex);
    return status;
}

leat_status leat_feed_gather(leat_feed *feed, const void *mine, void *all, uint64_t bytes,
                             leat_error *error)
{
    uint64_t ns = NAP_FIRST_NS;
    leat_status status = LEAT_OK;
    pthread_mutex_lock(&feed->mutex);
    for (int r = 0; r < feed->wire->size; r++) {
        feed->call.sizes[r] = bytes;
        feed->call.offsets[r] = (uint64_t)r * bytes;
    }
    feed->call.mine = mine;
    feed->call.all = all;
    feed->call.done = false;
    feed->call.asked = true;
    feed->wake_pending = true;
    pthread_cond_signal(&feed->driver_wake);
    while (!feed->call.done && status == LEAT_OK) {
        if (feed->verdict != LEAT_OK) {
            status = fail_with_verdict(feed, error);
        } else {
            leat_feed_wait(feed, &ns);
        }
    }
    pthread_mutex_unlock(&feed->mutex);
    return status;
}

leat_status leat_feed_agree(leat_feed *feed, leat_status mine, leat_error *error)
{
    size_t ranks = (size_t)feed->wire->size;
    uint8_t *bytes = leat_alloc(ranks + 1, LEAT_ERROR_BYTES);
    leat_error ok;
    leat_error_clear(&ok);
    if (mine != LEAT_OK && error->rank < 0) {
        error->rank = feed->wire->rank;
    }
    leat_error_encode(mine == LEAT_OK ? &ok : error, bytes + ranks * LEAT_ERROR_BYTES);
    leat_status status =
        leat_feed_gather(feed, bytes + ranks * LEAT_ERROR_BYTES, bytes, LEAT_ERROR_BYTES, error);
    for (size_t r = 0; r < ranks && status == LEAT_OK; r++) {
        leat_error theirs;
        leat_error_decode(&theirs, bytes + r * LEAT_ERROR_BYTES);
        if (theirs.status != LEAT_OK) {
            *error = theirs;
            status = theirs.status;
        }
    }
    leat_free(bytes);
    return status;
}

leat_status leat_feed_cursor(leat_feed *feed, uint64_t step, leat_buffer *out, leat_error *error)
{
    pthread_mutex_lock(&feed->mutex);
    bool held = step >= feed->cursor_low && step <= feed->taken;
    /* Planned cursors up to `taken` are not written again before 64 more steps are planned. */
    if (held) {
        const leat_buffer *cursor = &feed->cursors[step % feed->cursor_count];
        leat_buffer_clear(out);
        leat_buffer_add(out, cursor->data, cursor->size);
    }
    uint64_t low = feed->cursor_low, taken = feed->taken;
    pthread_mutex_unlock(&feed->mutex);
    if (held) {
        return LEAT_OK;
    }
    LEAT_FAIL(error, LEAT_NOT_FOUND, "the cursor of step %llu is not held any more or not yet",
              (unsigned long long)step);
    leat_error_wanted(error, "a step from %llu to %llu", (unsigned long long)low,
                      (unsigned long long)taken);
    return error->status;
}

leat_status leat_feed_digest(leat_feed *feed, uint64_t step, uint8_t batch[32], uint8_t chain[32],
                             leat_error *error)
{
    pthread_mutex_lock(&feed->mutex);
    uint64_t begin = leat_max_u64(feed->options.deliver_from, feed->cursor_low),
             digested = feed->digested;
    bool held = step < digested && step + LEAT_DIGESTS_KEPT >= digested && step >= begin;
    if (held) {
        memcpy(batch, feed->digests[step % LEAT_DIGESTS_KEPT], 32);
        memcpy(chain, feed->digests[step % LEAT_DIGESTS_KEPT] + 32, 32);
    }
    pthread_mutex_unlock(&feed->mutex);
    if (held) {
        return LEAT_OK;
    }
    return LEAT_FAIL(error, LEAT_NOT_FOUND,
                     "the digest of step %llu is not held; those before %llu are known",
                     (unsigned long long)step, (unsigned long long)digested);
}

void leat_feed_stop(leat_feed *feed)
{
    atomic_store_explicit(&feed->stop, true,
                          memory_order_relaxed); /* found within 50 ms; nothing is ordered by it */
}

bool leat_feed_stopped(leat_feed *feed)
{
    pthread_mutex_lock(&feed->mutex);
    bool stopped = feed->ended_by_stop && feed->taken >= feed->end_step;
    pthread_mutex_unlock(&feed->mutex);
    return stopped;
}

uint64_t leat_feed_datasets(const leat_feed *feed)
{
    return feed->spec->dataset_count;
}

uint64_t leat_feed_step_next(const leat_feed *feed)
{
    return feed->taken;
}

leat_loader_figures leat_feed_measure(leat_feed *feed)
{
    const leat_feed_counters *counters = &feed->counters;
    pthread_mutex_lock(&feed->mutex);
    leat_loader_figures figures = {
        .steps = feed->taken,
        .wait_ns = feed->wait_ns,
        .read_ns = atomic_load_explicit(&counters->read_ns, memory_order_relaxed),
        .tokenize_ns = atomic_load_explicit(&counters->tokenize_ns, memory_order_relaxed),
        .assemble_ns = atomic_load_explicit(&counters->assemble_ns, memory_order_relaxed),
        .read_bytes = leat_corpus_bytes_read(feed->options.corpus),
        .document_bytes = atomic_load_explicit(&counters->document_bytes, memory_order_relaxed),
        .tokenized_documents =
            atomic_load_explicit(&counters->tokenized_documents, memory_order_relaxed),
        .ready = feed->ready_steps - leat_min_u64(feed->taken, feed->ready_steps),
    };
    bool over = feed->end_step != LEAT_NO_STEP && feed->taken >= feed->end_step;
    pthread_mutex_unlock(&feed->mutex);
    if (over && !feed->ended_by_stop) {
        leat_plan_ending ending = leat_work_source_ending(feed->source);
        figures.dropped_rows = ending.dropped_rows;
        figures.dropped_tokens = ending.dropped_tokens;
    }
    return figures;
}
