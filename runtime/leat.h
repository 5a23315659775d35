/* leat.h: the public interface of leat, a loader runtime for language-model training.
 *
 * The global batches of a run are a pure function of corpus, tokenizer and job file, whatever the number of ranks; each rank
 * gets its slice of every batch.  docs/plan.md says which token goes where.
 *
 *     leat_wire_open_mpi(&wire, MPI_COMM_WORLD, &error);            (collectives/leat_mpi.h, or leat_wire_open_single)
 *     leat_loader_open(&loader, wire, "job.yaml", &options, &error);
 *     while (leat_loader_next(loader, &batch, &error) == LEAT_OK && !batch.end) {
 *         … batch.tokens[row * batch.row_tokens + i] …
 *         leat_loader_done(loader, &batch);
 *     }
 *     leat_loader_close(loader);
 *     leat_wire_close(wire);
 *
 * COLLECTIVE functions are called by all ranks of the wire, in the same order.  One thread at a time uses a loader;
 * leat_loader_stop may be called from any thread and from a signal handler.  The library prints nothing, never ends the
 * process for an error of the outside world, and never calls MPI_Abort. */
#ifndef LEAT_H
#define LEAT_H
#include "collectives/leat_wire.h"
#include "leat_status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_loader leat_loader;

typedef enum leat_progress {
    LEAT_PROGRESS_AUTO, /* a loader thread where the wire allows one */
    LEAT_PROGRESS_THREAD,
    LEAT_PROGRESS_CALLER /* inside next, done, poll and the collective calls */
} leat_progress;

/* Zero means the default everywhere. */
typedef struct leat_options {
    const char
        *run_folder; /* written here: log, metrics, cursors, manifest; NULL: nothing is written */
    const char *
        resume; /* run folder: go on from its newest whole checkpoint, begin anew where there is none */
    const char *resume_from; /* one checkpoint file */
    const void *state;       /* cursor bytes of leat_loader_state */
    size_t state_bytes;
    bool at_step; /* with resume: go on at step `step`, any step logged there */
    uint64_t step;
    uint64_t steps;         /* the run ends before this step number; 0: with the plan */
    uint64_t keep;          /* checkpoints kept in run_folder; 0: all */
    const char *const *set; /* overrides of the job file, "key=value" */
    size_t set_count;
    const char *
        job_text; /* the job file's content instead of the file (the path still gives the folder) */
    leat_progress progress;
    bool inline_work;     /* no worker threads: the work is done where communication is driven */
    bool grouped;         /* dp_rank and dp_size below hold; else rank and size of the wire */
    int dp_rank, dp_size; /* ranks with one dp_rank take the same slice; dp_rank -1: none */
    bool require_equal_slices;
    bool replay; /* deliver and hash only: no run folder is written, no owner taken */
    bool look;   /* bad records do not refuse the job: `leat check` counts and lists them */
    void (*log)(void *context, int warning, const char *line); /* any thread */
    void *log_context;
    void (*progress_line)(void *context, const char *doing, uint64_t done, uint64_t total);
    void *progress_context;
} leat_options;

/* A run of tokens of one document in a row. */
typedef struct leat_batch_segment {
    uint32_t dataset;   /* number in the job file */
    uint32_t row_start; /* place of its first token in the row */
    uint32_t length;    /* tokens */
    uint64_t epoch;
    uint64_t document; /* number in the dataset */
    uint64_t start;    /* first token of the run in the document */
} leat_batch_segment;

/* This rank's slice of a global batch.  Views: they live until leat_loader_done for this batch. */
typedef struct leat_batch {
    bool end;     /* no batch: the run is over (steps reached, plan ended, or stopped) */
    bool stopped; /* with end: because a stop was asked for */
    uint64_t step;
    uint64_t first_row; /* place of this rank's first row in the global batch */
    uint64_t rows;      /* rows of this rank; 0 is possible in a short last batch */
    uint64_t global_rows;
    uint32_t row_tokens;                /* sequence_length + 1 */
    const uint32_t *tokens;             /* [rows · row_tokens] */
    const leat_batch_segment *segments; /* of row 0, then of row 1, … */
    const uint64_t *row_segments;       /* [rows]: index behind the last segment of each row */
    bool mask_boundaries;               /* of the job: no loss across segments */
    uint64_t segment_first;             /* index of row 0's first segment */
} leat_batch;

/* COLLECTIVE.  All ranks give the same job and options (but dp_rank).  Every rank returns the same verdict. */
LEAT_PUBLIC leat_status leat_loader_open(leat_loader **out, leat_wire *wire, const char *job_path,
                                         const leat_options *options,
                                         leat_error *error) LEAT_MUST_USE;
/* The next batch; waits for it.  Each batch is given back by leat_loader_done; several may be held at once. */
LEAT_PUBLIC leat_status leat_loader_next(leat_loader *loader, leat_batch *batch,
                                         leat_error *error) LEAT_MUST_USE;
