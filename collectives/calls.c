/* calls.c: the caller's functions as byte streams under the stream wire. */
#include "collectives/leat_calls.h"
#include "base/memory.h"
#include "collectives/stream.h"

static int64_t calls_send(void *context, int peer, const void *bytes, uint64_t size)
{
    const leat_calls *calls = context;
    return calls->send(calls->context, peer, bytes, size);
}

static int64_t calls_recv(void *context, int peer, void *bytes, uint64_t size)
{
    const leat_calls *calls = context;
    /* Asked before each read: what came last time may have been all, and a function that waits would wait. */
    if (calls->ready != NULL && calls->ready(calls->context, peer) == 0) {
        return 0;
    }
    return calls->recv(calls->context, peer, bytes, size);
}

static int calls_ready(void *context, int *peers)
{
    const leat_calls *calls = context;
    int count = 0;
    for (int r = 0; r < calls->size; r++) {
        if (r != calls->rank) {
            peers[count++] = r;
        }
    }
    return count;
}

static void calls_close(void *context)
{
    leat_calls *calls = context;
    if (calls->close != NULL) {
        calls->close(calls->context);
    }
    leat_free(calls);
}

leat_status leat_wire_open_calls(leat_wire **wire, const leat_calls *calls, leat_error *error)
{
    static const leat_stream_ops ops = {"calls",     calls_send,  calls_recv,
                                        calls_ready, calls_close, NULL};
    *wire = NULL;
    leat_error_clear(error);
    if (calls->size < 1 || calls->rank < 0 || calls->rank >= calls->size) {
        LEAT_FAIL(error, LEAT_INVALID, "the rank is not one of the job's");
        leat_error_found(error, "rank %d of %d", calls->rank, calls->size);
        leat_error_wanted(error, "0 <= rank < size");
        return LEAT_INVALID;
    }
    if (calls->send == NULL || calls->recv == NULL) {
        LEAT_FAIL(error, LEAT_INVALID, "a function that moves bytes is missing");
        leat_error_found(error, "%s is NULL", calls->send == NULL ? "send" : "recv");
        return LEAT_INVALID;
    }
    leat_calls *copy = leat_alloc(1, sizeof *copy);
    *copy = *calls;
    *wire = leat_stream_open(&ops, copy, calls->rank, calls->size, calls->any_thread);
    return LEAT_OK;
}
