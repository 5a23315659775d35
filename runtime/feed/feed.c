/* feed.c: opening, closing, and what the trainer's thread calls. */
#include "feed/feed.h"
#include "base/arith.h"
#include "base/memory.h"
#include "feed/drive.h"

enum { RING_BYTES_MOST = 256 << 20, TOKEN_BYTES_DEFAULT = 512 << 20, NAP_FIRST_NS = 10000 };

static uint64_t largest_slice(const leat_feed *feed)
{
    uint64_t most = 0;
    for (uint64_t i = 0; i < feed->spec->batch_size_count; i++) {
        uint64_t rows = feed->spec->batch_sizes[i].rows;
        most = leat_max_u64(most, leat_div_ceil(rows, (uint64_t)feed->options.slices));
    }
    return most;
}

/* Steps between ticks: more where many ranks share a tick, fewer where a slot is large.  The same on all ranks. */
static uint64_t window_of(const leat_feed *feed)
{
    uint64_t window = feed->wire->size <= 16 ? 4 : 8;
    uint64_t slot = feed->row_capacity * feed->spec->row_tokens * sizeof(uint32_t);
    while (window > 1 && 3 * window * slot > RING_BYTES_MOST) {
        window /= 2;
    }
    return window;
}

static void open_ring(leat_feed *feed)
{
    feed->row_capacity = largest_slice(feed);
    feed->window = window_of(feed);
    uint64_t windows = feed->options.look_ahead != 0 ? feed->options.look_ahead : 3;
    feed->slot_count = feed->window * leat_max_u64(windows, 1) + 1;
    feed->slots = leat_alloc((size_t)feed->slot_count, sizeof *feed->slots);
    size_t tokens = (size_t)(feed->row_capacity * feed->spec->row_tokens);
    size_t datasets = (size_t)feed->spec->dataset_count, rows = (size_t)feed->row_capacity;
    for (uint64_t i = 0; i < feed->slot_count; i++) {
        leat_slot *slot = &feed->slots[i];
        slot->tokens = leat_alloc_aligned(tokens * sizeof *slot->tokens, 64);
        slot->digests = leat_alloc(rows, LEAT_SHA256_BYTES);
        slot->row_segments = leat_alloc(rows, sizeof *slot->row_segments);
        slot->dataset_tokens = leat_alloc(datasets, sizeof *slot->dataset_tokens);
        slot->lows = leat_alloc(datasets, sizeof *slot->lows);
    }
    feed->cursor_count = LEAT_CURSORS_KEPT + feed->slot_count + 1;
    feed->cursors = leat_alloc((size_t)feed->cursor_count, sizeof *feed->cursors);
    feed->digests = leat_alloc(LEAT_DIGESTS_KEPT, sizeof *feed->digests);
}

static void open_wire_state(leat_feed *feed)
{
    size_t ranks = (size_t)feed->wire->size;
    feed->tick_sizes = leat_alloc(ranks, sizeof(uint64_t));
    feed->tick_offsets = leat_alloc(ranks, sizeof(uint64_t));
    feed->verdict_sizes = leat_alloc(ranks, sizeof(uint64_t));
    feed->verdict_offsets = leat_alloc(ranks, sizeof(uint64_t));
    feed->digest_sizes = leat_alloc(ranks, sizeof(uint64_t));
    feed->digest_offsets = leat_alloc(ranks, sizeof(uint64_t));
    feed->digest_at = leat_alloc(ranks, sizeof(uint64_t));
    feed->call.sizes = leat_alloc(ranks, sizeof(uint64_t));
    feed->call.offsets = leat_alloc(ranks, sizeof(uint64_t));
    for (int i = 0; i < LEAT_ROUNDS_AHEAD; i++) {
        feed->rounds[i].share_ends = leat_alloc(ranks, sizeof(uint64_t));
    }
    pthread_mutex_init(&feed->mutex, NULL);
    pthread_cond_init(&feed->driver_wake, NULL);
    pthread_cond_init(&feed->trainer_wake, NULL);
}

/* Documents that a restored cursor still needs from before the first position that is fed: the rest of a piece. */
static leat_status open_documents(leat_feed *feed, leat_error *error)
{
    size_t datasets = (size_t)feed->spec->dataset_count;
    feed->orders = leat_alloc(datasets, sizeof *feed->orders);
    feed->asked = leat_alloc(datasets, sizeof(uint64_t));
    feed->asked_bytes = leat_alloc(datasets, sizeof(uint64_t));
    feed->fed_bytes = leat_alloc(datasets, sizeof(uint64_t));
    feed->fed_tokens = leat_alloc(datasets, sizeof(uint64_t));
    feed->fed_documents = leat_alloc(datasets, sizeof(uint64_t));
    feed->boost = leat_alloc(datasets, sizeof(uint64_t));
    leat_live_init(&feed->live, datasets,
                   feed->options.token_bytes_max != 0 ? feed->options.token_bytes_max
                                                      : TOKEN_BYTES_DEFAULT);
    feed->reader = leat_corpus_reader_open(feed->options.corpus);
    for (uint32_t d = 0; d < datasets; d++) {
        if (feed->spec->datasets[d].documents == 0) {
            continue;
        }
        feed->orders[d] = leat_order_open(feed->spec->seed, &feed->spec->datasets[d]);
        uint64_t low = leat_work_source_low(feed->source, d),
                 fed = leat_work_source_fed(feed->source, d);
        feed->live.datasets[d].begin = feed->live.datasets[d].end = leat_min_u64(low, fed);
        for (uint64_t p = low; p < fed; p++) {
            leat_live_append(&feed->live, d, leat_order_document(feed->orders[d], p), 0);
        }
        feed->asked[d] = fed;
    }
    (void)error;
    return LEAT_OK;
}

