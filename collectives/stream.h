/* stream.h: a wire over byte streams.  Who has a stream to every other rank (the caller's functions, sockets) gets
 * gathers, tagged messages, pokes and an orderly end from here. */
#ifndef LEAT_COLLECTIVES_STREAM_H
#define LEAT_COLLECTIVES_STREAM_H
#include "collectives/wire.h"

enum { LEAT_STREAM_GONE = -1 };

/* `context` is the transport's.  Nothing here waits for another rank. */
typedef struct leat_stream_ops {
    const char *name;
    /* How many of the bytes were taken, 0: none now, LEAT_STREAM_GONE. */
    int64_t (*send)(void *context, int peer, const void *bytes, uint64_t size);
    /* How many bytes came, 0: none now, LEAT_STREAM_GONE. */
    int64_t (*recv)(void *context, int peer, void *bytes, uint64_t size);
    /* The peers that recv may have something from (or that are gone), to peers[size]; how many. */
    int (*ready)(void *context, int *peers);
    void (*close)(void *context);
    /* leat_wire_ops.dup of `wire`, which is over `context`; NULL: cannot. */
    leat_status (*dup)(void *context, leat_wire *wire, leat_wire **out, leat_error *error);
} leat_stream_ops;

/* Takes `context` over: close gives it back to ops->close. */
leat_wire *leat_stream_open(const leat_stream_ops *ops, void *context, int rank, int size,
                            bool any_thread);
#endif
