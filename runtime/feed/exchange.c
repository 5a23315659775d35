/* exchange.c: who counted a document sends its tokens to the ranks whose rows they fill.
 *
 * Both sides know from the plan what goes where, so a window (all steps that one tick lets be planned) costs one message
 * for each pair of ranks that has something to give: a header of 32 bytes and the tokens of the segments in the order of
 * the plan.  The receiver compares the header with its own plan. */
#include "base/arith.h"
#include "base/memory.h"
#include "base/xxh3.h"
#include "feed/state.h"
#include <inttypes.h>

enum { HEADER_BYTES = 32, MAGIC = 0x5852414c };

/* A segment in a message: of which document when sending, for which source when receiving. */
typedef struct parcel_item {
    leat_slot *slot;
    size_t segment;
    uint64_t position, start;
    uint32_t dataset, length;
} parcel_item;

/* One message of a window, to or from one rank. */
struct leat_parcel {
    leat_parcel *next, *next_of_all;
    int peer;
    bool posted;
    uint64_t tick, plan, first_step; /* plan: digest at the end of the window */
    parcel_item *items;
    size_t item_count, item_capacity, users;
    uint64_t tokens;
    uint8_t *bytes;
    size_t byte_capacity;
    leat_wire_group group;
};

struct leat_exchange {
    leat_parcel **to, **from;         /* [ranks] of the window that is being planned, or NULL */
    leat_parcel *outgoing, *incoming; /* in the order of ticks */
    leat_parcel *unused, *all;        /* all: every parcel there is, for close */
    int *slice_ranks;                 /* ranks sorted by slice */
    int *slice_begins;                /* [slices + 1] */
};

void leat_exchange_open(leat_feed *feed)
{
    struct leat_exchange *exchange = leat_alloc(1, sizeof *exchange);
    size_t ranks = (size_t)feed->wire->size;
    exchange->to = leat_alloc(ranks, sizeof(leat_parcel *));
    exchange->from = leat_alloc(ranks, sizeof(leat_parcel *));
    exchange->slice_ranks = leat_alloc(ranks, sizeof(int));
    exchange->slice_begins = leat_alloc((size_t)feed->options.slices + 1, sizeof(int));
    int at = 0;
    for (int slice = 0; slice < feed->options.slices; slice++) {
        exchange->slice_begins[slice] = at;
        for (size_t r = 0; r < ranks; r++) {
            if (feed->options.rank_slices[r] == slice) {
                exchange->slice_ranks[at++] = (int)r;
            }
        }
    }
    exchange->slice_begins[feed->options.slices] = at;
    feed->exchange = exchange;
}

static void parcel_free(leat_parcel *parcel)
{
    leat_free(parcel->items);
    leat_free(parcel->bytes);
    leat_free(parcel);
}

void leat_exchange_close(leat_feed *feed)
{
    struct leat_exchange *exchange = feed->exchange;
    if (exchange == NULL) {
        return;
    }
    for (leat_parcel *parcel = exchange->all; parcel != NULL;) {
        leat_parcel *next = parcel->next_of_all;
        parcel_free(parcel);
        parcel = next;
    }
    leat_free(exchange->to);
    leat_free(exchange->from);
    leat_free(exchange->slice_ranks);
    leat_free(exchange->slice_begins);
    leat_free(exchange);
    feed->exchange = NULL;
}

static leat_parcel *parcel_of(leat_feed *feed, leat_parcel **list, int peer)
{
    struct leat_exchange *exchange = feed->exchange;
    if (list[peer] == NULL) {
        leat_parcel *parcel = exchange->unused;
        if (parcel != NULL) {
            exchange->unused = parcel->next;
        } else {
            parcel = leat_alloc(1, sizeof *parcel);
            parcel->next_of_all = exchange->all;
            exchange->all = parcel;
        }
        parcel->next = NULL;
        parcel->peer = peer;
        parcel->posted = false;
        parcel->item_count = parcel->users = 0;
        parcel->tokens = 0;
        parcel->tick = feed->tick;
        parcel->first_step = feed->planned - 1;
        list[peer] = parcel;
    }
    return list[peer];
}

static void add_item(leat_parcel *parcel, parcel_item item)
{
    LEAT_GROW(parcel->items, parcel->item_capacity, parcel->item_count + 1);
    parcel->items[parcel->item_count++] = item;
    parcel->tokens += item.length;
}

