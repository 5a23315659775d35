#include "base/json_line.h"
#include "base/json_scan.h"
#include "base/json_tape.h"
#include "base/memory.h"
#include "base/utf8.h"

enum { NAMES_MAX = 16, SIMD_BYTES_MAX = 1 << 20 };
_Static_assert((int)LEAT_JSON_LINE_PADDING >= (int)LEAT_JSON_PADDING, "padding");

struct leat_json_line {
    leat_bytes names[NAMES_MAX]; /* the key's names, outermost first */
    size_t name_count;
    char *key; /* their memory */
    leat_json_simd *simd;
    leat_json_scan scan;
    leat_buffer text; /* unescaped by ourselves */
    leat_buffer name; /* a key with escapes, unescaped */
    size_t fault_at;
    const char *fault;
    bool bad_utf8;
};

/* Cuts the key at its dots, in place, and takes the backslashes out.  false: not a key. */
static bool split(leat_json_line *line)
{
    char *to = line->key, *begin = to;
    for (const char *from = to;; from++) {
        if (*from == '\0' || *from == '.') {
            if (line->name_count == NAMES_MAX) {
                return false;
            }
            line->names[line->name_count++] =
                (leat_bytes){(const uint8_t *)begin, (size_t)(to - begin)};
            begin = to;
            if (*from == '\0') {
                return true;
            }
            continue;
        }
        if (*from == '\\' && *++from == '\0') {
            return false;
        }
        *to++ = *from;
    }
}

leat_status leat_json_line_open(leat_json_line **out, const char *key, leat_error *error)
{
    leat_json_line *line = leat_alloc(1, sizeof *line);
    *out = NULL;
    line->key = leat_strdup(key);
    if (key[0] == '\0' || !split(line)) {
        leat_json_line_close(line);
        LEAT_FAIL(error, LEAT_INVALID, "the key of the text cannot be used");
        leat_error_found(error, "\"%.100s\"", key);
        leat_error_wanted(error, "one to %d names with dots between them", (int)NAMES_MAX);
        leat_error_hint(error, "write a dot or backslash inside a name with a backslash before it");
        return error->status;
    }
    line->simd = leat_json_simd_open();
    leat_json_scan_init(&line->scan);
    *out = line;
    return LEAT_OK;
}

void leat_json_line_close(leat_json_line *line)
{
    if (line != NULL) {
        leat_json_simd_close(line->simd);
        leat_json_scan_deinit(&line->scan);
        leat_buffer_deinit(&line->text);
        leat_buffer_deinit(&line->name);
        leat_free(line->key);
        leat_free(line);
    }
}

