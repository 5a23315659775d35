/* JSON documents: simdjson's tape and our own agree, and what strict JSON refuses is refused with its place. */
#include "base/json.h"
#include "base/json_scan.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "check.h"

static leat_error error;

static void dump(leat_json_value value, leat_buffer *out)
{
    leat_bytes text = {0}, key = {0};
    uint64_t u = 0;
    int64_t i = 0;
    leat_json_type type = leat_json_type_of(value);
    leat_buffer_add_format(out, "%d", (int)type);
    if (leat_json_get_text(value, &text)) {
        leat_buffer_add_format(out, "<%.*s>", (int)text.size, (const char *)text.data);
    }
    if (leat_json_get_u64(value, &u)) {
        leat_buffer_add_format(out, "u%" PRIu64, u);
    }
    if (leat_json_get_i64(value, &i)) {
        leat_buffer_add_format(out, "i%" PRId64, i);
    }
    if (type == LEAT_JSON_ARRAY || type == LEAT_JSON_OBJECT) {
        leat_buffer_add_format(out, "(%zu:", leat_json_count(value));
        for (leat_json_value v = leat_json_first(value, &key);
             leat_json_type_of(v) != LEAT_JSON_NONE; v = leat_json_after(v, &key)) {
            leat_buffer_add_format(out, "%.*s=", (int)key.size, (const char *)key.data);
            dump(v, out);
            leat_buffer_add_u8(out, ' ');
        }
        leat_buffer_add_u8(out, ')');
    }
}

/* The same value twice: as simdjson reads it, and beside a number that makes simdjson give up, as our own reader does. */
static void test_two_readers(void)
{
    static const char *const texts[] = {
        "null",
        "true",
        "-1",
        "18446744073709551615",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "1.5",
        "[]",
        "{}",
        "\"\"",
        "\"a\\u00e9\\ud83d\\ude00\\n\\/\\\"\\\\b\"",
        "[1,[2,[3,{\"a\":{\"b\":[]}}]],\"x\"]",
        "{\"a\":1,\"b\":[true,false,null],\"a\":2,\"\":{}}",
        " [ 1 , 2 ] ",
        "{\"k\\u0065y\":\"\xc3\xa9\"}",
        "0",
        "-0",
        "1e5",
    };
    leat_json *a = leat_json_open(), *b = leat_json_open();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        leat_json_value root, pair;
        leat_buffer left = {0}, right = {0};
        char *wide = leat_format("[%s,123456789012345678901234567890]", texts[i]);
        CHECK_OK(leat_json_parse(a, (leat_bytes){(const uint8_t *)texts[i], strlen(texts[i])}, "a",
                                 &root, &error),
                 &error);
        if (CHECK_OK(leat_json_parse(b, (leat_bytes){(const uint8_t *)wide, strlen(wide)}, "b",
                                     &pair, &error),
                     &error)) {
            dump(root, &left);
            dump(leat_json_first(pair, NULL), &right);
            CHECK_TEXT(texts[i], leat_buffer_text(&right), leat_buffer_text(&left));
            CHECK_U64("count", leat_json_count(pair), 2);
            CHECK(leat_json_type_of(leat_json_after(leat_json_first(pair, NULL), NULL)) ==
                  LEAT_JSON_REAL);
        }
        leat_buffer_deinit(&left);
        leat_buffer_deinit(&right);
        leat_free(wide);
    }
    leat_json_close(a);
    leat_json_close(b);
}

