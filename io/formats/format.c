#include "io/formats/format.h"

static const leat_corpus_format *const formats[] = {&leat_format_jsonl};
enum { FORMAT_COUNT = sizeof formats / sizeof *formats, HEAD_BYTES = 4096 };

static bool ends_in(const char *path, const char *ending)
{
    size_t size = strlen(path), ending_size = strlen(ending);
    return size >= ending_size && strcmp(path + size - ending_size, ending) == 0;
}

static leat_status unknown(const leat_file *file, const char *found, leat_error *error)
{
    LEAT_FAIL(error, LEAT_INVALID, "the format of %s is not known", file->path);
    leat_error_where(error, "%s", file->path);
    leat_error_found(error, "%s", found);
    leat_error_wanted(error, "JSON lines");
    leat_error_hint(error, "name the dataset's format in the job file (format: jsonl)");
    return error->status;
}

/* What the first bytes say; NULL: nothing that is known. */
static const char *compression(const uint8_t *head, size_t size)
{
    static const struct {
        const char *bytes, *name;
        size_t size;
    } magics[] = {{"\x1f\x8b", "a gzip file", 2},
                  {"\x28\xb5\x2f\xfd", "a zstd file", 4},
                  {"BZh", "a bzip2 file", 3},
                  {"\xfd"
                   "7zXZ",
                   "an xz file", 5},
                  {"PAR1", "a Parquet file", 4},
                  {"ARROW1", "an Arrow file", 6},
                  {"\x93NUMPY", "a NumPy file", 6},
                  {"\x89HDF", "an HDF5 file", 4}};
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        if (size >= magics[i].size && memcmp(head, magics[i].bytes, magics[i].size) == 0) {
            return magics[i].name;
        }
    }
    return NULL;
}

static leat_status named(const leat_corpus_format **out, const leat_record_rules *rules,
                         leat_error *error)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        if (strcmp(rules->format, formats[i]->name) == 0) {
            *out = formats[i];
            return LEAT_OK;
        }
    }
    LEAT_FAIL(error, LEAT_INVALID, "there is no format \"%.60s\"", rules->format);
    leat_error_wanted(error, "jsonl");
    return error->status;
}

leat_status leat_format_of(const leat_corpus_format **out, leat_file *file,
                           const leat_record_rules *rules, leat_error *error)
{
    *out = NULL;
    if (rules->format != NULL) {
        return named(out, rules, error);
    }
    uint8_t head[HEAD_BYTES];
    size_t size = file->size < HEAD_BYTES ? (size_t)file->size : HEAD_BYTES, at = 0;
    leat_status status = file->store->read(file, 0, head, size, error);
    if (status != LEAT_OK) {
        return status;
    }
    const char *other = compression(head, size);
    if (other != NULL) {
        return unknown(file, other, error);
    }
    while (at < size && strchr(" \t\r\n\xef\xbb\xbf", head[at]) != NULL && head[at] != 0) {
        at++;
    }
    if (at == size || head[at] == '{' || ends_in(file->path, ".jsonl") ||
        ends_in(file->path, ".ndjson")) {
        *out = &leat_format_jsonl;
        return LEAT_OK;
    }
    return unknown(file, "neither an ending (.jsonl) nor first bytes that tell", error);
}

leat_status leat_scan_progress(const leat_scan *scan, uint64_t bytes, leat_error *error)
{
    if (scan->progress != NULL && scan->progress(scan->progress_context, bytes) != 0) {
        LEAT_FAIL(error, LEAT_PEER, "reading %s was cancelled", scan->file->path);
        return error->status;
    }
    return LEAT_OK;
}
