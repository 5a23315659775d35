/* mpi.c: the wire over MPI.
 *
 * - Never waits inside MPI: operations are started and then tested with MPI_Testsome over one list.
 * - Every operation goes through a buffer of ours.  MPI cannot take back a collective that has been started, so after a peer
 *   is lost it may still write; the copy (gathers are small, pair messages are a few windows) lets the caller have its memory
 *   back at once, and only our buffers are left behind.  Finished operations are used again, so nothing is allocated
 *   once the sizes have been seen.
 * - MPI counts in int.  chunks_of cuts both kinds of operations, and nothing else here knows of it. */
#include "collectives/mpi/mpi_wire.h"
#include "base/arith.h"
#include "base/memory.h"
#include "collectives/leat_mpi.h"
#include <limits.h>
#include <string.h>

enum { CHUNK_DEFAULT = 1 << 30, DRAIN_TESTS = 100000 };

typedef struct operation {
    struct operation *next_free;
    leat_wire_group *group;
    int requests;   /* still open */
    uint8_t *stage; /* what MPI reads and writes; for gathers our part, then everyone's */
    size_t stage_capacity;
    int *counts; /* gathers: [chunk][2][size], counts and displacements */
    size_t counts_capacity;
    void *to;                        /* gathers and receives: where the bytes go at the end */
    uint64_t bytes;                  /* pair messages */
    const uint64_t *sizes, *offsets; /* gathers: the caller's; NULL for pair messages */
    uint64_t chunk,
        mine; /* gathers: bytes of a rank in a chunk, and of the part in front of the stage */
} operation;

typedef struct mpi_wire {
    leat_wire base;
    MPI_Comm channels[LEAT_CHANNEL_COUNT], pair, poke;
    int keyval;
    uint64_t chunk_max;
    /* requests[0] is the standing receive for pokes; owners[i] is the operation of requests[i],
     * NULL for a poke */
    MPI_Request *requests;
    operation **owners;
    int *finished;
    MPI_Status *statuses;
    size_t request_count, request_capacity, owner_capacity, finished_capacity, status_capacity;
    operation *free_gathers, *free_pairs; /* apart, as their buffers differ in size */
    size_t open_operations;
    uint8_t poke_byte, poke_sent;
    uint64_t pokes_sent, pokes_seen;
    bool poked, abandoned, ended, closing;
} mpi_wire;

static leat_status fail_mpi(leat_error *error, const mpi_wire *wire, leat_status status,
                            const char *doing, int code)
{
    char reason[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, reason, &length);
    LEAT_FAIL(error, status, "MPI failed to %s", doing);
    error->rank = wire->base.rank;
    leat_error_found(error, "%.180s", reason);
    leat_error_hint(error, status == LEAT_PEER ? "see whether a rank has ended; start the job again"
                                               : "leat doctor shows what this MPI gives");
    return status;
}

static leat_status usable(const mpi_wire *wire, leat_error *error)
{
    if (!wire->abandoned) {
        return LEAT_OK;
    }
    LEAT_FAIL(error, LEAT_PEER, "%s",
              wire->ended ? "MPI was finalized while the wire was open" : "the wire was given up");
    error->rank = wire->base.rank;
    leat_error_hint(error, "%s", wire->ended ? "close the loader before MPI_Finalize" : "");
    return LEAT_PEER;
}

/* ---- operations and requests ---- */

static operation *operation_begin(mpi_wire *wire, operation **free_list, leat_wire_group *group)
{
    operation *op = *free_list;
    if (op == NULL) {
        op = leat_alloc(1, sizeof *op);
    } else {
        *free_list = op->next_free;
    }
    op->group = group;
    op->requests = 0;
    op->sizes = op->offsets = NULL;
    op->to = NULL;
    op->bytes = 0;
    wire->open_operations++;
    group->pending++;
    return op;
}

static void stage_reserve(operation *op, uint64_t bytes)
{
    /* One byte more, so that an empty operation has an address too. */
    if (bytes + 1 > op->stage_capacity) {
        leat_free(op->stage);
        op->stage = leat_alloc(bytes + 1, 1);
        op->stage_capacity = bytes + 1;
    }
}

static MPI_Request *request_add(mpi_wire *wire, operation *op)
{
    const size_t needed = wire->request_count + 1;
    LEAT_GROW(wire->requests, wire->request_capacity, needed);
    LEAT_GROW(wire->owners, wire->owner_capacity, needed);
    LEAT_GROW(wire->finished, wire->finished_capacity, needed);
    LEAT_GROW(wire->statuses, wire->status_capacity, needed);
    if (op != NULL) {
        op->requests++;
    }
    wire->owners[wire->request_count] = op;
    wire->requests[wire->request_count] = MPI_REQUEST_NULL;
    return &wire->requests[wire->request_count++];
}

