/* wire_cases.h: what every wire must do.  A rank runs wire_cases on its wire; the contents of every message follow from
 * (round, sender, receiver), so each rank knows what it must get. */
#ifndef LEAT_TESTS_WIRE_CASES_H
#define LEAT_TESTS_WIRE_CASES_H
#include "collectives/wire.h"
#include "base/memory.h"
#include "check.h"
#include <sched.h>

static inline uint8_t wire_byte(uint64_t round, int from, int to, uint64_t at)
{
    uint64_t state = round * 1000003 + (uint64_t)from * 1009 + (uint64_t)to * 17 + at / 8;
    return (uint8_t)(check_random(&state) >> (8 * (at % 8)));
}

static inline uint8_t *wire_fill(uint64_t round, int from, int to, uint64_t bytes)
{
    uint8_t *filled = leat_alloc(bytes + 1, 1);
    for (uint64_t i = 0; i < bytes; i++) {
        filled[i] = wire_byte(round, from, to, i);
    }
    return filled;
}

static inline uint64_t wire_wrong(const uint8_t *got, uint64_t round, int from, int to,
                                  uint64_t bytes)
{
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < bytes; i++) {
        wrong += got[i] != wire_byte(round, from, to, i);
    }
    return wrong;
}

/* The failures of one rank; ranks that are threads may not touch check.h's counters at the same time. */
typedef struct wire_result {
    char text[512];
    int failures;
} wire_result;

static inline void wire_expect(wire_result *result, int ok, const char *what, uint64_t round)
{
    if (!ok && result->failures++ == 0) {
        snprintf(result->text, sizeof result->text, "%s (round %llu)", what,
                 (unsigned long long)round);
    }
}

/* Sizes of round `round`: uneven, some zero, in some rounds all zero or all equal. */
static inline uint64_t wire_size(uint64_t round, int rank, uint64_t bytes_max)
{
    uint64_t state = round * 77 + (round % 5 == 1 ? 0 : (uint64_t)rank);
    const uint64_t drawn = check_random(&state);
    return round % 5 == 0 || drawn % 4 == 0 ? 0 : drawn % (bytes_max + 1);
}

enum { WIRE_FLIGHT = 6 };

/* Many gathers under way at once on all channels. */
static inline void wire_gathers(leat_wire *wire, wire_result *result, uint64_t seed,
                                uint64_t bytes_max)
{
    const size_t ranks = (size_t)wire->size;
    leat_wire_group groups[WIRE_FLIGHT] = {{0}};
    uint64_t *sizes[WIRE_FLIGHT], *offsets[WIRE_FLIGHT];
    uint8_t *mine[WIRE_FLIGHT], *all[WIRE_FLIGHT];
    leat_error error;
    for (uint64_t f = 0; f < WIRE_FLIGHT; f++) {
        uint64_t total = 0;
        sizes[f] = leat_alloc(ranks, 8);
        offsets[f] = leat_alloc(ranks, 8);
        for (size_t r = ranks; r-- > 0;) { /* the places are not in the order of the ranks */
            sizes[f][r] = wire_size(seed + f, (int)r, bytes_max);
            offsets[f][r] = total;
            total += sizes[f][r] + 3;
        }
        mine[f] = wire_fill(seed + f, wire->rank, 0, sizes[f][wire->rank]);
        all[f] = leat_alloc(total, 1);
        wire_expect(result,
                    wire->ops->gather(wire, &groups[f], (leat_channel)(f % LEAT_CHANNEL_COUNT),
                                      mine[f], all[f], sizes[f], offsets[f], &error) == LEAT_OK,
                    "gather is taken", seed);
    }
    for (uint64_t f = WIRE_FLIGHT; f-- > 0;) {
        wire_expect(result, leat_wire_wait(wire, &groups[f], &error) == LEAT_OK, "gather completes",
                    seed + f);
        for (size_t r = 0; r < ranks; r++) {
            const uint8_t *part = all[f] + offsets[f][r];
            wire_expect(result, wire_wrong(part, seed + f, (int)r, 0, sizes[f][r]) == 0,
                        "gathered bytes", seed + f);
            wire_expect(result, memcmp(part + sizes[f][r], "\0\0\0", 3) == 0,
                        "nothing written between the parts", seed + f);
        }
        leat_free(sizes[f]);
        leat_free(offsets[f]);
        leat_free(mine[f]);
        leat_free(all[f]);
    }
}

