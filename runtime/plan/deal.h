/* deal.h: the rows of a packing window dealt so that every batch has the mixture (docs/plan.md, section 6, best_fit). */
#ifndef LEAT_PLAN_DEAL_H
#define LEAT_PLAN_DEAL_H
#include "plan/packing.h"

typedef struct leat_deal leat_deal;

/* `spec` must outlive it. */
leat_deal *leat_deal_open(const leat_plan_spec *spec);
void leat_deal_close(leat_deal *deal);
/* Changes window->order from the permuted order into the final one. */
void leat_deal_run(leat_deal *deal, leat_packing_window *window, uint64_t number);
#endif
