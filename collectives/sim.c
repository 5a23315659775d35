/* sim.c: N ranks in one process.  One lock guards everything; a rank's operations are completed by its own calls of test, and
 * what holds them back is a count of those calls, drawn from the seed: never time, so a schedule depends on nothing but
 * the seed and on how often each rank tests. */
#include "base/arith.h"
#include "base/memory.h"
#include "collectives/wire.h"
#include <pthread.h>
#include <sched.h>
#include <string.h>

/* The i-th gather of a channel, from the first rank that joins to the last one that has its bytes. */
typedef struct meeting {
    struct meeting *next;
    leat_channel channel;
    uint64_t number;
    int joined, left; /* left: ranks that have still to take the bytes */
    const void **parts;
    uint64_t *sizes;
    uint8_t *
        data; /* all parts one after the other, once all have joined; only then are the senders' buffers free */
} meeting;

typedef enum op_kind { OP_GATHER, OP_SEND, OP_RECV } op_kind;

typedef struct op {
    struct op *next; /* of its rank, in the order of posting */
    op_kind kind;
    leat_wire_group *group;
    bool ready; /* what it waited for is there; `delay` tests later it is complete */
    uint32_t delay;
    meeting *meeting;
    const uint64_t *offsets;
    const void *from;
    void *to;
    uint64_t size;
    int peer;
    uint32_t tag;
} op;

typedef struct sim_wire {
    leat_wire base;
    leat_sim *sim;
    op *first, **last;
    uint64_t gathers[LEAT_CHANNEL_COUNT]; /* posted so far */
    uint64_t drawn;                       /* delays drawn so far */
    bool poked, killed, silent, abandoned, gone;
    int dups; /* called on this wire so far */
} sim_wire;

struct leat_sim {
    pthread_mutex_t lock;
    int ranks;
    uint64_t seed;
    uint32_t delay_tests_max;
    bool lost; /* a rank was killed, or left without closing in order */
    int lost_rank;
    meeting *meetings;
    sim_wire *wires;           /* [ranks] */
    leat_sim *child, *sibling; /* child: made by dup, newest first */
    int children;
};

static uint32_t draw_delay(sim_wire *wire)
{
    if (wire->sim->delay_tests_max == 0) {
        return 0;
    }
    uint64_t z = wire->sim->seed + 0x9e3779b97f4a7c15u * (uint64_t)(wire->base.rank + 1) +
                 0xd1b54a32d192ed03u * ++wire->drawn;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (uint32_t)(z % ((uint64_t)wire->sim->delay_tests_max + 1));
}

static leat_status usable(const sim_wire *wire, leat_error *error)
{
    if (wire->killed) {
        return LEAT_FAIL(error, LEAT_PEER, "this rank was killed");
    }
    if (wire->abandoned) {
        return LEAT_FAIL(error, LEAT_PEER, "the wire was given up");
    }
    if (wire->sim->lost) {
        LEAT_FAIL(error, LEAT_PEER, "rank %d is gone", wire->sim->lost_rank);
        error->rank = wire->base.rank;
        leat_error_hint(error, "start the job again");
        return LEAT_PEER;
    }
    return LEAT_OK;
}

static op *op_add(sim_wire *wire, op_kind kind, leat_wire_group *group)
{
    op *added = leat_alloc(1, sizeof *added);
    added->kind = kind;
    added->group = group;
    group->pending++;
    *wire->last = added;
    wire->last = &added->next;
    return added;
}

static meeting *meeting_of(leat_sim *sim, leat_channel channel, uint64_t number)
{
    meeting **at = &sim->meetings;
    while (*at != NULL && !((*at)->channel == channel && (*at)->number == number)) {
        at = &(*at)->next;
    }
    if (*at == NULL) {
        *at = leat_alloc(1, sizeof **at);
        (*at)->channel = channel;
        (*at)->number = number;
        (*at)->left = sim->ranks;
        (*at)->parts = leat_alloc((size_t)sim->ranks, sizeof *(*at)->parts);
        (*at)->sizes = leat_alloc((size_t)sim->ranks, sizeof *(*at)->sizes);
    }
    return *at;
}