/* In the order of next. */
LEAT_PUBLIC void leat_loader_done(leat_loader *loader, const leat_batch *batch);
/* Drives communication where no loader thread may; harmless otherwise. */
LEAT_PUBLIC leat_status leat_loader_poll(leat_loader *loader, leat_error *error) LEAT_MUST_USE;
/* COLLECTIVE.  Begins again with the same batches (evaluation); every batch was given back. */
LEAT_PUBLIC leat_status leat_loader_rewind(leat_loader *loader, leat_error *error) LEAT_MUST_USE;
/* COLLECTIVE.  A checkpoint of `step` (all batches before it are done) in `folder`; on every rank the same verdict. */
LEAT_PUBLIC leat_status leat_loader_save(leat_loader *loader, const char *folder, uint64_t step,
                                         leat_error *error) LEAT_MUST_USE;
/* LOCAL.  Cursor bytes of any of the last 64 steps or the next one, the same on every rank; *bytes for leat_state_free. */
LEAT_PUBLIC leat_status leat_loader_state(leat_loader *loader, uint64_t step, void **bytes,
                                          size_t *count, leat_error *error) LEAT_MUST_USE;
LEAT_PUBLIC void leat_state_free(void *bytes);
/* LOCAL.  Digest of a recent batch and the chain with it, once all ranks are done with it; NOT_FOUND before and long after. */
LEAT_PUBLIC leat_status leat_loader_digest(leat_loader *loader, uint64_t step, uint8_t batch[32],
                                           uint8_t chain[32], leat_error *error) LEAT_MUST_USE;
/* COLLECTIVE.  Waits until all batches that were given back are digested and logged. */
LEAT_PUBLIC leat_status leat_loader_settle(leat_loader *loader, leat_error *error) LEAT_MUST_USE;
/* Asks for a stop: all ranks end at one step.  Safe in a signal handler. */
LEAT_PUBLIC void leat_loader_stop(leat_loader *loader);
/* After a batch with `end`: was it a stop?  The same on all ranks at the same step. */
LEAT_PUBLIC bool leat_stop_requested(const leat_loader *loader);
LEAT_PUBLIC uint64_t leat_loader_step(const leat_loader *loader); /* of the next batch */
LEAT_PUBLIC size_t leat_loader_datasets(const leat_loader *loader);
LEAT_PUBLIC const char *leat_loader_dataset_name(const leat_loader *loader, uint32_t dataset);

typedef struct leat_loader_figures {
    uint64_t steps;                             /* handed out, counted from step 0 */
    uint64_t wait_ns;                           /* the caller's time inside next */
    uint64_t read_ns, tokenize_ns, assemble_ns; /* of the workers */
    uint64_t read_bytes, document_bytes;
    uint64_t tokenized_documents;
    uint64_t ready; /* batches ready now */
    uint64_t dropped_rows, dropped_tokens;
} leat_loader_figures;
LEAT_PUBLIC leat_loader_figures leat_loader_measure(const leat_loader *loader);

/* COLLECTIVE on a healthy loader: waits until every delivered batch that all ranks are done with is hashed and logged;
 * LOCAL after an error.  Accepts NULL. */
LEAT_PUBLIC void leat_loader_close(leat_loader *loader);
/* LOCAL: gives up at once. */
LEAT_PUBLIC void leat_loader_abandon(leat_loader *loader);

/* Views of a batch.  Pure.  `row` < batch->rows. */
/* Micro-batch m of M: rows floor(m·rows/M) … floor((m+1)·rows/M)-1. */
LEAT_PUBLIC leat_batch leat_batch_part(const leat_batch *batch, uint64_t m, uint64_t parts);
/* Position in its segment of every token, 0 in padding: out[row_tokens]. */
LEAT_PUBLIC void leat_batch_positions(const leat_batch *batch, uint64_t row, uint32_t *out);
/* out[row_tokens - 1]: label j is token j+1, or `ignore` where it does not count: padding, and with mask_boundaries another
 * segment than token j. */
LEAT_PUBLIC void leat_batch_labels(const leat_batch *batch, uint64_t row, int64_t ignore,
                                   int64_t *out);
/* out[row_tokens - 1]: 1 where label j counts, else 0. */
LEAT_PUBLIC void leat_batch_loss_mask(const leat_batch *batch, uint64_t row, uint8_t *out);
/* Starts of the segments and the row's end, padding being a segment of its own: at most row_tokens + 1 numbers; the count. */
LEAT_PUBLIC size_t leat_batch_cumulative_lengths(const leat_batch *batch, uint64_t row,
                                                 uint32_t *out);
/* out[row_tokens]: number of the segment of each token in the row from 0, UINT32_MAX in padding. */
LEAT_PUBLIC void leat_batch_document_ids(const leat_batch *batch, uint64_t row, uint32_t *out);

#ifdef __cplusplus
}
#endif
#endif
