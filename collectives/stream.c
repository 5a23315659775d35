/* stream.c: gathers over the messages of frames.h, and the wire that both make.
 *
 * A gather goes up and down a binomial tree: rank r collects the ranks r … r + lowbit(r) - 1, which lie side by side, and rank 0
 * sends everything back down.  That is 2·log2(W) steps and at most log2(W) messages a rank: no rank serves all others. */
#include "collectives/stream.h"
#include "base/arith.h"
#include "base/memory.h"
#include "collectives/frames.h"
#include <string.h>

#define CLOSE_WAIT_NS UINT64_C(10000000000)

typedef struct gather {
    struct gather *next;
    leat_wire_group *group;
    const uint64_t *offsets;
    uint8_t *all, *packed;
    size_t packed_capacity;
    uint64_t *starts; /* [size + 1]: where each rank's part begins in packed */
    int left;         /* messages of this stage still under way */
    int stage;
    uint32_t tag;
} gather;

typedef struct stream_wire {
    leat_wire base;
    leat_wire_ops ops; /* each transport has a name of its own */
    leat_frames frames;
    gather *gathers, **gathers_last, *free_gathers;
    bool abandoned;
} stream_wire;

static leat_status usable(const stream_wire *wire, leat_error *error)
{
    if (wire->frames.failed) {
        *error = wire->frames.error;
        return error->status;
    }
    return wire->abandoned ? LEAT_FAIL(error, LEAT_PEER, "the wire was given up") : LEAT_OK;
}

/* ---- gathers ---- */

/* The ranks from r on that r collects, itself included. */
static int tree_span(int rank, int size)
{
    const int low = rank == 0 ? size : rank & -rank;
    return low < size - rank ? low : size - rank;
}

static gather *gather_new(stream_wire *wire, const uint64_t *sizes)
{
    const size_t ranks = (size_t)wire->base.size;
    gather *made = wire->free_gathers;
    if (made == NULL) {
        made = leat_alloc(1, sizeof *made);
        made->starts = leat_alloc(ranks + 1, sizeof *made->starts);
    } else {
        wire->free_gathers = made->next;
    }
    for (size_t r = 0; r < ranks; r++) {
        LEAT_ASSERT(leat_add_u64(made->starts[r], sizes[r], &made->starts[r + 1]));
    }
    LEAT_ASSERT(made->starts[ranks] <= LEAT_FRAME_MOST);
    if (made->starts[ranks] + 1 > made->packed_capacity) {
        leat_free(made->packed);
        made->packed_capacity = made->starts[ranks] + 1;
        made->packed = leat_alloc(made->packed_capacity, 1);
    }
    made->next = NULL;
    made->left = made->stage = 0;
    return made;
}

/* Calls for each child of this rank in the tree: a receive of its part on the way up, a send of everything on the way down. */
static leat_status gather_children(stream_wire *wire, gather *at, bool down, leat_error *error)
{
    const int rank = wire->base.rank, size = wire->base.size;
    leat_status status = LEAT_OK;
    for (int step = 1;
         status == LEAT_OK && rank + step < size && (rank == 0 || step < (rank & -rank));
         step *= 2) {
        const int child = rank + step;
        const uint64_t start = at->starts[child];
        if (down) {
            leat_frames_send(&wire->frames, child, at->tag + 1, at->packed, at->starts[size],
                             &at->left);
        } else {
            status = leat_frames_recv(&wire->frames, child, at->tag, at->packed + start,
                                      at->starts[child + tree_span(child, size)] - start, &at->left,
                                      error);
        }
    }
    return status;
}

static void gather_deliver(const stream_wire *wire, gather *at)
{
    for (int r = 0; r < wire->base.size; r++) {
        const uint64_t bytes = at->starts[r + 1] - at->starts[r];
        if (bytes > 0) {
            memcpy(at->all + at->offsets[r], at->packed + at->starts[r], bytes);
        }
    }
    at->group->pending--;
}

