#include "plan/deal.h"
#include "base/memory.h"
#include "plan/permute.h"
#include <stdlib.h>
#include <string.h>

enum { CREDIT_OWNERS_MAX = 32 };

/* A dataset that owns rows: rows[first … end-1] in their order, the next one left at `at`. */
typedef struct deal_owner {
    uint32_t dataset, first, end, at;
    int64_t credit;
} deal_owner;

typedef struct deal_value {
    uint64_t numerator, denominator;
    uint32_t dataset, row;
} deal_value;

struct leat_deal {
    const leat_plan_spec *spec;
    uint64_t *tokens;     /* [datasets] of the whole window */
    uint64_t *row_tokens; /* [datasets] of one row, 0 between rows */
    uint32_t *owned;      /* [datasets] rows; then the number of its owner */
    deal_owner *owners;
    uint32_t *row_owner; /* by row: its dataset */
    uint32_t *rows;
    deal_value *values;
    size_t owner_capacity, row_owner_capacity, row_capacity, value_capacity;
    uint32_t owner_count;
};

leat_deal *leat_deal_open(const leat_plan_spec *spec)
{
    leat_deal *deal = leat_alloc(1, sizeof *deal);
    deal->spec = spec;
    deal->tokens = leat_alloc(spec->dataset_count, sizeof *deal->tokens);
    deal->row_tokens = leat_alloc(spec->dataset_count, sizeof *deal->row_tokens);
    deal->owned = leat_alloc(spec->dataset_count, sizeof *deal->owned);
    return deal;
}

void leat_deal_close(leat_deal *deal)
{
    if (deal != NULL) {
        leat_free(deal->tokens);
        leat_free(deal->row_tokens);
        leat_free(deal->owned);
        leat_free(deal->owners);
        leat_free(deal->row_owner);
        leat_free(deal->rows);
        leat_free(deal->values);
        leat_free(deal);
    }
}

/* The dataset with most tokens in the row, the earliest among equals. */
static uint32_t owner_of(leat_deal *deal, const leat_packing_window *window, uint32_t row)
{
    uint32_t first = row > 0 ? window->row_ends[row - 1] : 0, best = UINT32_MAX;
    for (uint32_t i = first; i < window->row_ends[row]; i++) {
        const leat_drawn *piece = &window->pieces[window->row_pieces[i]];
        deal->row_tokens[piece->dataset] += piece->length;
        deal->tokens[piece->dataset] += piece->length;
    }
    for (uint32_t i = first; i < window->row_ends[row]; i++) {
        uint32_t dataset = window->pieces[window->row_pieces[i]].dataset;
        if (best == UINT32_MAX || deal->row_tokens[dataset] > deal->row_tokens[best] ||
            (deal->row_tokens[dataset] == deal->row_tokens[best] && dataset < best)) {
            best = dataset;
        }
    }
    for (uint32_t i = first; i < window->row_ends[row]; i++) {
        deal->row_tokens[window->pieces[window->row_pieces[i]].dataset] = 0;
    }
    return best;
}

/* Fills owners, and rows owner after owner, each owner's rows in the window's present order. */
static void find_owners(leat_deal *deal, const leat_packing_window *window)
{
    uint64_t datasets = deal->spec->dataset_count;
    memset(deal->tokens, 0, datasets * sizeof *deal->tokens);
    memset(deal->owned, 0, datasets * sizeof *deal->owned);
    LEAT_GROW(deal->row_owner, deal->row_owner_capacity, window->rows);
    LEAT_GROW(deal->rows, deal->row_capacity, window->rows);
    for (uint32_t row = 0; row < window->rows; row++) {
        deal->row_owner[row] = owner_of(deal, window, row);
        deal->owned[deal->row_owner[row]]++;
    }
    deal->owner_count = 0;
    uint32_t before = 0;
    for (uint32_t d = 0; d < datasets; d++) {
        if (deal->owned[d] > 0) {
            LEAT_GROW(deal->owners, deal->owner_capacity, (size_t)deal->owner_count + 1);
            deal->owners[deal->owner_count] =
                (deal_owner){d, before, before + deal->owned[d], before, 0};
            before += deal->owned[d];
            deal->owned[d] = deal->owner_count++;
        }
    }
    for (uint32_t place = 0; place < window->rows; place++) {
        uint32_t row = window->order[place];
        deal_owner *owner = &deal->owners[deal->owned[deal->row_owner[row]]];
        deal->rows[owner->at++] = row;
    }
    for (uint32_t i = 0; i < deal->owner_count; i++) {
        deal->owners[i].at = deal->owners[i].first;
    }
}