/* How many pieces of at most `chunk` bytes; an empty operation is one empty piece, since the other side posts one too. */
static uint64_t chunks_of(uint64_t bytes, uint64_t chunk)
{
    return leat_max_u64(leat_div_ceil(bytes, chunk), 1);
}

static int chunk_bytes(uint64_t bytes, uint64_t chunk, uint64_t index)
{
    const uint64_t at = index * chunk;
    return at < bytes ? leat_int(leat_min_u64(bytes - at, chunk)) : 0;
}

/* ---- gathers ---- */

/* The counts of chunk c, and where its parts stand in the stage; returns the bytes of the chunk over all ranks. */
static uint64_t gather_layout(const operation *op, int ranks, uint64_t chunk_index, int *counts,
                              int *displacements, bool *equal)
{
    uint64_t total = 0;
    *equal = true;
    for (int r = 0; r < ranks; r++) {
        counts[r] = chunk_bytes(op->sizes[r], op->chunk, chunk_index);
        displacements[r] = leat_int(total);
        total += (uint64_t)counts[r];
        *equal = *equal && counts[r] == counts[0];
    }
    return total;
}

static leat_status gather_chunks(mpi_wire *wire, operation *op, MPI_Comm comm, uint64_t chunks,
                                 leat_error *error)
{
    const int ranks = wire->base.size;
    const uint64_t mine = op->sizes[wire->base.rank];
    uint64_t at = op->mine;
    for (uint64_t c = 0; c < chunks; c++) {
        int *counts = op->counts + 2 * c * (uint64_t)ranks, *displacements = counts + ranks;
        bool equal;
        const uint64_t bytes = gather_layout(op, ranks, c, counts, displacements, &equal);
        const int count = chunk_bytes(mine, op->chunk, c);
        const uint8_t *from = op->stage + (count > 0 ? c * op->chunk : 0);
        MPI_Request *request = request_add(wire, op);
        const int code = equal ? MPI_Iallgather(from, count, MPI_BYTE, op->stage + at, count,
                                                MPI_BYTE, comm, request)
                               : MPI_Iallgatherv(from, count, MPI_BYTE, op->stage + at, counts,
                                                 displacements, MPI_BYTE, comm, request);
        if (code != MPI_SUCCESS) {
            return fail_mpi(error, wire, LEAT_PEER, "start a gather", code);
        }
        at += bytes;
    }
    return LEAT_OK;
}

static leat_status mpi_gather(leat_wire *base, leat_wire_group *group, leat_channel channel,
                              const void *mine, void *all, const uint64_t *sizes,
                              const uint64_t *offsets, leat_error *error)
{
    mpi_wire *wire = (mpi_wire *)base;
    leat_status status = usable(wire, error);
    LEAT_ASSERT((unsigned)channel < LEAT_CHANNEL_COUNT);
    if (status != LEAT_OK) {
        return status;
    }
    uint64_t total = 0, largest = 0;
    for (int r = 0; r < base->size; r++) {
        LEAT_ASSERT(leat_add_u64(total, sizes[r], &total));
        largest = leat_max_u64(largest, sizes[r]);
    }
    operation *op = operation_begin(wire, &wire->free_gathers, group);
    op->sizes = sizes;
    op->offsets = offsets;
    op->to = all;
    op->mine = sizes[base->rank];
    op->chunk =
        leat_max_u64(wire->chunk_max / (uint64_t)base->size, 1); /* displacements are int, too */
    const uint64_t chunks = chunks_of(largest, op->chunk);
    stage_reserve(op, op->mine + total);
    LEAT_GROW(op->counts, op->counts_capacity, 2 * chunks * (uint64_t)base->size);
    if (op->mine > 0) {
        memcpy(op->stage, mine, op->mine);
    }
    return gather_chunks(wire, op, wire->channels[channel], chunks, error);
}

static void gather_deliver(const mpi_wire *wire, const operation *op)
{
    const int ranks = wire->base.size;
    const uint8_t *at = op->stage + op->mine;
    uint64_t largest = 0;
    for (int r = 0; r < ranks; r++) {
        largest = leat_max_u64(largest, op->sizes[r]);
    }
    for (uint64_t c = 0; c < chunks_of(largest, op->chunk); c++) {
        for (int r = 0; r < ranks; r++) {
            const size_t bytes = (size_t)chunk_bytes(op->sizes[r], op->chunk, c);
            if (bytes > 0) {
                memcpy((uint8_t *)op->to + op->offsets[r] + c * op->chunk, at, bytes);
            }
            at += bytes;
        }
    }
}

