#include "digest/batch_lines.h"
#include "base/arith.h"
#include "base/json_out.h"
#include "base/memory.h"
#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 4096 };

/* Reads up to `bytes` at `offset`; fewer only at the end of the file. */
static leat_status read_at(const leat_batch_lines *lines, uint64_t offset, uint8_t *out,
                           size_t bytes, size_t *got, leat_error *error)
{
    *got = 0;
    while (*got < bytes) {
        ssize_t n = pread(lines->file, out + *got, bytes - *got, (off_t)(offset + *got));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return leat_fail_errno(error, "read", lines->path, errno);
        }
        if (n == 0) {
            break;
        }
        *got += (size_t)n;
    }
    return LEAT_OK;
}

/* *begin: just behind the last line end before `limit`, 0 where there is none. */
static leat_status after_line_end(const leat_batch_lines *lines, uint64_t limit, uint64_t *begin,
                                  leat_error *error)
{
    uint8_t chunk[CHUNK];
    uint64_t stop = limit;
    while (stop > 0) {
        uint64_t start = stop - leat_min_u64(stop, sizeof chunk);
        size_t got;
        leat_status status = read_at(lines, start, chunk, (size_t)(stop - start), &got, error);
        if (status != LEAT_OK) {
            return status;
        }
        const uint8_t *found = memrchr(chunk, '\n', got);
        if (found != NULL) {
            *begin = start + (uint64_t)(found - chunk) + 1;
            return LEAT_OK;
        }
        stop = start;
    }
    *begin = 0;
    return LEAT_OK;
}

leat_status leat_batch_lines_before(const leat_batch_lines *lines, uint64_t offset, uint64_t *begin,
                                    leat_error *error)
{
    return after_line_end(lines, offset - 1, begin, error);
}

leat_status leat_batch_lines_init(leat_batch_lines *lines, int file, const char *path,
                                  uint64_t *file_size, leat_error *error)
{
    struct stat info;
    *lines = (leat_batch_lines){.file = file, .path = path};
    if (fstat(file, &info) != 0) {
        return leat_fail_errno(error, "look at", path, errno);
    }
    if (!S_ISREG(info.st_mode)) {
        LEAT_FAIL(error, LEAT_IO, "the batch log %s is not a file", path);
        leat_error_where(error, "%s", path);
        return error->status;
    }
    *file_size = (uint64_t)info.st_size;
    return after_line_end(lines, *file_size, &lines->size, error);
}

void leat_batch_lines_deinit(leat_batch_lines *lines)
{
    leat_buffer_deinit(&lines->text);
    leat_free(lines->numbers);
    lines->numbers = NULL;
}

static bool take_text(const char **at, const char *text)
{
    size_t length = strlen(text);
    if (strncmp(*at, text, length) != 0) {
        return false;
    }
    *at += length;
    return true;
}

static bool take_number(const char **at, uint64_t *out)
{
    const char *start = *at;
    *out = 0;
    for (; **at >= '0' && **at <= '9'; ++*at) {
        if (!leat_mul_u64(*out, 10, out) || !leat_add_u64(*out, (uint64_t)(**at - '0'), out)) {
            return false;
        }
    }
    return *at > start && (*start != '0' || *at == start + 1);
}

static bool take_digest(const char **at, uint8_t out[32])
{
    char hex[65];
    if (strnlen(*at, 64) != 64) {
        return false;
    }
    memcpy(hex, *at, 64);
    hex[64] = '\0';
    *at += 64;
    return leat_unhex(hex, out, 32);
}

static bool take_datasets(const char **at, leat_batch_lines *lines, leat_batch_entry *entry)
{
    uint64_t number, tokens;
    entry->datasets = 0;
    while (take_text(at, entry->datasets == 0 ? "[" : ",[")) {
        if (!take_number(at, &number) || !take_text(at, ",") || !take_number(at, &tokens) ||
            !take_text(at, "]")) {
            return false;
        }
        LEAT_GROW(lines->numbers, lines->numbers_capacity, 2 * entry->datasets + 2);
        lines->numbers[2 * entry->datasets] = number;
        lines->numbers[2 * entry->datasets + 1] = tokens;
        entry->datasets++;
    }
    entry->by_dataset = lines->numbers;
    return true;
}

