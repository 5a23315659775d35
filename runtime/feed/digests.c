/* digests.c: row digests of all ranks to batch digests and the chain, a window behind delivery. */
#include "base/arith.h"
#include "base/memory.h"
#include "feed/state.h"

static void slice_of(const leat_feed *feed, uint64_t rows, int slice, uint64_t *first,
                     uint64_t *end)
{
    leat_plan_slice(rows, (uint64_t)slice, (uint64_t)feed->options.slices, first, end);
}

/* Queues the digests of step until-1; its slot may be used again afterwards. */
void leat_digests_queue(leat_feed *feed, uint64_t until)
{
    LEAT_ASSERT(feed->digest_queued + 1 == until);
    feed->digest_queued = until;
    uint64_t step = until - 1;
    leat_slot *slot = &feed->slots[step % feed->slot_count];
    LEAT_ASSERT(slot->step == step && slot->state == LEAT_SLOT_READY);
    LEAT_GROW(feed->digest_items, feed->digest_capacity, feed->digest_count + 1);
    feed->digest_items[feed->digest_count++] =
        (leat_digest_item){feed->tick, step, slot->global_rows, slot->total_tokens};
    int slice = feed->options.slice;
    if (slice >= 0 && feed->options.slice_owner[slice] == feed->wire->rank) {
        leat_buffer_add(&feed->digest_mine, slot->digests, (size_t)slot->rows * LEAT_SHA256_BYTES);
    }
    leat_buffer_add(&feed->digest_dataset_tokens, slot->dataset_tokens,
                    (size_t)feed->spec->dataset_count * sizeof(uint64_t));
    slot->state = LEAT_SLOT_FREE;
}

/* Bytes that each rank brings for the items under way. */
static void sizes(leat_feed *feed)
{
    memset(feed->digest_sizes, 0, (size_t)feed->wire->size * sizeof *feed->digest_sizes);
    for (size_t i = 0; i < feed->digest_under_way; i++) {
        for (int s = 0; s < feed->options.slices; s++) {
            uint64_t first, end;
            slice_of(feed, feed->digest_items[i].rows, s, &first, &end);
            feed->digest_sizes[feed->options.slice_owner[s]] += (end - first) * LEAT_SHA256_BYTES;
        }
    }
    uint64_t total = 0;
    for (int r = 0; r < feed->wire->size; r++) {
        feed->digest_offsets[r] = total;
        total += feed->digest_sizes[r];
    }
    leat_buffer_clear(&feed->digest_all);
    leat_buffer_extend(&feed->digest_all, (size_t)total);
}

/* A gather holds exactly what one tick queued: the next tick may have ended here and not yet elsewhere. */
static void begin(leat_feed *feed)
{
    size_t count = 0;
    while (count < feed->digest_count &&
           feed->digest_items[count].tick == feed->digest_items[0].tick) {
        count++;
    }
    feed->digest_under_way = count;
    sizes(feed);
    size_t mine = (size_t)feed->digest_sizes[feed->wire->rank];
    leat_buffer_clear(&feed->digest_sent);
    leat_buffer_add(&feed->digest_sent, feed->digest_mine.data, mine);
    feed->digest_mine.size -= mine;
    memmove(feed->digest_mine.data, feed->digest_mine.data + mine, feed->digest_mine.size);
    feed->digest_open = true;
    leat_error error;
    leat_status status = feed->wire->ops->gather(
        feed->wire, &feed->digest_group, LEAT_CHANNEL_DIGEST, feed->digest_sent.data,
        feed->digest_all.data, feed->digest_sizes, feed->digest_offsets, &error);
    if (status != LEAT_OK) {
        leat_feed_fail(feed, &error, 0);
    }
}

/* The row digests of one item in the order of rows; digest_at[r] moves on through each rank's part. */
static void batch_of(leat_feed *feed, const leat_digest_item *item, uint8_t out[LEAT_SHA256_BYTES])
{
    leat_buffer_clear(&feed->batch_rows);
    for (int s = 0; s < feed->options.slices; s++) {
        uint64_t first, end;
        slice_of(feed, item->rows, s, &first, &end);
        int owner = feed->options.slice_owner[s];
        size_t bytes = (size_t)(end - first) * LEAT_SHA256_BYTES;
        leat_buffer_add(&feed->batch_rows, feed->digest_all.data + feed->digest_at[owner], bytes);
        feed->digest_at[owner] += bytes;
    }
    leat_digest_batch(feed->hash, feed->batch_rows.data, item->rows, out);
}

static void ends(leat_feed *feed)
{
    feed->digest_open = false;
    size_t datasets = (size_t)feed->spec->dataset_count;
    memcpy(feed->digest_at, feed->digest_offsets,
           (size_t)feed->wire->size * sizeof *feed->digest_at);
    for (size_t i = 0; i < feed->digest_under_way; i++) {
        const leat_digest_item *item = &feed->digest_items[i];
        leat_feed_step step = {.step = item->step, .rows = item->rows, .tokens = item->tokens};
        step.dataset_tokens = (const uint64_t *)(const void *)(feed->digest_dataset_tokens.data +
                                                               i * datasets * sizeof(uint64_t));
        batch_of(feed, item, step.batch);
        leat_digest_chain(feed->hash, feed->chain, step.batch, step.chain);
        memcpy(feed->chain, step.chain, sizeof feed->chain);
        leat_error error;
        if (feed->options.on_step != NULL && feed->local_status == LEAT_OK &&
            feed->options.on_step(feed->options.context, &step, &error) != LEAT_OK) {
            leat_feed_fail_here(feed, &error, feed->assembled);
        }
        pthread_mutex_lock(&feed->mutex);
        memcpy(feed->digests[item->step % LEAT_DIGESTS_KEPT], step.batch, 32);
        memcpy(feed->digests[item->step % LEAT_DIGESTS_KEPT] + 32, step.chain, 32);
        feed->digested = item->step + 1;
        pthread_cond_broadcast(&feed->trainer_wake);
        pthread_mutex_unlock(&feed->mutex);
    }
    size_t left = feed->digest_count - feed->digest_under_way;
    memmove(feed->digest_items, feed->digest_items + feed->digest_under_way,
            left * sizeof *feed->digest_items);
    size_t gone = feed->digest_under_way * datasets * sizeof(uint64_t);
    memmove(feed->digest_dataset_tokens.data, feed->digest_dataset_tokens.data + gone,
            feed->digest_dataset_tokens.size - gone);
    feed->digest_dataset_tokens.size -= gone;
    feed->digest_count = left;
    feed->digest_under_way = 0;
}

void leat_digests_advance(leat_feed *feed)
{
    if (feed->digest_open && feed->digest_group.pending == 0) {
        ends(feed);
    }
    if (!feed->digest_open && feed->digest_count != 0) {
        begin(feed);
    }
}