/* ---- pair messages ---- */

/* Pieces of one message share its tag: MPI keeps messages of one sender and tag in order. */
static leat_status pair_chunks(mpi_wire *wire, operation *op, int peer, uint32_t tag, bool sending,
                               leat_error *error)
{
    const uint64_t chunks = chunks_of(op->bytes, wire->chunk_max);
    for (uint64_t c = 0; c < chunks; c++) {
        const int count = chunk_bytes(op->bytes, wire->chunk_max, c);
        uint8_t *at = op->stage + c * wire->chunk_max;
        MPI_Request *request = request_add(wire, op);
        const int code = sending
                             ? MPI_Isend(at, count, MPI_BYTE, peer, (int)tag, wire->pair, request)
                             : MPI_Irecv(at, count, MPI_BYTE, peer, (int)tag, wire->pair, request);
        if (code != MPI_SUCCESS) {
            return fail_mpi(error, wire, LEAT_PEER, "start a pair message", code);
        }
    }
    return LEAT_OK;
}

static leat_status mpi_send(leat_wire *base, leat_wire_group *group, int to, uint32_t tag,
                            const void *bytes, uint64_t size, leat_error *error)
{
    mpi_wire *wire = (mpi_wire *)base;
    LEAT_ASSERT(to >= 0 && to < base->size && tag < LEAT_TAG_LIMIT);
    leat_status status = usable(wire, error);
    if (status != LEAT_OK) {
        return status;
    }
    operation *op = operation_begin(wire, &wire->free_pairs, group);
    stage_reserve(op, size);
    if (size > 0) {
        memcpy(op->stage, bytes, size);
    }
    op->bytes = size;
    return pair_chunks(wire, op, to, tag, true, error);
}

static leat_status mpi_recv(leat_wire *base, leat_wire_group *group, int from, uint32_t tag,
                            void *bytes, uint64_t size, leat_error *error)
{
    mpi_wire *wire = (mpi_wire *)base;
    LEAT_ASSERT(from >= 0 && from < base->size && tag < LEAT_TAG_LIMIT);
    leat_status status = usable(wire, error);
    if (status != LEAT_OK) {
        return status;
    }
    operation *op = operation_begin(wire, &wire->free_pairs, group);
    stage_reserve(op, size);
    op->bytes = size;
    op->to = bytes;
    return pair_chunks(wire, op, from, tag, false, error);
}

/* ---- progress ---- */

static void operation_end(mpi_wire *wire, operation *op)
{
    if (op->sizes != NULL) {
        gather_deliver(wire, op);
    } else if (op->to != NULL && op->bytes > 0) {
        memcpy(op->to, op->stage, op->bytes);
    }
    op->group->pending--;
    operation **free_list = op->sizes != NULL ? &wire->free_gathers : &wire->free_pairs;
    op->next_free = *free_list;
    *free_list = op;
    wire->open_operations--;
}

/* Takes the finished requests out of the list, in one pass: MPI has set them to MPI_REQUEST_NULL. */
static void requests_sweep(mpi_wire *wire)
{
    size_t kept = 1;
    for (size_t i = 1; i < wire->request_count; i++) {
        operation *op = wire->owners[i];
        if (wire->requests[i] != MPI_REQUEST_NULL) {
            wire->requests[kept] = wire->requests[i];
            wire->owners[kept++] = op;
        } else if (op != NULL && --op->requests == 0) {
            operation_end(wire, op);
        }
    }
    wire->request_count = kept;
}

static leat_status mpi_test(leat_wire *base, leat_error *error)
{
    mpi_wire *wire = (mpi_wire *)base;
    leat_status status = usable(wire, error);
    if (status != LEAT_OK) {
        return status;
    }
    int count = 0;
    int code = MPI_Testsome((int)wire->request_count, wire->requests, &count, wire->finished,
                            wire->statuses);
    if (code != MPI_SUCCESS) {
        for (int i = 0; code == MPI_ERR_IN_STATUS && i < count; i++) {
            code = wire->statuses[i].MPI_ERROR != MPI_SUCCESS ? wire->statuses[i].MPI_ERROR : code;
        }
        return fail_mpi(error, wire, LEAT_PEER, "complete an operation", code);
    }
    bool swept = false;
    for (int i = 0; i < count && count != MPI_UNDEFINED; i++) {
        if (wire->finished[i] == 0) {
            wire->poked = true;
            wire->pokes_seen++;
            code = MPI_Start(&wire->requests[0]);
        } else {
            swept = true;
        }
    }
    if (swept) {
        requests_sweep(wire);
    }
    return code == MPI_SUCCESS ? LEAT_OK
                               : fail_mpi(error, wire, LEAT_PEER, "wait for a poke", code);
}

