#include "io/formats/jsonl.h"
#include "base/json_line.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "io/formats/format.h"

enum { READ_BYTES = 1 << 20, PADDING = LEAT_JSONL_PADDING };
_Static_assert((int)LEAT_JSONL_PADDING >= (int)LEAT_JSON_LINE_PADDING, "padding");

struct leat_jsonl {
    leat_json_line *line;
    leat_buffer replaced; /* the record with U+FFFD for invalid UTF-8 */
    bool replace;
};

leat_status leat_jsonl_open(leat_jsonl **out, const leat_record_rules *rules, leat_error *error)
{
    leat_jsonl *jsonl = leat_alloc(1, sizeof *jsonl);
    leat_status status =
        leat_json_line_open(&jsonl->line, rules->text != NULL ? rules->text : "text", error);
    jsonl->replace = rules->replace_bad_utf8;
    if (status != LEAT_OK) {
        leat_jsonl_close(jsonl);
        jsonl = NULL;
    }
    *out = jsonl;
    return status;
}

void leat_jsonl_close(leat_jsonl *jsonl)
{
    if (jsonl != NULL) {
        leat_json_line_close(jsonl->line);
        leat_buffer_deinit(&jsonl->replaced);
        leat_free(jsonl);
    }
}

bool leat_jsonl_decode(leat_jsonl *jsonl, const uint8_t *data, size_t size, leat_bytes *text)
{
    if (leat_json_line_text(jsonl->line, data, size, text)) {
        return true;
    }
    if (!jsonl->replace || !leat_json_line_is_bad_utf8(jsonl->line)) {
        return false;
    }
    leat_buffer_clear(&jsonl->replaced);
    leat_utf8_replace(data, size, &jsonl->replaced);
    size_t replaced = jsonl->replaced.size;
    memset(leat_buffer_extend(&jsonl->replaced, PADDING), 0, PADDING);
    return leat_json_line_text(jsonl->line, jsonl->replaced.data, replaced, text);
}

const char *leat_jsonl_fault(const leat_jsonl *jsonl, size_t *at)
{
    return leat_json_line_fault(jsonl->line, at);
}

/* A pass over a file.  The buffer holds the file's bytes from `offset` on; lines before `begin` are done, and no line ends
 * between begin and searched.  A line that outgrows the limit is not kept: only its length and whether it is blank. */
typedef struct pass {
    const leat_scan *scan;
    leat_jsonl *jsonl;
    leat_buffer buffer; /* size bytes of it, and padding behind */
    uint64_t offset;
    size_t begin, searched;
    uint64_t line;
    bool skipping, skipped_blank;
    uint64_t skip_offset;
    bool skipped_return; /* the last byte skipped is a CR */
} pass;

static bool is_blank(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (data[i] != ' ' && data[i] != '\t' && data[i] != '\r') {
            return false;
        }
    }
    return true;
}

static leat_status give(const pass *p, const leat_record *record, leat_error *error)
{
    return p->scan->record(p->scan->record_context, record, error);
}

/* The line of `bytes` bytes (its end not counted) at data, which is at `offset` of the file. */
static leat_status take_line(pass *p, const uint8_t *data, size_t bytes, uint64_t offset,
                             leat_error *error)
{
    leat_record record = {.offset = offset, .line = p->line};
    bytes -= bytes != 0 && data[bytes - 1] == '\r';
    if (is_blank(data, bytes)) {
        return LEAT_OK;
    }
    record.bytes = bytes;
    if (bytes > p->scan->rules->record_bytes_max) {
        record.fault = "the record is larger than record_bytes_max";
        record.fault_at = p->scan->rules->record_bytes_max;
    } else if (!leat_jsonl_decode(p->jsonl, data, bytes, &record.text)) {
        size_t at;
        record.fault = leat_jsonl_fault(p->jsonl, &at);
        record.fault_at = at;
    }
    return give(p, &record, error);
}

/* The end of a line that was too long to keep; its last `bytes` bytes are at data. */
static leat_status end_skipping(pass *p, const uint8_t *data, size_t bytes, leat_error *error)
{
    uint64_t end = p->offset + p->begin + bytes;
    bool blank = p->skipped_blank && is_blank(data, bytes);
    bool carriage = bytes != 0 ? data[bytes - 1] == '\r' : p->skipped_return;
    leat_record record = {.offset = p->skip_offset,
                          .bytes = end - p->skip_offset - carriage,
                          .line = p->line,
                          .fault = "the record is larger than record_bytes_max",
                          .fault_at = p->scan->rules->record_bytes_max};
    p->skipping = false;
    return blank ? LEAT_OK : give(p, &record, error);
}

