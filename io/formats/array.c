/* One array of tokens a file, and the plainest such files: raw tokens without a header (nanoGPT, OLMo). */
#include "io/formats/array.h"
#include "base/memory.h"
#include <inttypes.h>

enum { BLOCK_BYTES = 1 << 20 };

/* A pass over the tokens: the record being put together. */
typedef struct pass {
    const leat_scan *scan;
    leat_token_array array;
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
        bool eos = p->array.row == 0 && good && rules->has_eos_id && token == rules->eos_id;
        if (eos && p->array.eos_first && p->record.tokens != 0) {
            leat_status status = end_record(p, error);
            if (status != LEAT_OK) {
                return status;
            }
        }
        if (!good && p->record.fault == NULL) {
            p->record.fault = "a token that is negative or beyond 32 bits";
            p->record.fault_at = p->record.tokens * dtype.width;
        }
        p->record.tokens++;
        bool ends =
            p->array.row != 0 ? p->record.tokens == p->array.row : eos && !p->array.eos_first;
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

leat_status leat_token_array_scan(const leat_scan *scan, const leat_token_array *array,
                                  leat_error *error)
{
    pass p = {.scan = scan, .array = *array};
    if (scan->token_width != NULL) {
        *scan->token_width = array->dtype.width;
    }
    return take_array(&p, error);
}

static leat_status raw_scan(const leat_scan *scan, leat_error *error)
{
    leat_token_array found = {0};
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
    return leat_token_array_scan(scan, &found, error);
}

const leat_corpus_format leat_format_raw = {.name = "raw", .number = 4, .scan = raw_scan};