static void mpi_poke(leat_wire *base)
{
    mpi_wire *wire = (mpi_wire *)base;
    if (wire->abandoned) {
        return;
    }
    wire->pokes_sent++;
    for (int r = 0; r < base->size; r++) {
        if (r != base->rank) {
            MPI_Request *request = request_add(wire, NULL);
            if (MPI_Isend(&wire->poke_sent, 1, MPI_BYTE, r, 0, wire->poke, request) !=
                MPI_SUCCESS) {
                *request =
                    MPI_REQUEST_NULL; /* swept next time; the next test tells what is wrong */
            }
        }
    }
}

static bool mpi_poked(leat_wire *base)
{
    mpi_wire *wire = (mpi_wire *)base;
    const bool poked = wire->poked;
    wire->poked = false;
    return poked;
}

/* ---- the end ---- */

/* Leaves to MPI what cannot be taken back; its buffers stay allocated, since MPI may still write to them. */
static void mpi_abandon(leat_wire *base)
{
    mpi_wire *wire = (mpi_wire *)base;
    if (wire->abandoned) {
        return;
    }
    wire->abandoned = true;
    for (size_t i = 0; i < wire->request_count; i++) {
        const operation *op = wire->owners[i];
        const bool receive = i == 0 || (op != NULL && op->sizes == NULL && op->to != NULL);
        if (wire->requests[i] != MPI_REQUEST_NULL && receive) {
            MPI_Cancel(&wire->requests[i]);
            MPI_Request_free(&wire->requests[i]);
        }
    }
    wire->request_count = 0;
}

/* MPI_Finalize frees MPI_COMM_SELF first and so comes here, on the thread that called it, while MPI still works. */
static int self_deleted(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)extra;
    mpi_wire *wire = value;
    if (!wire->closing) {
        if (wire->base.ending != NULL) {
            wire->base.ending(wire->base.ending_context);
        }
        mpi_abandon(&wire->base);
        wire->ended = true;
    }
    return MPI_SUCCESS;
}

/* All ranks are here and every poke that was sent has come: then the communicators can go. */
static bool all_done(mpi_wire *wire)
{
    leat_error error;
    uint64_t *sent = leat_alloc((size_t)wire->base.size, sizeof *sent), expected = 0;
    bool done = !wire->abandoned && wire->open_operations == 0 &&
                leat_wire_gather_equal(&wire->base, LEAT_CHANNEL_CALL, &wire->pokes_sent, sent,
                                       sizeof *sent, &error) == LEAT_OK;
    for (int r = 0; done && r < wire->base.size; r++) {
        expected += r != wire->base.rank ? sent[r] : 0;
    }
    leat_free(sent);
    for (int i = 0; done && (wire->pokes_seen < expected || wire->request_count > 1); i++) {
        done = i < DRAIN_TESTS && mpi_test(&wire->base, &error) == LEAT_OK;
    }
    return done;
}

static void comms_free(mpi_wire *wire)
{
    MPI_Comm *comms[] = {&wire->channels[0], &wire->channels[1], &wire->channels[2],
                         &wire->channels[3], &wire->pair,        &wire->poke};
    _Static_assert(LEAT_CHANNEL_COUNT == 4, "one communicator a channel");
    for (size_t i = 0; i < sizeof comms / sizeof *comms; i++) {
        if (*comms[i] != MPI_COMM_NULL) {
            MPI_Comm_free(comms[i]);
        }
    }
}

static void operations_free(operation *op)
{
    while (op != NULL) {
        operation *next = op->next_free;
        leat_free(op->stage);
        leat_free(op->counts);
        leat_free(op);
        op = next;
    }
}

static void wire_free(mpi_wire *wire)
{
    operations_free(wire->free_gathers);
    operations_free(wire->free_pairs);
    leat_free(wire->requests);
    leat_free(wire->owners);
    leat_free(wire->finished);
    leat_free(wire->statuses);
    leat_free(wire);
}

