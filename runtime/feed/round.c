/* round.c: what is counted next, by whom.
 *
 * Every rank defines the same round from the same state: for each dataset in job order, the stretch of its stream that
 * brings the tokens known ahead up to its share of the look-ahead.  The documents, sorted by place so that reads are
 * sequential, are cut into one share a rank with equal bytes. */
#include "base/arith.h"
#include "base/memory.h"
#include "feed/state.h"
#include <stdlib.h>

enum { PLACES_AT_ONCE = 256 };
/* Tokens known ahead even where batches are tiny, so that reads stay long. */
static const uint64_t LOOK_AHEAD_LEAST = (uint64_t)1 << 18;
static const uint64_t ROUND_BYTES_LEAST = (uint64_t)4 << 20;
static const uint64_t SHARE_BYTES = (uint64_t)256 << 10;
static const uint64_t TASK_BYTES = (uint64_t)96 << 10;
static const size_t TASK_DOCUMENTS = 1024;

void leat_round_deinit(leat_round *round)
{
    leat_free(round->items);
    leat_free(round->stretches);
    leat_free(round->counts);
    leat_free(round->share_ends);
    *round = (leat_round){0};
}

/* Tokens that `bytes` bytes of the dataset probably give: its own ratio so far, at first a token in 4 bytes. */
static uint64_t tokens_of_bytes(const leat_feed *feed, uint32_t d, uint64_t bytes)
{
    uint64_t seen = feed->fed_bytes[d];
    return seen == 0 ? bytes / 4 : leat_mul_div_u64(bytes, feed->fed_tokens[d], seen);
}

static uint64_t bytes_of_tokens(const leat_feed *feed, uint32_t d, uint64_t tokens)
{
    uint64_t seen = feed->fed_tokens[d];
    return seen == 0 ? tokens * 4 : leat_mul_div_u64(tokens, feed->fed_bytes[d] + 1, seen);
}

/* Tokens of one piece window, estimated: pieces are as long as documents are, up to P. */
static uint64_t window_estimate(const leat_feed *feed, uint32_t d)
{
    const leat_plan_dataset *dataset = &feed->spec->datasets[d];
    uint64_t documents = feed->fed_documents[d];
    uint64_t mean = documents == 0 ? 512 : feed->fed_tokens[d] / documents + 1;
    uint64_t piece = leat_min_u64(mean, feed->spec->piece);
    uint64_t pieces = leat_min_u64(dataset->piece_window, (uint64_t)1 << 20);
    return leat_min_u64(pieces * piece + piece, dataset->window_tokens);
}

/* Tokens of the dataset that are to be known ahead. */
static uint64_t target(const leat_feed *feed, uint32_t d, uint64_t weights)
{
    uint64_t window =
        feed->window * feed->spec->row_tokens *
        leat_plan_step_rows(feed->spec->batch_sizes, feed->spec->batch_size_count, feed->planned);
    uint64_t look_ahead = feed->options.look_ahead != 0 ? feed->options.look_ahead : 3;
    uint64_t all = leat_max_u64(look_ahead * window, LOOK_AHEAD_LEAST);
    if (feed->spec->packing == LEAT_PACKING_BEST_FIT) {
        all = leat_max_u64(all, feed->spec->pack_window * feed->spec->row_tokens * 5 / 4);
    }
    uint64_t weight = leat_work_source_weight(feed->source, d);
    uint64_t share = weights == 0 ? 0 : leat_mul_div_u64(all, weight, weights);
    return share + window_estimate(feed, d) + feed->boost[d];
}

/* Adds documents of dataset d from where the last round ended until `bytes` more bytes are asked for. */
static leat_status add_stretch(leat_feed *feed, leat_round *round, uint32_t d, uint64_t bytes,
                               leat_error *error)
{
    uint64_t end = leat_work_source_stream_end(feed->source, d);
    uint64_t documents[PLACES_AT_ONCE];
    leat_place places[PLACES_AT_ONCE];
    leat_round_stretch stretch = {d, feed->asked[d], 0, 0};
    /* A run of empty or held-out documents costs no bytes, but each takes memory: it is bounded too. */
    while (stretch.bytes < bytes && stretch.count < (bytes / 16 + PLACES_AT_ONCE)) {
        uint64_t from = stretch.from + stretch.count;
        size_t count = (size_t)leat_min_u64(PLACES_AT_ONCE, end - leat_min_u64(end, from));
        if (count == 0) {
            break;
        }
        leat_order_documents(feed->orders[d], from, documents, count);
        leat_status status = leat_corpus_places(feed->reader, d, documents, count, places, error);
        if (status != LEAT_OK) {
            return status;
        }
        for (size_t i = 0; i < count; i++) {
            LEAT_GROW(round->items, round->item_capacity, round->item_count + 1);
            bool set_apart = leat_order_set_apart(feed->orders[d], documents[i]);
            places[i].bytes = set_apart ? 0 : places[i].bytes;
            round->items[round->item_count++] =
                (leat_round_item){places[i], from + i, d, set_apart};
            stretch.bytes += places[i].bytes / (places[i].parts > 1 ? places[i].parts : 1);
        }
        stretch.count += count;
    }
    if (stretch.count != 0) {
        LEAT_GROW(round->stretches, round->stretch_capacity, round->stretch_count + 1);
        round->stretches[round->stretch_count++] = stretch;
        feed->asked[d] += stretch.count;
        feed->asked_bytes[d] += stretch.bytes;
        round->bytes += stretch.bytes;
    }
    return LEAT_OK;
}