void leat_exchange_plan(leat_feed *feed, const leat_step_plan *plan)
{
    const struct leat_exchange *exchange = feed->exchange;
    for (int slice = 0; slice < feed->options.slices; slice++) {
        uint64_t first, end;
        leat_plan_slice(plan->rows, (uint64_t)slice, (uint64_t)feed->options.slices, &first, &end);
        for (uint64_t i = first == 0 ? 0 : plan->row_ends[first - 1];
             end > first && i < plan->row_ends[end - 1]; i++) {
            const leat_segment *segment = &plan->segments[i];
            const leat_live_document *live =
                leat_live_at(&feed->live, segment->dataset, segment->position);
            if ((int)live->owner != feed->wire->rank ||
                leat_corpus_is_tokens(feed->options.corpus, segment->dataset)) {
                continue;
            }
            for (int r = exchange->slice_begins[slice]; r < exchange->slice_begins[slice + 1];
                 r++) {
                int to = exchange->slice_ranks[r];
                if (to != feed->wire->rank) {
                    add_item(parcel_of(feed, exchange->to, to),
                             (parcel_item){NULL, 0, segment->position, segment->start,
                                           segment->dataset, segment->length});
                }
            }
        }
    }
}

void leat_exchange_expect(leat_feed *feed, leat_slot *slot, size_t segment, int owner)
{
    leat_parcel *parcel = parcel_of(feed, feed->exchange->from, owner);
    add_item(
        parcel,
        (parcel_item){.slot = slot, .segment = segment, .length = slot->segments[segment].length});
    parcel->users++;
    slot->sources[segment].parcel = parcel;
}

static void append(leat_parcel **list, leat_parcel *parcel)
{
    while (*list != NULL) {
        list = &(*list)->next;
    }
    *list = parcel;
}

static void size_bytes(leat_parcel *parcel)
{
    LEAT_GROW(parcel->bytes, parcel->byte_capacity,
              HEADER_BYTES + (size_t)parcel->tokens * sizeof(uint32_t));
}

void leat_exchange_post(leat_feed *feed)
{
    struct leat_exchange *exchange = feed->exchange;
    uint64_t plan = leat_tick_plan_digest(feed);
    for (int peer = 0; peer < feed->wire->size; peer++) {
        leat_parcel *in = exchange->from[peer], *out = exchange->to[peer];
        exchange->from[peer] = exchange->to[peer] = NULL;
        if (out != NULL) {
            out->plan = plan;
            append(&exchange->outgoing, out);
        }
        if (in == NULL) {
            continue;
        }
        in->plan = plan;
        size_bytes(in);
        append(&exchange->incoming, in);
        leat_error error;
        in->posted = true;
        if (feed->wire->ops->recv(
                feed->wire, &in->group, peer, (uint32_t)(in->tick % LEAT_TAG_LIMIT), in->bytes,
                HEADER_BYTES + in->tokens * sizeof(uint32_t), &error) != LEAT_OK) {
            leat_feed_fail(feed, &error, 0);
        }
    }
}

static void header_encode(const leat_parcel *parcel, uint8_t *at)
{
    uint64_t payload = parcel->tokens * sizeof(uint32_t);
    leat_put_u32(at, MAGIC);
    leat_put_u32(at + 4, (uint32_t)parcel->tick);
    leat_put_u64(at + 8, parcel->plan);
    leat_put_u64(at + 16, payload);
    leat_put_u64(at + 24, leat_xxh3_64(at + HEADER_BYTES, (size_t)payload));
}

/* Are all tokens of the message here?  Those that are not are asked for. */
static bool complete(leat_feed *feed, const leat_parcel *parcel)
{
    bool all = true;
    for (size_t i = 0; i < parcel->item_count; i++) {
        const parcel_item *item = &parcel->items[i];
        if (leat_live_at(&feed->live, item->dataset, item->position)->tokens == NULL) {
            leat_steps_fetch(feed, item->dataset, item->position);
            all = false;
        }
    }
    return all;
}

static void send_parcel(leat_feed *feed, leat_parcel *parcel)
{
    size_bytes(parcel);
    uint8_t *at = parcel->bytes + HEADER_BYTES;
    for (size_t i = 0; i < parcel->item_count; i++) {
        const parcel_item *item = &parcel->items[i];
        const uint32_t *tokens =
            leat_live_at(&feed->live, item->dataset, item->position)->tokens + item->start;
        for (uint32_t t = 0; t < item->length; t++, at += sizeof(uint32_t)) {
            leat_put_u32(at, tokens[t]);
        }
    }
    header_encode(parcel, parcel->bytes);
    parcel->posted = true;
    leat_error error;
    if (feed->wire->ops->send(
            feed->wire, &parcel->group, parcel->peer, (uint32_t)(parcel->tick % LEAT_TAG_LIMIT),
            parcel->bytes, HEADER_BYTES + parcel->tokens * sizeof(uint32_t), &error) != LEAT_OK) {
        leat_feed_fail(feed, &error, 0);
    }
}

