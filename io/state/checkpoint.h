/* checkpoint.h: what a run leaves behind: checkpoints (HDF5), cursors.bin, the owner file, stale temporary files.
 * One rank uses these; nothing here is collective.  Everything is written whole or not at all. */
#ifndef LEAT_IO_CHECKPOINT_H
#define LEAT_IO_CHECKPOINT_H
#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"

/* What a checkpoint holds; views on read belong to the leat_checkpoint. */
typedef struct leat_checkpoint {
    uint64_t step;
    uint8_t chain[32];    /* chain after step-1; zero bytes at step 0 */
    leat_buffer cursor;   /* canonical cursor bytes */
    leat_buffer settings; /* order-defining settings, canonical JSON */
    leat_buffer info; /* JSON: job name, epochs, batch sizes, integer weights, versions, ranks … */
} leat_checkpoint;
void leat_checkpoint_deinit(leat_checkpoint *checkpoint);

/* Path: FOLDER/checkpoints/step-000150.h5.  Temporary file, H5Fflush, close, fsync, rename, fsync of the folder.  The file
 * holds a SHA-256 over the canonical bytes of all fields.  IO: nothing was changed, the older ones are whole. */
leat_status leat_checkpoint_write(const char *run_folder, const leat_checkpoint *checkpoint,
                                  leat_error *error) LEAT_MUST_USE;
/* CORRUPT: which check failed, in one line; never crashes on any file.  */
leat_status leat_checkpoint_read(const char *path, leat_checkpoint *out,
                                 leat_error *error) LEAT_MUST_USE;
/* The newest whole checkpoint of a run folder with step ≤ step_max.  NOT_FOUND: there is none.  CORRUPT: there are some, and all
 * are damaged (beginning anew would lose the run).  Rejected ones are said to `log` with the reason. */
leat_status leat_checkpoint_newest(const char *run_folder, uint64_t step_max, leat_checkpoint *out,
                                   const leat_log *log, leat_error *error) LEAT_MUST_USE;
/* Removes all but the newest `keep` whole checkpoints (0: keep all) and stale temporary files. */
leat_status leat_checkpoint_prune(const char *run_folder, uint64_t keep,
                                  leat_error *error) LEAT_MUST_USE;

/* cursors.bin: records {magic, step, chain, cursor bytes, checksum} appended every 100 steps; a torn tail is dropped. */
leat_status leat_cursors_append(const char *run_folder, uint64_t step, const uint8_t chain[32],
                                leat_bytes cursor, leat_error *error) LEAT_MUST_USE;
/* The record with the largest step ≤ step_max; NOT_FOUND where there is none. */
leat_status leat_cursors_find(const char *run_folder, uint64_t step_max, uint64_t *step,
                              uint8_t chain[32], leat_buffer *cursor,
                              leat_error *error) LEAT_MUST_USE;
/* Drops records with a step above `step` (the run goes on from there). */
leat_status leat_cursors_truncate(const char *run_folder, uint64_t step,
                                  leat_error *error) LEAT_MUST_USE;

/* The owner file.  take: MISMATCH where a living run holds the folder (names it); waits up to 30 s for an owner on another
 * host to show whether it lives.  renew: every few seconds and before each write; MISMATCH where the run was taken over.
 * One thread may renew while others check. */
typedef struct leat_owner leat_owner;
leat_status leat_owner_take(leat_owner **out, const char *run_folder, const char *job,
                            const leat_clock *clock, leat_error *error) LEAT_MUST_USE;
leat_status leat_owner_renew(leat_owner *owner, leat_error *error) LEAT_MUST_USE;
/* Still ours?  Reads the file only. */
leat_status leat_owner_check(leat_owner *owner, leat_error *error) LEAT_MUST_USE;
void leat_owner_release(leat_owner *owner); /* removes the file where it is ours; accepts NULL */
#endif
