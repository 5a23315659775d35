/* NumPy's .npy arrays of tokens, and raw tokens without a header (nanoGPT, OLMo).
 *
 * A two-dimensional array holds a document a row.  Otherwise a document ends with the token eos_id (which belongs to it) or, where
 * that is not given, with the file.
 * Header of .npy: "\x93NUMPY" | u8 major | u8 minor | u16 (major 1) or u32 length | a Python dictionary of that length. */
#include "base/memory.h"
#include "io/formats/tokens.h"
#include <inttypes.h>

enum { BLOCK_BYTES = 1 << 20, HEADER_BYTES_MAX = 1 << 20 };

typedef struct array {
    leat_dtype dtype;
    uint64_t offset, tokens; /* of the tokens in the file */
    uint64_t row;            /* tokens a row of a two-dimensional array; 0: one dimension */
    uint64_t rows;
} array;

static leat_status refuse(const leat_file *file, const char *what, const char *found,
                          leat_error *error)
{
    LEAT_FAIL(error, LEAT_INVALID, "%s cannot be used: %s", file->path, what);
    leat_error_where(error, "%s", file->path);
    leat_error_found(error, "%.150s", found);
    leat_error_wanted(error,
                      "an array of integers in one or two dimensions, little-endian, in C order");
    return error->status;
}

/* What stands behind 'key': in the header's dictionary; NULL: the key is not there. */
static const char *behind(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (at == NULL) {
        return NULL;
    }
    at += strlen(key);
    at += strspn(at, " ");
    if (*at++ != ':') {
        return NULL;
    }
    return at + strspn(at, " ");
}

/* "(5,)" or "(2, 3)": its numbers.  How many, or -1 where it is something else or more than two. */
static int shape_of(const char *at, uint64_t out[2])
{
    int count = 0;
    if (*at++ != '(') {
        return -1;
    }
    for (at += strspn(at, " "); *at != ')'; count++) {
        uint64_t value = 0;
        if (*at < '0' || *at > '9' || count == 2) {
            return -1;
        }
        for (; *at >= '0' && *at <= '9'; at++) {
            if (__builtin_mul_overflow(value, 10u, &value) ||
                __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value)) {
                return -1;
            }
        }
        out[count] = value;
        at += strspn(at, " ");
        if (*at == ',') {
            at++;
        } else if (*at != ')') {
            return -1;
        }
        at += strspn(at, " ");
    }
    return count;
}

static leat_status parse_header(const leat_file *file, const char *header, array *out,
                                leat_error *error)
{
    const char *descr = behind(header, "'descr'"), *order = behind(header, "'fortran_order'");
    const char *shape = behind(header, "'shape'");
    uint64_t sizes[2] = {0, 0};
    char type[8] = "";
    if (descr == NULL || order == NULL || shape == NULL) {
        return refuse(file, "its header lacks descr, fortran_order or shape", header, error);
    }
    if (descr[0] == '\'' && strcspn(descr + 1, "'") < sizeof type) {
        memcpy(type, descr + 1, strcspn(descr + 1, "'"));
    }
    if (!leat_dtype_parse(type, &out->dtype)) {
        return refuse(file, "its type is no type of tokens", descr, error);
    }
    int dimensions = shape_of(shape, sizes);
    if (dimensions < 1 || (dimensions == 2 && strncmp(order, "False", 5) != 0)) {
        return refuse(file, "its shape or order", header, error);
    }
    out->rows = dimensions == 2 ? sizes[0] : 0;
    out->row = dimensions == 2 ? sizes[1] : 0;
    out->tokens = sizes[0];
    if (dimensions == 2 && __builtin_mul_overflow(sizes[0], sizes[1], &out->tokens)) {
        return refuse(file, "its shape", shape, error);
    }
    if (out->tokens > (file->size - out->offset) / out->dtype.width) {
        LEAT_FAIL(error, LEAT_CORRUPT, "%s is cut", file->path);
        leat_error_found(error, "%" PRIu64 " bytes", file->size);
        leat_error_wanted(error, "%" PRIu64 " tokens of %u bytes behind byte %" PRIu64, out->tokens,
                          out->dtype.width, out->offset);
        return error->status;
    }
    /* Rows without tokens would be documents without bytes, as many as the header likes. */
    if (dimensions == 2 && sizes[1] == 0 && sizes[0] != 0) {
        return refuse(file, "its rows are empty", shape, error);
    }
    return LEAT_OK;
}

static leat_status npy_header(leat_file *file, array *out, leat_error *error)
{
    uint8_t head[12];
    if (file->size < sizeof head) {
        return refuse(file, "it is too short for an .npy file", "", error);
    }
    leat_status status = file->store->read(file, 0, head, sizeof head, error);
    if (status != LEAT_OK) {
        return status;
    }
    if (memcmp(head, "\x93NUMPY", 6) != 0 || head[6] < 1 || head[6] > 3) {
        return refuse(file, "it does not begin as an .npy file does", "", error);
    }
    uint64_t begin = head[6] == 1 ? 10 : 12;
    uint64_t bytes = head[6] == 1 ? leat_get_u16(head + 8) : leat_get_u32(head + 8);
    if (bytes > HEADER_BYTES_MAX || begin + bytes > file->size) {
        return refuse(file, "its header is longer than the file or 1 MiB", "", error);
    }
    char *header = leat_alloc((size_t)bytes + 1, 1);
    status = file->store->read(file, begin, header, (size_t)bytes, error);
    out->offset = begin + bytes;
    if (status == LEAT_OK) {
        status = parse_header(file, header, out, error);
    }
    leat_free(header);
    return status;
}