static void meeting_free(meeting *met)
{
    leat_free(met->parts);
    leat_free(met->sizes);
    leat_free(met->data);
    leat_free(met);
}

static void meeting_leave(leat_sim *sim, meeting *met)
{
    if (--met->left > 0) {
        return;
    }
    meeting **at = &sim->meetings;
    while (*at != met) {
        at = &(*at)->next;
    }
    *at = met->next;
    meeting_free(met);
}

/* The last rank has joined: from here on the senders' buffers are not read any more. */
static void meeting_fill(leat_sim *sim, meeting *met)
{
    uint64_t total = 0;
    for (int i = 0; i < sim->ranks; i++) {
        total += met->sizes[i];
    }
    met->data = leat_alloc(total + 1, 1);
    total = 0;
    for (int i = 0; i < sim->ranks; i++) {
        if (met->sizes[i] > 0) {
            memcpy(met->data + total, met->parts[i], met->sizes[i]);
        }
        total += met->sizes[i];
    }
}

static leat_status sim_gather(leat_wire *base, leat_wire_group *group, leat_channel channel,
                              const void *mine, void *all, const uint64_t *sizes,
                              const uint64_t *offsets, leat_error *error)
{
    sim_wire *wire = (sim_wire *)base;
    leat_sim *sim = wire->sim;
    const size_t bytes = (size_t)sim->ranks * sizeof *sizes;
    LEAT_ASSERT((unsigned)channel < LEAT_CHANNEL_COUNT);
    pthread_mutex_lock(&sim->lock);
    leat_status status = usable(wire, error);
    if (status == LEAT_OK) {
        op *added = op_add(wire, OP_GATHER, group);
        added->to = all;
        added->offsets = offsets;
        if (!wire->silent) {
            meeting *met = meeting_of(sim, channel, wire->gathers[channel]++);
            LEAT_ASSERT(met->joined == 0 || memcmp(met->sizes, sizes, bytes) == 0);
            memcpy(met->sizes, sizes, bytes);
            met->parts[base->rank] = mine;
            added->meeting = met;
            if (++met->joined == sim->ranks) {
                meeting_fill(sim, met);
            }
        }
    }
    pthread_mutex_unlock(&sim->lock);
    return status;
}

static leat_status pair_post(sim_wire *wire, op_kind kind, leat_wire_group *group, int peer,
                             uint32_t tag, const void *from, void *to, uint64_t size,
                             leat_error *error)
{
    LEAT_ASSERT(peer >= 0 && peer < wire->sim->ranks && tag < LEAT_TAG_LIMIT);
    pthread_mutex_lock(&wire->sim->lock);
    leat_status status = usable(wire, error);
    if (status == LEAT_OK) {
        op *added = op_add(wire, kind, group);
        added->peer = peer;
        added->tag = tag;
        added->from = from;
        added->to = to;
        added->size = size;
    }
    pthread_mutex_unlock(&wire->sim->lock);
    return status;
}

static leat_status sim_send(leat_wire *base, leat_wire_group *group, int to, uint32_t tag,
                            const void *bytes, uint64_t size, leat_error *error)
{
    return pair_post((sim_wire *)base, OP_SEND, group, to, tag, bytes, NULL, size, error);
}

static leat_status sim_recv(leat_wire *base, leat_wire_group *group, int from, uint32_t tag,
                            void *bytes, uint64_t size, leat_error *error)
{
    return pair_post((sim_wire *)base, OP_RECV, group, from, tag, NULL, bytes, size, error);
}

/* The first send of the receive's peer that goes to us with its tag and was not taken yet. */
static op *send_for(sim_wire *wire, const op *recv)
{
    const sim_wire *peer = &wire->sim->wires[recv->peer];
    op *at = peer->silent ? NULL : peer->first;
    while (at != NULL && !(at->kind == OP_SEND && !at->ready && at->peer == wire->base.rank &&
                           at->tag == recv->tag)) {
        at = at->next;
    }
    return at;
}