/* Two messages of each of two tags to everyone, oneself included, received in another order than sent. */
static inline void wire_pairs(leat_wire *wire, wire_result *result, uint64_t seed,
                              uint64_t bytes_max)
{
    enum { PER_PEER = 4 };
    const size_t count = (size_t)wire->size * PER_PEER;
    uint8_t **sent = leat_alloc(count, sizeof *sent), **got = leat_alloc(count, sizeof *got);
    leat_wire_group group = {0};
    leat_error error;
    for (size_t i = 0; i < count; i++) {
        const int peer = (int)(i / PER_PEER);
        const uint64_t round = seed + i % PER_PEER;
        const uint64_t in = wire_size(round, peer * 31 + wire->rank, bytes_max);
        const uint64_t out = wire_size(round, wire->rank * 31 + peer, bytes_max);
        got[i] = leat_alloc(in + 1, 1);
        sent[i] = wire_fill(round, wire->rank, peer, out);
        const uint32_t tag = LEAT_TAG_LIMIT - 1 - (uint32_t)(i % 2);
        wire_expect(result,
                    wire->ops->send(wire, &group, peer, tag, sent[i], out, &error) == LEAT_OK,
                    "send is taken", seed);
    }
    for (size_t p = 0; p < (size_t)wire->size; p++) {
        static const size_t order[PER_PEER] = {1, 0, 3, 2};
        for (size_t k = 0; k < PER_PEER; k++) {
            const size_t i = p * PER_PEER + order[k];
            const uint64_t in = wire_size(seed + order[k], (int)p * 31 + wire->rank, bytes_max);
            wire_expect(result,
                        wire->ops->recv(wire, &group, (int)p,
                                        LEAT_TAG_LIMIT - 1 - (uint32_t)(i % 2), got[i], in,
                                        &error) == LEAT_OK,
                        "recv is taken", seed);
        }
    }
    wire_expect(result, leat_wire_wait(wire, &group, &error) == LEAT_OK, "pair messages complete",
                seed);
    for (size_t i = 0; i < count; i++) {
        const int peer = (int)(i / PER_PEER);
        const uint64_t in = wire_size(seed + i % PER_PEER, peer * 31 + wire->rank, bytes_max);
        wire_expect(result, wire_wrong(got[i], seed + i % PER_PEER, peer, wire->rank, in) == 0,
                    "bytes of a pair message", seed + i % PER_PEER);
        leat_free(got[i]);
        leat_free(sent[i]);
    }
    leat_free(got);
    leat_free(sent);
}

/* Every rank in turn fails, then two at once; all must have the lowest one's error. */
static inline void wire_agreements(leat_wire *wire, wire_result *result)
{
    leat_error error;
    leat_error_clear(&error);
    wire_expect(result, leat_agree(wire, LEAT_OK, &error) == LEAT_OK, "all are well", 0);
    for (int failing = 0; failing < wire->size; failing++) {
        leat_status mine = LEAT_OK;
        char text[64];
        leat_error_clear(&error);
        if (wire->rank >= failing && (wire->rank - failing) % 3 == 0) {
            mine = LEAT_FAIL(&error, wire->rank == failing ? LEAT_CORRUPT : LEAT_LIMIT,
                             "rank %d cannot", wire->rank);
            leat_error_hint(&error, "hint of %d", wire->rank);
        }
        wire_expect(result, leat_agree(wire, mine, &error) == LEAT_CORRUPT, "verdict",
                    (uint64_t)failing);
        snprintf(text, sizeof text, "rank %d cannot", failing);
        wire_expect(result, strcmp(error.text, text) == 0 && error.rank == failing, "text",
                    (uint64_t)failing);
        snprintf(text, sizeof text, "hint of %d", failing);
        wire_expect(result, strcmp(error.hint, text) == 0, "hint", (uint64_t)failing);
    }
}

static inline void wire_broadcasts(leat_wire *wire, wire_result *result, uint64_t bytes_max)
{
    for (int root = 0; root < wire->size; root++) {
        uint8_t *mine = wire_fill(99, root, 0, bytes_max), *data;
        uint64_t bytes;
        leat_error error;
        const uint64_t size = root % 2 == 0 ? bytes_max : 0;
        wire_expect(result,
                    leat_wire_broadcast(wire, root, wire->rank == root ? mine : NULL, size, &data,
                                        &bytes, &error) == LEAT_OK,
                    "broadcast", (uint64_t)root);
        wire_expect(result, bytes == size && wire_wrong(data, 99, root, 0, size) == 0,
                    "broadcast bytes", (uint64_t)root);
        leat_free(mine);
        leat_free(data);
    }
}

/* Rank `from` pokes while nothing else is under way; all others see it once. */
static inline void wire_pokes(leat_wire *wire, wire_result *result)
{
    leat_error error;
    const uint64_t start = wire->clock->now_ns(wire->clock->context);
    for (int from = 0; from < wire->size; from += 1 + wire->size / 3) {
        bool seen = wire->rank == from;
        if (seen) {
            wire->ops->poke(wire);
        }
        while (!seen) {
            wire_expect(result, wire->ops->test(wire, &error) == LEAT_OK, "test", 0);
            seen = wire->ops->poked(wire);
            sched_yield();
            if (wire->clock->now_ns(wire->clock->context) - start > 60000000000u) {
                wire_expect(result, 0, "a poke comes within a minute", (uint64_t)from);
                return;
            }
        }
        wire_expect(result, leat_agree(wire, LEAT_OK, &error) == LEAT_OK, "after the poke", 0);
        wire_expect(result, !wire->ops->poked(wire), "one poke is told once", (uint64_t)from);
        wire_expect(result, leat_agree(wire, LEAT_OK, &error) == LEAT_OK, "all have looked", 0);
    }
}

static inline void wire_cases(leat_wire *wire, wire_result *result, uint64_t seed,
                              uint64_t bytes_max)
{
    for (uint64_t round = 0; round < 6 && result->failures == 0; round++) {
        wire_gathers(wire, result, seed + round * WIRE_FLIGHT, bytes_max);
        wire_pairs(wire, result, seed + round, bytes_max);
    }
    if (result->failures == 0) {
        wire_agreements(wire, result);
        wire_broadcasts(wire, result, bytes_max);
        wire_pokes(wire, result);
    }
}
#endif