static bool equal(leat_bytes a, leat_bytes b)
{
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

/* The text on simdjson's tape; false where the slow way has to say why not. */
static bool find(const leat_json_line *line, const leat_json_tape *tape, leat_bytes *text)
{
    const uint64_t *words = tape->words;
    uint64_t at = 1;
    for (size_t i = 0; i < line->name_count; i++) {
        uint64_t found = 0;
        if (leat_json_tape_type(words[at]) != '{') {
            return false;
        }
        for (at++; leat_json_tape_type(words[at]) != '}';
             at = leat_json_tape_after(words, at + 1)) {
            if (equal(leat_json_tape_text(tape, words[at]), line->names[i])) {
                if (found != 0) {
                    return false;
                }
                found = at + 1;
            }
        }
        if (found == 0) {
            return false;
        }
        at = found;
    }
    if (leat_json_tape_type(words[at]) != '"') {
        return false;
    }
    *text = leat_json_tape_text(tape, words[at]);
    return true;
}

static bool refuse(leat_json_line *line, size_t at, const char *reason)
{
    line->fault_at = at;
    line->fault = reason;
    return false;
}

/* What a walk by the scanner has seen. */
typedef struct walk {
    size_t level; /* the first `level` objects from the outside are on the key's path and open */
    bool here;    /* the key event before named the next name of the path */
    bool seen[NAMES_MAX];
    bool have_text;
    size_t text_begin, text_end;
    bool text_escaped;
    size_t fault_at;
    const char *fault; /* the first that is no fault of grammar */
} walk;

static void walk_fault(walk *w, size_t at, const char *reason)
{
    if (w->fault == NULL) {
        w->fault_at = at;
        w->fault = reason;
    }
}

static void on_key(leat_json_line *line, walk *w)
{
    const leat_json_scan *scan = &line->scan;
    w->here = false;
    if (scan->depth != w->level) {
        return;
    }
    leat_bytes name = {scan->data + scan->begin, scan->end - scan->begin};
    if (scan->escaped) {
        leat_buffer_clear(&line->name);
        name.size = leat_json_unescape(name.data, name.size,
                                       leat_buffer_extend(&line->name, name.size + 1));
        name.data = line->name.data;
    }
    if (equal(name, line->names[w->level - 1])) {
        if (w->seen[w->level - 1]) {
            walk_fault(w, scan->begin - 1, "the key of the text is there twice");
        }
        w->seen[w->level - 1] = true;
        w->here = true;
    }
}

static void on_value(leat_json_line *line, walk *w, leat_json_event event, size_t at)
{
    const leat_json_scan *scan = &line->scan;
    bool object = event == LEAT_JSON_EVENT_OBJECT;
    bool opens = object || event == LEAT_JSON_EVENT_ARRAY;
    if (scan->depth - opens == 0) { /* the line's own value */
        if (object) {
            w->level = 1;
        } else {
            walk_fault(w, at, "the record is not an object");
        }
        return;
    }
    if (!w->here) {
        return;
    }
    w->here = false;
    if (w->level < line->name_count) {
        if (object) {
            w->level++;
        } else {
            walk_fault(w, at, "a part of the text's key is not an object");
        }
    } else if (event == LEAT_JSON_EVENT_TEXT) {
        w->have_text = true;
        w->text_begin = scan->begin;
        w->text_end = scan->end;
        w->text_escaped = scan->escaped;
    } else {
        walk_fault(w, at,
                   event == LEAT_JSON_EVENT_NULL ? "the text is null" : "the text is not a string");
    }
}

/* The strict way.  Faults of UTF-8 come first, then of grammar, then those of the key. */
static bool read_strictly(leat_json_line *line, const uint8_t *data, size_t size, leat_bytes *text)
{
    leat_json_scan *scan = &line->scan;
    walk w = {0};
    if (!leat_json_simd_is_utf8(data, size)) {
        line->bad_utf8 = true;
        return refuse(line, leat_utf8_fault(data, size), "invalid UTF-8");
    }
    leat_json_scan_start(scan, data, size);
    for (;;) {
        leat_json_event event = leat_json_scan_next(scan);
        if (event == LEAT_JSON_EVENT_FAULT) {
            return refuse(line, scan->fault_at, scan->fault);
        }
        if (event == LEAT_JSON_EVENT_END) {
            break;
        }
        if (event == LEAT_JSON_EVENT_KEY) {
            on_key(line, &w);
        } else if (event == LEAT_JSON_EVENT_OBJECT_END || event == LEAT_JSON_EVENT_ARRAY_END) {
            w.level = w.level > scan->depth ? scan->depth : w.level;
        } else {
            on_value(line, &w, event, scan->at - 1);
        }
    }
    if (w.fault != NULL) {
        return refuse(line, w.fault_at, w.fault);
    }
    if (!w.have_text) {
        return refuse(line, size, "the key of the text is missing");
    }
    *text = (leat_bytes){data + w.text_begin, w.text_end - w.text_begin};
    if (w.text_escaped) {
        leat_buffer_clear(&line->text);
        text->size =
            leat_json_unescape(text->data, text->size, leat_buffer_extend(&line->text, text->size));
        text->data = line->text.data;
    }
    return true;
}

bool leat_json_line_text(leat_json_line *line, const uint8_t *data, size_t size, leat_bytes *text)
{
    leat_json_tape tape;
    *text = (leat_bytes){0};
    line->fault = NULL;
    line->bad_utf8 = false;
    if (size <= SIMD_BYTES_MAX && leat_json_simd_parse(line->simd, data, size, &tape) &&
        find(line, &tape, text)) {
        return true;
    }
    return read_strictly(line, data, size, text);
}

const char *leat_json_line_fault(const leat_json_line *line, size_t *at)
{
    *at = line->fault_at;
    return line->fault;
}

bool leat_json_line_is_bad_utf8(const leat_json_line *line)
{
    return line->bad_utf8;
}
