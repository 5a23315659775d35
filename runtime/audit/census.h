/* census.h: what the datasets of a job hold, counted by tokenizing them or a sample of them. */
#ifndef LEAT_AUDIT_CENSUS_H
#define LEAT_AUDIT_CENSUS_H
#include "loader/loader.h"

/* Of one epoch.  Documents that holdout sets apart count as without tokens. */
typedef struct leat_census_dataset {
    uint64_t tokens, pieces;    /* as the plan takes them: with bos, eos and `truncate` */
    uint64_t documents, filled; /* looked at; with tokens */
    uint64_t longest;           /* tokens of the longest document looked at */
    uint64_t seen_bytes;        /* text of the documents looked at, also of those set apart */
} leat_census_dataset;

enum { LEAT_SAMPLE_ALL = 1000000 };

/* COLLECTIVE.  Counts every document, or `millionths` of the documents spread over the whole dataset; then tokens, pieces and
 * filled are scaled up by bytes of text.  out[datasets]; the same on all ranks. */
leat_status leat_census_take(leat_loader *loader, uint32_t millionths, leat_census_dataset *out,
                             leat_error *error) LEAT_MUST_USE;
#endif