/* Few owners: by credits.  A credit is total_e·(tokens dealt) - total·(those of e): within ±2^62. */
static void deal_by_credits(leat_deal *deal, leat_packing_window *window)
{
    for (uint32_t place = 0; place < window->rows; place++) {
        deal_owner *best = NULL;
        for (uint32_t i = 0; i < deal->owner_count; i++) {
            deal_owner *owner = &deal->owners[i];
            if (owner->at < owner->end && (best == NULL || owner->credit > best->credit)) {
                best = owner;
            }
        }
        uint32_t row = deal->rows[best->at++], first = row > 0 ? window->row_ends[row - 1] : 0;
        window->order[place] = row;
        uint64_t row_tokens = 0;
        for (uint32_t i = first; i < window->row_ends[row]; i++) {
            const leat_drawn *piece = &window->pieces[window->row_pieces[i]];
            row_tokens += piece->length;
            deal->row_tokens[piece->dataset] += piece->length;
        }
        for (uint32_t i = 0; i < deal->owner_count; i++) {
            deal_owner *owner = &deal->owners[i];
            owner->credit += (int64_t)(deal->tokens[owner->dataset] * row_tokens) -
                             (int64_t)(window->tokens * deal->row_tokens[owner->dataset]);
        }
        for (uint32_t i = first; i < window->row_ends[row]; i++) {
            deal->row_tokens[window->pieces[window->row_pieces[i]].dataset] = 0;
        }
    }
}

static int by_value(const void *left, const void *right)
{
    __extension__ typedef unsigned __int128 wide;
    const deal_value *a = left, *b = right;
    wide x = (wide)a->numerator * b->denominator, y = (wide)b->numerator * a->denominator;
    if (x != y) {
        return x < y ? -1 : 1;
    }
    return a->dataset < b->dataset ? -1 : a->dataset > b->dataset; /* equals have two datasets */
}

/* Many owners: row k of the m rows of a dataset has the value (1024·k + u) / m. */
static void deal_by_values(leat_deal *deal, leat_packing_window *window, uint64_t number)
{
    LEAT_GROW(deal->values, deal->value_capacity, window->rows);
    for (uint32_t i = 0; i < deal->owner_count; i++) {
        const deal_owner *owner = &deal->owners[i];
        uint64_t noise = leat_plan_key(deal->spec->seed, "deal",
                                       deal->spec->datasets[owner->dataset].name, number) >>
                         54;
        for (uint32_t at = owner->first; at < owner->end; at++) {
            deal->values[at] =
                (deal_value){1024 * (uint64_t)(at - owner->first) + noise,
                             owner->end - owner->first, owner->dataset, deal->rows[at]};
        }
    }
    qsort(deal->values, window->rows, sizeof *deal->values, by_value);
    for (uint32_t place = 0; place < window->rows; place++) {
        window->order[place] = deal->values[place].row;
    }
}

void leat_deal_run(leat_deal *deal, leat_packing_window *window, uint64_t number)
{
    find_owners(deal, window);
    if (deal->owner_count <= CREDIT_OWNERS_MAX) {
        deal_by_credits(deal, window);
    } else {
        deal_by_values(deal, window, number);
    }
}
