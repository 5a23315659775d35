/* report.h: what `leat report` shows of run folders.  Reading never fails: what is damaged or missing is said in a fault, and
 * the rest is shown.  LOCAL. */
#ifndef LEAT_AUDIT_REPORT_H
#define LEAT_AUDIT_REPORT_H
#include "audit/audit.h"
#include "job/manifest.h"

/* Sums over stretches of steps.  The stretches double where a run is longer than expected, so that a million steps fit. */
enum { LEAT_SERIES_BINS = 128 };
typedef struct leat_series {
    uint64_t base, width; /* bin i: steps [base + i·width, base + (i+1)·width) */
    size_t columns, bins; /* bins used */
    uint64_t *values;     /* [LEAT_SERIES_BINS][columns] */
} leat_series;

void leat_series_init(leat_series *series, uint64_t base, size_t columns);
void leat_series_deinit(leat_series *series);
/* The bin's columns, to be added to; NULL for steps before the base. */
uint64_t *leat_series_at(leat_series *series, uint64_t step);

/* Columns of the log's series; then, a dataset, its tokens and the tokens it should have had. */
enum { LEAT_LOG_STEPS, LEAT_LOG_ROWS, LEAT_LOG_TOKENS, LEAT_LOG_DATASETS };
/* Columns of the metrics' series. */
enum {
    LEAT_METRIC_STEPS,
    LEAT_METRIC_TOKENS,
    LEAT_METRIC_WAIT_NS,
    LEAT_METRIC_SPAN_NS, /* between the lines; 0 where lines have no times */
    LEAT_METRIC_READY,
    LEAT_METRIC_COLUMNS
};

/* From one start of the run to its end, as metrics.jsonl has it. */
typedef struct leat_report_session {
    uint64_t step, end_step, tokens, wait_ns, span_ns;
    bool marked, ended; /* has a start line; has an end line, so was not killed */
} leat_report_session;

typedef struct leat_report_run {
    char *folder;
    leat_manifest *manifest; /* NULL: fault says why */
    leat_job *job;           /* of the manifest; NULL where it cannot be read */
    leat_buffer faults;      /* lines */
    leat_series log, metrics;
    bool has_log;
    uint64_t first, end; /* steps in the log */
    uint64_t rows, tokens;
    size_t datasets; /* shown: those of the manifest, or as many as the log names */
    uint64_t *dataset_tokens, *dataset_wanted; /* [datasets] */
    uint64_t *batch_marks; /* [end - first] first 8 bytes of each batch digest */
    size_t batch_mark_capacity;
    leat_report_session *sessions;
    size_t session_count, session_capacity;
    /* against the first run */
    bool compared;
    leat_log_comparison comparison;
    uint64_t different_batches,
        unknown_batches; /* of the common steps; unknown: a line is damaged */
    char *cause;         /* of a difference, or why there is no comparison; NULL: none */
} leat_report_run;

typedef struct leat_report {
    leat_report_run *runs;
    size_t count;
} leat_report;

void leat_report_read(leat_report *report, const char *const *folders, size_t count);
void leat_report_deinit(leat_report *report);
/* report_metrics.c: reads metrics.jsonl. */
void leat_report_metrics(leat_report_run *run);
/* Adds a line to the faults. */
void leat_report_fault(leat_report_run *run, const char *format, ...) LEAT_PRINTF(2, 3);
void leat_report_fault_error(leat_report_run *run, const leat_error *error);
/* report_page.c: the page. */
void leat_report_page(const leat_report *report, leat_buffer *html);
#endif
