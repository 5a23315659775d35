/* find.h: the steps and rows that a record was in. */
#ifndef LEAT_AUDIT_FIND_H
#define LEAT_AUDIT_FIND_H
#include "audit/audit.h"

/* What to do with a find, and what is looked for while the search runs. */
typedef struct leat_audit_wish {
    leat_options options;
    leat_status (*found)(void *context, leat_loader *loader, uint64_t step, uint64_t row,
                         const leat_batch_segment *segment, leat_error *error);
    void *context;
    uint32_t dataset;
    uint64_t document, epoch;
    uint64_t documents; /* of the record: one, or its parts */
} leat_audit_wish;

/* Calls wish->found for every run of tokens of the record, in the order of parts, epochs and steps, over the logged steps.
 * `file`: path of a shard, or as much of its end as tells it apart; `record` counts from 0.  INVALID: no such shard or record. */
leat_status leat_audit_find(leat_wire *wire, const char *folder, const char *file, uint64_t record,
                            leat_audit_wish *wish, leat_error *error) LEAT_MUST_USE;
#endif
