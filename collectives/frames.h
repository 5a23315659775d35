/* frames.h: messages over byte streams, below the gathers of stream.c.
 *
 * A frame is a head of 32 bytes (magic, tag, payload bytes, number of the frame in its stream, sender, check of the head) and the
 * payload.  A message that came before its receive was posted is kept, so no stream ever stands still behind one message. */
#ifndef LEAT_COLLECTIVES_FRAMES_H
#define LEAT_COLLECTIVES_FRAMES_H
#include "collectives/stream.h"

enum {
    LEAT_FRAME_HEAD_BYTES = 32,
    LEAT_FRAME_TAG_GATHER = LEAT_TAG_LIMIT, /* + 2·channel, + 1 on the way down */
    LEAT_FRAME_TAG_POKE = LEAT_FRAME_TAG_GATHER + 2 * LEAT_CHANNEL_COUNT,
    LEAT_FRAME_TAG_BYE
};
/* No message may claim more: a damaged head must not make us ask for all memory. */
#define LEAT_FRAME_MOST (UINT64_C(1) << 36)

/* A message under way: to a peer, from a peer, or come before its receive. */
typedef struct leat_transfer {
    struct leat_transfer *next;
    int *counter;                     /* falls by one at the end; NULL: nobody waits */
    struct leat_transfer *adopted_by; /* of an early message: the receive that waits for its end */
    const uint8_t *from;
    uint8_t *to;
    uint64_t size, moved;
    uint32_t tag, head_moved;
    uint8_t head[LEAT_FRAME_HEAD_BYTES];
    uint8_t *kept; /* an early message's bytes */
} leat_transfer;

typedef struct leat_transfer_list {
    leat_transfer *first, **last;
} leat_transfer_list;

typedef struct leat_peer {
    leat_transfer_list sends, recvs, early;
    uint64_t frames_sent, frames_seen;
    leat_transfer *coming; /* whose payload comes next; NULL: a head comes next */
    uint32_t head_got;
    uint8_t head[LEAT_FRAME_HEAD_BYTES];
    bool left; /* said that it goes */
} leat_peer;

typedef struct leat_frames {
    const leat_stream_ops *ops;
    void *context;
    int rank, size;
    leat_peer *peers;
    int *ready;
    leat_transfer *free_transfers;
    leat_error error; /* the first error, where `failed` */
    bool failed, poked;
} leat_frames;

void leat_frames_init(leat_frames *frames, const leat_stream_ops *ops, void *context, int rank,
                      int size);
/* *counter, where there is one, rises by one now and falls when the message is done; until then its bytes stay in use. */
void leat_frames_send(leat_frames *frames, int to, uint32_t tag, const void *bytes, uint64_t size,
                      int *counter);
leat_status leat_frames_recv(leat_frames *frames, int from, uint32_t tag, void *bytes,
                             uint64_t size, int *counter, leat_error *error) LEAT_MUST_USE;
/* Everything that can be read, or be written, without waiting. */
leat_status leat_frames_read(leat_frames *frames, leat_error *error) LEAT_MUST_USE;
leat_status leat_frames_write(leat_frames *frames, leat_error *error) LEAT_MUST_USE;
/* All peers have said that they go, and all that we send has gone. */
bool leat_frames_all_left(const leat_frames *frames);
/* Drops every message; counters are not touched any more. */
void leat_frames_drop(leat_frames *frames);
void leat_frames_deinit(leat_frames *frames);
#endif
