/* Megatron-core's .bin of bare tokens with its .idx:
 *
 *     "MMIDIDX\0\0" | u64 version 1 | u8 dtype | u64 S | u64 D, then i32 length[S] (tokens), i64 place[S] (byte in the .bin),
 *     i64 document[D] (its first sequence; one more than there are documents), i8 mode[S] in multimodal sets
 *
 * A document is the sequences document[d] … document[d + 1] - 1; where they lie is what place[] says.  Modes are not looked at. */
#include "base/memory.h"
#include "io/formats/tokens.h"
#include <inttypes.h>

enum { HEADER_BYTES = 34 };

typedef struct megatron {
    const leat_scan *scan;
    leat_file *index;
    leat_dtype dtype;
    uint64_t sequences, entries;
    leat_column length, place, document;
    bool all_good;  /* no token of the .bin is negative or beyond 32 bits */
    uint8_t *block; /* for the documents of a file that is not */
} megatron;

static char *megatron_companion(const char *path)
{
    size_t size = strlen(path);
    bool bin = size > 4 && strcmp(path + size - 4, ".bin") == 0;
    return leat_format("%.*s.idx", (int)(bin ? size - 4 : size), path);
}

static leat_status wrong(const megatron *m, leat_error *error, const char *what, uint64_t found)
{
    LEAT_FAIL(error, LEAT_CORRUPT, "%s is no index of %s: %s", m->index->path, m->scan->file->path,
              what);
    leat_error_where(error, "%s", m->index->path);
    leat_error_found(error, "%" PRIu64, found);
    leat_error_hint(error, "write both files anew, or bring back the ones that belong together");
    return error->status;
}

static leat_status read_header(megatron *m, leat_error *error)
{
    static const char *const dtypes[] = {"",      "uint8", "int8", "int16", "int32",
                                         "int64", "",      "",     "uint16"};
    uint8_t header[HEADER_BYTES];
    if (m->index->size < sizeof header) {
        return wrong(m, error, "it is cut", m->index->size);
    }
    leat_status status = m->index->store->read(m->index, 0, header, sizeof header, error);
    if (status != LEAT_OK) {
        return status;
    }
    if (memcmp(header, "MMIDIDX\0", 9) != 0 || leat_get_u64(header + 9) != 1) {
        return wrong(m, error, "its first bytes or its version differ", leat_get_u64(header + 9));
    }
    uint8_t code = header[17];
    if (code >= sizeof dtypes / sizeof *dtypes || !leat_dtype_parse(dtypes[code], &m->dtype)) {
        return wrong(m, error, "its type of tokens is not one of 1-5 and 8", code);
    }
    m->sequences = leat_get_u64(header + 18);
    m->entries = leat_get_u64(header + 26);
    /* Both below 2^60, so that the sizes below do not wrap. */
    if (m->sequences >> 58 != 0 || m->entries >> 58 != 0) {
        return wrong(m, error, "its counts are not possible", m->sequences);
    }
    uint64_t bytes = HEADER_BYTES + 12 * m->sequences + 8 * m->entries;
    if (m->index->size != bytes && m->index->size != bytes + m->sequences) {
        return wrong(m, error, "its size is not what its counts say", m->index->size);
    }
    leat_column_init(&m->length, m->index, HEADER_BYTES, m->sequences, 4);
    leat_column_init(&m->place, m->index, HEADER_BYTES + 4 * m->sequences, m->sequences, 8);
    leat_column_init(&m->document, m->index, HEADER_BYTES + 12 * m->sequences, m->entries, 8);
    return LEAT_OK;
}

/* Adds sequence s to a record; its sequences have to lie one behind the other. */
static leat_status add_sequence(megatron *m, uint64_t s, leat_record *record, leat_error *error)
{
    int64_t length, place;
    uint64_t size = m->scan->file->size, width = m->dtype.width;
    leat_status status = leat_column_get(&m->length, s, &length, error);
    if (status == LEAT_OK) {
        status = leat_column_get(&m->place, s, &place, error);
    }
    if (status != LEAT_OK) {
        return status;
    }
    if (length < 0 || place < 0 || (uint64_t)place > size ||
        (uint64_t)length * width > size - (uint64_t)place) {
        return wrong(m, error, "a sequence lies outside of the tokens; its number", s);
    }
    if (length == 0) {
        return LEAT_OK;
    }
    if (record->tokens == 0) {
        record->offset = (uint64_t)place;
    } else if ((uint64_t)place != record->offset + record->bytes) {
        return wrong(m, error, "the sequences of a document are not in one piece; sequence", s);
    }
    record->tokens += (uint64_t)length;
    record->bytes += (uint64_t)length * width;
    return LEAT_OK;
}

