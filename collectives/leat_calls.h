/* leat_calls.h: a wire over the caller's own functions, for launchers and transports that leat does not know.
 *
 * The caller gives a byte stream to every other rank (pipes, sockets, a message queue); leat makes its gathers and messages
 * from them.  The functions are called by one thread at a time. */
#ifndef LEAT_CALLS_H
#define LEAT_CALLS_H
#include "leat_wire.h"
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_calls {
    int rank, size;
    void *context; /* handed to each function */
    /* Gives up to `size` bytes to the stream to `peer`; returns how many it took, 0 if none now, -1 if the peer is gone.  It may
     * wait for room, but never for something that leat does on this or another rank. */
    int64_t (*send)(void *context, int peer, const void *bytes, uint64_t size);
    /* Takes up to `size` bytes that came from `peer`; returns how many, 0 if none now, -1 if the peer is gone and everything
     * it sent was taken.  Without `ready` it must not wait; with it, it may wait for the first byte (never for all of them: the
     * peer may be waiting for us in between). */
    int64_t (*recv)(void *context, int peer, void *bytes, uint64_t size);
    /* May be NULL.  1: bytes from `peer` are there, or it is gone; 0: nothing now.  For a recv that waits for a first byte. */
    int (*ready)(void *context, int peer);
    void (*close)(void *context); /* may be NULL; called once, by leat_wire_close */
    bool any_thread;              /* the functions may be called by a thread of leat */
} leat_calls;

/* LOCAL; *calls is copied.  INVALID: rank, size or a function is missing or makes no sense. */
LEAT_PUBLIC leat_status leat_wire_open_calls(leat_wire **wire, const leat_calls *calls,
                                             leat_error *error) LEAT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
