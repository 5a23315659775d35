#include "collectives/frames.h"
#include "base/bytes.h"
#include "base/memory.h"
#include <inttypes.h>
#include <string.h>

enum {
    MAGIC = 0x4d52464c, /* "LFRM" */
    READ_MOST = 1 << 20 /* of one peer in one read, so that one rank cannot hold up the others */
};

/* ---- lists and the pool ---- */

static void list_add(leat_transfer_list *list, leat_transfer *added)
{
    added->next = NULL;
    *list->last = added;
    list->last = &added->next;
}

static void list_remove(leat_transfer_list *list, leat_transfer *removed)
{
    leat_transfer **at = &list->first;
    while (*at != removed) {
        at = &(*at)->next;
    }
    *at = removed->next;
    if (list->last == &removed->next) {
        list->last = at;
    }
}

static leat_transfer *transfer_new(leat_frames *frames, uint32_t tag, uint64_t size, int *counter)
{
    leat_transfer *made = frames->free_transfers;
    if (made == NULL) {
        made = leat_alloc(1, sizeof *made);
    } else {
        frames->free_transfers = made->next;
        memset(made, 0, sizeof *made);
    }
    made->tag = tag;
    made->size = size;
    made->counter = counter;
    if (counter != NULL) {
        ++*counter;
    }
    return made;
}

static void transfer_end(leat_frames *frames, leat_transfer *ended)
{
    if (ended->counter != NULL) {
        --*ended->counter;
    }
    leat_free(ended->kept);
    ended->kept = NULL;
    ended->next = frames->free_transfers;
    frames->free_transfers = ended;
}

static void list_drop(leat_frames *frames, leat_transfer_list *list)
{
    while (list->first != NULL) {
        leat_transfer *at = list->first;
        list->first = at->next;
        leat_free(at->adopted_by);
        at->counter = NULL; /* its group may be gone */
        transfer_end(frames, at);
    }
    list->last = &list->first;
}

/* ---- failing ---- */

static leat_status fail_now(leat_frames *frames, leat_error *error)
{
    frames->failed = true;
    error->rank = frames->rank;
    frames->error = *error;
    return error->status;
}

static leat_status fail_gone(leat_frames *frames, int rank, leat_error *error)
{
    LEAT_FAIL(error, LEAT_PEER, "rank %d is gone: its connection to rank %d was closed", rank,
              frames->rank);
    leat_error_hint(error, "look for the first error of rank %d; start the job again", rank);
    return fail_now(frames, error);
}

/* ---- sending ---- */

static uint32_t head_check(const uint8_t *head)
{
    uint32_t check = 0x811c9dc5u; /* FNV-1a */
    for (int i = 0; i < LEAT_FRAME_HEAD_BYTES - 4; i++) {
        check = (check ^ head[i]) * 0x01000193u;
    }
    return check;
}

void leat_frames_send(leat_frames *frames, int to, uint32_t tag, const void *bytes, uint64_t size,
                      int *counter)
{
    leat_peer *at = &frames->peers[to];
    leat_transfer *send = transfer_new(frames, tag, size, counter);
    send->from = bytes;
    leat_put_u32(send->head, MAGIC);
    leat_put_u32(send->head + 4, tag);
    leat_put_u64(send->head + 8, size);
    leat_put_u64(send->head + 16, at->frames_sent++);
    leat_put_u32(send->head + 24, (uint32_t)frames->rank);
    leat_put_u32(send->head + 28, head_check(send->head));
    list_add(&at->sends, send);
}

/* Sends what the stream takes.  False: the peer is gone. */
static bool peer_send(leat_frames *frames, int to)
{
    leat_peer *at = &frames->peers[to];
    while (at->sends.first != NULL) {
        leat_transfer *send = at->sends.first;
        const bool in_head = send->head_moved < LEAT_FRAME_HEAD_BYTES;
        const uint64_t left =
            in_head ? LEAT_FRAME_HEAD_BYTES - send->head_moved : send->size - send->moved;
        int64_t taken = 0;
        if (left > 0) {
            taken = frames->ops->send(
                frames->context, to,
                in_head ? send->head + send->head_moved : send->from + send->moved, left);
            if (taken < 0 || (uint64_t)taken > left) {
                return false;
            }
            if (taken == 0) {
                return true;
            }
        }
        if (in_head) {
            send->head_moved += (uint32_t)taken;
        } else {
            send->moved += (uint64_t)taken;
        }
        if (send->head_moved == LEAT_FRAME_HEAD_BYTES && send->moved == send->size) {
            list_remove(&at->sends, send);
            transfer_end(frames, send);
        }
    }
    return true;
}

