#include "loader/run_folder.h"
#include "base/json_out.h"
#include "base/memory.h"
#include "digest/batch_log.h"
#include "io/state/checkpoint.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { CURSOR_STEPS = 100 };
static const uint64_t LOOK_NS = 200000000,
                      RENEW_LOOKS = 15; /* the stop file 5 times a second, the owner every 3 s */

struct leat_run_folder {
    char *path, *stop_path;
    leat_owner *owner;
    leat_batch_log *log;
    int metrics; /* descriptor */
    leat_run_folder_options options;
    leat_loader_figures told; /* in the last line of metrics */
    uint64_t datasets;
    leat_buffer line, cursor;

    pthread_mutex_t mutex;
    pthread_cond_t wake;
    pthread_t thread;
    bool thread_runs, closing;
};

static void *watch(void *argument)
{
    leat_run_folder *folder = argument;
    leat_error error;
    pthread_mutex_lock(&folder->mutex);
    for (uint64_t look = 1; !folder->closing; look++) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += (long)LOOK_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&folder->wake, &folder->mutex, &until);
        if (folder->closing) {
            break;
        }
        if (access(folder->stop_path, F_OK) == 0) {
            folder->options.stop(folder->options.context);
        }
        /* A run that was taken over learns it at its next write. */
        if (look % RENEW_LOOKS == 0 && leat_owner_renew(folder->owner, &error) != LEAT_OK) {
            leat_log_say(folder->options.log, LEAT_LOG_WARNING, "%s", error.text);
        }
    }
    pthread_mutex_unlock(&folder->mutex);
    return NULL;
}

static void start_watch(leat_run_folder *folder)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    LEAT_ASSERT(pthread_create(&folder->thread, NULL, watch, folder) == 0);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    folder->thread_runs = true;
}

leat_status leat_run_folder_open(leat_run_folder **out, const leat_run_folder_options *options,
                                 leat_error *error)
{
    *out = NULL;
    leat_status status;
    leat_run_folder *folder = leat_alloc(1, sizeof *folder);
    char *log_path = leat_format("%s/batches.jsonl", options->path);
    char *metrics_path = leat_format("%s/metrics.jsonl", options->path);
    folder->options = *options;
    folder->path = leat_strdup(options->path);
    folder->stop_path = leat_format("%s/stop", options->path);
    folder->metrics = -1;
    pthread_mutex_init(&folder->mutex, NULL);
    pthread_cond_init(&folder->wake, NULL);
    LEAT_TRY(leat_store_make_folder(options->path, error));
    LEAT_TRY(
        leat_owner_take(&folder->owner, options->path, options->job, leat_clock_system(), error));
    if (unlink(folder->stop_path) != 0 && errno != ENOENT) {
        status = leat_fail_errno(error, "remove", folder->stop_path, errno);
        goto done;
    }
    LEAT_TRY(leat_batch_log_open(&folder->log, log_path, error));
    LEAT_TRY(leat_cursors_truncate(options->path, options->first_step, error));
    folder->metrics = open(metrics_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (folder->metrics < 0) {
        status = leat_fail_errno(error, "open", metrics_path, errno);
        goto done;
    }
    start_watch(folder);
    *out = folder;
done:
    leat_free(log_path);
    leat_free(metrics_path);
    if (status != LEAT_OK) {
        leat_error ignored;
        (void)leat_run_folder_close(folder, &ignored);
    }
    return status;
}

leat_status leat_run_folder_check(leat_run_folder *folder, leat_error *error)
{
    leat_status status = leat_owner_check(folder->owner, error);
    return status == LEAT_OK ? leat_batch_log_flush(folder->log, error) : status;
}

void leat_run_folder_stopped(leat_run_folder *folder)
{
    unlink(folder->stop_path);
}

/* Times are of rank 0, in nanoseconds since the last line. */
static void write_metrics(leat_run_folder *folder, const leat_feed_step *step, leat_feed *feed)
{
    leat_loader_figures now = leat_feed_measure(feed);
    const leat_loader_figures *then = &folder->told;
    leat_json_out out = {&folder->line, false};
    leat_buffer_clear(&folder->line);
    leat_json_object(&out);
    leat_json_key_u64(&out, "step", step->step);
    leat_json_key_u64(&out, "tokens", step->tokens);
    leat_json_key_u64(&out, "wait_ns", now.wait_ns - then->wait_ns);
    leat_json_key_u64(&out, "read_ns", now.read_ns - then->read_ns);
    leat_json_key_u64(&out, "tokenize_ns", now.tokenize_ns - then->tokenize_ns);
    leat_json_key_u64(&out, "exchange_ns", 0);
    leat_json_key_u64(&out, "assemble_ns", now.assemble_ns - then->assemble_ns);
    leat_json_key_u64(&out, "read_bytes", now.read_bytes - then->read_bytes);
    leat_json_key_u64(&out, "document_bytes", now.document_bytes - then->document_bytes);
    leat_json_key_u64(&out, "ready", now.ready);
    leat_json_object_end(&out);
    leat_buffer_add_u8(&folder->line, '\n');
    folder->told = now;
    /* Metrics are for looking at: a line that does not fit on the disk is not worth a run. */
    if (write(folder->metrics, folder->line.data, folder->line.size) < 0) {
        return;
    }
}

leat_status leat_run_folder_step(leat_run_folder *folder, const leat_feed_step *step,
                                 leat_feed *feed, leat_error *error)
{
    leat_status status = leat_owner_check(folder->owner, error);
    if (status != LEAT_OK) {
        return status;
    }
    leat_batch_line line = {.step = step->step, .rows = step->rows, .tokens = step->tokens};
    line.dataset_tokens = step->dataset_tokens;
    line.datasets = leat_feed_datasets(feed);
    memcpy(line.batch, step->batch, sizeof line.batch);
    memcpy(line.chain, step->chain, sizeof line.chain);
    status = leat_batch_log_add(folder->log, &line, error);
    if (status == LEAT_OK && (step->step + 1) % CURSOR_STEPS == 0) {
        status = leat_feed_cursor(feed, step->step + 1, &folder->cursor, error);
        if (status == LEAT_OK) {
            status =
                leat_cursors_append(folder->path, step->step + 1, step->chain,
                                    (leat_bytes){folder->cursor.data, folder->cursor.size}, error);
        }
    }
    if (status == LEAT_OK) {
        write_metrics(folder, step, feed);
    }
    return status;
}

leat_status leat_run_folder_close(leat_run_folder *folder, leat_error *error)
{
    if (folder == NULL) {
        return LEAT_OK;
    }
    if (folder->thread_runs) {
        pthread_mutex_lock(&folder->mutex);
        folder->closing = true;
        pthread_cond_signal(&folder->wake);
        pthread_mutex_unlock(&folder->mutex);
        pthread_join(folder->thread, NULL);
    }
    leat_status status = leat_batch_log_close(folder->log, error);
    leat_owner_release(folder->owner);
    if (folder->metrics >= 0) {
        close(folder->metrics);
    }
    pthread_cond_destroy(&folder->wake);
    pthread_mutex_destroy(&folder->mutex);
    leat_buffer_deinit(&folder->line);
    leat_buffer_deinit(&folder->cursor);
    leat_free(folder->path);
    leat_free(folder->stop_path);
    leat_free(folder);
    return status;
}
