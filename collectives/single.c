/* single.c: a job of one rank.  Everything completes at the next test, as it may on any other wire. */
#include "base/arith.h"
#include "base/memory.h"
#include "collectives/wire.h"
#include <string.h>

typedef struct message {
    leat_wire_group *group;
    const void *from; /* of a send */
    void *to;         /* of a receive */
    uint64_t size;
    uint32_t tag;
} message;

typedef struct single_wire {
    leat_wire base;
    leat_wire_group **gathers; /* whose pending is to fall at the next test */
    size_t gather_count, gather_capacity;
    message *sends, *recvs; /* in the order of posting */
    size_t send_count, send_capacity, recv_count, recv_capacity;
    bool abandoned;
} single_wire;

static leat_status usable(const single_wire *wire, leat_error *error)
{
    return wire->abandoned ? LEAT_FAIL(error, LEAT_PEER, "the wire was given up") : LEAT_OK;
}

static leat_status single_gather(leat_wire *base, leat_wire_group *group, leat_channel channel,
                                 const void *mine, void *all, const uint64_t *sizes,
                                 const uint64_t *offsets, leat_error *error)
{
    single_wire *wire = (single_wire *)base;
    LEAT_ASSERT((unsigned)channel < LEAT_CHANNEL_COUNT);
    leat_status status = usable(wire, error);
    if (status == LEAT_OK) {
        if (sizes[0] > 0) {
            memmove((uint8_t *)all + offsets[0], mine, sizes[0]);
        }
        LEAT_GROW(wire->gathers, wire->gather_capacity, wire->gather_count + 1);
        wire->gathers[wire->gather_count++] = group;
        group->pending++;
    }
    return status;
}

static leat_status single_send(leat_wire *base, leat_wire_group *group, int to, uint32_t tag,
                               const void *bytes, uint64_t size, leat_error *error)
{
    single_wire *wire = (single_wire *)base;
    LEAT_ASSERT(to == 0 && tag < LEAT_TAG_LIMIT);
    leat_status status = usable(wire, error);
    if (status == LEAT_OK) {
        LEAT_GROW(wire->sends, wire->send_capacity, wire->send_count + 1);
        wire->sends[wire->send_count++] = (message){group, bytes, NULL, size, tag};
        group->pending++;
    }
    return status;
}

static leat_status single_recv(leat_wire *base, leat_wire_group *group, int from, uint32_t tag,
                               void *bytes, uint64_t size, leat_error *error)
{
    single_wire *wire = (single_wire *)base;
    LEAT_ASSERT(from == 0 && tag < LEAT_TAG_LIMIT);
    leat_status status = usable(wire, error);
    if (status == LEAT_OK) {
        LEAT_GROW(wire->recvs, wire->recv_capacity, wire->recv_count + 1);
        wire->recvs[wire->recv_count++] = (message){group, NULL, bytes, size, tag};
        group->pending++;
    }
    return status;
}

/* Completes the receive if its send is there; the send leaves its list, the receive is the caller's to remove. */
static bool match(single_wire *wire, const message *recv)
{
    size_t i = 0;
    while (i < wire->send_count && wire->sends[i].tag != recv->tag) {
        i++;
    }
    if (i == wire->send_count) {
        return false;
    }
    LEAT_ASSERT(wire->sends[i].size == recv->size);
    if (recv->size > 0) {
        memmove(recv->to, wire->sends[i].from, recv->size);
    }
    wire->sends[i].group->pending--;
    recv->group->pending--;
    memmove(wire->sends + i, wire->sends + i + 1, (--wire->send_count - i) * sizeof *wire->sends);
    return true;
}

static leat_status single_test(leat_wire *base, leat_error *error)
{
    single_wire *wire = (single_wire *)base;
    leat_status status = usable(wire, error);
    if (status != LEAT_OK) {
        return status;
    }
    while (wire->gather_count > 0) {
        wire->gathers[--wire->gather_count]->pending--;
    }
    size_t kept = 0;
    for (size_t i = 0; i < wire->recv_count; i++) {
        const message recv = wire->recvs[i];
        if (!match(wire, &recv)) {
            wire->recvs[kept++] = recv;
        }
    }
    wire->recv_count = kept;
    return LEAT_OK;
}

static void single_poke(leat_wire *base)
{
    (void)base;
}

static bool single_poked(leat_wire *base)
{
    (void)base;
    return false;
}

static void single_abandon(leat_wire *base)
{
    single_wire *wire = (single_wire *)base;
    wire->abandoned = true;
    wire->gather_count = wire->send_count = wire->recv_count = 0;
}

static void single_close(leat_wire *base)
{
    single_wire *wire = (single_wire *)base;
    leat_free(wire->gathers);
    leat_free(wire->sends);
    leat_free(wire->recvs);
    leat_free(wire);
}

static leat_status single_dup(leat_wire *base, leat_wire **out, leat_error *error)
{
    (void)base;
    return leat_wire_open_single(out, error);
}

leat_status leat_wire_open_single(leat_wire **wire, leat_error *error)
{
    static const leat_wire_ops ops = {"single",     single_gather, single_send,  single_recv,
                                      single_test,  single_poke,   single_poked, single_abandon,
                                      single_close, single_dup};
    leat_error_clear(error);
    single_wire *single = leat_alloc(1, sizeof *single);
    single->base.ops = &ops;
    single->base.clock = leat_clock_system();
    single->base.size = 1;
    single->base.any_thread = true;
    *wire = &single->base;
    return LEAT_OK;
}
