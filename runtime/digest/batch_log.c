#include "digest/batch_log.h"
#include "base/memory.h"
#include "digest/batch_lines.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

struct leat_batch_log {
    const leat_file_ops *ops;
    char *path;
    leat_batch_lines lines;
    uint64_t first, steps; /* the log holds steps first … steps-1; both 0 where it is empty */
    uint64_t compare_step, compare_offset; /* where the next step done again is expected */
    leat_buffer line;
    bool broken; /* a failed line could not be taken back: nothing more may be appended */
};

/* Cuts the file at `size`. */
static leat_status cut(leat_batch_log *log, uint64_t size, leat_error *error)
{
    if (log->ops->truncate(log->ops->context, log->lines.file, (off_t)size) != 0) {
        return leat_fail_errno(error, "cut the torn last line of", log->path, errno);
    }
    log->lines.size = size;
    return LEAT_OK;
}

/* Reads the last line, dropping it where it is damaged: a crash of the machine can leave one that has its line end. */
static leat_status look_at_end(leat_batch_log *log, uint64_t file_size, leat_error *error)
{
    leat_batch_entry last, first;
    uint64_t begin, end;
    leat_status status = LEAT_OK;
    if (file_size > log->lines.size) {
        LEAT_TRY(cut(log, log->lines.size, error));
    }
    for (int dropped = 0; log->lines.size > 0; dropped++) {
        LEAT_TRY(leat_batch_lines_before(&log->lines, log->lines.size, &begin, error));
        status = leat_batch_lines_read(&log->lines, begin, &last, &end, error);
        if (status == LEAT_OK) {
            log->steps = last.step + 1;
            LEAT_TRY(leat_batch_lines_read(&log->lines, 0, &first, &end, error));
            log->first = first.step;
            break;
        }
        if (status != LEAT_CORRUPT || dropped > 0) {
            goto done;
        }
        LEAT_TRY(cut(log, begin, error));
    }
done:
    return status;
}

leat_status leat_batch_log_open_with(leat_batch_log **out, const char *path,
                                     const leat_file_ops *ops, leat_error *error)
{
    *out = NULL;
    int file = ops->open(ops->context, path, O_RDWR | O_CREAT | O_APPEND, 0666);
    if (file < 0) {
        return leat_fail_errno(error, "open the batch log", path, errno);
    }
    leat_batch_log *log = leat_alloc(1, sizeof *log);
    uint64_t file_size = 0;
    log->ops = ops;
    log->path = leat_strdup(path);
    leat_status status = leat_batch_lines_init(&log->lines, file, log->path, &file_size, error);
    if (status == LEAT_OK) {
        status = look_at_end(log, file_size, error);
    }
    if (status == LEAT_OK && file_size == 0) {
        status = leat_file_ops_sync_folder(ops, path, error);
    }
    if (status != LEAT_OK) {
        leat_error ignored;
        leat_batch_log_close(log, &ignored);
        return status;
    }
    *out = log;
    return LEAT_OK;
}

leat_status leat_batch_log_open(leat_batch_log **out, const char *path, leat_error *error)
{
    return leat_batch_log_open_with(out, path, leat_file_ops_posix(), error);
}

static leat_status append(leat_batch_log *log, const leat_batch_line *line, leat_error *error)
{
    leat_buffer_clear(&log->line);
    leat_batch_line_write(&log->line, line);
    if (!leat_file_ops_write_all(log->ops, log->lines.file, log->line.data, log->line.size)) {
        int cause = errno;
        leat_error cutting;
        log->broken = cut(log, log->lines.size, &cutting) != LEAT_OK;
        leat_fail_errno(error, "write", log->path, cause);
        error->status = LEAT_IO;
        leat_error_wanted(error, "the line of step %" PRIu64, line->step);
        leat_error_hint(error, "make room (or raise the quota) and resume; %s",
                        log->broken ? "the torn last line will be dropped then"
                                    : "nothing of that line is in the log");
        return error->status;
    }
    log->first = log->lines.size == 0 ? line->step : log->first;
    log->lines.size += log->line.size;
    log->steps = line->step + 1;
    return LEAT_OK;
}

