#include "base/json_tape.h"
#include "base/json.h"
#include "base/json_scan.h"
#include "base/memory.h"
#include "base/utf8.h"
#include <inttypes.h>

/* Deeper documents are refused, so that who walks one by recursion is safe. */
enum { DEPTH_MAX = 1024 };
#define IN_OBJECT ((uint64_t)1 << 63)
#define COUNT_MAX 0xffffffu /* simdjson keeps larger counts as this one */

struct leat_json {
    leat_json_simd *simd;
    leat_json_tape tape;
    leat_buffer text;                 /* the copy, padded */
    uint64_t *words;                  /* a tape of our own */
    size_t word_count, word_capacity; /* of it */
    leat_buffer strings;              /* of it */
    leat_json_scan scan;
};

leat_json *leat_json_open(void)
{
    leat_json *json = leat_alloc(1, sizeof *json);
    json->simd = leat_json_simd_open();
    leat_json_scan_init(&json->scan);
    return json;
}

void leat_json_close(leat_json *json)
{
    if (json != NULL) {
        leat_json_simd_close(json->simd);
        leat_buffer_deinit(&json->text);
        leat_buffer_deinit(&json->strings);
        leat_free(json->words);
        leat_json_scan_deinit(&json->scan);
        leat_free(json);
    }
}

static void add_word(leat_json *json, char type, uint64_t payload)
{
    LEAT_GROW(json->words, json->word_capacity, json->word_count + 1);
    json->words[json->word_count++] = (uint64_t)(uint8_t)type << 56 | payload;
}

static void add_string(leat_json *json)
{
    const leat_json_scan *scan = &json->scan;
    add_word(json, '"', json->strings.size);
    size_t size = scan->end - scan->begin, at = json->strings.size;
    leat_buffer_extend(&json->strings, 4 + size + 1);
    uint8_t *out = json->strings.data + at;
    uint32_t length = (uint32_t)leat_json_unescape(scan->data + scan->begin, size, out + 4);
    memcpy(out, &length, 4);
    out[4 + length] = 0;
    json->strings.size = at + 4 + length + 1;
}

static void add_number(leat_json *json)
{
    const leat_json_scan *scan = &json->scan;
    bool minus = scan->data[scan->begin] == '-', fits = scan->integer;
    uint64_t value = 0;
    for (size_t at = scan->begin + minus; fits && at < scan->end; at++) {
        fits = !__builtin_mul_overflow(value, 10u, &value) &&
               !__builtin_add_overflow(value, (uint64_t)(scan->data[at] - '0'), &value);
    }
    fits = fits && (!minus || value <= (uint64_t)INT64_MAX + 1);
    /* The value of a real is not kept: no decision of leat is taken on floating point. */
    add_word(json, !fits ? 'd' : minus || value <= INT64_MAX ? 'l' : 'u', 0);
    add_word(json, 0, 0);
    json->words[json->word_count - 1] = !fits ? 0 : minus ? 0 - value : value;
}

/* One event onto the tape; starts holds the open arrays and objects and their counts. */
static void add_event(leat_json *json, leat_json_event event, uint64_t (*starts)[2])
{
    size_t depth = json->scan.depth; /* after the event */
    bool opens = event == LEAT_JSON_EVENT_OBJECT || event == LEAT_JSON_EVENT_ARRAY;
    if (event == LEAT_JSON_EVENT_OBJECT_END || event == LEAT_JSON_EVENT_ARRAY_END) {
        bool object = event == LEAT_JSON_EVENT_OBJECT_END;
        uint64_t start = starts[depth][0];
        uint64_t count = starts[depth][1] < COUNT_MAX ? starts[depth][1] : COUNT_MAX;
        add_word(json, object ? '}' : ']', start);
        json->words[start] |= json->word_count | count << 32;
        return;
    }
    if (event != LEAT_JSON_EVENT_KEY && depth - opens != 0) {
        starts[depth - opens - 1][1]++;
    }
    if (opens) {
        starts[depth - 1][0] = json->word_count;
        starts[depth - 1][1] = 0;
        add_word(json, event == LEAT_JSON_EVENT_OBJECT ? '{' : '[', 0);
    } else if (event == LEAT_JSON_EVENT_KEY || event == LEAT_JSON_EVENT_TEXT) {
        add_string(json);
    } else if (event == LEAT_JSON_EVENT_NUMBER) {
        add_number(json);
    } else {
        add_word(json,
                 event == LEAT_JSON_EVENT_TRUE    ? 't'
                 : event == LEAT_JSON_EVENT_FALSE ? 'f'
                                                  : 'n',
                 0);
    }
}