/* ---- receiving ---- */

static leat_status check_size(leat_frames *frames, int from, const leat_transfer *recv,
                              uint64_t size, leat_error *error)
{
    if (recv->size == size) {
        return LEAT_OK;
    }
    LEAT_FAIL(error, LEAT_DEFECT, "a message of rank %d has another size than its receiver expects",
              from);
    leat_error_found(error, "%" PRIu64 " bytes with tag %" PRIu32, size, recv->tag);
    leat_error_wanted(error, "%" PRIu64 " bytes", recv->size);
    leat_error_hint(error, "do all ranks run the same version of leat and the same job file?");
    return fail_now(frames, error);
}

static leat_transfer *list_find(const leat_transfer_list *list, uint32_t tag)
{
    leat_transfer *at = list->first;
    while (at != NULL && (at->tag != tag || at->adopted_by != NULL)) {
        at = at->next;
    }
    return at;
}

static void early_to(leat_frames *frames, leat_peer *at, leat_transfer *early, leat_transfer *recv)
{
    if (recv->size > 0) {
        memcpy(recv->to, early->kept, recv->size);
    }
    list_remove(&at->early, early);
    transfer_end(frames, early);
    transfer_end(frames, recv);
}

leat_status leat_frames_recv(leat_frames *frames, int from, uint32_t tag, void *bytes,
                             uint64_t size, int *counter, leat_error *error)
{
    leat_peer *at = &frames->peers[from];
    leat_transfer *early = list_find(&at->early, tag);
    leat_transfer *recv = transfer_new(frames, tag, size, counter);
    recv->to = bytes;
    if (early == NULL) {
        list_add(&at->recvs, recv);
        return LEAT_OK;
    }
    leat_status status = check_size(frames, from, recv, early->size, error);
    if (status != LEAT_OK) {
        list_add(&at->recvs, recv);
    } else if (early->moved == early->size) {
        early_to(frames, at, early, recv);
    } else {
        early->adopted_by = recv;
    }
    return status;
}

static void payload_arrived(leat_frames *frames, leat_peer *at)
{
    leat_transfer *done = at->coming;
    at->coming = NULL;
    if (done->kept == NULL) {
        list_remove(&at->recvs, done);
        transfer_end(frames, done);
    } else if (done->adopted_by != NULL) {
        early_to(frames, at, done, done->adopted_by);
    }
}

static leat_status head_arrived(leat_frames *frames, int from, leat_error *error)
{
    leat_peer *at = &frames->peers[from];
    const uint32_t tag = leat_get_u32(at->head + 4);
    const uint64_t size = leat_get_u64(at->head + 8);
    leat_status status = LEAT_OK;
    if (leat_get_u32(at->head) != MAGIC || leat_get_u32(at->head + 28) != head_check(at->head) ||
        leat_get_u64(at->head + 16) != at->frames_seen++ ||
        leat_get_u32(at->head + 24) != (uint32_t)from || tag > LEAT_FRAME_TAG_BYE ||
        size > LEAT_FRAME_MOST || (tag >= LEAT_FRAME_TAG_POKE && size > 0)) {
        LEAT_FAIL(error, LEAT_PEER, "what rank %d sends is no message of leat", from);
        char hex[2 * LEAT_FRAME_HEAD_BYTES + 1];
        leat_hex(at->head, LEAT_FRAME_HEAD_BYTES, hex);
        leat_error_found(error, "%s", hex);
        leat_error_wanted(error, "frame %" PRIu64 " of rank %d", at->frames_seen - 1, from);
        return fail_now(frames, error);
    }
    at->head_got = 0;
    if (tag == LEAT_FRAME_TAG_POKE) {
        frames->poked = true;
    } else if (tag == LEAT_FRAME_TAG_BYE) {
        at->left = true;
    } else if ((at->coming = list_find(&at->recvs, tag)) != NULL) {
        status = check_size(frames, from, at->coming, size, error);
    } else {
        at->coming = transfer_new(frames, tag, size, NULL);
        at->coming->to = at->coming->kept = leat_alloc(size + 1, 1);
        list_add(&at->early, at->coming);
    }
    if (status == LEAT_OK && tag < LEAT_FRAME_TAG_POKE && size == 0) {
        payload_arrived(frames, at);
    }
    return status;
}