static leat_status choose(leat_feed *feed, leat_round *round, leat_error *error)
{
    uint64_t weights = 0;
    for (uint32_t d = 0; d < feed->spec->dataset_count; d++) {
        weights +=
            leat_work_source_live(feed->source, d) ? leat_work_source_weight(feed->source, d) : 0;
    }
    uint64_t most = leat_max_u64(ROUND_BYTES_LEAST, SHARE_BYTES * (uint64_t)feed->wire->size);
    for (uint32_t d = 0; d < feed->spec->dataset_count && !feed->plan_over; d++) {
        if (!leat_work_source_live(feed->source, d) ||
            (leat_work_source_weight(feed->source, d) == 0 && feed->boost[d] == 0)) {
            continue;
        }
        uint64_t known = leat_work_source_ahead_tokens(feed->source, d) +
                         tokens_of_bytes(feed, d, feed->asked_bytes[d]);
        uint64_t wanted = target(feed, d, weights);
        if (known >= wanted) {
            continue;
        }
        uint64_t bytes = leat_min_u64(bytes_of_tokens(feed, d, wanted - known) + 1, most);
        leat_status status = add_stretch(feed, round, d, bytes, error);
        if (status != LEAT_OK) {
            return status;
        }
    }
    return LEAT_OK;
}

static int by_place(const void *left, const void *right)
{
    const leat_round_item *a = left, *b = right;
    if (a->dataset != b->dataset) {
        return a->dataset < b->dataset ? -1 : 1;
    }
    if (a->place.document != b->place.document) {
        return a->place.document < b->place.document ? -1 : 1;
    }
    return a->position < b->position ? -1 : a->position > b->position;
}

static uint64_t cost(const leat_round_item *item)
{
    return 16 + item->place.bytes / (item->place.parts > 1 ? item->place.parts : 1);
}

/* share_ends[r]: the items up to a fraction (r+1)/W of all costs. */
static void deal(leat_feed *feed, leat_round *round)
{
    uint64_t ranks = (uint64_t)feed->wire->size, total = 0, sum = 0;
    for (size_t i = 0; i < round->item_count; i++) {
        total += cost(&round->items[i]);
    }
    size_t at = 0;
    for (uint64_t r = 0; r < ranks; r++) {
        uint64_t limit = leat_mul_div_u64(total, r + 1, ranks);
        while (at < round->item_count && sum + cost(&round->items[at]) / 2 < limit) {
            sum += cost(&round->items[at++]);
        }
        round->share_ends[r] = r + 1 == ranks ? round->item_count : at;
    }
}

static void start_share(leat_feed *feed, leat_round *round)
{
    uint64_t rank = (uint64_t)feed->wire->rank;
    size_t at = rank == 0 ? 0 : (size_t)round->share_ends[rank - 1];
    size_t end = (size_t)round->share_ends[rank];
    while (at < end) {
        size_t from = at;
        uint64_t bytes = 0;
        while (at < end && at - from < TASK_DOCUMENTS && bytes < TASK_BYTES &&
               round->items[at].dataset == round->items[from].dataset) {
            bytes += cost(&round->items[at++]);
        }
        round->tasks_left++;
        leat_feed_tokenize(feed, round, &round->items[from], at - from);
    }
}

/* The live documents get their owners in stream order. */
static void append_live(leat_feed *feed, leat_round *round)
{
    for (size_t s = 0; s < round->stretch_count; s++) {
        for (uint64_t i = 0; i < round->stretches[s].count; i++) {
            leat_live_append(&feed->live, round->stretches[s].dataset, 0, 0);
        }
    }
    uint32_t rank = 0;
    for (size_t i = 0; i < round->item_count; i++) {
        while (i >= round->share_ends[rank]) {
            rank++;
        }
        leat_live_document *live =
            leat_live_at(&feed->live, round->items[i].dataset, round->items[i].position);
        live->document = round->items[i].place.document;
        live->owner = rank;
    }
}

leat_status leat_round_begin(leat_feed *feed, leat_round *round, leat_error *error)
{
    round->item_count = round->stretch_count = 0;
    round->bytes = 0;
    leat_status status = choose(feed, round, error);
    if (status != LEAT_OK) {
        return status;
    }
    if (round->item_count != 0) {
        qsort(round->items, round->item_count, sizeof *round->items, by_place);
    }
    LEAT_GROW(round->counts, round->count_capacity, round->item_count);
    deal(feed, round);
    append_live(feed, round);
    start_share(feed, round);
    return LEAT_OK;
}

void leat_round_feed(leat_feed *feed, leat_round *round)
{
    for (size_t i = 0; i < round->item_count; i++) {
        leat_live_at(&feed->live, round->items[i].dataset, round->items[i].position)->count =
            round->counts[i];
    }
    uint64_t counts[PLACES_AT_ONCE];
    for (size_t s = 0; s < round->stretch_count; s++) {
        const leat_round_stretch *stretch = &round->stretches[s];
        uint32_t d = stretch->dataset;
        for (uint64_t at = 0; at < stretch->count;) {
            size_t count = (size_t)leat_min_u64(PLACES_AT_ONCE, stretch->count - at);
            for (size_t i = 0; i < count; i++) {
                uint32_t tokens = leat_live_at(&feed->live, d, stretch->from + at + i)->count;
                counts[i] = tokens == LEAT_COUNT_BAD_WIRE ? LEAT_COUNT_BAD : tokens;
                feed->fed_tokens[d] += tokens == LEAT_COUNT_BAD_WIRE ? 0 : tokens;
            }
            leat_work_source_feed(feed->source, d, stretch->from + at, counts, count);
            at += count;
        }
        feed->fed_bytes[d] += stretch->bytes;
        feed->fed_documents[d] += stretch->count;
        feed->asked_bytes[d] -= stretch->bytes;
    }
}
