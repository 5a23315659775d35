/* NumPy's .npy arrays of tokens.
 *
 * A two-dimensional array holds a document a row; one of one dimension is cut as raw tokens are.
 * Header: "\x93NUMPY" | u8 major | u8 minor | u16 (major 1) or u32 length | a Python dictionary of that length. */
#include "base/memory.h"
#include "io/formats/array.h"
#include <inttypes.h>

enum { HEADER_BYTES_MAX = 1 << 20 };

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

static leat_status parse_header(const leat_file *file, const char *header, leat_token_array *out,
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

static leat_status npy_header(leat_file *file, leat_token_array *out, leat_error *error)
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

static leat_status npy_scan(const leat_scan *scan, leat_error *error)
{
    leat_token_array found = {0};
    leat_status status = npy_header(scan->file, &found, error);
    return status == LEAT_OK ? leat_token_array_scan(scan, &found, error) : status;
}

const leat_corpus_format leat_format_npy = {.name = "npy", .number = 3, .scan = npy_scan};
