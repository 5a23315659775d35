/* cursors.bin: records of
 *     "LEATCRS1" ‖ LE64(step) ‖ chain, 32 bytes ‖ LE32(size of the cursor) ‖ cursor ‖ first 8 bytes of the SHA-256 of all before
 *     ‖ LE32(size of the whole record)
 * with ascending steps.  The size at the end lets a search begin with the newest record. */
#include "base/memory.h"
#include "base/sha256.h"
#include "io/state/state_calls.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = {'L', 'E', 'A', 'T', 'C', 'R', 'S', '1'};
enum { HEAD_BYTES = 52, TAIL_BYTES = 12, CURSOR_BYTES_MAX = 1 << 28 };

typedef struct record {
    uint64_t begin, end; /* in the file */
    uint64_t step;
    leat_buffer bytes; /* the whole record */
} record;

typedef struct cursor_file {
    int file;
    char *path;
    uint64_t size;
} cursor_file;

static bool read_bytes(const cursor_file *file, uint64_t offset, void *out, size_t bytes)
{
    uint8_t *at = out;
    while (bytes > 0) {
        ssize_t got = pread(file->file, at, bytes, (off_t)offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        at += got;
        offset += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return true;
}

static void record_digest(const uint8_t *bytes, size_t size, uint8_t out[8])
{
    uint8_t digest[32];
    leat_sha256_of(bytes, size, digest);
    memcpy(out, digest, 8);
}

/* The record that begins at `begin`; false where there is no whole one. */
static bool read_record(const cursor_file *file, uint64_t begin, record *out)
{
    uint8_t head[HEAD_BYTES], digest[8];
    if (begin > file->size || file->size - begin < HEAD_BYTES + TAIL_BYTES ||
        !read_bytes(file, begin, head, HEAD_BYTES) || memcmp(head, magic, 8) != 0) {
        return false;
    }
    uint64_t cursor = leat_get_u32(head + 48), size = HEAD_BYTES + cursor + TAIL_BYTES;
    if (cursor > CURSOR_BYTES_MAX || size > file->size - begin) {
        return false;
    }
    leat_buffer_clear(&out->bytes);
    uint8_t *bytes = leat_buffer_extend(&out->bytes, size);
    if (!read_bytes(file, begin, bytes, size)) {
        return false;
    }
    record_digest(bytes, size - TAIL_BYTES, digest);
    out->begin = begin;
    out->end = begin + size;
    out->step = leat_get_u64(bytes + 8);
    return memcmp(digest, bytes + size - TAIL_BYTES, 8) == 0 &&
           leat_get_u32(bytes + size - 4) == size;
}

/* The record that ends at `end`. */
static bool read_record_before(const cursor_file *file, uint64_t end, record *out)
{
    uint8_t size[4];
    if (end < HEAD_BYTES + TAIL_BYTES || !read_bytes(file, end - 4, size, 4)) {
        return false;
    }
    uint64_t bytes = leat_get_u32(size);
    return bytes <= end && read_record(file, end - bytes, out) && out->end == end;
}

/* The last whole record with a step ≤ step_max, from the file's end backwards; where a record is torn or damaged there, from
 * the file's beginning up to the first damage.  *end: where the whole records end as far as was seen. */
static bool find_record(const cursor_file *file, uint64_t step_max, record *out, uint64_t *end)
{
    uint64_t at = file->size;
    *end = at;
    while (at > 0 && read_record_before(file, at, out)) {
        if (out->step <= step_max) {
            return true;
        }
        at = out->begin;
    }
    if (at == 0) {
        return false;
    }
    record next = {0};
    bool found = false;
    for (at = 0; read_record(file, at, &next); at = next.end) {
        if (next.step <= step_max) {
            record swap = *out;
            *out = next;
            next = (record){.begin = out->begin, .end = out->end, .bytes = swap.bytes};
            found = true;
        }
    }
    *end = at;
    leat_buffer_deinit(&next.bytes);
    return found;
}

static leat_status open_file(cursor_file *file, const leat_file_ops *ops, const char *run_folder,
                             int flags, leat_error *error)
{
    struct stat info;
    file->path = leat_format("%s/cursors.bin", run_folder);
    file->file = ops->open(ops->context, file->path, flags, 0666);
    if (file->file < 0) {
        return leat_fail_errno(error, "open", file->path, errno);
    }
    if (fstat(file->file, &info) != 0 || !S_ISREG(info.st_mode)) {
        return LEAT_FAIL(error, LEAT_IO, "%s is not a plain file", file->path);
    }
    file->size = (uint64_t)info.st_size;
    return LEAT_OK;
}

static void close_file(cursor_file *file, const leat_file_ops *ops)
{
    if (file->file >= 0) {
        ops->close(ops->context, file->file);
    }
    leat_free(file->path);
}

static leat_status cut(const cursor_file *file, const leat_file_ops *ops, uint64_t size,
                       leat_error *error)
{
    if (ops->truncate(ops->context, file->file, (off_t)size) != 0 ||
        ops->data_sync(ops->context, file->file) != 0) {
        leat_fail_errno(error, "cut the end of", file->path, errno);
        return error->status = LEAT_IO;
    }
    return LEAT_OK;
}

static void write_record(leat_buffer *out, uint64_t step, const uint8_t chain[32],
                         leat_bytes cursor)
{
    uint8_t digest[8];
    leat_buffer_add(out, magic, 8);
    leat_buffer_add_u64(out, step);
    leat_buffer_add(out, chain, 32);
    leat_buffer_add_u32(out, (uint32_t)cursor.size);
    leat_buffer_add(out, cursor.data, cursor.size);
    record_digest(out->data, out->size, digest);
    leat_buffer_add(out, digest, 8);
    leat_buffer_add_u32(out, (uint32_t)out->size + 4);
}

/* The new record goes behind `last` (whole records end at `end`); the same step twice is the same record or an error. */
static leat_status append_after(const cursor_file *file, const leat_file_ops *ops,
                                const record *last, uint64_t end, const leat_buffer *bytes,
                                leat_error *error)
{
    uint64_t step = leat_get_u64(bytes->data + 8);
    if (last != NULL && last->step >= step) {
        if (last->step == step && last->bytes.size == bytes->size &&
            memcmp(last->bytes.data, bytes->data, bytes->size) == 0) {
            return LEAT_OK;
        }
        LEAT_FAIL(error, last->step == step ? LEAT_MISMATCH : LEAT_INVALID,
                  "%s already has %s step %" PRIu64, file->path,
                  last->step == step ? "another cursor of" : "a later record than", step);
        leat_error_where(error, "%s", file->path);
        leat_error_found(error, "its last record is of step %" PRIu64, last->step);
        return error->status;
    }
    if (end < file->size && ops->truncate(ops->context, file->file, (off_t)end) != 0) {
        leat_fail_errno(error, "cut the torn end of", file->path, errno);
        return error->status = LEAT_IO;
    }
    if (!leat_file_ops_write_all(ops, file->file, bytes->data, bytes->size) ||
        ops->data_sync(ops->context, file->file) != 0) {
        int cause = errno;
        ops->truncate(ops->context, file->file, (off_t)end);
        leat_fail_errno(error, "write", file->path, cause);
        leat_error_hint(error, "check space and quota; the records before are whole");
        return error->status = LEAT_IO;
    }
    return end == 0 ? leat_file_ops_sync_folder(ops, file->path, error) : LEAT_OK;
}

leat_status leat_cursors_append_with(const leat_file_ops *ops, const char *run_folder,
                                     uint64_t step, const uint8_t chain[32], leat_bytes cursor,
                                     leat_error *error)
{
    cursor_file file = {.file = -1};
    record last = {0};
    leat_buffer bytes = {0};
    uint64_t end;
    leat_status status = LEAT_OK;
    if (cursor.size > CURSOR_BYTES_MAX) {
        return LEAT_FAIL(error, LEAT_LIMIT, "a cursor of %zu bytes is too long for cursors.bin",
                         cursor.size);
    }
    LEAT_TRY(open_file(&file, ops, run_folder, O_RDWR | O_CREAT | O_APPEND, error));
    bool found = find_record(&file, UINT64_MAX, &last, &end);
    write_record(&bytes, step, chain, cursor);
    LEAT_TRY(append_after(&file, ops, found ? &last : NULL, end, &bytes, error));
done:
    close_file(&file, ops);
    leat_buffer_deinit(&last.bytes);
    leat_buffer_deinit(&bytes);
    return status;
}

leat_status leat_cursors_append(const char *run_folder, uint64_t step, const uint8_t chain[32],
                                leat_bytes cursor, leat_error *error)
{
    return leat_cursors_append_with(leat_file_ops_posix(), run_folder, step, chain, cursor, error);
}

leat_status leat_cursors_find(const char *run_folder, uint64_t step_max, uint64_t *step,
                              uint8_t chain[32], leat_buffer *cursor, leat_error *error)
{
    const leat_file_ops *ops = leat_file_ops_posix();
    cursor_file file = {.file = -1};
    record found = {0};
    uint64_t end;
    leat_status status = LEAT_OK;
    LEAT_TRY(open_file(&file, ops, run_folder, O_RDONLY | O_NONBLOCK, error));
    if (!find_record(&file, step_max, &found, &end)) {
        status = LEAT_FAIL(error, LEAT_NOT_FOUND, "%s has no whole record of a step up to %" PRIu64,
                           file.path, step_max);
        leat_error_where(error, "%s", file.path);
        goto done;
    }
    *step = found.step;
    memcpy(chain, found.bytes.data + 16, 32);
    leat_buffer_clear(cursor);
    leat_buffer_add(cursor, found.bytes.data + HEAD_BYTES,
                    found.bytes.size - HEAD_BYTES - TAIL_BYTES);
done:
    close_file(&file, ops);
    leat_buffer_deinit(&found.bytes);
    return status;
}

leat_status leat_cursors_truncate_with(const leat_file_ops *ops, const char *run_folder,
                                       uint64_t step, leat_error *error)
{
    cursor_file file = {.file = -1};
    record found = {0};
    uint64_t end;
    leat_status status = open_file(&file, ops, run_folder, O_RDWR, error);
    if (status == LEAT_NOT_FOUND) {
        status = LEAT_OK; /* nothing to drop */
    } else if (status == LEAT_OK) {
        uint64_t size = find_record(&file, step, &found, &end) ? found.end : 0;
        status = size < file.size ? cut(&file, ops, size, error) : LEAT_OK;
    }
    close_file(&file, ops);
    leat_buffer_deinit(&found.bytes);
    return status;
}

leat_status leat_cursors_truncate(const char *run_folder, uint64_t step, leat_error *error)
{
    return leat_cursors_truncate_with(leat_file_ops_posix(), run_folder, step, error);
}