/* Goes on with a gather whose stage is over. */
static leat_status gather_advance(stream_wire *wire, gather *at, leat_error *error)
{
    const int rank = wire->base.rank, size = wire->base.size;
    leat_status status = LEAT_OK;
    while (status == LEAT_OK && at->left == 0 && at->stage < 3) {
        at->stage++;
        if (at->stage == 1 && rank != 0) {
            const int parent = rank - (rank & -rank);
            const uint64_t start = at->starts[rank];
            leat_frames_send(&wire->frames, parent, at->tag, at->packed + start,
                             at->starts[rank + tree_span(rank, size)] - start, &at->left);
            status = leat_frames_recv(&wire->frames, parent, at->tag + 1, at->packed,
                                      at->starts[size], &at->left, error);
        } else if (at->stage == 2) {
            status = gather_children(wire, at, true, error);
        } else if (at->stage == 3) {
            gather_deliver(wire, at);
        }
    }
    return status;
}

static leat_status gathers_advance(stream_wire *wire, leat_error *error)
{
    gather **at = &wire->gathers;
    leat_status status = LEAT_OK;
    while (*at != NULL && status == LEAT_OK) {
        gather *now = *at;
        status = gather_advance(wire, now, error);
        if (now->stage == 3) {
            *at = now->next;
            now->next = wire->free_gathers;
            wire->free_gathers = now;
        } else {
            at = &now->next;
        }
    }
    while (*at != NULL) {
        at = &(*at)->next;
    }
    wire->gathers_last = at;
    return status;
}

/* ---- the operations ---- */

static leat_status stream_gather(leat_wire *base, leat_wire_group *group, leat_channel channel,
                                 const void *mine, void *all, const uint64_t *sizes,
                                 const uint64_t *offsets, leat_error *error)
{
    stream_wire *wire = (stream_wire *)base;
    LEAT_ASSERT((unsigned)channel < LEAT_CHANNEL_COUNT);
    leat_status status = usable(wire, error);
    if (status != LEAT_OK) {
        return status;
    }
    gather *made = gather_new(wire, sizes);
    made->group = group;
    made->all = all;
    made->offsets = offsets;
    made->tag = LEAT_FRAME_TAG_GATHER + 2 * (uint32_t)channel;
    if (sizes[base->rank] > 0) {
        memcpy(made->packed + made->starts[base->rank], mine, sizes[base->rank]);
    }
    group->pending++;
    *wire->gathers_last = made;
    wire->gathers_last = &made->next;
    return gather_children(wire, made, false, error);
}

static leat_status stream_send(leat_wire *base, leat_wire_group *group, int to, uint32_t tag,
                               const void *bytes, uint64_t size, leat_error *error)
{
    stream_wire *wire = (stream_wire *)base;
    LEAT_ASSERT(to >= 0 && to < base->size && tag < LEAT_TAG_LIMIT && size <= LEAT_FRAME_MOST);
    leat_status status = usable(wire, error);
    if (status == LEAT_OK) {
        leat_frames_send(&wire->frames, to, tag, bytes, size, &group->pending);
    }
    return status;
}

static leat_status stream_recv(leat_wire *base, leat_wire_group *group, int from, uint32_t tag,
                               void *bytes, uint64_t size, leat_error *error)
{
    stream_wire *wire = (stream_wire *)base;
    LEAT_ASSERT(from >= 0 && from < base->size && tag < LEAT_TAG_LIMIT);
    leat_status status = usable(wire, error);
    return status == LEAT_OK
               ? leat_frames_recv(&wire->frames, from, tag, bytes, size, &group->pending, error)
               : status;
}

static leat_status exchange_all(stream_wire *wire, leat_error *error)
{
    leat_status status = leat_frames_read(&wire->frames, error);
    if (status == LEAT_OK) {
        status = gathers_advance(wire, error);
    }
    return status == LEAT_OK ? leat_frames_write(&wire->frames, error) : status;
}