static void parcel_unuse(struct leat_exchange *exchange, leat_parcel *parcel)
{
    parcel->next = exchange->unused;
    exchange->unused = parcel;
}

/* A message that is not what the plan says: a defect, or memory that cannot be trusted. */
static bool header_holds(leat_feed *feed, const leat_parcel *parcel)
{
    uint8_t want[HEADER_BYTES];
    uint64_t payload = parcel->tokens * sizeof(uint32_t);
    leat_put_u32(want, MAGIC);
    leat_put_u32(want + 4, (uint32_t)parcel->tick);
    leat_put_u64(want + 8, parcel->plan);
    leat_put_u64(want + 16, payload);
    leat_put_u64(want + 24, leat_xxh3_64(parcel->bytes + HEADER_BYTES, (size_t)payload));
    if (memcmp(want, parcel->bytes, sizeof want) == 0) {
        return true;
    }
    leat_error error;
    LEAT_FAIL(&error, LEAT_CORRUPT, "the tokens that rank %d sent are not those of the plan",
              parcel->peer);
    leat_error_found(&error, "window %u, plan %016" PRIx64 ", %" PRIu64 " bytes",
                     leat_get_u32(parcel->bytes + 4), leat_get_u64(parcel->bytes + 8),
                     leat_get_u64(parcel->bytes + 16));
    leat_error_wanted(&error,
                      "window %u, plan %016" PRIx64 ", %" PRIu64 " bytes and a matching checksum",
                      (uint32_t)parcel->tick, parcel->plan, payload);
    leat_feed_fail_here(feed, &error, feed->assembled);
    return false;
}

static void take_in(leat_feed *feed, leat_parcel *parcel)
{
    if (!header_holds(feed, parcel)) {
        return;
    }
    uint8_t *at = parcel->bytes + HEADER_BYTES;
    uint32_t *tokens = (uint32_t *)(void *)at;
    for (uint64_t t = 0; t < parcel->tokens; t++) {
        tokens[t] = leat_get_u32(
            at + t * sizeof *tokens); /* in place; nothing to do on a little-endian host */
    }
    for (size_t i = 0; i < parcel->item_count; i++) {
        const parcel_item *item = &parcel->items[i];
        item->slot->sources[item->segment].tokens = tokens;
        tokens += item->length;
    }
}

bool leat_exchange_advance(leat_feed *feed)
{
    struct leat_exchange *exchange = feed->exchange;
    bool moved = false;
    for (leat_parcel **at = &exchange->incoming; *at != NULL;) {
        leat_parcel *parcel = *at;
        if (parcel->group.pending != 0) {
            at = &parcel->next;
            continue;
        }
        *at = parcel->next;
        take_in(feed, parcel);
        moved = true;
    }
    for (leat_parcel **at = &exchange->outgoing; *at != NULL && feed->local_status == LEAT_OK;) {
        leat_parcel *parcel = *at;
        if (!parcel->posted && complete(feed, parcel)) {
            send_parcel(feed, parcel);
            moved = true;
        }
        if (parcel->posted && parcel->group.pending == 0) {
            *at = parcel->next;
            parcel_unuse(exchange, parcel);
            continue;
        }
        at = &parcel->next;
    }
    return moved;
}

void leat_exchange_used(leat_feed *feed, leat_parcel *parcel)
{
    LEAT_ASSERT(parcel->users > 0);
    if (--parcel->users == 0) {
        parcel_unuse(feed->exchange, parcel);
    }
}

uint64_t leat_exchange_sent(const leat_feed *feed)
{
    uint64_t step = UINT64_MAX;
    for (const leat_parcel *parcel = feed->exchange->outgoing; parcel != NULL;
         parcel = parcel->next) {
        if (!parcel->posted) {
            step = leat_min_u64(step, parcel->first_step);
        }
    }
    return step;
}

bool leat_exchange_under_way(const leat_feed *feed)
{
    return feed->exchange->incoming != NULL || feed->exchange->outgoing != NULL;
}