/* The writer's own form alone is accepted, so that a changed byte outside the values is seen. */
static bool parse(leat_batch_lines *lines, const char *at, leat_batch_entry *entry)
{
    return take_text(&at, "{\"step\":") && take_number(&at, &entry->step) &&
           take_text(&at, ",\"batch\":\"") && take_digest(&at, entry->batch) &&
           take_text(&at, "\",\"chain\":\"") && take_digest(&at, entry->chain) &&
           take_text(&at, "\",\"rows\":") && take_number(&at, &entry->rows) &&
           take_text(&at, ",\"tokens\":") && take_number(&at, &entry->tokens) &&
           take_text(&at, ",\"by_dataset\":[") && take_datasets(&at, lines, entry) &&
           take_text(&at, "]}") && *at == '\0';
}

static leat_status damaged(const leat_batch_lines *lines, uint64_t offset, leat_error *error)
{
    LEAT_FAIL(error, LEAT_CORRUPT, "a line of the batch log %s is damaged", lines->path);
    leat_error_where(error, "%s: byte %" PRIu64, lines->path, offset);
    leat_error_wanted(error, "{\"step\":…,\"batch\":…,\"chain\":…,\"rows\":…,\"tokens\":…,"
                             "\"by_dataset\":[…]}");
    leat_error_hint(error, "the log was changed after it was written; go on from a checkpoint in a "
                           "new run folder (--resume-from)");
    return error->status;
}

leat_status leat_batch_lines_read(leat_batch_lines *lines, uint64_t offset, leat_batch_entry *entry,
                                  uint64_t *end, leat_error *error)
{
    leat_buffer *text = &lines->text;
    leat_buffer_clear(text);
    *entry = (leat_batch_entry){.offset = offset};
    for (size_t chunk = CHUNK;; chunk *= 2) {
        size_t left = (size_t)leat_min_u64(lines->size - offset - text->size, chunk), got;
        size_t before = text->size;
        uint8_t *at = leat_buffer_extend(text, left);
        leat_status status = read_at(lines, offset + before, at, left, &got, error);
        if (status != LEAT_OK) {
            return status;
        }
        const uint8_t *found = memchr(at, '\n', got);
        if (found != NULL) {
            text->size = before + (size_t)(found - at);
            break;
        }
        text->size = before + got;
        if (got == 0 || text->size > LEAT_BATCH_LINE_BYTES_MAX) {
            return damaged(lines, offset, error);
        }
    }
    *end = offset + text->size + 1;
    if (memchr(text->data, '\0', text->size) != NULL ||
        !parse(lines, leat_buffer_text(text), entry)) {
        return damaged(lines, offset, error);
    }
    return LEAT_OK;
}

leat_status leat_batch_lines_seek(leat_batch_lines *lines, uint64_t step, uint64_t *offset,
                                  leat_error *error)
{
    /* Lines that begin before `low` have smaller steps, those that begin at or after `high` do not. */
    uint64_t low = 0, high = lines->size;
    while (low < high) {
        uint64_t begin, end;
        leat_batch_entry entry;
        leat_status status =
            leat_batch_lines_before(lines, low + (high - low) / 2 + 1, &begin, error);
        if (status == LEAT_OK) {
            status = leat_batch_lines_read(lines, begin, &entry, &end, error);
        }
        if (status != LEAT_OK) {
            return status;
        }
        if (entry.step < step) {
            low = end;
        } else {
            high = begin;
        }
    }
    *offset = low;
    return LEAT_OK;
}

void leat_batch_line_write(leat_buffer *buffer, const leat_batch_line *line)
{
    leat_json_out out = {buffer, false};
    leat_json_object(&out);
    leat_json_key_u64(&out, "step", line->step);
    leat_json_key_hex(&out, "batch", line->batch, 32);
    leat_json_key_hex(&out, "chain", line->chain, 32);
    leat_json_key_u64(&out, "rows", line->rows);
    leat_json_key_u64(&out, "tokens", line->tokens);
    leat_json_key(&out, "by_dataset");
    leat_json_array(&out);
    for (uint64_t i = 0; i < line->datasets; i++) {
        if (line->dataset_tokens[i] > 0) {
            leat_json_array(&out);
            leat_json_u64(&out, i);
            leat_json_u64(&out, line->dataset_tokens[i]);
            leat_json_array_end(&out);
        }
    }
    leat_json_array_end(&out);
    leat_json_object_end(&out);
    leat_buffer_add_u8(buffer, '\n');
}
