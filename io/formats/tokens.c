#include "io/formats/tokens.h"
#include "base/memory.h"

enum { COLUMN_BYTES = 64 << 10, BLOCK_BYTES = 1 << 20 };

bool leat_dtype_parse(const char *text, leat_dtype *out)
{
    static const struct {
        const char *name, *code;
        leat_dtype dtype;
    } types[] = {
        {"uint8", "u1", {1, false}},  {"uint16", "u2", {2, false}}, {"uint32", "u4", {4, false}},
        {"uint64", "u8", {8, false}}, {"int8", "i1", {1, true}},    {"int16", "i2", {2, true}},
        {"int32", "i4", {4, true}},   {"int64", "i8", {8, true}},
    };
    bool order = text[0] == '<' || text[0] == '|';
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(text + order, types[i].code) == 0 || strcmp(text, types[i].name) == 0) {
            *out = types[i].dtype;
            return true;
        }
    }
    return false;
}

void leat_column_init(leat_column *column, leat_file *file, uint64_t offset, uint64_t count,
                      uint32_t width)
{
    *column = (leat_column){.file = file, .offset = offset, .count = count, .width = width};
    column->buffer = leat_alloc(COLUMN_BYTES, 1);
}

void leat_column_deinit(leat_column *column)
{
    leat_free(column->buffer);
    column->buffer = NULL;
}

leat_status leat_column_get(leat_column *column, uint64_t index, int64_t *out, leat_error *error)
{
    LEAT_ASSERT(index < column->count);
    if (index < column->first || index - column->first >= column->held) {
        uint64_t held = column->count - index, most = COLUMN_BYTES / column->width;
        held = held < most ? held : most;
        leat_status status =
            column->file->store->read(column->file, column->offset + index * column->width,
                                      column->buffer, (size_t)held * column->width, error);
        if (status != LEAT_OK) {
            column->held = 0;
            return status;
        }
        column->first = index;
        column->held = held;
    }
    const uint8_t *at = column->buffer + (index - column->first) * column->width;
    *out = column->width == 4 ? (int32_t)leat_get_u32(at) : (int64_t)leat_get_u64(at);
    return LEAT_OK;
}

/* Is any token of a block none?  The tops of all are or-ed together: no branch a token. */
static bool block_is_good(leat_dtype dtype, const uint8_t *data, size_t bytes)
{
    uint64_t tops = 0;
    if (dtype.width == 8) {
        for (size_t i = 0; i + 8 <= bytes; i += 8) {
            tops |= leat_get_u64(data + i);
        }
        return tops >> 32 == 0;
    }
    for (size_t i = dtype.width - 1; dtype.is_signed && i < bytes; i += dtype.width) {
        tops |= data[i];
    }
    return (tops & 0x80) == 0;
}

leat_status leat_tokens_hash(const leat_scan *scan, leat_file *file, uint64_t offset,
                             leat_dtype dtype, bool *all_good, leat_error *error)
{
    uint8_t *block = leat_alloc(BLOCK_BYTES, 1);
    leat_status status = LEAT_OK;
    bool good = true;
    for (uint64_t at = 0, end; at < file->size && status == LEAT_OK; at = end) {
        end = at < offset ? offset : at + BLOCK_BYTES; /* blocks begin on a token */
        end = end < file->size ? end : file->size;
        end = end - at < BLOCK_BYTES ? end : at + BLOCK_BYTES;
        size_t bytes = (size_t)(end - at);
        status = file->store->read(file, at, block, bytes, error);
        if (status == LEAT_OK && scan->hash != NULL) {
            leat_xxh3_add(scan->hash, block, bytes);
        }
        if (status == LEAT_OK) {
            good = good && (at < offset || block_is_good(dtype, block, bytes));
            status = leat_scan_progress(scan, end, error);
        }
    }
    leat_free(block);
    if (all_good != NULL) {
        *all_good = good;
    }
    return status;
}
