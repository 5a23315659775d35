#include "collectives/wire.h"
#include "base/arith.h"
#include "base/bytes.h"
#include "base/memory.h"
#include <inttypes.h>
#include <string.h>

enum { NAP_LEAST_NS = 10000, NAP_MOST_NS = 1000000 };
#define TIMEOUT_DEFAULT_NS UINT64_C(300000000000)

static leat_status wait_until(leat_wire *wire, leat_wire_group *group, leat_error *error)
{
    const uint64_t timeout = wire->timeout_ns != 0 ? wire->timeout_ns : TIMEOUT_DEFAULT_NS;
    const uint64_t start = wire->clock->now_ns(wire->clock->context);
    uint64_t nap = NAP_LEAST_NS;
    for (;;) {
        const int before = group->pending;
        leat_status status = before > 0 ? wire->ops->test(wire, error) : LEAT_OK;
        if (group->pending == 0) {
            return LEAT_OK; /* a peer that left after this was done takes nothing from it */
        }
        if (status != LEAT_OK) {
            return status;
        }
        if (wire->clock->now_ns(wire->clock->context) - start > timeout) {
            LEAT_FAIL(error, LEAT_PEER, "the other ranks did not answer within %" PRIu64 " s",
                      timeout / 1000000000u);
            error->rank = wire->rank;
            leat_error_found(error, "%d operations of wire %s still open", group->pending,
                             wire->ops->name);
            leat_error_hint(error, "see whether a rank has ended or hangs; peer_timeout sets how "
                                   "long to wait; start the job again");
            return LEAT_PEER;
        }
        nap = group->pending < before ? NAP_LEAST_NS : leat_min_u64(nap * 2, NAP_MOST_NS);
        wire->clock->sleep_ns(wire->clock->context, nap);
    }
}

leat_status leat_wire_wait(leat_wire *wire, leat_wire_group *group, leat_error *error)
{
    leat_status status = wait_until(wire, group, error);
    if (status != LEAT_OK) {
        wire->ops->abandon(wire);
    }
    return status;
}

/* A gather from start to end; sizes and offsets are kept by the caller, who may free everything afterwards. */
static leat_status gather_now(leat_wire *wire, leat_channel channel, const void *mine, void *all,
                              const uint64_t *sizes, const uint64_t *offsets, leat_error *error)
{
    leat_wire_group group = {0};
    leat_status status = wire->ops->gather(wire, &group, channel, mine, all, sizes, offsets, error);
    if (status != LEAT_OK) {
        wire->ops->abandon(wire);
        return status;
    }
    return leat_wire_wait(wire, &group, error);
}

leat_status leat_wire_gather_equal(leat_wire *wire, leat_channel channel, const void *mine,
                                   void *all, uint64_t bytes, leat_error *error)
{
    const size_t ranks = (size_t)wire->size;
    uint64_t *sizes = leat_alloc(2 * ranks, sizeof *sizes), *offsets = sizes + ranks;
    for (size_t i = 0; i < ranks; i++) {
        sizes[i] = bytes;
        offsets[i] = i * bytes;
    }
    leat_status status = gather_now(wire, channel, mine, all, sizes, offsets, error);
    leat_free(sizes);
    return status;
}

leat_status leat_wire_broadcast(leat_wire *wire, int root, const void *mine, uint64_t bytes,
                                uint8_t **data, uint64_t *out_bytes, leat_error *error)
{
    const size_t ranks = (size_t)wire->size;
    uint64_t *sizes = leat_alloc(2 * ranks, sizeof *sizes), *offsets = sizes + ranks;
    uint8_t *heads = leat_alloc(ranks, 8), head[8], *all = NULL;
    leat_status status;
    *data = NULL;
    *out_bytes = 0;
    leat_put_u64(head, wire->rank == root ? bytes : 0);
    LEAT_TRY(leat_wire_gather_equal(wire, LEAT_CHANNEL_CALL, head, heads, sizeof head, error));
    sizes[root] = leat_get_u64(heads + 8 * (size_t)root);
    all = leat_alloc(sizes[root] + 1, 1); /* a NUL behind it, so that texts may be read as such */
    LEAT_TRY(gather_now(wire, LEAT_CHANNEL_CALL, mine, all, sizes, offsets, error));
    *data = all;
    *out_bytes = sizes[root];
    all = NULL;
done:
    leat_free(all);
    leat_free(heads);
    leat_free(sizes);
    return status;
}

