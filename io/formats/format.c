#include "io/formats/format.h"
#include "base/memory.h"

static const leat_corpus_format *const formats[] = {&leat_format_jsonl, &leat_format_megatron,
                                                    &leat_format_npy,   &leat_format_raw,
                                                    &leat_format_llmc,  &leat_format_datatrove};
enum { FORMAT_COUNT = sizeof formats / sizeof *formats, HEAD_BYTES = 4096 };

const leat_corpus_format *leat_format_numbered(uint32_t number)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        if (formats[i]->number == number) {
            return formats[i];
        }
    }
    return NULL;
}

static bool ends_in(const char *path, const char *ending)
{
    size_t size = strlen(path), ending_size = strlen(ending);
    return size >= ending_size && strcmp(path + size - ending_size, ending) == 0;
}

static leat_status unknown(const leat_file *file, const char *found, const char *hint,
                           leat_error *error)
{
    LEAT_FAIL(error, LEAT_INVALID, "the format of %s is not known", file->path);
    leat_error_where(error, "%s", file->path);
    leat_error_found(error, "%s", found);
    leat_error_wanted(error, "JSON lines, Megatron's .bin with .idx, .npy or raw tokens");
    leat_error_hint(error, "%s", hint);
    return error->status;
}

/* Files that are told by their first bytes and cannot be read; NULL: none of them. */
static const char *known_stranger(const uint8_t *head, size_t size, const char **hint)
{
    static const char unpack[] = "unpack it: a compressed file has no places to read from";
    static const char convert[] = "convert it to JSON lines or token files";
    static const struct {
        const char *bytes, *name, *hint;
        size_t size;
    } magics[] = {
        {"\x1f\x8b", "a gzip file", unpack, 2},
        {"\x28\xb5\x2f\xfd", "a zstd file", unpack, 4},
        {"BZh", "a bzip2 file", unpack, 3},
        {"\xfd\x37zXZ", "an xz file", unpack, 5},
        {"PAR1", "a Parquet file", convert, 4},
        {"ARROW1", "an Arrow file", convert, 6},
        {"\x89HDF", "an HDF5 file", convert, 4},
        {"PK\x03\x04", "a zip file", convert, 4},
        {"MMIDIDX", "the index of a Megatron file", "name the .bin files; the .idx belongs to them",
         7},
    };
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        if (size >= magics[i].size && memcmp(head, magics[i].bytes, magics[i].size) == 0) {
            *hint = magics[i].hint;
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
    leat_error_wanted(error, "jsonl, megatron, npy, raw, llmc or datatrove");
    return error->status;
}

/* The format that is told by a second file, beside a .bin or .ds.  One that cannot be looked at is an error: the answer decides
 * what the file is. */
static leat_status pair_of(const leat_file *file, const leat_corpus_format **out, leat_error *error)
{
    const leat_corpus_format *format = ends_in(file->path, ".bin")  ? &leat_format_megatron
                                       : ends_in(file->path, ".ds") ? &leat_format_datatrove
                                                                    : NULL;
    *out = NULL;
    if (format == NULL) {
        return LEAT_OK;
    }
    char *path = format->companion(file->path);
    leat_file_stat found;
    leat_status status = file->store->stat(file->store, path, &found, error);
    *out = status == LEAT_OK ? format : NULL;
    leat_free(path);
    return status == LEAT_NOT_FOUND ? LEAT_OK : status;
}

static bool is_llmc(const uint8_t *head)
{
    uint32_t magic = leat_get_u32(head), version = leat_get_u32(head + 4);
    return (magic == LEAT_LLMC_NARROW && version == 1) || (magic == LEAT_LLMC_WIDE && version == 7);
}

/* Is the first byte that is no blank (a byte order mark before it) a brace, or is there none? */
static bool looks_like_jsonl(const uint8_t *head, size_t size)
{
    size_t at = size >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (at < size &&
           (head[at] == ' ' || head[at] == '\t' || head[at] == '\r' || head[at] == '\n')) {
        at++;
    }
    return at == size || head[at] == '{';
}

leat_status leat_format_of(const leat_corpus_format **out, leat_file *file,
                           const leat_record_rules *rules, leat_error *error)
{
    uint8_t head[HEAD_BYTES];
    size_t size = file->size < HEAD_BYTES ? (size_t)file->size : HEAD_BYTES;
    const char *hint;
    const leat_corpus_format *pair = NULL;
    *out = NULL;
    if (rules->format != NULL) {
        return named(out, rules, error);
    }
    leat_status status = file->store->read(file, 0, head, size, error);
    if (status == LEAT_OK) {
        status = pair_of(file, &pair, error);
    }
    if (status != LEAT_OK) {
        return status;
    }
    if (pair != NULL) {
        *out = pair;
    } else if (size >= 1024 && is_llmc(head)) {
        *out = &leat_format_llmc;
    } else if (size >= 6 && memcmp(head, "\x93NUMPY", 6) == 0) {
        *out = &leat_format_npy;
    } else if (rules->dtype != NULL) {
        *out = &leat_format_raw;
    } else if (known_stranger(head, size, &hint) != NULL) {
        return unknown(file, known_stranger(head, size, &hint), hint, error);
    } else if (ends_in(file->path, ".bin") || ends_in(file->path, ".npy")) {
        return unknown(file, "tokens without a header and without an .idx",
                       "give the dataset a dtype (and an eos_id) in the job file", error);
    } else if (ends_in(file->path, ".jsonl") || ends_in(file->path, ".ndjson") ||
               looks_like_jsonl(head, size)) {
        *out = &leat_format_jsonl;
    } else {
        return unknown(file, "neither an ending (.jsonl) nor first bytes that tell",
                       "name the dataset's format in the job file (format: jsonl)", error);
    }
    return LEAT_OK;
}

leat_status leat_scan_progress(const leat_scan *scan, uint64_t bytes, leat_error *error)
{
    if (scan->progress != NULL && scan->progress(scan->progress_context, bytes) != 0) {
        LEAT_FAIL(error, LEAT_PEER, "reading %s was cancelled", scan->file->path);
        return error->status;
    }
    return LEAT_OK;
}
