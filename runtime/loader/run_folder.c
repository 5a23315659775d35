#include "loader/run_folder.h"
#include "base/json_out.h"
#include "base/memory.h"
#include "digest/batch_log.h"
#include "io/state/checkpoint.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
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

    uint64_t starts;
    _Atomic uint64_t steps, tokens; /* logged so far: the next step, and tokens since this start */

    pthread_mutex_t mutex; /* never held while the feed calls us, which then waits for nobody */
    leat_feed *feed;       /* for metrics.prom; guarded by the mutex */
    pthread_cond_t wake;
    pthread_t thread;
    bool thread_runs, closing;
};

/* A label's value: backslash, quote and line break have escapes. */
static void add_label(leat_buffer *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            leat_buffer_add_text(out, "\\n");
            continue;
        }
        if (*text == '\\' || *text == '"') {
            leat_buffer_add_u8(out, '\\');
        }
        leat_buffer_add_u8(out, (uint8_t)*text);
    }
}

static void add_metric(leat_buffer *out, const char *run, const char *name, const char *type,
                       const char *help, uint64_t whole, uint64_t billionths)
{
    leat_buffer_add_format(out, "# HELP %s %s\n# TYPE %s %s\n%s{run=\"", name, help, name, type,
                           name);
    add_label(out, run);
    leat_buffer_add_format(out, "\"} %llu", (unsigned long long)whole);
    if (billionths != 0) {
        leat_buffer_add_format(out, ".%09llu", (unsigned long long)billionths);
    }
    leat_buffer_add_u8(out, '\n');
}

/* DIR/metrics.prom becomes the text, whole or not at all.  It is for looking at: nothing is synced, and where it cannot be
 * written the run goes on with the old one, whose age shows. */
static void replace_prometheus(const leat_run_folder *folder, const leat_buffer *text)
{
    char *path = leat_format("%s/metrics.prom", folder->path);
    char *temporary = leat_format("%s.tmp", path); /* one name: a kill leaves at most one */
    int file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file >= 0) {
        bool whole = leat_file_ops_write_all(leat_file_ops_posix(), file, text->data, text->size);
        whole = close(file) == 0 && whole;
        if (!whole || rename(temporary, path) != 0) {
            unlink(temporary);
        }
    }
    leat_free(temporary);
    leat_free(path);
}

static void write_prometheus(const leat_run_folder *folder)
{
    leat_loader_figures now = leat_feed_measure(folder->feed);
    leat_buffer text = {0};
    leat_error error;
    const char *run = folder->path;
    uint64_t second = 1000000000u, restarts = folder->starts > 0 ? folder->starts - 1 : 0;
    add_metric(&text, run, "leat_step", "gauge",
               "The next step of this run: all before it are taken by every rank and logged.",
               atomic_load(&folder->steps), 0);
    add_metric(&text, run, "leat_tokens_total", "counter",
               "Tokens delivered since this start, padding not counted.",
               atomic_load(&folder->tokens), 0);
    add_metric(&text, run, "leat_wait_seconds_total", "counter",
               "Seconds that the trainer of rank 0 waited for batches since this start.",
               now.wait_ns / second, now.wait_ns % second);
    add_metric(&text, run, "leat_ready_batches", "gauge",
               "Batches that are ready and not yet taken, on rank 0.", now.ready, 0);
    add_metric(&text, run, "leat_restarts_total", "counter",
               "How often this run went on after its first start.", restarts, 0);
    if (leat_owner_check(folder->owner, &error) == LEAT_OK) {
        replace_prometheus(folder, &text);
    }
    leat_buffer_deinit(&text);
}

void leat_run_folder_watch(leat_run_folder *folder, leat_feed *feed, uint64_t starts)
{
    pthread_mutex_lock(&folder->mutex);
    if (feed != NULL) {
        folder->feed = feed;
        folder->starts = starts;
    }
    if (folder->feed != NULL) {
        write_prometheus(folder);
    }
    folder->feed = feed;
    pthread_mutex_unlock(&folder->mutex);
}

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
        if (look % RENEW_LOOKS == 0 && folder->feed != NULL) {
            write_prometheus(folder);
        }
    }
    pthread_mutex_unlock(&folder->mutex);
    return NULL;
}

static uint64_t wall(void)
{
    const leat_clock *clock = leat_clock_system();
    return clock->wall_ns(clock->context);
}

/* Metrics are for looking at: a line that does not fit on the disk is not worth a run. */
static void end_metrics_line(leat_run_folder *folder, leat_json_out *out)
{
    leat_json_object_end(out);
    leat_buffer_add_u8(&folder->line, '\n');
    if (write(folder->metrics, folder->line.data, folder->line.size) < 0) {
        return;
    }
}

/* A summary line: this run began (again) or ended, with which next step, and when. */
static void write_mark(leat_run_folder *folder, const char *what, uint64_t step)
{
    leat_json_out out = {&folder->line, false};
    leat_buffer_clear(&folder->line);
    leat_json_object(&out);
    leat_json_key_text(&out, "summary", what);
    leat_json_key_u64(&out, "step", step);
    leat_json_key_u64(&out, "tokens", atomic_load(&folder->tokens));
    leat_json_key_u64(&out, "time_ns", wall());
    end_metrics_line(folder, &out);
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
    folder->steps = options->first_step;
    write_mark(folder, "start", options->first_step);
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
    leat_json_key_u64(&out, "time_ns", wall());
    folder->told = now;
    end_metrics_line(folder, &out);
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
        atomic_store(&folder->steps, step->step + 1);
        atomic_fetch_add(&folder->tokens, step->tokens);
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
    if (folder->metrics >= 0 && leat_owner_check(folder->owner, &(leat_error){0}) == LEAT_OK) {
        write_mark(folder, "end", atomic_load(&folder->steps));
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