static leat_status stream_test(leat_wire *base, leat_error *error)
{
    stream_wire *wire = (stream_wire *)base;
    leat_status status = usable(wire, error);
    return status == LEAT_OK ? exchange_all(wire, error) : status;
}

static void to_all(stream_wire *wire, uint32_t tag)
{
    for (int r = 0; r < wire->base.size; r++) {
        if (r != wire->base.rank) {
            leat_frames_send(&wire->frames, r, tag, NULL, 0, NULL);
        }
    }
}

static void stream_poke(leat_wire *base)
{
    stream_wire *wire = (stream_wire *)base;
    if (!wire->frames.failed && !wire->abandoned) {
        to_all(wire, LEAT_FRAME_TAG_POKE);
    }
}

static bool stream_poked(leat_wire *base)
{
    stream_wire *wire = (stream_wire *)base;
    const bool poked = wire->frames.poked;
    wire->frames.poked = false;
    return poked;
}

/* ---- the end ---- */

static void stream_abandon(leat_wire *base)
{
    stream_wire *wire = (stream_wire *)base;
    wire->abandoned = true;
    leat_frames_drop(&wire->frames);
    while (wire->gathers != NULL) {
        gather *at = wire->gathers;
        wire->gathers = at->next;
        at->next = wire->free_gathers;
        wire->free_gathers = at;
    }
    wire->gathers_last = &wire->gathers;
}

/* Everybody has come to the end; then each says so to each, so that a closed connection is no fault any more. */
static void farewell(stream_wire *wire)
{
    const leat_clock *clock = wire->base.clock;
    uint8_t nothing = 0;
    uint8_t *all = leat_alloc((size_t)wire->base.size, 1);
    leat_error error;
    leat_status status =
        leat_wire_gather_equal(&wire->base, LEAT_CHANNEL_CALL, &nothing, all, 1, &error);
    leat_free(all);
    if (status != LEAT_OK) {
        return;
    }
    to_all(wire, LEAT_FRAME_TAG_BYE);
    const uint64_t start = clock->now_ns(clock->context);
    while (exchange_all(wire, &error) == LEAT_OK && !leat_frames_all_left(&wire->frames) &&
           clock->now_ns(clock->context) - start < CLOSE_WAIT_NS) {
        clock->sleep_ns(clock->context, 50000);
    }
}

static void stream_close(leat_wire *base)
{
    stream_wire *wire = (stream_wire *)base;
    if (!wire->frames.failed && !wire->abandoned && base->size > 1) {
        farewell(wire);
    }
    stream_abandon(base);
    wire->frames.ops->close(wire->frames.context);
    while (wire->free_gathers != NULL) {
        gather *at = wire->free_gathers;
        wire->free_gathers = at->next;
        leat_free(at->packed);
        leat_free(at->starts);
        leat_free(at);
    }
    leat_frames_deinit(&wire->frames);
    leat_free(wire);
}

static leat_status stream_dup(leat_wire *base, leat_wire **out, leat_error *error)
{
    stream_wire *wire = (stream_wire *)base;
    *out = NULL;
    leat_status status = usable(wire, error);
    return status == LEAT_OK ? wire->frames.ops->dup(wire->frames.context, base, out, error)
                             : status;
}

leat_wire *leat_stream_open(const leat_stream_ops *ops, void *context, int rank, int size,
                            bool any_thread)
{
    LEAT_ASSERT(rank >= 0 && rank < size);
    stream_wire *wire = leat_alloc(1, sizeof *wire);
    wire->ops = (leat_wire_ops){ops->name,    stream_gather,
                                stream_send,  stream_recv,
                                stream_test,  stream_poke,
                                stream_poked, stream_abandon,
                                stream_close, ops->dup != NULL ? stream_dup : NULL};
    wire->base.ops = &wire->ops;
    wire->base.clock = leat_clock_system();
    wire->base.rank = rank;
    wire->base.size = size;
    wire->base.any_thread = any_thread;
    leat_frames_init(&wire->frames, ops, context, rank, size);
    wire->gathers_last = &wire->gathers;
    return &wire->base;
}