static leat_status differs(const leat_batch_log *log, const leat_batch_entry *entry,
                           const leat_batch_line *line, leat_error *error)
{
    char ours[65], theirs[65];
    bool batch = memcmp(entry->batch, line->batch, 32) != 0;
    leat_hex(batch ? line->batch : line->chain, 32, ours);
    leat_hex(batch ? entry->batch : entry->chain, 32, theirs);
    LEAT_FAIL(error, LEAT_MISMATCH,
              "step %" PRIu64 " done again gives another %s than the log has: %s, in the log %s",
              line->step, batch ? "batch" : "chain", ours, theirs);
    leat_error_where(error, "%s: byte %" PRIu64, log->path, entry->offset);
    leat_error_found(error, "%s", ours);
    leat_error_wanted(error, "%s", theirs);
    leat_error_hint(error,
                    "data, tokenizer or log changed since; leat verify and leat explain "
                    "--step %" PRIu64 " show what",
                    line->step);
    return error->status;
}

static leat_status compare(leat_batch_log *log, const leat_batch_line *line, leat_error *error)
{
    leat_batch_entry entry;
    uint64_t offset = log->compare_offset, end;
    leat_status status = LEAT_OK;
    if (log->compare_step != line->step) {
        LEAT_TRY(leat_batch_lines_seek(&log->lines, line->step, &offset, error));
    }
    if (offset >= log->lines.size) {
        return LEAT_FAIL(error, LEAT_CORRUPT, "the batch log %s lacks step %" PRIu64, log->path,
                         line->step);
    }
    LEAT_TRY(leat_batch_lines_read(&log->lines, offset, &entry, &end, error));
    if (entry.step != line->step) {
        LEAT_FAIL(error, LEAT_CORRUPT, "the steps of the batch log %s do not ascend by one",
                  log->path);
        leat_error_where(error, "%s: byte %" PRIu64, log->path, offset);
        leat_error_found(error, "step %" PRIu64, entry.step);
        leat_error_wanted(error, "step %" PRIu64, line->step);
        return error->status;
    }
    log->compare_step = line->step + 1;
    log->compare_offset = end;
    if (memcmp(entry.batch, line->batch, 32) != 0 || memcmp(entry.chain, line->chain, 32) != 0) {
        return differs(log, &entry, line, error);
    }
done:
    return status;
}

leat_status leat_batch_log_add(leat_batch_log *log, const leat_batch_line *line, leat_error *error)
{
    bool empty = log->lines.size == 0;
    if (!empty && line->step >= log->first && line->step < log->steps) {
        return compare(log, line, error);
    }
    if (!empty && line->step != log->steps) {
        LEAT_FAIL(error, LEAT_INVALID, "step %" PRIu64 " would leave a gap in the batch log %s",
                  line->step, log->path);
        leat_error_where(error, "%s", log->path);
        leat_error_found(error, "step %" PRIu64, line->step);
        leat_error_wanted(error, "a step from %" PRIu64 " to %" PRIu64, log->first, log->steps);
        leat_error_hint(error, "resume at step %" PRIu64 " (--resume --step) or earlier",
                        log->steps);
        return error->status;
    }
    if (log->broken) {
        return LEAT_FAIL(error, LEAT_IO, "the batch log %s ends in a torn line; resume to drop it",
                         log->path);
    }
    return append(log, line, error);
}

uint64_t leat_batch_log_steps(const leat_batch_log *log)
{
    return log->steps;
}

uint64_t leat_batch_log_first(const leat_batch_log *log)
{
    return log->first;
}

leat_status leat_batch_log_flush(leat_batch_log *log, leat_error *error)
{
    if (log->ops->data_sync(log->ops->context, log->lines.file) != 0) {
        leat_fail_errno(error, "sync", log->path, errno);
        return error->status = LEAT_IO;
    }
    return LEAT_OK;
}

leat_status leat_batch_log_close(leat_batch_log *log, leat_error *error)
{
    if (log == NULL) {
        return LEAT_OK;
    }
    leat_status status = leat_batch_log_flush(log, error);
    if (log->ops->close(log->ops->context, log->lines.file) != 0 && status == LEAT_OK) {
        status = leat_fail_errno(error, "close", log->path, errno);
    }
    leat_batch_lines_deinit(&log->lines);
    leat_buffer_deinit(&log->line);
    leat_free(log->path);
    leat_free(log);
    return status;
}