static bool becomes_ready(sim_wire *wire, op *at)
{
    if (at->kind == OP_GATHER) {
        return at->meeting != NULL && at->meeting->joined == wire->sim->ranks;
    }
    op *send = at->kind == OP_RECV ? send_for(wire, at) : NULL;
    if (send == NULL) {
        return false; /* sends are made ready by their receives */
    }
    LEAT_ASSERT(send->size == at->size);
    if (at->size > 0) {
        memcpy(at->to, send->from, at->size);
    }
    send->ready = true;
    send->delay = draw_delay(&wire->sim->wires[at->peer]);
    return true;
}

static void complete(sim_wire *wire, op *at)
{
    meeting *met = at->meeting;
    if (met != NULL) {
        uint64_t from = 0;
        for (int i = 0; i < wire->sim->ranks; i++) {
            if (met->sizes[i] > 0) {
                memcpy((uint8_t *)at->to + at->offsets[i], met->data + from, met->sizes[i]);
            }
            from += met->sizes[i];
        }
        meeting_leave(wire->sim, met);
    }
    at->group->pending--;
}

static bool test_locked(sim_wire *wire)
{
    bool progress = false;
    op **at = &wire->first;
    while (*at != NULL) {
        op *now = *at;
        if (!now->ready && becomes_ready(wire, now)) {
            now->ready = true;
            now->delay = draw_delay(wire);
        }
        if (now->ready && now->delay == 0) {
            complete(wire, now);
            *at = now->next;
            leat_free(now);
            progress = true;
            continue;
        }
        if (now->ready) {
            now->delay--;
        }
        at = &now->next;
    }
    wire->last = at;
    return progress;
}

static leat_status sim_test(leat_wire *base, leat_error *error)
{
    sim_wire *wire = (sim_wire *)base;
    bool progress = false;
    pthread_mutex_lock(&wire->sim->lock);
    /* What is there is taken even where a rank is gone: it may have left because of what it sent. */
    if (!wire->silent && !wire->killed && !wire->abandoned) {
        progress = test_locked(wire);
    }
    leat_status status = usable(wire, error);
    pthread_mutex_unlock(&wire->sim->lock);
    if (!progress) {
        sched_yield(); /* a rank that only tests must not keep the others from running */
    }
    return status;
}

static void sim_poke(leat_wire *base)
{
    sim_wire *wire = (sim_wire *)base;
    pthread_mutex_lock(&wire->sim->lock);
    for (int i = 0; i < wire->sim->ranks && !wire->silent && !wire->killed; i++) {
        if (i != base->rank && !wire->sim->wires[i].silent) {
            wire->sim->wires[i].poked = true;
        }
    }
    pthread_mutex_unlock(&wire->sim->lock);
}

static bool sim_poked(leat_wire *base)
{
    sim_wire *wire = (sim_wire *)base;
    pthread_mutex_lock(&wire->sim->lock);
    const bool poked = wire->poked;
    wire->poked = false;
    pthread_mutex_unlock(&wire->sim->lock);
    return poked;
}

/* Drops the rank's operations.  It steps back from a gather that is not full, which so never becomes full: its buffer is the
 * caller's again. */
static void drop_ops(sim_wire *wire)
{
    while (wire->first != NULL) {
        op *now = wire->first;
        if (now->meeting != NULL && now->meeting->data == NULL) {
            now->meeting->joined--;
        }
        wire->first = now->next;
        leat_free(now);
    }
    wire->last = &wire->first;
}

static void lose(leat_sim *sim, int rank)
{
    if (!sim->lost) {
        sim->lost = true;
        sim->lost_rank = rank;
    }
}

static void sim_abandon(leat_wire *base)
{
    sim_wire *wire = (sim_wire *)base;
    pthread_mutex_lock(&wire->sim->lock);
    wire->abandoned = true;
    if (!wire->silent) {
        /* A gather that others still wait for would read our buffer, which is the caller's again: a rank that gives up is
         * lost to all, as where its process ends. */
        lose(wire->sim, base->rank);
    }
    drop_ops(wire);
    pthread_mutex_unlock(&wire->sim->lock);
}

