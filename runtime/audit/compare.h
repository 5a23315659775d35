/* compare.h: what differs between the data of two experiments, and what that changes. */
#ifndef LEAT_AUDIT_COMPARE_H
#define LEAT_AUDIT_COMPARE_H
#include "base/bytes.h"
#include "job/manifest.h"

typedef enum leat_compare_where {
    LEAT_COMPARE_IN_BOTH,
    LEAT_COMPARE_ONLY_A,
    LEAT_COMPARE_ONLY_B
} leat_compare_where;

/* One dataset, found by its name.  Each of the four holds only where the ones before it do. */
typedef struct leat_compare_dataset {
    const char *name; /* view into a manifest */
    leat_compare_where where;
    bool documents;                        /* the same records, cut into the same documents */
    bool order;                            /* in the same order, epoch by epoch */
    bool tokens;                           /* with the same ids */
    bool pieces;                           /* cut into the same pieces, in the same order */
    uint64_t files_a, files_b, files_same; /* same: of equal content at the same place */
    const char *file_a, *file_b; /* the first place where they differ; NULL: no such file there */
    bool renamed;                /* all files are equal and have other names */
} leat_compare_dataset;

typedef struct leat_compare {
    leat_compare_dataset *datasets;
    size_t count, capacity;
    bool mixture;      /* weights, stages, epochs, and what happens where a dataset ends */
    bool rows;         /* length and packing of rows */
    bool batches;      /* batch sizes */
    bool equal;        /* no difference at all: the same batches, step by step */
    leat_buffer lines; /* every difference, "KEY: … in A, … in B", a line each */
} leat_compare;

/* CORRUPT: a manifest's texts are damaged. */
leat_status leat_compare_make(leat_compare *out, const leat_manifest *a, const char *name_a,
                              const leat_manifest *b, const char *name_b,
                              leat_error *error) LEAT_MUST_USE;
void leat_compare_deinit(leat_compare *compare);
/* What all of it means, in a few words. */
const char *leat_compare_verdict(const leat_compare *compare);
#endif