/* All lines that end inside the buffer. */
static leat_status take_lines(pass *p, leat_error *error)
{
    uint8_t *data = p->buffer.data;
    for (;;) {
        const uint8_t *end = memchr(data + p->searched, '\n', p->buffer.size - p->searched);
        if (end == NULL) {
            p->searched = p->buffer.size;
            return LEAT_OK;
        }
        size_t bytes = (size_t)(end - data) - p->begin;
        p->line++;
        leat_status status =
            p->skipping ? end_skipping(p, data + p->begin, bytes, error)
                        : take_line(p, data + p->begin, bytes, p->offset + p->begin, error);
        if (status != LEAT_OK) {
            return status;
        }
        p->begin += bytes + 1;
        p->searched = p->begin;
    }
}

/* Makes room: the unfinished line goes to the front, or is let go where it is too long. */
static void keep_rest(pass *p)
{
    uint8_t *rest = p->begin == 0 ? p->buffer.data : p->buffer.data + p->begin;
    size_t bytes = p->buffer.size - p->begin;
    /* One more byte than the limit can still be a CR that does not count. */
    if (p->skipping || bytes > p->scan->rules->record_bytes_max + 1) {
        if (!p->skipping) {
            p->skipping = p->skipped_blank = true;
            p->skip_offset = p->offset + p->begin;
        }
        if (bytes != 0) {
            p->skipped_blank = p->skipped_blank && is_blank(rest, bytes);
            p->skipped_return = rest[bytes - 1] == '\r';
        }
        p->begin += bytes;
        bytes = 0;
    }
    if (bytes != 0) {
        memmove(p->buffer.data, p->buffer.data + p->begin, bytes);
    }
    p->offset += p->begin;
    p->buffer.size = p->searched = bytes;
    p->begin = 0;
}

static leat_status read_more(pass *p, leat_error *error)
{
    leat_file *file = p->scan->file;
    uint64_t at = p->offset + p->buffer.size, left = file->size - at;
    /* As much again as a long line already has, so that its copies stay in proportion. */
    size_t wanted = p->buffer.size > READ_BYTES ? p->buffer.size : READ_BYTES;
    wanted = wanted < left ? wanted : (size_t)left;
    size_t have = p->buffer.size;
    leat_buffer_extend(&p->buffer, wanted + PADDING);
    p->buffer.size = have + wanted;
    uint8_t *to = p->buffer.data + have;
    leat_status status = file->store->read(file, at, to, wanted, error);
    if (status != LEAT_OK) {
        return status;
    }
    memset(to + wanted, 0, PADDING);
    if (p->scan->hash != NULL) {
        leat_xxh3_add(p->scan->hash, to, wanted);
    }
    if (at == 0 && wanted >= 3 && memcmp(to, "\xef\xbb\xbf", 3) == 0) {
        p->begin = p->searched = 3;
    }
    return leat_scan_progress(p->scan, at + wanted, error);
}

static leat_status jsonl_scan(const leat_scan *scan, leat_error *error)
{
    pass p = {.scan = scan};
    if (scan->token_width != NULL) {
        *scan->token_width = 0;
    }
    leat_status status = leat_jsonl_open(&p.jsonl, scan->rules, error);
    while (status == LEAT_OK && p.offset + p.buffer.size < scan->file->size) {
        keep_rest(&p);
        LEAT_TRY(read_more(&p, error));
        LEAT_TRY(take_lines(&p, error));
    }
    if (status == LEAT_OK &&
        (p.skipping || p.begin < p.buffer.size)) { /* a last line without end */
        p.line++;
        const uint8_t *rest = p.buffer.data + p.begin;
        size_t bytes = p.buffer.size - p.begin;
        status = p.skipping ? end_skipping(&p, rest, bytes, error)
                            : take_line(&p, rest, bytes, p.offset + p.begin, error);
    }
done:
    leat_jsonl_close(p.jsonl);
    leat_buffer_deinit(&p.buffer);
    return status;
}

const leat_corpus_format leat_format_jsonl = {.name = "jsonl", .number = 1, .scan = jsonl_scan};
