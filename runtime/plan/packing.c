#include "plan/packing.h"
#include "base/memory.h"
#include "plan/deal.h"
#include "plan/fit.h"
#include "plan/permute.h"
#include <string.h>

typedef struct leat_packer {
    uint64_t seed;
    leat_fit *fit;
    leat_deal *deal;
    uint32_t *lengths, *piece_rows, *labels;
    uint64_t *places;
    size_t length_capacity, piece_row_capacity, label_capacity, place_capacity;
    size_t row_piece_capacity, row_end_capacity, order_capacity; /* of the window's arrays */
} leat_packer;

void leat_packing_window_init(leat_packing_window *window, const leat_plan_spec *spec)
{
    *window = (leat_packing_window){.packer = leat_alloc(1, sizeof(leat_packer))};
    window->packer->seed = spec->seed;
    window->packer->fit = leat_fit_open((uint32_t)spec->row_tokens);
    window->packer->deal = leat_deal_open(spec);
}

void leat_packing_window_deinit(leat_packing_window *window)
{
    if (window->packer == NULL) {
        return;
    }
    leat_fit_close(window->packer->fit);
    leat_deal_close(window->packer->deal);
    leat_free(window->packer->lengths);
    leat_free(window->packer->piece_rows);
    leat_free(window->packer->labels);
    leat_free(window->packer->places);
    leat_free(window->packer);
    leat_free(window->pieces);
    leat_free(window->row_pieces);
    leat_free(window->row_ends);
    leat_free(window->order);
    *window = (leat_packing_window){0};
}

void leat_packing_window_clear(leat_packing_window *window)
{
    window->count = 0;
    window->tokens = 0;
    window->rows = 0;
}

void leat_packing_window_add(leat_packing_window *window, leat_drawn piece)
{
    LEAT_GROW(window->pieces, window->capacity, window->count + 1);
    window->pieces[window->count++] = piece;
    window->tokens += piece.length;
}

/* Numbers the rows anew, in draw order of their first pieces, and lists each row's pieces in draw order. */
static void list_rows(leat_packing_window *window)
{
    leat_packer *packer = window->packer;
    uint32_t labelled = 0, before = 0;
    LEAT_GROW(packer->labels, packer->label_capacity, window->rows);
    LEAT_GROW(window->row_pieces, packer->row_piece_capacity, window->count);
    LEAT_GROW(window->row_ends, packer->row_end_capacity, window->rows);
    memset(packer->labels, 0xff, window->rows * sizeof *packer->labels);
    memset(window->row_ends, 0, window->rows * sizeof *window->row_ends);
    for (size_t i = 0; i < window->count; i++) {
        uint32_t *label = &packer->labels[packer->piece_rows[i]];
        if (*label == UINT32_MAX) {
            *label = labelled++;
        }
        packer->piece_rows[i] = *label;
        window->row_ends[*label]++;
    }
    for (uint32_t row = 0; row < window->rows; row++) {
        uint32_t count = window->row_ends[row];
        window->row_ends[row] = before; /* its begin, until its pieces are listed */
        before += count;
    }
    for (uint32_t i = 0; i < window->count; i++) {
        window->row_pieces[window->row_ends[packer->piece_rows[i]]++] = i;
    }
}

void leat_packing_window_pack(leat_packing_window *window, uint64_t number)
{
    leat_packer *packer = window->packer;
    LEAT_GROW(packer->lengths, packer->length_capacity, window->count);
    LEAT_GROW(packer->piece_rows, packer->piece_row_capacity, window->count);
    for (size_t i = 0; i < window->count; i++) {
        packer->lengths[i] = window->pieces[i].length;
    }
    window->rows =
        leat_fit_run(packer->fit, packer->lengths, (uint32_t)window->count, packer->piece_rows);
    if (window->rows == 0) {
        return;
    }
    list_rows(window);
    leat_permutation permutation;
    leat_permutation_init(&permutation, leat_plan_key(packer->seed, "rows", "", number),
                          window->rows);
    LEAT_GROW(packer->places, packer->place_capacity, window->rows);
    LEAT_GROW(window->order, packer->order_capacity, window->rows);
    for (uint32_t j = 0; j < window->rows; j++) {
        packer->places[j] = j;
    }
    leat_permutation_apply(&permutation, packer->places, window->rows);
    for (uint32_t j = 0; j < window->rows; j++) {
        window->order[j] = (uint32_t)packer->places[j];
    }
    leat_deal_run(packer->deal, window, number);
}