leat_status leat_agree(leat_wire *wire, leat_status mine, leat_error *error)
{
    uint8_t head[4], bytes[LEAT_ERROR_BYTES], *heads = leat_alloc((size_t)wire->size, 4);
    uint8_t *told = NULL;
    uint64_t told_bytes = 0;
    leat_error wire_error; /* an error of ours is worth more than that nobody could be told */
    leat_error_clear(&wire_error);
    int failing = 0;
    leat_put_u32(head, (uint32_t)mine);
    leat_status status =
        leat_wire_gather_equal(wire, LEAT_CHANNEL_CALL, head, heads, sizeof head, &wire_error);
    if (status == LEAT_OK) {
        while (failing < wire->size && leat_get_u32(heads + 4 * (size_t)failing) == LEAT_OK) {
            failing++;
        }
        if (failing == wire->size) {
            goto done;
        }
        if (wire->rank == failing) {
            error->status = mine;
            error->rank = error->rank >= 0 ? error->rank : wire->rank;
            leat_error_encode(error, bytes);
        }
        status = leat_wire_broadcast(wire, failing, bytes, wire->rank == failing ? sizeof bytes : 0,
                                     &told, &told_bytes, &wire_error);
    }
    if (status == LEAT_OK && told_bytes == sizeof bytes) {
        if (wire->rank != failing) {
            leat_error_decode(error, told);
        }
        status = error->status;
    } else if (mine != LEAT_OK) {
        status = mine;
    } else {
        LEAT_ASSERT(status != LEAT_OK);
        *error = wire_error;
    }
done:
    leat_free(told);
    leat_free(heads);
    return status;
}

enum {
    TEXT_AT = 12,
    WHERE_AT = TEXT_AT + 480,
    FOUND_AT = WHERE_AT + 320,
    WANTED_AT = FOUND_AT + 192,
    HINT_AT = WANTED_AT + 192,
    ERROR_END = HINT_AT + 320
};
_Static_assert((int)ERROR_END <= (int)LEAT_ERROR_BYTES, "an error fits into its bytes");
_Static_assert(sizeof((leat_error *)0)->text == 480 && sizeof((leat_error *)0)->where == 320 &&
                   sizeof((leat_error *)0)->found == 192 &&
                   sizeof((leat_error *)0)->wanted == 192 && sizeof((leat_error *)0)->hint == 320,
               "the layout of the bytes follows the fields");

/* Copies up to the NUL only, so that equal errors are equal bytes. */
static void put_text(uint8_t *at, const char *text, size_t field_bytes)
{
    memcpy(at, text, strnlen(text, field_bytes - 1));
}

void leat_error_encode(const leat_error *error, uint8_t out[LEAT_ERROR_BYTES])
{
    memset(out, 0, LEAT_ERROR_BYTES);
    leat_put_u32(out, (uint32_t)error->status);
    leat_put_u32(out + 4, (uint32_t)error->rank);
    leat_put_u32(out + 8, (uint32_t)error->code_line);
    put_text(out + TEXT_AT, error->text, sizeof error->text);
    put_text(out + WHERE_AT, error->where, sizeof error->where);
    put_text(out + FOUND_AT, error->found, sizeof error->found);
    put_text(out + WANTED_AT, error->wanted, sizeof error->wanted);
    put_text(out + HINT_AT, error->hint, sizeof error->hint);
}

static void get_text(char *text, const uint8_t *at, size_t field_bytes)
{
    memcpy(text, at, field_bytes - 1);
    text[field_bytes - 1] = '\0';
}

void leat_error_decode(leat_error *error, const uint8_t in[LEAT_ERROR_BYTES])
{
    const uint32_t status = leat_get_u32(in);
    leat_error_clear(error);
    /* A status that we do not know can only come from another version of leat among the ranks. */
    error->status = status < LEAT_STATUS_COUNT ? (leat_status)status : LEAT_DEFECT;
    error->rank = (int)leat_get_u32(in + 4);
    error->code_line = (int)leat_get_u32(in + 8);
    error->code_file = "another rank";
    get_text(error->text, in + TEXT_AT, sizeof error->text);
    get_text(error->where, in + WHERE_AT, sizeof error->where);
    get_text(error->found, in + FOUND_AT, sizeof error->found);
    get_text(error->wanted, in + WANTED_AT, sizeof error->wanted);
    get_text(error->hint, in + HINT_AT, sizeof error->hint);
}

void leat_wire_close(leat_wire *wire)
{
    if (wire != NULL) {
        wire->ops->close(wire);
    }
}
