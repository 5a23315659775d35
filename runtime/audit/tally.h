/* tally.h: what the rows of a batch hold of each dataset. */
#ifndef LEAT_AUDIT_TALLY_H
#define LEAT_AUDIT_TALLY_H
#include "loader/loader.h"

typedef struct leat_tally_dataset {
    uint64_t tokens, documents;       /* documents: different ones, an epoch's each */
    uint64_t epoch_first, epoch_last; /* meaningful where documents > 0 */
} leat_tally_dataset;

typedef struct leat_tally {
    uint64_t tokens;
    leat_tally_dataset *items; /* [datasets] */
    size_t datasets;
    leat_batch_segment *sorted; /* scratch */
    size_t capacity;
} leat_tally;

void leat_tally_init(leat_tally *tally, size_t datasets);
void leat_tally_deinit(leat_tally *tally);
/* Rows [first, end) of the batch, in place of what was there. */
void leat_tally_take(leat_tally *tally, const leat_batch *batch, uint64_t first, uint64_t end);
/* Adds the tokens of another tally (not its documents: they may be the same ones). */
void leat_tally_add(leat_tally *to, const leat_tally *from);
#endif
