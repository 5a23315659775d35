#include "base/json_scan.h"
#include "base/utf8.h"

enum { WANT_VALUE, WANT_VALUE_OR_END, WANT_KEY, WANT_KEY_OR_END, WANT_COMMA_OR_END, WANT_NOTHING };

void leat_json_scan_init(leat_json_scan *scan)
{
    *scan = (leat_json_scan){0};
}

void leat_json_scan_deinit(leat_json_scan *scan)
{
    leat_buffer_deinit(&scan->levels);
}

void leat_json_scan_start(leat_json_scan *scan, const uint8_t *data, size_t size)
{
    leat_buffer levels = scan->levels;
    levels.size = 0;
    *scan = (leat_json_scan){.data = data, .size = size, .levels = levels};
}

static leat_json_event fails(leat_json_scan *scan, size_t at, const char *reason)
{
    scan->fault_at = at;
    scan->fault = reason;
    scan->at = scan->size;
    return LEAT_JSON_EVENT_FAULT;
}

static void skip_space(leat_json_scan *scan)
{
    while (scan->at < scan->size) {
        uint8_t c = scan->data[scan->at];
        if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
            return;
        }
        scan->at++;
    }
}

static bool in_object(const leat_json_scan *scan)
{
    size_t level = scan->depth - 1;
    return (scan->levels.data[level / 8] >> (level % 8) & 1) != 0;
}

static leat_json_event opens(leat_json_scan *scan, bool object)
{
    size_t level = scan->depth++;
    if (level / 8 >= scan->levels.size) {
        leat_buffer_add_u8(&scan->levels, 0);
    }
    uint8_t *byte = &scan->levels.data[level / 8], bit = (uint8_t)(1u << (level % 8));
    *byte = object ? *byte | bit : (uint8_t)(*byte & ~bit);
    scan->state = object ? WANT_KEY_OR_END : WANT_VALUE_OR_END;
    scan->at++;
    return object ? LEAT_JSON_EVENT_OBJECT : LEAT_JSON_EVENT_ARRAY;
}

static leat_json_event closes(leat_json_scan *scan)
{
    bool object = in_object(scan);
    scan->depth--;
    scan->state = scan->depth == 0 ? WANT_NOTHING : WANT_COMMA_OR_END;
    scan->at++;
    return object ? LEAT_JSON_EVENT_OBJECT_END : LEAT_JSON_EVENT_ARRAY_END;
}

static int hex_digit(uint8_t c)
{
    return c >= '0' && c <= '9'                 ? c - '0'
           : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                : -1;
}

/* The four digits at data[0..3], or -1. */
static int32_t hex_code(const uint8_t *data, size_t size)
{
    int32_t code = 0;
    for (size_t i = 0; i < 4; i++) {
        int digit = i < size ? hex_digit(data[i]) : -1;
        if (digit < 0) {
            return -1;
        }
        code = code << 4 | digit;
    }
    return code;
}

/* Past the escape that begins at `at`; 0 where it is none (scan->fault says why). */
static size_t escape_end(leat_json_scan *scan, size_t at)
{
    const uint8_t *data = scan->data;
    uint8_t kind = at + 1 < scan->size ? data[at + 1] : 0;
    if (kind != 0 && kind != 'u' && strchr("\"\\/bfnrt", kind) != NULL) {
        return at + 2;
    }
    int32_t code = kind == 'u' ? hex_code(data + at + 2, scan->size - at - 2) : -1;
    if (code < 0) {
        fails(scan, at,
              kind == 0 ? "a string without its end" : "an escape that JSON does not have");
        return 0;
    }
    if (code < 0xd800 || code > 0xdfff) {
        return at + 6;
    }
    if (code < 0xdc00 && scan->size - at > 8 && data[at + 6] == '\\' && data[at + 7] == 'u') {
        int32_t low = hex_code(data + at + 8, scan->size - at - 8);
        if (low >= 0xdc00 && low <= 0xdfff) {
            return at + 12;
        }
    }
    fails(scan, at, "a lone surrogate escape");
    return 0;
}

/* Nonzero where one of the 8 bytes is a quote, a backslash or a control character. */
static uint64_t has_special(uint64_t word)
{
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    uint64_t quote = word ^ ones * '"', slash = word ^ ones * '\\';
    return (((word - ones * 0x20) & ~word) | ((quote - ones) & ~quote) |
            ((slash - ones) & ~slash)) &
           tops;
}

/* The string whose first quote is at scan->at. */
static bool string(leat_json_scan *scan)
{
    const uint8_t *data = scan->data;
    size_t at = scan->at + 1, size = scan->size;
    scan->begin = at;
    scan->escaped = false;
    for (;;) {
        uint64_t word;
        while (size - at >= 8 && (memcpy(&word, data + at, 8), has_special(word) == 0)) {
            at += 8;
        }
        if (at >= size) {
            fails(scan, scan->begin - 1, "a string without its end");
            return false;
        }
        uint8_t c = data[at];
        if (c == '"') {
            scan->end = at;
            scan->at = at + 1;
            return true;
        }
        if (c < 0x20) {
            fails(scan, at, "a control character inside a string");
            return false;
        }
        if (c == '\\') {
            scan->escaped = true;
            at = escape_end(scan, at);
            if (at == 0) {
                return false;
            }
        } else {
            at++;
        }
    }
}

static size_t digits(const leat_json_scan *scan, size_t at)
{
    while (at < scan->size && scan->data[at] >= '0' && scan->data[at] <= '9') {
        at++;
    }
    return at;
}

