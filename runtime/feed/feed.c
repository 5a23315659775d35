/* feed.c: opening and closing. */
#include "feed/feed.h"
#include "base/arith.h"
#include "base/memory.h"
#include "feed/drive.h"

enum {
    RING_BYTES_MOST = 256 << 20,
    TOKEN_BYTES_DEFAULT = 512 << 20,
    NAP_FIRST_NS = 10000,
    SEE_OFF_NS = 500000000
};

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
static void open_documents(leat_feed *feed)
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
    if (status == LEAT_OK) {
        open_documents(feed);
    }
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

/* All ranks know of the failure: what this one still owes to the others' last batches goes out before it leaves. */
static void see_off(leat_feed *feed)
{
    uint64_t until = feed->wire->clock->now_ns(feed->wire->clock->context) + SEE_OFF_NS,
             ns = NAP_FIRST_NS;
    pthread_mutex_lock(&feed->mutex);
    while (feed->verdict_done && !feed->wire_failed && !feed->messages_idle &&
           feed->wire->clock->now_ns(feed->wire->clock->context) < until) {
        if (feed->threaded) {
            pthread_mutex_unlock(&feed->mutex);
            feed->wire->clock->sleep_ns(feed->wire->clock->context, 1000000);
            pthread_mutex_lock(&feed->mutex);
        } else {
            leat_feed_wait(feed, &ns);
        }
    }
    pthread_mutex_unlock(&feed->mutex);
}

void leat_feed_close(leat_feed *feed, bool gently)
{
    if (feed == NULL) {
        return;
    }
    if (gently && feed->verdict == LEAT_OK) {
        gently = settle(feed);
    }
    if (!gently && feed->pool != NULL) {
        see_off(feed);
    }
    leat_feed_thread_stop(feed);
    if (feed->wire->ending_context == feed) {
        feed->wire->ending = NULL;
        feed->wire->ending_context = NULL;
    }
    leat_feed_free_tasks(leat_pool_close(feed->pool));
    if (!gently || feed->tick_open || feed->digest_open || feed->verdict_open) {
        feed->wire->ops->abandon(feed->wire);
    }
    leat_exchange_close(feed); /* its buffers were the wire's until now */
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
