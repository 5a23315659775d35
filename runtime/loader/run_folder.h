/* run_folder.h: what rank 0 writes while a run goes on: log, metrics, cursors, owner; and the stop file it looks for.
 * metrics.prom says how it goes to a node exporter.
 * A thread of its own renews the owner file and looks for the stop file, so that a trainer may be slow. */
#ifndef LEAT_LOADER_RUN_FOLDER_H
#define LEAT_LOADER_RUN_FOLDER_H
#include "feed/feed.h"
#include "leat.h"

typedef struct leat_run_folder leat_run_folder;

typedef struct leat_run_folder_options {
    const char *path, *job;
    uint64_t first_step; /* the run goes on from here */
    const leat_log *log;
    void (*stop)(void *context); /* any thread: a stop file was found */
    void *context;
} leat_run_folder_options;

/* MISMATCH: another run holds the folder. */
leat_status leat_run_folder_open(leat_run_folder **out, const leat_run_folder_options *options,
                                 leat_error *error) LEAT_MUST_USE;
/* Logs a step (compares it where it was logged before); every 100 steps keeps the cursor of step+1. */
leat_status leat_run_folder_step(leat_run_folder *folder, const leat_feed_step *step,
                                 leat_feed *feed, leat_error *error) LEAT_MUST_USE;
/* From now on the folder's thread keeps metrics.prom, with the figures of `feed`; `starts` is how often this run was started.
 * NULL before the feed is closed: writes it once more. */
void leat_run_folder_watch(leat_run_folder *folder, leat_feed *feed, uint64_t starts);
/* Before a checkpoint: is the folder still ours?  Makes the log durable. */
leat_status leat_run_folder_check(leat_run_folder *folder, leat_error *error) LEAT_MUST_USE;
/* The stop file was obeyed. */
void leat_run_folder_stopped(leat_run_folder *folder);
leat_status leat_run_folder_close(leat_run_folder *folder, leat_error *error); /* accepts NULL */
#endif
