/* mixture.h: credits of the datasets (docs/plan.md, section 5) and which active dataset has the largest.
 *
 * A draw of n tokens changes the credit of every active dataset, by weight·n.  So a credit is kept as base + weight·time,
 * where time is the sum of the n drawn: a draw changes one base and the time.  The largest is found by a tournament whose
 * every node knows at which time its result will have to be looked at again (a kinetic tournament): a draw costs some
 * steps a level and no look at datasets that are not concerned, however many there are.
 *
 * Bounds.  With S the sum of the weights, P the piece and D the datasets, S·P·D < 2^61 (checked by the spec).  A credit
 * stays within ±(D + 1)·S·P, and from any start within that bound it stays within ±(2D + 1)·S·P < 3·2^61; time is moved
 * into the bases before S·time reaches 2^61.  So credits and bases fit in 64 bits, exactly. */
#ifndef LEAT_PLAN_MIXTURE_H
#define LEAT_PLAN_MIXTURE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAT_MIXTURE_NONE UINT32_MAX

typedef struct leat_mixture_leaf {
    int64_t base;
    uint64_t weight; /* 0: not active */
} leat_mixture_leaf;

typedef struct leat_mixture_node {
    uint64_t until; /* the time at which the winner may be another one */
    uint32_t winner;
} leat_mixture_node;

typedef struct leat_mixture {
    uint32_t count;  /* datasets */
    uint32_t leaves; /* power of two ≥ count; node leaves + d is dataset d's */
    leat_mixture_leaf *datasets;
    leat_mixture_node *nodes; /* [2·leaves], the root is node 1 */
    uint64_t active_weight, time, time_end;
} leat_mixture;

void leat_mixture_init(leat_mixture *mixture, uint32_t datasets);
void leat_mixture_deinit(leat_mixture *mixture);
/* Weights and credits of all datasets (credits NULL: all 0); a dataset of weight 0 is not active. */
void leat_mixture_set(leat_mixture *mixture, const uint64_t *weights, const int64_t *credits);
/* The active dataset with the largest credit, the earliest among equals; LEAT_MIXTURE_NONE where none is active. */
uint32_t leat_mixture_top(const leat_mixture *mixture);
/* `dataset` was drawn from, n tokens, n ≤ P. */
void leat_mixture_draw(leat_mixture *mixture, uint32_t dataset, uint64_t n);
/* `dataset` has ended: no longer active, credit 0. */
void leat_mixture_remove(leat_mixture *mixture, uint32_t dataset);
int64_t leat_mixture_credit(const leat_mixture *mixture, uint32_t dataset);
#endif