/* Reads until nothing more is there, or the turn of this peer is over. */
static leat_status peer_recv(leat_frames *frames, int from, leat_error *error)
{
    leat_peer *at = &frames->peers[from];
    uint64_t read = 0;
    while (read < READ_MOST && !at->left) {
        leat_transfer *coming = at->coming;
        uint8_t *to = coming != NULL ? coming->to + coming->moved : at->head + at->head_got;
        const uint64_t left =
            coming != NULL ? coming->size - coming->moved : LEAT_FRAME_HEAD_BYTES - at->head_got;
        const int64_t got = frames->ops->recv(frames->context, from, to, left);
        if (got < 0 || (uint64_t)got > left) {
            return fail_gone(frames, from, error);
        }
        if (got == 0) {
            return LEAT_OK;
        }
        read += (uint64_t)got;
        leat_status status = LEAT_OK;
        if (coming != NULL) {
            coming->moved += (uint64_t)got;
            if (coming->moved == coming->size) {
                payload_arrived(frames, at);
            }
        } else {
            at->head_got += (uint32_t)got;
            status =
                at->head_got == LEAT_FRAME_HEAD_BYTES ? head_arrived(frames, from, error) : LEAT_OK;
        }
        if (status != LEAT_OK) {
            return status;
        }
    }
    return LEAT_OK;
}

/* Messages to oneself meet here, without a stream. */
static leat_status self_exchange(leat_frames *frames, leat_error *error)
{
    leat_peer *at = &frames->peers[frames->rank];
    for (leat_transfer *send = at->sends.first, *next; send != NULL; send = next) {
        next = send->next;
        leat_transfer *recv = list_find(&at->recvs, send->tag);
        if (recv == NULL) {
            continue;
        }
        leat_status status = check_size(frames, frames->rank, recv, send->size, error);
        if (status != LEAT_OK) {
            return status;
        }
        if (send->size > 0) {
            memcpy(recv->to, send->from, send->size);
        }
        list_remove(&at->recvs, recv);
        list_remove(&at->sends, send);
        transfer_end(frames, recv);
        transfer_end(frames, send);
    }
    return LEAT_OK;
}

leat_status leat_frames_read(leat_frames *frames, leat_error *error)
{
    const int ready = frames->ops->ready(frames->context, frames->ready);
    leat_status status = self_exchange(frames, error);
    for (int i = 0; i < ready && status == LEAT_OK; i++) {
        status = peer_recv(frames, frames->ready[i], error);
    }
    return status;
}

leat_status leat_frames_write(leat_frames *frames, leat_error *error)
{
    for (int r = 0; r < frames->size; r++) {
        leat_peer *at = &frames->peers[r];
        if (r == frames->rank) {
            continue;
        }
        /* Pokes and farewells to a rank that went in order may be lost: nobody counts on them. */
        const bool needed = (at->sends.first != NULL && at->sends.first->counter != NULL) ||
                            at->recvs.first != NULL;
        if (at->left && needed) {
            return fail_gone(frames, r, error);
        }
        if (!peer_send(frames, r)) {
            if (!at->left) {
                return fail_gone(frames, r, error);
            }
            list_drop(frames, &at->sends);
        }
    }
    return LEAT_OK;
}

bool leat_frames_all_left(const leat_frames *frames)
{
    for (int r = 0; r < frames->size; r++) {
        const leat_peer *at = &frames->peers[r];
        if (r != frames->rank && (!at->left || at->sends.first != NULL)) {
            return false;
        }
    }
    return true;
}

/* ---- beginning and end ---- */

void leat_frames_init(leat_frames *frames, const leat_stream_ops *ops, void *context, int rank,
                      int size)
{
    *frames = (leat_frames){.ops = ops, .context = context, .rank = rank, .size = size};
    frames->peers = leat_alloc((size_t)size, sizeof *frames->peers);
    frames->ready = leat_alloc((size_t)size, sizeof *frames->ready);
    for (int r = 0; r < size; r++) {
        leat_peer *at = &frames->peers[r];
        at->sends.last = &at->sends.first;
        at->recvs.last = &at->recvs.first;
        at->early.last = &at->early.first;
    }
}

void leat_frames_drop(leat_frames *frames)
{
    for (int r = 0; r < frames->size; r++) {
        leat_peer *at = &frames->peers[r];
        list_drop(frames, &at->sends);
        list_drop(frames, &at->recvs);
        list_drop(frames, &at->early);
        at->coming = NULL;
    }
}

void leat_frames_deinit(leat_frames *frames)
{
    leat_frames_drop(frames);
    while (frames->free_transfers != NULL) {
        leat_transfer *at = frames->free_transfers;
        frames->free_transfers = at->next;
        leat_free(at);
    }
    leat_free(frames->peers);
    leat_free(frames->ready);
}