/* A pass over the tokens: the record being put together. */
typedef struct pass {
    const leat_scan *scan;
    array array;
    leat_record record;
} pass;

static leat_status end_record(pass *p, leat_error *error)
{
    leat_record record = p->record;
    record.bytes = record.tokens * p->array.dtype.width;
    p->record = (leat_record){.offset = record.offset + record.bytes};
    return p->scan->record(p->scan->record_context, &record, error);
}

static leat_status take_block(pass *p, const uint8_t *data, size_t bytes, leat_error *error)
{
    const leat_record_rules *rules = p->scan->rules;
    leat_dtype dtype = p->array.dtype;
    for (size_t i = 0; i < bytes; i += dtype.width) {
        uint32_t token;
        bool good = leat_dtype_get(dtype, data + i, &token);
        if (!good && p->record.fault == NULL) {
            p->record.fault = "a token that is negative or beyond 32 bits";
            p->record.fault_at = p->record.tokens * dtype.width;
        }
        p->record.tokens++;
        bool ends = p->array.row != 0 ? p->record.tokens == p->array.row
                                      : good && rules->has_eos_id && token == rules->eos_id;
        if (ends) {
            leat_status status = end_record(p, error);
            if (status != LEAT_OK) {
                return status;
            }
        }
    }
    return LEAT_OK;
}

static leat_status take_array(pass *p, leat_error *error)
{
    leat_file *file = p->scan->file;
    uint64_t begin = p->array.offset, end = begin + p->array.tokens * p->array.dtype.width;
    uint8_t *block = leat_alloc(BLOCK_BYTES, 1);
    leat_status status = LEAT_OK;
    p->record.offset = begin;
    for (uint64_t at = 0, next; at < file->size && status == LEAT_OK; at = next) {
        /* Header, tokens, and what lies behind them: all of it is hashed, the middle taken. */
        uint64_t limit = at < begin ? begin : at < end ? end : file->size;
        next = limit - at < BLOCK_BYTES ? limit : at + BLOCK_BYTES;
        LEAT_TRY(file->store->read(file, at, block, (size_t)(next - at), error));
        if (p->scan->hash != NULL) {
            leat_xxh3_add(p->scan->hash, block, (size_t)(next - at));
        }
        if (at >= begin && at < end) {
            LEAT_TRY(take_block(p, block, (size_t)(next - at), error));
        }
        status = leat_scan_progress(p->scan, next, error);
    }
    if (status == LEAT_OK && p->record.tokens != 0) {
        status = end_record(p, error);
    }
done:
    leat_free(block);
    return status;
}

static leat_status scan_array(const leat_scan *scan, const array *found, leat_error *error)
{
    pass p = {.scan = scan, .array = *found};
    if (scan->token_width != NULL) {
        *scan->token_width = found->dtype.width;
    }
    return take_array(&p, error);
}

static leat_status npy_scan(const leat_scan *scan, leat_error *error)
{
    array found = {0};
    leat_status status = npy_header(scan->file, &found, error);
    return status == LEAT_OK ? scan_array(scan, &found, error) : status;
}

static leat_status raw_scan(const leat_scan *scan, leat_error *error)
{
    array found = {0};
    const char *dtype = scan->rules->dtype;
    if (dtype == NULL || !leat_dtype_parse(dtype, &found.dtype)) {
        LEAT_FAIL(error, LEAT_INVALID, "the type of the tokens in %s is not known",
                  scan->file->path);
        leat_error_where(error, "%s", scan->file->path);
        leat_error_found(error, "%.60s", dtype != NULL ? dtype : "no dtype");
        leat_error_wanted(error, "uint8, uint16, uint32, uint64, int8, int16, int32 or int64");
        leat_error_hint(error, "give the dataset a dtype in the job file");
        return error->status;
    }
    if (scan->file->size % found.dtype.width != 0) {
        LEAT_FAIL(error, LEAT_CORRUPT, "%s is not a whole number of tokens", scan->file->path);
        leat_error_found(error, "%" PRIu64 " bytes", scan->file->size);
        leat_error_wanted(error, "a multiple of %u", found.dtype.width);
        leat_error_hint(error, "is its dtype %s?", dtype);
        return error->status;
    }
    found.tokens = scan->file->size / found.dtype.width;
    return scan_array(scan, &found, error);
}

const leat_corpus_format leat_format_npy = {.name = "npy", .number = 3, .scan = npy_scan};
const leat_corpus_format leat_format_raw = {.name = "raw", .number = 4, .scan = raw_scan};