static leat_status open_plan(leat_feed *feed, leat_error *error)
{
    leat_status status =
        leat_work_source_open(&feed->source, feed->spec, feed->options.cursor, error);
    if (status != LEAT_OK) {
        return status;
    }
    feed->planned = feed->assembled = feed->released = feed->cursor_low =
        leat_work_source_step(feed->source);
    leat_work_source_cursor(feed->source, &feed->cursors[feed->planned % feed->cursor_count]);
    uint64_t begin = leat_max_u64(feed->planned, feed->options.deliver_from);
    feed->taken = feed->consumed = feed->told_consumed = feed->min_consumed = begin;
    feed->digest_queued = feed->digested = begin;
    feed->ready_steps = begin;
    feed->end_step = feed->stop_step = LEAT_NO_STEP;
    feed->join_limit = UINT64_MAX;
    feed->messages_idle = true;
    memcpy(feed->chain, feed->options.chain, sizeof feed->chain);
    return LEAT_OK;
}

static void wake_from_worker(void *context)
{
    leat_feed_wake_driver(context);
}

/* MPI_Finalize is coming while the feed is open: its thread must be out of the wire before that goes on. */
static void wire_ends(void *context)
{
    leat_feed *feed = context;
    leat_feed_thread_stop(feed);
    feed->wire_failed = true;
    leat_error error;
    LEAT_FAIL(&error, LEAT_INVALID, "MPI was finalized while a loader was open");
    leat_error_hint(&error, "close the loader before MPI_Finalize");
    leat_feed_fail(feed, &error, 0);
}

static bool choose_progress(leat_feed *feed)
{
    return feed->options.progress == LEAT_PROGRESS_THREAD ||
           (feed->options.progress == LEAT_PROGRESS_AUTO && feed->wire->any_thread);
}

leat_status leat_feed_open(leat_feed **out, const leat_feed_options *options, leat_error *error)
{
    *out = NULL;
    leat_feed *feed = leat_alloc(1, sizeof *feed);
    feed->options = *options;
    feed->wire = options->wire;
    feed->spec = options->spec;
    feed->hash = leat_sha256_open();
    open_ring(feed);
    open_wire_state(feed);
    feed->threaded = choose_progress(feed);
    leat_status status = open_plan(feed, error);
    status = status == LEAT_OK ? open_documents(feed, error) : status;
    status = leat_agree(feed->wire, status, error);
    uint8_t mine = feed->threaded, *all = leat_alloc((size_t)feed->wire->size, 1);
    if (status == LEAT_OK) {
        status = leat_wire_gather_equal(feed->wire, LEAT_CHANNEL_CALL, &mine, all, 1, error);
    }
    feed->all_threaded = true;
    for (int r = 0; r < feed->wire->size; r++) {
        feed->all_threaded = feed->all_threaded && all[r] != 0;
    }
    leat_free(all);
    if (status == LEAT_OK) {
        if (options->exchange && feed->wire->size > 1) {
            leat_exchange_open(feed);
        }
        feed->pool = leat_pool_open(&(leat_pool_options){options->corpus, options->tokenizer,
                                                         options->threads, wake_from_worker, feed});
        for (int i = 0; i < LEAT_ROUNDS_AHEAD && status == LEAT_OK; i++) {
            status = leat_round_begin(feed, &feed->rounds[i], error);
        }
        status = leat_agree(feed->wire, status, error);
    }
    if (status != LEAT_OK) {
        leat_feed_close(feed, false);
        return status;
    }
    feed->tick_last_ns = feed->wire->clock->now_ns(feed->wire->clock->context);
    if (feed->planned >= options->steps) {
        leat_steps_plan(feed);
    }
    feed->wire->ending = wire_ends;
    feed->wire->ending_context = feed;
    if (feed->threaded) {
        leat_feed_thread_start(feed);
    }
    *out = feed;
    return LEAT_OK;
}

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