static leat_status refuse(leat_bytes text, const char *name, size_t at, const char *reason,
                          leat_error *error)
{
    uint64_t line = 1, column = 1;
    for (size_t i = 0; i < at && i < text.size; i++) {
        line += text.data[i] == '\n';
        column = text.data[i] == '\n' ? 1 : column + 1;
    }
    LEAT_FAIL(error, LEAT_CORRUPT, "%s is not valid JSON: %s", name, reason);
    leat_error_where(error, "%s:%" PRIu64 ":%" PRIu64, name, line, column);
    leat_error_found(error, "%s at byte %zu", reason, at);
    leat_error_wanted(error, "JSON (RFC 8259) in UTF-8");
    return error->status;
}

/* What simdjson refused: builds the tape, or says what is wrong. */
static leat_status parse_strictly(leat_json *json, leat_bytes text, const char *name,
                                  leat_error *error)
{
    uint64_t starts[DEPTH_MAX][2];
    size_t fault = leat_utf8_fault(text.data, text.size);
    if (fault != text.size) {
        return refuse(text, name, fault, "invalid UTF-8", error);
    }
    json->word_count = 0;
    json->strings.size = 0;
    add_word(json, 'r', 0);
    leat_json_scan_start(&json->scan, text.data, text.size);
    for (;;) {
        leat_json_event event = leat_json_scan_next(&json->scan);
        if (event == LEAT_JSON_EVENT_FAULT) {
            return refuse(text, name, json->scan.fault_at, json->scan.fault, error);
        }
        if (event == LEAT_JSON_EVENT_END) {
            break;
        }
        if (json->scan.depth > DEPTH_MAX) {
            return refuse(text, name, json->scan.at, "nested deeper than 1024 levels", error);
        }
        add_event(json, event, starts);
    }
    json->tape = (leat_json_tape){json->words, json->strings.data};
    return LEAT_OK;
}

leat_status leat_json_parse(leat_json *json, leat_bytes text, const char *name,
                            leat_json_value *root, leat_error *error)
{
    *root = (leat_json_value){0};
    if (text.size > UINT32_MAX) {
        LEAT_FAIL(error, LEAT_LIMIT, "%s is too large", name);
        leat_error_found(error, "%zu bytes", text.size);
        leat_error_wanted(error, "less than 4 GiB");
        return error->status;
    }
    leat_buffer_clear(&json->text);
    leat_buffer_add(&json->text, text.data, text.size);
    memset(leat_buffer_extend(&json->text, LEAT_JSON_PADDING), 0, LEAT_JSON_PADDING);
    leat_bytes copy = {json->text.data, text.size};
    if (!leat_json_simd_parse(json->simd, copy.data, copy.size, &json->tape)) {
        leat_status status = parse_strictly(json, copy, name, error);
        if (status != LEAT_OK) {
            return status;
        }
    }
    *root = (leat_json_value){json, 1};
    return LEAT_OK;
}

static uint64_t word_at(leat_json_value value)
{
    return value.at == 0 ? 0 : value.json->tape.words[value.at & ~IN_OBJECT];
}

