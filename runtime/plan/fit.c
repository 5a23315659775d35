#include "plan/fit.h"
#include "base/memory.h"
#include "base/status.h"
#include <string.h>

/* Open rows stand by their room: a bitmap (with a bitmap of its words that are not empty, and so on) says which rooms there
 * are, and the rows of equal room form a pairing heap by their number.  Rows are numbered from 1 in here; 0 is none. */
enum { LEVELS = 6, DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

struct leat_fit {
    uint32_t row_tokens;
    uint32_t *
        heaps; /* [row_tokens + 1]: by room, the earliest row; pages that are not used cost nothing */
    uint64_t *words[LEVELS];
    uint32_t levels;
    uint32_t *room, *child, *sibling; /* by row */
    size_t room_capacity, child_capacity, sibling_capacity;
    uint32_t *sorted, *spare; /* piece numbers */
    size_t sorted_capacity, spare_capacity;
};

leat_fit *leat_fit_open(uint32_t row_tokens)
{
    leat_fit *fit = leat_alloc(1, sizeof *fit);
    fit->row_tokens = row_tokens;
    fit->heaps = leat_alloc((size_t)row_tokens + 1, sizeof *fit->heaps);
    size_t bits = (size_t)row_tokens + 1;
    do {
        LEAT_ASSERT(fit->levels < LEVELS);
        bits = (bits + 63) / 64;
        fit->words[fit->levels++] = leat_alloc(bits, sizeof *fit->words[0]);
    } while (bits > 1);
    return fit;
}

void leat_fit_close(leat_fit *fit)
{
    if (fit == NULL) {
        return;
    }
    for (uint32_t level = 0; level < fit->levels; level++) {
        leat_free(fit->words[level]);
    }
    leat_free(fit->heaps);
    leat_free(fit->room);
    leat_free(fit->child);
    leat_free(fit->sibling);
    leat_free(fit->sorted);
    leat_free(fit->spare);
    leat_free(fit);
}

static void set_room(leat_fit *fit, uint32_t room)
{
    for (uint32_t level = 0, bit = room; level < fit->levels; level++, bit /= 64) {
        fit->words[level][bit / 64] |= (uint64_t)1 << bit % 64;
    }
}

static void clear_room(leat_fit *fit, uint32_t room)
{
    for (uint32_t level = 0, bit = room; level < fit->levels; level++, bit /= 64) {
        fit->words[level][bit / 64] &= ~((uint64_t)1 << bit % 64);
        if (fit->words[level][bit / 64] != 0) {
            return;
        }
    }
}

/* The least room ≥ `room` that an open row has; UINT32_MAX where there is none. */
static uint32_t find_room(const leat_fit *fit, uint32_t room)
{
    uint64_t bit = room, limit = (uint64_t)fit->row_tokens + 1;
    for (uint32_t level = 0; level < fit->levels; level++) {
        uint64_t word = bit < limit ? fit->words[level][bit / 64] >> bit % 64 : 0;
        if (word != 0) {
            bit += (uint32_t)__builtin_ctzll(word);
            while (level-- > 0) {
                bit = bit * 64 + (uint32_t)__builtin_ctzll(fit->words[level][bit]);
            }
            return (uint32_t)bit;
        }
        bit = bit / 64 + 1;
        limit = (limit + 63) / 64;
    }
    return UINT32_MAX;
}

static uint32_t meld(leat_fit *fit, uint32_t a, uint32_t b)
{
    if (a == 0 || b == 0) {
        return a + b;
    }
    uint32_t root = a < b ? a : b, other = a < b ? b : a;
    fit->sibling[other] = fit->child[root];
    fit->child[root] = other;
    return root;
}

/* The heap without its root: neighbours are melded in pairs, the pairs from the last to the first. */
static uint32_t without_root(leat_fit *fit, uint32_t root)
{
    uint32_t at = fit->child[root], pairs = 0, heap = 0;
    while (at != 0) {
        uint32_t second = fit->sibling[at], next = second != 0 ? fit->sibling[second] : 0;
        fit->sibling[at] = 0;
        if (second != 0) {
            fit->sibling[second] = 0;
        }
        uint32_t pair = meld(fit, at, second);
        fit->sibling[pair] = pairs;
        pairs = pair;
        at = next;
    }
    while (pairs != 0) {
        uint32_t next = fit->sibling[pairs];
        fit->sibling[pairs] = 0;
        heap = meld(fit, heap, pairs);
        pairs = next;
    }
    return heap;
}

static void put_row(leat_fit *fit, uint32_t row, uint32_t room)
{
    fit->room[row] = room;
    fit->child[row] = fit->sibling[row] = 0;
    if (room == 0) {
        return; /* nothing fits any more */
    }
    if (fit->heaps[room] == 0) {
        set_room(fit, room);
    }
    fit->heaps[room] = meld(fit, fit->heaps[room], row);
}

static uint32_t take_row(leat_fit *fit, uint32_t room)
{
    uint32_t row = fit->heaps[room];
    fit->heaps[room] = without_root(fit, row);
    if (fit->heaps[room] == 0) {
        clear_room(fit, room);
    }
    return row;
}

/* fit->sorted: piece numbers, longest first, in draw order among equals (a stable radix sort). */
static void sort_pieces(leat_fit *fit, const uint32_t *lengths, uint32_t count)
{
    uint32_t starts[DIGITS];
    LEAT_GROW(fit->sorted, fit->sorted_capacity, count);
    LEAT_GROW(fit->spare, fit->spare_capacity, count);
    for (uint32_t i = 0; i < count; i++) {
        fit->sorted[i] = i;
    }
    for (uint32_t shift = 0; shift < 32 && fit->row_tokens >> shift != 0; shift += DIGIT_BITS) {
        memset(starts, 0, sizeof starts);
        for (uint32_t i = 0; i < count; i++) {
            starts[lengths[i] >> shift & (DIGITS - 1)]++;
        }
        uint32_t before = 0;
        for (uint32_t digit = DIGITS; digit-- > 0;) {
            uint32_t here = starts[digit];
            starts[digit] = before;
            before += here;
        }
        for (uint32_t i = 0; i < count; i++) {
            uint32_t piece = fit->sorted[i];
            fit->spare[starts[lengths[piece] >> shift & (DIGITS - 1)]++] = piece;
        }
        uint32_t *swap = fit->sorted;
        fit->sorted = fit->spare;
        fit->spare = swap;
        size_t capacity = fit->sorted_capacity;
        fit->sorted_capacity = fit->spare_capacity;
        fit->spare_capacity = capacity;
    }
}

uint32_t leat_fit_run(leat_fit *fit, const uint32_t *lengths, uint32_t count, uint32_t *rows)
{
    uint32_t opened = 0;
    sort_pieces(fit, lengths, count);
    LEAT_GROW(fit->room, fit->room_capacity, (size_t)count + 1);
    LEAT_GROW(fit->child, fit->child_capacity, (size_t)count + 1);
    LEAT_GROW(fit->sibling, fit->sibling_capacity, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t piece = fit->sorted[i], length = lengths[piece], row;
        uint32_t room = find_room(fit, length);
        if (room == UINT32_MAX) {
            row = ++opened;
            room = fit->row_tokens;
        } else {
            row = take_row(fit, room);
        }
        rows[piece] = row - 1;
        put_row(fit, row, room - length);
    }
    for (uint32_t row = 1; row <= opened; row++) {
        if (fit->heaps[fit->room[row]] != 0) {
            fit->heaps[fit->room[row]] = 0;
            clear_room(fit, fit->room[row]);
        }
    }
    return opened;
}
