/* wire.h: what leat needs from the other ranks.  Only open, close and the leat_wire_* helpers below may block; the operations
 * are started and then tested.  Sizes are always known to both sides.  One thread at a time uses a wire.
 *
 * Gathers are ordered within their channel: the i-th gather of all ranks on a channel belong together.  Pair messages match
 * by (from, to, tag) in the order of posting. */
#ifndef LEAT_COLLECTIVES_WIRE_H
#define LEAT_COLLECTIVES_WIRE_H
#include "base/clock.h"
#include "base/status.h"
#include "collectives/leat_wire.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum leat_channel {
    LEAT_CHANNEL_TICK,
    LEAT_CHANNEL_DIGEST,
    LEAT_CHANNEL_CALL,
    LEAT_CHANNEL_VERDICT, /* at most one gather in a feed's life: why it failed */
    LEAT_CHANNEL_COUNT
} leat_channel;

/* MPI promises no more tags than these; every wire asserts it, so that a simulation finds what a cluster would. */
enum { LEAT_TAG_LIMIT = 1 << 15 };

/* Operations count down in a group; pending == 0: all complete, the buffers are the caller's again. */
typedef struct leat_wire_group {
    int pending;
} leat_wire_group;

typedef struct leat_wire_ops {
    const char *name; /* "single", "mpi", "sim", "calls", "tcp" */
    /* mine[sizes[rank]] of every rank to all[offsets[r]] on every rank; sizes and offsets [size], equal on all ranks, and kept
     * by the caller until the group is done. */
    leat_status (*gather)(leat_wire *, leat_wire_group *, leat_channel, const void *mine, void *all,
                          const uint64_t *sizes, const uint64_t *offsets, leat_error *);
    /* tag < LEAT_TAG_LIMIT; a message to oneself is allowed. */
    leat_status (*send)(leat_wire *, leat_wire_group *, int to, uint32_t tag, const void *bytes,
                        uint64_t size, leat_error *);
    leat_status (*recv)(leat_wire *, leat_wire_group *, int from, uint32_t tag, void *bytes,
                        uint64_t size, leat_error *);
    /* Makes progress and completes what can be; never sleeps.  PEER: a peer is gone and nothing will complete any more. */
    leat_status (*test)(leat_wire *, leat_error *);
    void (*poke)(
        leat_wire
            *); /* abnormal case: soon `poked` is true on all other ranks; no partner needed */
    bool (*poked)(leat_wire *);   /* true once for one or more pokes since the last call */
    void (*abandon)(leat_wire *); /* LOCAL: gives up everything under way; afterwards only close */
    void (*close)(
        leat_wire *); /* COLLECTIVE on a healthy wire, LOCAL after abandon or an error; frees it */
    /* COLLECTIVE, may block: another wire between the same ranks, that nothing on this one disturbs.  NULL: this kind cannot. */
    leat_status (*dup)(leat_wire *, leat_wire **out, leat_error *);
} leat_wire_ops;

/* Every implementation begins its struct with this. */
struct leat_wire {
    const leat_wire_ops *ops;
    const leat_clock *clock;
    int rank, size;
    bool in_use;         /* a loader is open on a wire that cannot dup: it carries one at a time */
    bool any_thread;     /* a loader thread of our own may drive it (MPI_THREAD_MULTIPLE) */
    uint64_t timeout_ns; /* peer_timeout of the blocking helpers; 0: 300 s */
    /* Set by who drives the wire on a thread of its own, or NULL: what carries the wire ends now (MPI_Finalize).  The driver has
     * stopped using the wire when `ending` returns; afterwards only close.  Called on the thread that ends it. */
    void (*ending)(void *context);
    void *ending_context;
};

/* Blocking helpers for open and close: test with naps until done, PEER after the timeout.  COLLECTIVE.  A helper that fails has
 * abandoned the wire: no buffer is in use any more, and what is left is close. */
leat_status leat_wire_wait(leat_wire *wire, leat_wire_group *group,
                           leat_error *error) LEAT_MUST_USE;
/* Equal sizes on all ranks: all has size·bytes bytes. */
leat_status leat_wire_gather_equal(leat_wire *wire, leat_channel channel, const void *mine,
                                   void *all, uint64_t bytes, leat_error *error) LEAT_MUST_USE;
/* Root's bytes reach everyone; *data is for leat_free on all ranks (on the root its own copy). */
leat_status leat_wire_broadcast(leat_wire *wire, int root, const void *mine, uint64_t bytes,
                                uint8_t **data, uint64_t *out_bytes,
                                leat_error *error) LEAT_MUST_USE;
/* Every rank brings its status; all return the same verdict: OK where all are, else the error of the lowest failing rank. */
leat_status leat_agree(leat_wire *wire, leat_status mine, leat_error *error) LEAT_MUST_USE;
/* leat_error as bytes and back (fixed size), for agreements. */
enum { LEAT_ERROR_BYTES = 1536 };
void leat_error_encode(const leat_error *error, uint8_t out[LEAT_ERROR_BYTES]);
void leat_error_decode(leat_error *error, const uint8_t in[LEAT_ERROR_BYTES]);

/* N ranks in this process, one thread each.  Seeded delays hold gathers and messages back for some tests; faults for tests. */
typedef struct leat_sim leat_sim;
leat_sim *leat_sim_open(int ranks, uint64_t seed, uint32_t delay_tests_max);
leat_wire *leat_sim_wire(leat_sim *sim, int rank); /* closed by leat_wire_close */
void leat_sim_kill(
    leat_sim *sim,
    int rank); /* from any thread: that rank takes part in nothing any more; others get PEER */
void leat_sim_silence(leat_sim *sim, int rank); /* it takes part in nothing, and nobody is told */
void leat_sim_close(leat_sim *sim);             /* after all its wires */
#endif