static void mpi_close(leat_wire *base)
{
    mpi_wire *wire = (mpi_wire *)base;
    if (!wire->ended) {
        const bool healthy = all_done(wire);
        wire->closing = true;
        if (healthy) {
            int stopped = 0;
            MPI_Cancel(&wire->requests[0]);
            for (int i = 0; i < DRAIN_TESTS && !stopped; i++) {
                MPI_Test(&wire->requests[0], &stopped, MPI_STATUS_IGNORE);
            }
            MPI_Request_free(&wire->requests[0]);
            comms_free(wire);
        } else {
            mpi_abandon(base); /* the communicators stay: freeing them is collective */
        }
        MPI_Comm_delete_attr(MPI_COMM_SELF, wire->keyval);
        MPI_Comm_free_keyval(&wire->keyval);
    }
    wire_free(wire);
}

/* ---- the beginning ---- */

static leat_status comms_open(mpi_wire *wire, MPI_Comm comm, leat_error *error)
{
    MPI_Comm *comms[] = {&wire->channels[0], &wire->channels[1], &wire->channels[2],
                         &wire->channels[3], &wire->pair,        &wire->poke};
    _Static_assert(LEAT_CHANNEL_COUNT == 4, "one communicator a channel");
    for (size_t i = 0; i < sizeof comms / sizeof *comms; i++) {
        int code = MPI_Comm_dup(comm, comms[i]);
        if (code == MPI_SUCCESS) {
            code = MPI_Comm_set_errhandler(*comms[i], MPI_ERRORS_RETURN);
        }
        if (code != MPI_SUCCESS) {
            return fail_mpi(error, wire, LEAT_ENVIRONMENT, "duplicate the communicator", code);
        }
    }
    request_add(wire, NULL);
    int code = MPI_Recv_init(&wire->poke_byte, 1, MPI_BYTE, MPI_ANY_SOURCE, 0, wire->poke,
                             &wire->requests[0]);
    if (code == MPI_SUCCESS) {
        code = MPI_Start(&wire->requests[0]);
    }
    if (code == MPI_SUCCESS) {
        code = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, self_deleted, &wire->keyval, NULL);
    }
    if (code == MPI_SUCCESS) {
        code = MPI_Comm_set_attr(MPI_COMM_SELF, wire->keyval, wire);
    }
    return code == MPI_SUCCESS ? LEAT_OK
                               : fail_mpi(error, wire, LEAT_ENVIRONMENT, "open the wire", code);
}

static leat_status mpi_dup(leat_wire *base, leat_wire **out, leat_error *error)
{
    return leat_wire_open_mpi(out, ((mpi_wire *)base)->channels[LEAT_CHANNEL_CALL], error);
}

leat_status leat_wire_open_mpi(leat_wire **out, MPI_Comm comm, leat_error *error)
{
    static const leat_wire_ops ops = {"mpi",    mpi_gather, mpi_send,    mpi_recv,  mpi_test,
                                      mpi_poke, mpi_poked,  mpi_abandon, mpi_close, mpi_dup};
    int started = 0, over = 0, level = MPI_THREAD_SINGLE;
    *out = NULL;
    leat_error_clear(error);
    MPI_Initialized(&started);
    MPI_Finalized(&over);
    if (!started || over) {
        LEAT_FAIL(error, LEAT_ENVIRONMENT, "MPI is not running");
        leat_error_found(error, "%s", over ? "MPI_Finalize was called" : "no MPI_Init so far");
        leat_error_hint(error, "open the wire between MPI_Init_thread and MPI_Finalize");
        return LEAT_ENVIRONMENT;
    }
    mpi_wire *wire = leat_alloc(1, sizeof *wire);
    wire->base.ops = &ops;
    wire->base.clock = leat_clock_system();
    wire->chunk_max = CHUNK_DEFAULT;
    wire->pair = wire->poke = MPI_COMM_NULL;
    for (int i = 0; i < LEAT_CHANNEL_COUNT; i++) {
        wire->channels[i] = MPI_COMM_NULL;
    }
    MPI_Comm_rank(comm, &wire->base.rank);
    MPI_Comm_size(comm, &wire->base.size);
    MPI_Query_thread(&level);
    wire->base.any_thread = level == MPI_THREAD_MULTIPLE;
    leat_status status = comms_open(wire, comm, error);
    if (status != LEAT_OK) {
        comms_free(wire);
        wire_free(wire);
        return status;
    }
    *out = &wire->base;
    return LEAT_OK;
}

void leat_mpi_chunk_set(leat_wire *wire, uint64_t bytes)
{
    LEAT_ASSERT(bytes > 0 && bytes <= INT_MAX);
    ((mpi_wire *)wire)->chunk_max = bytes;
}
