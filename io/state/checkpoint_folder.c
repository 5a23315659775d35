#include "base/memory.h"
#include "io/state/state_calls.h"
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct step_list {
    uint64_t *steps; /* descending */
    size_t count, capacity;
} step_list;

static int descending(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return (*left < *right) - (*left > *right);
}

/* The step of a file that is named exactly as leat names it. */
static bool step_of_name(const char *name, uint64_t *step)
{
    char again[40], *end;
    if (strncmp(name, "step-", 5) != 0 || name[5] < '0' || name[5] > '9') {
        return false;
    }
    errno = 0;
    *step = strtoull(name + 5, &end, 10);
    snprintf(again, sizeof again, "step-%06" PRIu64 ".h5", *step);
    return errno == 0 && strcmp(name, again) == 0;
}

/* An absent folder is an empty list. */
static leat_status list_steps(const char *run_folder, step_list *list, leat_error *error)
{
    char *folder = leat_format("%s/checkpoints", run_folder);
    DIR *entries = opendir(folder);
    leat_status status = LEAT_OK;
    if (entries == NULL && errno != ENOENT) {
        status = leat_fail_errno(error, "list the folder", folder, errno);
    }
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        uint64_t step;
        if (step_of_name(entry->d_name, &step)) {
            LEAT_GROW(list->steps, list->capacity, list->count + 1);
            list->steps[list->count++] = step;
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
    if (list->count > 1) {
        qsort(list->steps, list->count, sizeof *list->steps, descending);
    }
    leat_free(folder);
    return status;
}

/* Reads the checkpoint of that name; its content must be of the same step. */
static leat_status read_step(const char *run_folder, uint64_t step, leat_checkpoint *out,
                             leat_error *error)
{
    char *path = leat_checkpoint_path(run_folder, step);
    leat_status status = leat_checkpoint_read(path, out, error);
    if (status == LEAT_OK && out->step != step) {
        status = LEAT_FAIL(error, LEAT_CORRUPT,
                           "%s holds step %" PRIu64 ": it was renamed or copied over another one",
                           path, out->step);
        leat_checkpoint_deinit(out);
    }
    leat_free(path);
    return status;
}

leat_status leat_checkpoint_newest(const char *run_folder, uint64_t step_max, leat_checkpoint *out,
                                   const leat_log *log, leat_error *error)
{
    step_list list = {0};
    size_t rejected = 0;
    leat_error reason;
    *out = (leat_checkpoint){0};
    leat_status status = list_steps(run_folder, &list, error);
    for (size_t i = 0; i < list.count && status == LEAT_OK; i++) {
        if (list.steps[i] > step_max) {
            continue;
        }
        if (read_step(run_folder, list.steps[i], out, &reason) == LEAT_OK) {
            if (rejected > 0) {
                leat_log_say(log, LEAT_LOG_WARNING,
                             "taking the checkpoint of step %" PRIu64 " instead", list.steps[i]);
            }
            goto done;
        }
        rejected++;
        leat_log_say(log, LEAT_LOG_WARNING, "passed over: %s", reason.text);
    }
    if (status == LEAT_OK && rejected > 0) {
        status = LEAT_FAIL(error, LEAT_CORRUPT,
                           "none of the %zu checkpoints in %s/checkpoints is whole; the oldest: %s",
                           rejected, run_folder, reason.text);
        leat_error_where(error, "%s/checkpoints", run_folder);
        leat_error_hint(error, "resume from cursors.bin (--resume --step K), or move them away to "
                               "begin anew");
    } else if (status == LEAT_OK) {
        status = LEAT_FAIL(error, LEAT_NOT_FOUND, "there is no checkpoint in %s/checkpoints",
                           run_folder);
        leat_error_where(error, "%s/checkpoints", run_folder);
    }
done:
    leat_free(list.steps);
    return status;
}

/* Temporary files of a writer that was killed.  Those of the owner file are the takers' own business. */
static void remove_stale(const leat_file_ops *ops, const char *folder)
{
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length > 4 && strcmp(entry->d_name + length - 4, ".tmp") == 0 &&
            strncmp(entry->d_name, "owner", 5) != 0) {
            char *path = leat_format("%s/%s", folder, entry->d_name);
            ops->remove(ops->context, path);
            leat_free(path);
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
}

leat_status leat_checkpoint_prune_with(const leat_file_ops *ops, const char *run_folder,
                                       uint64_t keep, leat_error *error)
{
    step_list list = {0};
    char *folder = leat_format("%s/checkpoints", run_folder);
    remove_stale(ops, folder);
    remove_stale(ops, run_folder);
    leat_status status = list_steps(run_folder, &list, error);
    uint64_t whole = 0;
    for (size_t i = 0; i < list.count && status == LEAT_OK && keep > 0; i++) {
        leat_checkpoint checkpoint;
        leat_error reason;
        if (whole < keep) {
            /* Only whole ones count; a damaged one stays, to be looked at. */
            if (read_step(run_folder, list.steps[i], &checkpoint, &reason) == LEAT_OK) {
                whole++;
                leat_checkpoint_deinit(&checkpoint);
            }
            continue;
        }
        char *path = leat_checkpoint_path(run_folder, list.steps[i]);
        if (ops->remove(ops->context, path) != 0 && errno != ENOENT && errno != EISDIR) {
            leat_fail_errno(error, "remove", path, errno);
            error->status = status = LEAT_IO;
        }
        leat_free(path);
    }
    leat_free(list.steps);
    leat_free(folder);
    return status;
}

leat_status leat_checkpoint_prune(const char *run_folder, uint64_t keep, leat_error *error)
{
    return leat_checkpoint_prune_with(leat_file_ops_posix(), run_folder, keep, error);
}