/* Looks at the tokens of one document, in a file that has bad ones. */
static leat_status check_tokens(megatron *m, leat_record *record, leat_error *error)
{
    enum { BLOCK = 64 << 10 };
    leat_file *file = m->scan->file;
    m->block = m->block != NULL ? m->block : leat_alloc(BLOCK, 1);
    for (uint64_t at = 0; at < record->bytes;) {
        size_t bytes = record->bytes - at < BLOCK ? (size_t)(record->bytes - at) : BLOCK;
        leat_status status = file->store->read(file, record->offset + at, m->block, bytes, error);
        if (status != LEAT_OK) {
            return status;
        }
        for (size_t i = 0; i < bytes; i += m->dtype.width) {
            uint32_t token;
            if (!leat_dtype_get(m->dtype, m->block + i, &token)) {
                record->fault = "a token that is negative or beyond 32 bits";
                record->fault_at = at + i;
                return LEAT_OK;
            }
        }
        at += bytes;
    }
    return LEAT_OK;
}

static leat_status give_documents(megatron *m, leat_error *error)
{
    leat_status status = LEAT_OK;
    int64_t begin = 0, end = 0;
    if (m->entries == 0) {
        return m->sequences == 0
                   ? LEAT_OK
                   : wrong(m, error, "it has sequences but no documents", m->sequences);
    }
    status = leat_column_get(&m->document, 0, &begin, error);
    if (status == LEAT_OK && begin != 0) {
        return wrong(m, error, "its first document does not begin with sequence 0",
                     (uint64_t)begin);
    }
    for (uint64_t d = 1; d < m->entries && status == LEAT_OK; d++, begin = end) {
        leat_record record = {0};
        status = leat_column_get(&m->document, d, &end, error);
        if (status == LEAT_OK && (end < begin || (uint64_t)end > m->sequences)) {
            return wrong(m, error, "its documents are not in order; document", d - 1);
        }
        for (int64_t s = begin; s < end && status == LEAT_OK; s++) {
            status = add_sequence(m, (uint64_t)s, &record, error);
        }
        if (status == LEAT_OK && !m->all_good) {
            status = check_tokens(m, &record, error);
        }
        if (status == LEAT_OK) {
            status = m->scan->record(m->scan->record_context, &record, error);
        }
    }
    if (status == LEAT_OK && (uint64_t)begin != m->sequences) {
        return wrong(m, error, "its last document does not end with the last sequence",
                     (uint64_t)begin);
    }
    return status;
}

static leat_status megatron_scan(const leat_scan *scan, leat_error *error)
{
    megatron m = {.scan = scan};
    leat_store *store = scan->file->store;
    char *path = megatron_companion(scan->file->path);
    leat_status status = store->open(store, path, &m.index, error);
    if (status != LEAT_OK) {
        leat_error_hint(error, "a .bin of Megatron needs its .idx beside it");
        goto done;
    }
    LEAT_TRY(read_header(&m, error));
    if (scan->token_width != NULL) {
        *scan->token_width = m.dtype.width;
    }
    LEAT_TRY(leat_tokens_hash(scan, scan->file, 0, m.dtype, &m.all_good, error));
    LEAT_TRY(leat_tokens_hash(scan, m.index, 0, (leat_dtype){1, false}, NULL, error));
    status = give_documents(&m, error);
done:
    leat_column_deinit(&m.length);
    leat_column_deinit(&m.place);
    leat_column_deinit(&m.document);
    leat_free(m.block);
    store->close(m.index);
    leat_free(path);
    return status;
}

const leat_corpus_format leat_format_megatron = {
    .name = "megatron", .number = 2, .companion = megatron_companion, .scan = megatron_scan};