static void sim_close(leat_wire *base)
{
    sim_wire *wire = (sim_wire *)base;
    pthread_mutex_lock(&wire->sim->lock);
    if (wire->first != NULL && !wire->silent) {
        lose(wire->sim, base->rank); /* what is under way here can never complete elsewhere */
    }
    drop_ops(wire);
    wire->gone = true;
    pthread_mutex_unlock(&wire->sim->lock);
}

/* The i-th dup of every rank is one simulation of its own, made by the first rank that comes. */
static leat_status sim_dup(leat_wire *base, leat_wire **out, leat_error *error)
{
    sim_wire *wire = (sim_wire *)base;
    leat_sim *sim = wire->sim;
    *out = NULL;
    pthread_mutex_lock(&sim->lock);
    leat_status status = usable(wire, error);
    if (status == LEAT_OK) {
        int number = wire->dups++;
        if (number == sim->children) {
            leat_sim *child =
                leat_sim_open(sim->ranks, sim->seed + (uint64_t)number + 1, sim->delay_tests_max);
            child->sibling = sim->child;
            sim->child = child;
            sim->children++;
        }
        leat_sim *child = sim->child;
        for (int i = sim->children - 1; i > number; i--) {
            child = child->sibling;
        }
        *out = &child->wires[base->rank].base;
    }
    pthread_mutex_unlock(&sim->lock);
    return status;
}

leat_sim *leat_sim_open(int ranks, uint64_t seed, uint32_t delay_tests_max)
{
    static const leat_wire_ops ops = {"sim",    sim_gather, sim_send,    sim_recv,  sim_test,
                                      sim_poke, sim_poked,  sim_abandon, sim_close, sim_dup};
    LEAT_ASSERT(ranks > 0);
    leat_sim *sim = leat_alloc(1, sizeof *sim);
    pthread_mutex_init(&sim->lock, NULL);
    sim->ranks = ranks;
    sim->seed = seed;
    sim->delay_tests_max = delay_tests_max;
    sim->wires = leat_alloc((size_t)ranks, sizeof *sim->wires);
    for (int i = 0; i < ranks; i++) {
        sim_wire *wire = &sim->wires[i];
        wire->base.ops = &ops;
        wire->base.clock = leat_clock_system();
        wire->base.rank = i;
        wire->base.size = ranks;
        wire->base.any_thread = true;
        wire->sim = sim;
        wire->last = &wire->first;
    }
    return sim;
}

leat_wire *leat_sim_wire(leat_sim *sim, int rank)
{
    LEAT_ASSERT(rank >= 0 && rank < sim->ranks);
    return &sim->wires[rank].base;
}

void leat_sim_kill(leat_sim *sim, int rank)
{
    pthread_mutex_lock(&sim->lock);
    sim->wires[rank].killed = true;
    lose(sim, rank);
    leat_sim *first = sim->child; /* only grows at its head, and none is freed before close */
    pthread_mutex_unlock(&sim->lock);
    for (leat_sim *child = first; child != NULL; child = child->sibling) {
        leat_sim_kill(child, rank);
    }
}

void leat_sim_silence(leat_sim *sim, int rank)
{
    pthread_mutex_lock(&sim->lock);
    sim->wires[rank].silent = true;
    leat_sim *first = sim->child;
    pthread_mutex_unlock(&sim->lock);
    for (leat_sim *child = first; child != NULL; child = child->sibling) {
        leat_sim_silence(child, rank);
    }
}

void leat_sim_close(leat_sim *sim)
{
    if (sim == NULL) {
        return;
    }
    while (sim->child != NULL) {
        leat_sim *child = sim->child;
        sim->child = child->sibling;
        leat_sim_close(child);
    }
    for (int i = 0; i < sim->ranks; i++) {
        drop_ops(&sim->wires[i]); /* of wires that nobody closed */
    }
    while (sim->meetings != NULL) {
        meeting *met = sim->meetings;
        sim->meetings = met->next;
        meeting_free(met);
    }
    leat_free(sim->wires);
    pthread_mutex_destroy(&sim->lock);
    leat_free(sim);
}