leat_json_type leat_json_type_of(leat_json_value value)
{
    switch (leat_json_tape_type(word_at(value))) {
    case 'n':
        return LEAT_JSON_NULL;
    case 'f':
        return LEAT_JSON_FALSE;
    case 't':
        return LEAT_JSON_TRUE;
    case 'l':
    case 'u':
        return LEAT_JSON_INTEGER;
    case 'd':
        return LEAT_JSON_REAL;
    case '"':
        return LEAT_JSON_TEXT;
    case '[':
        return LEAT_JSON_ARRAY;
    case '{':
        return LEAT_JSON_OBJECT;
    default:
        return LEAT_JSON_NONE;
    }
}

/* The item or member whose first word is at `at`; NONE at the end of its array or object. */
static leat_json_value item_at(const leat_json *json, uint64_t at, bool object, leat_bytes *key)
{
    uint64_t word = json->tape.words[at];
    uint8_t type = leat_json_tape_type(word);
    if (type == '}' || type == ']') {
        return (leat_json_value){0};
    }
    if (!object) {
        return (leat_json_value){json, at};
    }
    if (key != NULL) {
        *key = leat_json_tape_text(&json->tape, word);
    }
    return (leat_json_value){json, (at + 1) | IN_OBJECT};
}

leat_json_value leat_json_first(leat_json_value value, leat_bytes *key)
{
    uint8_t type = leat_json_tape_type(word_at(value));
    if (type != '{' && type != '[') {
        return (leat_json_value){0};
    }
    return item_at(value.json, (value.at & ~IN_OBJECT) + 1, type == '{', key);
}

leat_json_value leat_json_after(leat_json_value value, leat_bytes *key)
{
    if (value.at <= 1) { /* NONE, or the root, which has no neighbours */
        return (leat_json_value){0};
    }
    uint64_t next = leat_json_tape_after(value.json->tape.words, value.at & ~IN_OBJECT);
    return item_at(value.json, next, (value.at & IN_OBJECT) != 0, key);
}

leat_json_value leat_json_member(leat_json_value value, const char *key)
{
    if (leat_json_tape_type(word_at(value)) != '{') {
        return (leat_json_value){0};
    }
    size_t size = strlen(key);
    leat_bytes name = {0};
    leat_json_value member = leat_json_first(value, &name);
    while (member.at != 0 && (name.size != size || memcmp(name.data, key, size) != 0)) {
        member = leat_json_after(member, &name);
    }
    return member;
}

size_t leat_json_count(leat_json_value value)
{
    uint64_t word = word_at(value);
    uint8_t type = leat_json_tape_type(word);
    if (type != '{' && type != '[') {
        return 0;
    }
    size_t count = (size_t)(word >> 32 & COUNT_MAX);
    if (count < COUNT_MAX) {
        return count;
    }
    count = 0;
    for (leat_json_value item = leat_json_first(value, NULL); item.at != 0;
         item = leat_json_after(item, NULL)) {
        count++;
    }
    return count;
}

bool leat_json_get_text(leat_json_value value, leat_bytes *out)
{
    uint64_t word = word_at(value);
    if (leat_json_tape_type(word) != '"') {
        return false;
    }
    *out = leat_json_tape_text(&value.json->tape, word);
    return true;
}

bool leat_json_get_u64(leat_json_value value, uint64_t *out)
{
    uint8_t type = leat_json_tape_type(word_at(value));
    if (type != 'l' && type != 'u') {
        return false;
    }
    uint64_t number = value.json->tape.words[(value.at & ~IN_OBJECT) + 1];
    if (type == 'l' && (int64_t)number < 0) {
        return false;
    }
    *out = number;
    return true;
}

bool leat_json_get_i64(leat_json_value value, int64_t *out)
{
    if (leat_json_tape_type(word_at(value)) != 'l') {
        return false;
    }
    *out = (int64_t)value.json->tape.words[(value.at & ~IN_OBJECT) + 1];
    return true;
}

bool leat_json_get_bool(leat_json_value value, bool *out)
{
    uint8_t type = leat_json_tape_type(word_at(value));
    if (type != 't' && type != 'f') {
        return false;
    }
    *out = type == 't';
    return true;
}