static void free_slots(leat_feed *feed)
{
    for (uint64_t i = 0; i < feed->slot_count; i++) {
        leat_slot *slot = &feed->slots[i];
        leat_free(slot->tokens);
        leat_free(slot->digests);
        leat_free(slot->row_segments);
        leat_free(slot->dataset_tokens);
        leat_free(slot->lows);
        leat_free(slot->segments);
        leat_free(slot->sources);
    }
    leat_free(feed->slots);
    for (uint64_t i = 0; i < feed->cursor_count; i++) {
        leat_buffer_deinit(&feed->cursors[i]);
    }
    leat_free(feed->cursors);
    leat_free(feed->digests);
}

static void free_arrays(leat_feed *feed)
{
    void *arrays[] = {
        feed->tick_sizes,   feed->tick_offsets,   feed->verdict_sizes, feed->verdict_offsets,
        feed->digest_sizes, feed->digest_offsets, feed->digest_at,     feed->call.sizes,
        feed->call.offsets, feed->asked,          feed->asked_bytes,   feed->fed_bytes,
        feed->fed_tokens,   feed->fed_documents,  feed->boost,         feed->digest_items};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        leat_free(arrays[i]);
    }
    leat_buffer *buffers[] = {&feed->tick_mine,
                              &feed->tick_all,
                              &feed->verdict_all,
                              &feed->digest_mine,
                              &feed->digest_dataset_tokens,
                              &feed->digest_all,
                              &feed->digest_sent,
                              &feed->batch_rows};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        leat_buffer_deinit(buffers[i]);
    }
    for (int i = 0; i < LEAT_ROUNDS_AHEAD; i++) {
        leat_round_deinit(&feed->rounds[i]);
    }
}

/* Least and largest of all ranks' values; false where the job has failed. */
static bool range_of(leat_feed *feed, uint64_t value, uint64_t *least, uint64_t *most)
{
    uint8_t mine[8], *all = leat_alloc((size_t)feed->wire->size, sizeof mine);
    leat_error error;
    leat_put_u64(mine, value);
    leat_status status = leat_feed_gather(feed, mine, all, sizeof mine, &error);
    *least = *most = value;
    for (int r = 0; r < feed->wire->size && status == LEAT_OK; r++) {
        uint64_t theirs = leat_get_u64(all + sizeof mine * (size_t)r);
        *least = leat_min_u64(*least, theirs);
        *most = leat_max_u64(*most, theirs);
    }
    leat_free(all);
    return status == LEAT_OK;
}

/* Brings all ranks to one place before they part: everything delivered is digested, and no gather is left open.  Ticks are
 * held back, then all ranks join up to the last one that any rank has joined. */
static bool settle(leat_feed *feed)
{
    uint64_t least, most, ns = NAP_FIRST_NS;
    leat_error error;
    if (!range_of(feed, feed->consumed, &least, &most) ||
        leat_feed_flush(feed, least, &error) != LEAT_OK) {
        return false;
    }
    pthread_mutex_lock(&feed->mutex);
    feed->join_limit = 0;
    uint64_t joined = feed->joined;
    pthread_mutex_unlock(&feed->mutex);
    if (!range_of(feed, joined, &least, &most)) {
        return false;
    }
    pthread_mutex_lock(&feed->mutex);
    feed->join_limit = most;
    feed->wake_pending = true;
    pthread_cond_signal(&feed->driver_wake);
    while (!(feed->settled >= most && feed->messages_idle) && feed->verdict == LEAT_OK) {
        leat_feed_wait(feed, &ns);
    }
    bool ok = feed->verdict == LEAT_OK;
    pthread_mutex_unlock(&feed->mutex);
    return ok && range_of(feed, 0, &least, &most);
}

void leat_feed_close(leat_feed *feed, bool gently)
{
    if (feed == NULL) {
        return;
    }
    if (gently && feed->verdict == LEAT_OK) {
        gently = settle(feed);
    }
    leat_feed_thread_stop(feed);
    if (feed->wire->ending_context == feed) {
        feed->wire->ending = NULL;
        feed->wire->ending_context = NULL;
    }
    leat_feed_free_tasks(leat_pool_close(feed->pool));
    leat_exchange_close(feed);
    if (!gently || feed->tick_open || feed->digest_open || feed->verdict_open) {
        feed->wire->ops->abandon(feed->wire);
    }
    for (size_t d = 0; feed->orders != NULL && d < feed->spec->dataset_count; d++) {
        leat_order_close(feed->orders[d]);
    }
    leat_free(feed->orders);
    if (feed->live.datasets != NULL) {
        leat_live_deinit(&feed->live);
    }
    leat_corpus_reader_close(feed->reader);
    leat_work_source_close(feed->source);
    leat_step_plan_deinit(&feed->plan);
    leat_sha256_close(feed->hash);
    free_slots(feed);
    free_arrays(feed);
    pthread_cond_destroy(&feed->driver_wake);
    pthread_cond_destroy(&feed->trainer_wake);
    pthread_mutex_destroy(&feed->mutex);
    leat_free(feed);
}
