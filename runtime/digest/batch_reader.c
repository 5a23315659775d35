#include "base/memory.h"
#include "digest/batch_lines.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

struct leat_batch_reader {
    leat_batch_lines lines;
    char *path;
    uint64_t offset, step; /* of the next line; its step is known after the first one */
    bool step_known;
};

leat_status leat_batch_reader_open(leat_batch_reader **out, const char *path, leat_error *error)
{
    *out = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return leat_fail_errno(error, "open the batch log", path, errno);
    }
    leat_batch_reader *reader = leat_alloc(1, sizeof *reader);
    reader->path = leat_strdup(path);
    uint64_t file_size;
    leat_status status =
        leat_batch_lines_init(&reader->lines, file, reader->path, &file_size, error);
    if (status != LEAT_OK) {
        leat_batch_reader_close(reader);
        return status;
    }
    *out = reader;
    return LEAT_OK;
}

void leat_batch_reader_close(leat_batch_reader *reader)
{
    if (reader != NULL) {
        close(reader->lines.file);
        leat_batch_lines_deinit(&reader->lines);
        leat_free(reader->path);
        leat_free(reader);
    }
}

leat_status leat_batch_reader_seek(leat_batch_reader *reader, uint64_t step, leat_error *error)
{
    reader->step_known = false;
    return leat_batch_lines_seek(&reader->lines, step, &reader->offset, error);
}

leat_status leat_batch_reader_next(leat_batch_reader *reader, leat_batch_entry *out,
                                   leat_error *error)
{
    if (reader->offset >= reader->lines.size) {
        *out = (leat_batch_entry){.offset = reader->offset, .end = true};
        return LEAT_OK;
    }
    uint64_t end;
    leat_status status = leat_batch_lines_read(&reader->lines, reader->offset, out, &end, error);
    if (status != LEAT_OK) {
        return status;
    }
    if (reader->step_known && out->step != reader->step) {
        LEAT_FAIL(error, LEAT_CORRUPT, "the steps of the batch log %s do not ascend by one",
                  reader->path);
        leat_error_where(error, "%s: byte %" PRIu64, reader->path, reader->offset);
        leat_error_found(error, "step %" PRIu64, out->step);
        leat_error_wanted(error, "step %" PRIu64, reader->step);
        return error->status;
    }
    reader->offset = end;
    reader->step = out->step + 1;
    reader->step_known = true;
    return LEAT_OK;
}

leat_status leat_batch_log_find(const char *path, uint64_t step, uint8_t batch[32],
                                uint8_t chain[32], uint64_t *rows, leat_error *error)
{
    leat_batch_reader *reader;
    leat_batch_entry entry;
    leat_status status = leat_batch_reader_open(&reader, path, error);
    if (status != LEAT_OK) {
        return status;
    }
    LEAT_TRY(leat_batch_reader_seek(reader, step, error));
    LEAT_TRY(leat_batch_reader_next(reader, &entry, error));
    if (entry.end || entry.step != step) {
        status = LEAT_FAIL(error, LEAT_NOT_FOUND, "step %" PRIu64 " is not in the batch log %s",
                           step, path);
        leat_error_where(error, "%s", path);
        goto done;
    }
    memcpy(batch, entry.batch, 32);
    memcpy(chain, entry.chain, 32);
    *rows = entry.rows;
done:
    leat_batch_reader_close(reader);
    return status;
}
