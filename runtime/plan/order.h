/* order.h: which document stands at a stream position (docs/plan.md, sections 2 and 3).  Pure; keys of the epoch, buffer
 * and unit used last are remembered in the leat_order, so each thread uses one of its own.  Costs about 0.2 µs a place. */
#ifndef LEAT_PLAN_ORDER_H
#define LEAT_PLAN_ORDER_H
#include "plan/permute.h"
#include "plan/spec.h"

typedef struct leat_order leat_order;

/* `dataset` must outlive the order (shard_ends is used as it is).  documents ≥ 1. */
leat_order *leat_order_open(uint64_t seed, const leat_plan_dataset *dataset);
void leat_order_close(leat_order *order);
/* The document at stream position `position`. */
uint64_t leat_order_document(leat_order *order, uint64_t position);
/* documents[i] for positions position … position+count-1; the fast way for runs. */
void leat_order_documents(leat_order *order, uint64_t position, uint64_t *documents, size_t count);
/* The inverse: the place 0 … N-1 in epoch `epoch` where `document` stands. */
uint64_t leat_order_place(leat_order *order, uint64_t epoch, uint64_t document);
/* true where the document has no tokens because of holdout and use. */
bool leat_order_set_apart(leat_order *order, uint64_t document);
#endif
