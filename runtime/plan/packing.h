/* packing.h: a packing window of best_fit (docs/plan.md, section 6): drawn pieces become rows in their final order. */
#ifndef LEAT_PLAN_PACKING_H
#define LEAT_PLAN_PACKING_H
#include "plan/spec.h"

typedef struct leat_drawn {
    uint32_t dataset, length;
    uint64_t position, start;
} leat_drawn;

/* Rows are numbered in draw order of their first pieces. */
typedef struct leat_packing_window {
    leat_drawn *pieces; /* in draw order */
    size_t count, capacity;
    uint64_t tokens;
    uint32_t rows;
    uint32_t *row_pieces;       /* piece numbers, row after row, each row's in draw order */
    uint32_t *row_ends;         /* [rows]: behind the last of row_pieces */
    uint32_t *order;            /* [rows]: the row at each place of the final order */
    struct leat_packer *packer; /* what packing needs, kept from window to window */
} leat_packing_window;

void leat_packing_window_init(leat_packing_window *window, const leat_plan_spec *spec);
void leat_packing_window_deinit(leat_packing_window *window);
void leat_packing_window_add(leat_packing_window *window, leat_drawn piece);
/* Packs what was added; `number` is the packing window's. */
void leat_packing_window_pack(leat_packing_window *window, uint64_t number);
void leat_packing_window_clear(leat_packing_window *window);
#endif
