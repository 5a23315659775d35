/* datatrove's .ds of bare tokens with its .ds.index: u64 ends[N], in tokens, of the documents.  The width of the tokens is the one
 * with which the last end is the end of the file.  A .ds.loss or .ds.metadata is not looked at. */
#include "base/memory.h"
#include "io/formats/tokens.h"
#include <inttypes.h>

static char *datatrove_companion(const char *path)
{
    return leat_format("%s.index", path);
}

static leat_status wrong(const leat_scan *scan, leat_error *error, const char *what, uint64_t found)
{
    LEAT_FAIL(error, LEAT_CORRUPT, "%s.index does not belong to %s: %s", scan->file->path,
              scan->file->path, what);
    leat_error_where(error, "%s.index", scan->file->path);
    leat_error_found(error, "%" PRIu64, found);
    leat_error_hint(error, "write both files anew, or bring back the ones that belong together");
    return error->status;
}

static leat_status width_of(const leat_scan *scan, leat_column *ends, uint32_t *width,
                            leat_error *error)
{
    int64_t last = 0;
    uint64_t size = scan->file->size;
    leat_dtype given = {2, false};
    leat_status status =
        ends->count != 0 ? leat_column_get(ends, ends->count - 1, &last, error) : LEAT_OK;
    if (status != LEAT_OK) {
        return status;
    }
    if (scan->rules->dtype != NULL && !leat_dtype_parse(scan->rules->dtype, &given)) {
        return LEAT_FAIL(error, LEAT_INVALID, "there is no type of tokens %.60s",
                         scan->rules->dtype);
    }
    bool two = last >= 0 && (uint64_t)last <= size && (uint64_t)last * 2 == size;
    bool four = last >= 0 && (uint64_t)last <= size && (uint64_t)last * 4 == size;
    if (!two && !four) {
        return wrong(scan, error, "its last end is not the end of the tokens", (uint64_t)last);
    }
    *width = two && four ? given.width : two ? 2 : 4; /* both: no tokens at all */
    return LEAT_OK;
}

static leat_status give_documents(const leat_scan *scan, leat_column *ends, uint32_t width,
                                  leat_error *error)
{
    int64_t begin = 0, end;
    uint64_t tokens = scan->file->size / width;
    for (uint64_t i = 0; i < ends->count; i++, begin = end) {
        leat_status status = leat_column_get(ends, i, &end, error);
        if (status == LEAT_OK && (end < begin || (uint64_t)end > tokens)) {
            return wrong(scan, error, "its ends are not in order; document", i);
        }
        if (status == LEAT_OK) {
            leat_record record = {.offset = (uint64_t)begin * width,
                                  .bytes = (uint64_t)(end - begin) * width,
                                  .tokens = (uint64_t)(end - begin)};
            status = scan->record(scan->record_context, &record, error);
        }
        if (status != LEAT_OK) {
            return status;
        }
    }
    return LEAT_OK;
}

static leat_status datatrove_scan(const leat_scan *scan, leat_error *error)
{
    leat_store *store = scan->file->store;
    leat_file *index = NULL;
    leat_column ends = {0};
    uint32_t width = 2;
    char *path = datatrove_companion(scan->file->path);
    leat_status status = store->open(store, path, &index, error);
    if (status != LEAT_OK) {
        leat_error_hint(error, "a .ds of datatrove needs its .ds.index beside it");
        goto done;
    }
    if (index->size % 8 != 0) {
        status = wrong(scan, error, "its size is no multiple of 8", index->size);
        goto done;
    }
    leat_column_init(&ends, index, 0, index->size / 8, 8);
    LEAT_TRY(width_of(scan, &ends, &width, error));
    if (scan->token_width != NULL) {
        *scan->token_width = width;
    }
    LEAT_TRY(leat_tokens_hash(scan, scan->file, 0, (leat_dtype){width, false}, NULL, error));
    LEAT_TRY(leat_tokens_hash(scan, index, 0, (leat_dtype){1, false}, NULL, error));
    status = give_documents(scan, &ends, width, error);
done:
    leat_column_deinit(&ends);
    store->close(index);
    leat_free(path);
    return status;
}

const leat_corpus_format leat_format_datatrove = {
    .name = "datatrove", .number = 6, .companion = datatrove_companion, .scan = datatrove_scan};