static leat_json_event number(leat_json_scan *scan)
{
    const uint8_t *data = scan->data;
    size_t at = scan->at, size = scan->size;
    scan->begin = at;
    at += data[at] == '-';
    size_t end = at < size && data[at] == '0' ? at + 1 : digits(scan, at);
    if (end == at) {
        bool name = at < size && (data[at] == 'I' || data[at] == 'N');
        return fails(scan, scan->begin,
                     name ? "Infinity and NaN are not JSON" : "a minus without digits");
    }
    scan->integer = true;
    if (end < size && data[end] == '.') {
        scan->integer = false;
        at = end + 1;
        end = digits(scan, at);
        if (end == at) {
            return fails(scan, scan->begin, "a number without digits behind its point");
        }
    }
    if (end < size && (data[end] | 32) == 'e') {
        scan->integer = false;
        at = end + 1;
        at += at < size && (data[at] == '+' || data[at] == '-');
        end = digits(scan, at);
        if (end == at) {
            return fails(scan, scan->begin, "a number without digits in its exponent");
        }
    }
    scan->end = scan->at = end;
    return LEAT_JSON_EVENT_NUMBER;
}

static leat_json_event word(leat_json_scan *scan)
{
    static const struct {
        const char *text;
        leat_json_event event;
    } words[] = {{"true", LEAT_JSON_EVENT_TRUE},
                 {"false", LEAT_JSON_EVENT_FALSE},
                 {"null", LEAT_JSON_EVENT_NULL}};
    const uint8_t *at = scan->data + scan->at;
    size_t left = scan->size - scan->at;
    for (size_t i = 0; i < 3; i++) {
        size_t length = strlen(words[i].text);
        if (left >= length && memcmp(at, words[i].text, length) == 0) {
            scan->at += length;
            return words[i].event;
        }
    }
    if (left >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) {
        return fails(scan, scan->at, "a byte order mark that is not at the start of the file");
    }
    return fails(scan, scan->at,
                 *at == 'N' || *at == 'I' ? "NaN and Infinity are not JSON"
                                          : "something that begins no JSON value");
}

static leat_json_event value(leat_json_scan *scan)
{
    uint8_t c = scan->data[scan->at];
    if (c == '{' || c == '[') {
        return opens(scan, c == '{');
    }
    leat_json_event event = LEAT_JSON_EVENT_TEXT;
    if (c == '"') {
        if (!string(scan)) {
            return LEAT_JSON_EVENT_FAULT;
        }
    } else {
        event = c == '-' || (c >= '0' && c <= '9') ? number(scan) : word(scan);
    }
    scan->state = scan->depth == 0 ? WANT_NOTHING : WANT_COMMA_OR_END;
    return event;
}

static leat_json_event key(leat_json_scan *scan)
{
    if (scan->data[scan->at] != '"') {
        return fails(scan, scan->at, "something where a key in quotes has to be");
    }
    if (!string(scan)) {
        return LEAT_JSON_EVENT_FAULT;
    }
    skip_space(scan);
    if (scan->at == scan->size || scan->data[scan->at] != ':') {
        return fails(scan, scan->at, "a key without its colon");
    }
    scan->at++;
    scan->state = WANT_VALUE;
    return LEAT_JSON_EVENT_KEY;
}

leat_json_event leat_json_scan_next(leat_json_scan *scan)
{
    if (scan->fault != NULL) {
        return LEAT_JSON_EVENT_FAULT;
    }
    skip_space(scan);
    if (scan->at == scan->size) {
        if (scan->state == WANT_NOTHING) {
            return LEAT_JSON_EVENT_END;
        }
        return fails(scan, scan->size,
                     scan->depth != 0 ? "the end inside an object or array" : "no JSON value");
    }
    uint8_t c = scan->data[scan->at];
    if (scan->state == WANT_COMMA_OR_END) {
        if (c == (in_object(scan) ? '}' : ']')) {
            return closes(scan);
        }
        if (c != ',') {
            return fails(scan, scan->at,
                         "something where a comma or the end of an object or array has to be");
        }
        scan->state = in_object(scan) ? WANT_KEY : WANT_VALUE;
        scan->at++;
        skip_space(scan);
        if (scan->at == scan->size) {
            return fails(scan, scan->size, "the end inside an object or array");
        }
        c = scan->data[scan->at];
    }
    if (scan->state == WANT_NOTHING) {
        return fails(scan, scan->at, "something behind the JSON value");
    }
    if ((scan->state == WANT_KEY_OR_END && c == '}') ||
        (scan->state == WANT_VALUE_OR_END && c == ']')) {
        return closes(scan);
    }
    return scan->state == WANT_KEY || scan->state == WANT_KEY_OR_END ? key(scan) : value(scan);
}

size_t leat_json_unescape(const uint8_t *data, size_t size, uint8_t *out)
{
    static const char kinds[] = "bfnrt", values[] = "\b\f\n\r\t";
    size_t written = 0;
    for (size_t at = 0; at < size;) {
        const uint8_t *escape = memchr(data + at, '\\', size - at);
        size_t plain = escape != NULL ? (size_t)(escape - data) - at : size - at;
        memcpy(out + written, data + at, plain);
        written += plain;
        at += plain;
        if (escape == NULL) {
            break;
        }
        if (data[at + 1] != 'u') {
            const char *kind = strchr(kinds, data[at + 1]);
            out[written++] = kind != NULL ? (uint8_t)values[kind - kinds] : data[at + 1];
            at += 2;
            continue;
        }
        uint32_t code = (uint32_t)hex_code(data + at + 2, 4);
        at += 6;
        if (code >= 0xd800 && code <= 0xdbff) {
            code =
                0x10000 + ((code & 0x3ff) << 10) + ((uint32_t)hex_code(data + at + 2, 4) & 0x3ff);
            at += 6;
        }
        written += leat_utf8_encode(code, out + written);
    }
    return written;
}
