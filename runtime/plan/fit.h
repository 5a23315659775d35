/* fit.h: which row each piece of a packing window goes to: longest first, draw order among equals, into the open row with
 * the least room that fits, the earliest opened among equals. */
#ifndef LEAT_PLAN_FIT_H
#define LEAT_PLAN_FIT_H
#include <stddef.h>
#include <stdint.h>

typedef struct leat_fit leat_fit;

leat_fit *leat_fit_open(uint32_t row_tokens);
void leat_fit_close(leat_fit *fit);
/* rows[i] is the row of piece i, numbered in the order in which they were opened; gives the number of rows.
 * 1 ≤ lengths[i] ≤ row_tokens. */
uint32_t leat_fit_run(leat_fit *fit, const uint32_t *lengths, uint32_t count, uint32_t *rows);
#endif