static void test_refusals(void)
{
    static const struct {
        const char *text, *where, *found;
    } cases[] = {
        {"", "t:1:1", "no JSON value"},
        {"  ", "t:1:3", "no JSON value"},
        {"{\"a\":1,}", "t:1:8", "key in quotes"},
        {"[1,]", "t:1:4", "begins no JSON value"},
        {"[1\n,2] x", "t:2:5", "behind"},
        {"{\"a\" 1}", "t:1:6", "colon"},
        {"{\"a\":NaN}", "t:1:6", "NaN"},
        {"[-Infinity]", "t:1:2", "Infinity"},
        {"[01]", "t:1:3", "comma"},
        {"[1.]", "t:1:2", "point"},
        {"[1e]", "t:1:2", "exponent"},
        {"[-]", "t:1:2", "minus"},
        {"\"\\x\"", "t:1:2", "escape"},
        {"\"\\ud800\"", "t:1:2", "lone surrogate"},
        {"\"\\ud800\\u0041\"", "t:1:2", "lone surrogate"},
        {"\"\\udc00\\ud800\"", "t:1:2", "lone surrogate"},
        {"\"\\u12\"", "t:1:2", "escape"},
        {"\"a\tb\"", "t:1:3", "control character"},
        {"\"abc", "t:1:1", "without its end"},
        {"\"abc\\", "t:1:5", "without its end"},
        {"[\"\xff\"]", "t:1:3", "UTF-8"},
        {"[\"\xed\xa0\x80\"]", "t:1:3", "UTF-8"},
        {"\xef\xbb\xbf{}", "t:1:1", "byte order mark"},
        {"[[1]", "t:1:5", "inside"},
        {"[1}", "t:1:3", "comma"},
        {"{]", "t:1:2", "key in quotes"},
        {"tru", "t:1:1", "begins no JSON value"},
    };
    leat_json *json = leat_json_open();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_json_value root;
        leat_bytes text = {(const uint8_t *)cases[i].text, strlen(cases[i].text)};
        CHECK_U64(cases[i].text, leat_json_parse(json, text, "t", &root, &error), LEAT_CORRUPT);
        CHECK_TEXT(cases[i].text, error.where, cases[i].where);
        CHECK_HAS(cases[i].text, error.found, cases[i].found);
        CHECK(leat_json_type_of(root) == LEAT_JSON_NONE);
    }
    leat_json_close(json);
}

static void test_depth(void)
{
    leat_json *json = leat_json_open();
    for (size_t depth = 1020; depth <= 1030; depth++) {
        char text[2100];
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        leat_json_value root;
        leat_status status = leat_json_parse(json, (leat_bytes){(const uint8_t *)text, 2 * depth},
                                             "t", &root, &error);
        CHECK_U64("depth", status, depth <= 1024 ? LEAT_OK : LEAT_CORRUPT);
    }
    leat_json_close(json);
}

static void test_absent(void)
{
    leat_json_value none = {0};
    leat_bytes text;
    CHECK(leat_json_type_of(leat_json_member(leat_json_first(none, NULL), "a")) == LEAT_JSON_NONE);
    CHECK(leat_json_count(none) == 0 && !leat_json_get_text(none, &text));
    CHECK(leat_json_type_of(leat_json_after(none, NULL)) == LEAT_JSON_NONE);
}

static void test_utf8(void)
{
    static const struct {
        const char *bytes, *want;
        size_t fault;
    } cases[] = {
        {"abc", "abc", 3},
        {"a\xff"
         "b",
         "a\xef\xbf\xbd"
         "b",
         1},
        {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd", 0},
        {"\xe6\"", "\xef\xbf\xbd\"", 0},
        {"\xf0\x9f\x98", "\xef\xbf\xbd", 0},
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", 4},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 0},
        {"12345678\xf4\x90\x80\x80", "12345678\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 8},
        {"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf"
         "A",
         "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
         "A",
         0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint8_t *bytes = (const uint8_t *)cases[i].bytes;
        leat_buffer out = {0};
        leat_utf8_replace(bytes, strlen(cases[i].bytes), &out);
        CHECK_TEXT("replace", leat_buffer_text(&out), cases[i].want);
        CHECK_U64(cases[i].want, leat_utf8_fault(bytes, strlen(cases[i].bytes)), cases[i].fault);
        leat_buffer_deinit(&out);
    }
}

int main(void)
{
    test_two_readers();
    test_refusals();
    test_depth();
    test_absent();
    test_utf8();
    return check_done();
}
