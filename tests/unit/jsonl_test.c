/* JSON lines: which lines are records, which records are bad and why, at which line and byte. */
#include "corpus_kit.h"
#include "io/formats/jsonl.h"

#define BOM "\xef\xbb\xbf"

typedef struct row {
    const char *label, *content, *want; /* as kit_dump writes it */
    const char *first_bad; /* "line: reason (byte b)" of the first bad record; NULL: none */
} row;

static const row rows[] = {
    {"zero bytes", "", "", NULL},
    {"line end only", "\n", "", NULL},
    {"blanks only", "  \t \r\n \n\t", "", NULL},
    {"mark only", BOM, "", NULL},
    {"plain", "{\"text\":\"a\"}\n{\"text\":\"b\"}\n", "<a><b>", NULL},
    {"no final end", "{\"text\":\"a\"}\n{\"text\":\"b\"}", "<a><b>", NULL},
    {"empty texts", "{\"text\":\"\"}\n{\"text\":\"x\"}\n{\"text\":\"\"}", "<><x><>", NULL},
    {"CR LF", "{\"text\":\"a\"}\r\n{\"text\":\"b\\r\\n\"}\r\n", "<a><b\r\n>", NULL},
    {"mixed ends", "{\"text\":\"a\"}\n{\"text\":\"b\"}\r\n\r\n{\"text\":\"c\"}\r", "<a><b><c>",
     NULL},
    {"blank between", "\n{\"text\":\"a\"}\n\t\n \r\n{\"text\":\"b\"}\nx", "<a><b><!>",
     "6: something that begins no JSON value (byte 0)"},
    {"spaces around", "  {\"text\" : \"a\" }  \n", "<a>", NULL},
    {"mark at start", BOM "{\"text\":\"a\"}\n{\"text\":\"b\"}", "<a><b>", NULL},
    {"mark later", "{\"text\":\"a\"}\n" BOM "{\"text\":\"b\"}\n{\"text\":\"c\"}", "<a><!><c>",
     "2: a byte order mark that is not at the start of the file (byte 0)"},
    {"mark twice", BOM BOM "{\"text\":\"a\"}", "<!>",
     "1: a byte order mark that is not at the start of the file (byte 0)"},
    {"E6 22", "{\"text\":\"a\xe6\"}\n{\"text\":\"b\"}", "<!><b>", "1: invalid UTF-8 (byte 10)"},
    {"FF", "{\"text\":\"\xff\"}", "<!>", "1: invalid UTF-8 (byte 9)"},
    {"FF in a key", "{\"\xff\":1,\"text\":\"\"}", "<!>", "1: invalid UTF-8 (byte 2)"},
    {"overlong", "{\"text\":\"\xc0\x80\"}", "<!>", "1: invalid UTF-8 (byte 9)"},
    {"lone continuation", "{\"text\":\"ab\x80\"}", "<!>", "1: invalid UTF-8 (byte 11)"},
    {"cut at the end", "{\"text\":\"a\"}\n{\"text\":\"\xf0\x9f\x98", "<a><!>",
     "2: invalid UTF-8 (byte 9)"},
    {"raw surrogate", "{\"text\":\"\xed\xa0\x80\"}", "<!>", "1: invalid UTF-8 (byte 9)"},
    {"lone high", "{\"text\":\"\\ud83d\"}", "<!>", "1: a lone surrogate escape (byte 9)"},
    {"lone low", "{\"text\":\"x\\udcb2\"}", "<!>", "1: a lone surrogate escape (byte 10)"},
    {"swapped", "{\"text\":\"\\ude00\\ud83d\"}", "<!>", "1: a lone surrogate escape (byte 9)"},
    {"pair", "{\"text\":\"\\ud83d\\ude00\"}", "<\xf0\x9f\x98\x80>", NULL},
    {"lone in another", "{\"text\":\"\",\"m\":\"\\ud800\"}", "<!>",
     "1: a lone surrogate escape (byte 16)"},
    {"null", "{\"text\":null}", "<!>", "1: the text is null (byte 11)"},
    {"NaN", "{\"text\":NaN}", "<!>", "1: NaN and Infinity are not JSON (byte 8)"},
    {"NaN elsewhere", "{\"text\":\"a\",\"s\":NaN}", "<!>",
     "1: NaN and Infinity are not JSON (byte 16)"},
    {"number", "{\"text\":5}", "<!>", "1: the text is not a string (byte 8)"},
    {"array", "{\"text\":[\"a\"]}", "<!>", "1: the text is not a string (byte 8)"},
    {"missing", "{}", "<!>", "1: the key of the text is missing (byte 2)"},
    {"inner is not it", "{\"m\":{\"text\":\"i\"}}", "<!>",
     "1: the key of the text is missing (byte 18)"},
    {"inner before it", "{\"m\":{\"text\":\"i\"},\"text\":\"o\"}", "<o>", NULL},
    {"string record", "\"str\"", "<!>", "1: the record is not an object (byte 4)"},
    {"array record", "[]", "<!>", "1: the record is not an object (byte 0)"},
    {"number record", "5", "<!>", "1: the record is not an object (byte 0)"},
    {"twice", "{\"text\":\"a\",\"text\":\"a\"}", "<!>",
     "1: the key of the text is there twice (byte 12)"},
    {"twice, once escaped", "{\"te\\u0078t\":\"a\",\"text\":\"a\"}", "<!>",
     "1: the key of the text is there twice (byte 17)"},
    {"another twice", "{\"m\":1,\"m\":2,\"text\":\"a\"}", "<a>", NULL},
    {"escaped key", "{\"te\\u0078t\":\"a\"}", "<a>", NULL},
    {"trailing text", "{\"text\":\"a\"} xyz", "<!>",
     "1: something behind the JSON value (byte 13)"},
    {"two on a line", "{\"text\":\"a\"}{\"text\":\"b\"}", "<!>",
     "1: something behind the JSON value (byte 12)"},
    {"trailing comma", "{\"text\":\"a\",}", "<!>",
     "1: something where a key in quotes has to be (byte 12)"},
    {"cut object", "{\"text\":\"a\"", "<!>", "1: the end inside an object or array (byte 11)"},
    {"cut string", "{\"text\":\"a", "<!>", "1: a string without its end (byte 8)"},
    {"leading zero", "{\"text\":\"a\",\"n\":01}", "<!>",
     "1: something where a comma or the end of an object or array has to be (byte 17)"},
    {"raw tab", "{\"text\":\"a\tb\"}", "<!>", "1: a control character inside a string (byte 10)"},
    {"huge integer", "{\"n\":123456789012345678901234567890,\"text\":\"a\\n\"}", "<a\n>", NULL},
    {"huge exponent", "{\"n\":1e400,\"text\":\"a\"}", "<a>", NULL},
    {"huge integer and null", "{\"n\":123456789012345678901234567890,\"text\":null}", "<!>",
     "1: the text is null (byte 46)"},
    {"NUL escape", "{\"text\":\"a\\u0000\"}", "<a",
     NULL}, /* cut by C strings; sizes are checked below */
    {"DEL and solidus", "{\"text\":\"\x7f\\/\"}", "<\x7f/>", NULL},
};

static const leat_record_rules plain = {.format = "jsonl"};

static void test_rows(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kit_corpus kit;
        leat_buffer got = {0}, bad = {0};
        const row *r = &rows[i];
        kit_write("f.jsonl", r->content, strlen(r->content));
        if (CHECK_OK(kit_open(&kit, kit_path("f.jsonl"), &plain), &kit_error)) {
            CHECK_OK(kit_dump(&kit, &got), &kit_error);
            CHECK_TEXT(r->label, leat_buffer_text(&got), r->want);
            CHECK_U64(r->label, kit.summaries[0].bad_records != 0, r->first_bad != NULL);
            kit_close(&kit);
        }
        CHECK_OK(leat_shard_explain_bad(kit_path("f.jsonl"), &plain, leat_store_posix(), 1, &bad,
                                        &kit_error),
                 &kit_error);
        char *want = r->first_bad != NULL
                         ? leat_format("%s:%s\n", kit_path("f.jsonl"), r->first_bad)
                         : leat_strdup("");
        CHECK_TEXT(r->label, leat_buffer_text(&bad), want);
        leat_free(want);
        leat_buffer_deinit(&got);
        leat_buffer_deinit(&bad);
    }
}

static void test_replace(void)
{
    leat_record_rules rules = {.format = "jsonl", .replace_bad_utf8 = true};
    static const row replaced[] = {
        {"E6 22", "{\"text\":\"a\xe6\"}", "<a\xef\xbf\xbd>", NULL},
        {"cut four", "{\"text\":\"\xf0\x9f\x98.\"}", "<\xef\xbf\xbd.>", NULL},
        {"in the key", "{\"te\xffxt\":\"\"}", "<!>", "1"},
        {"elsewhere", "{\"m\":\"\xff\",\"text\":\"\xc3\xa9\"}", "<\xc3\xa9>", NULL},
        {"lone stays bad", "{\"text\":\"\\ud800\"}", "<!>", "1"},
        {"outside of strings", "{\"text\":\"\"}\xff", "<!>", "1"},
    };
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++) {
        kit_corpus kit;
        leat_buffer got = {0};
        const row *r = &replaced[i];
        kit_write("r.jsonl", r->content, strlen(r->content));
        if (CHECK_OK(kit_open(&kit, kit_path("r.jsonl"), &rules), &kit_error)) {
            CHECK_OK(kit_dump(&kit, &got), &kit_error);
            CHECK_TEXT(r->label, leat_buffer_text(&got), r->want);
            CHECK_U64(r->label, kit.summaries[0].bad_records, r->first_bad != NULL);
            kit_close(&kit);
        }
        leat_buffer_deinit(&got);
    }
}

static void test_keys(void)
{
    static const struct {
        const char *key, *line, *want; /* want NULL: bad */
    } cases[] = {
        {"a.b", "{\"a\":{\"b\":\"x\"}}", "x"},
        {"a.b", "{\"a.b\":\"x\"}", NULL},
        {"a\\.b", "{\"a.b\":\"x\"}", "x"},
        {"a.b", "{\"b\":\"n\",\"a\":{\"c\":{\"b\":\"n\"},\"b\":\"x\"},\"z\":{\"b\":\"n\"}}", "x"},
        {"a.b", "{\"a\":[{\"b\":\"x\"}]}", NULL},
        {"a.b", "{\"a\":{\"b\":\"x\"},\"a\":{}}", NULL},
        {"a.b", "{\"a\":{\"b\":\"x\",\"b\":\"x\"}}", NULL},
        {"a.b", "{\"a\":{}}", NULL},
        {"a.b", "{\"a\":\"x\"}", NULL},
        {"a.b.c", "{\"a\":{\"b\":{\"c\":\"\"}}}", ""},
        {"a\\\\", "{\"a\\\\\":\"x\"}", "x"},
        {"a.", "{\"a\":{\"\":\"x\"}}", "x"},
        {"\xc3\xa9", "{\"\\u00e9\":\"x\"}", "x"},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        leat_record_rules rules = {.text = cases[i / 2].key, .record_bytes_max = 1000};
        leat_jsonl *jsonl;
        leat_bytes text;
        /* Once as simdjson reads it, once with a number that only our own reader takes. */
        char *line = i % 2 == 0 ? leat_format("%s%64s", cases[i / 2].line, "")
                                : leat_format("{\"big\":1e999,%s%64s", cases[i / 2].line + 1, "");
        CHECK_OK(leat_jsonl_open(&jsonl, &rules, &kit_error), &kit_error);
        bool good = leat_jsonl_decode(jsonl, (const uint8_t *)line, strlen(line) - 64, &text);
        if (CHECK_U64(line, good, cases[i / 2].want != NULL) && good) {
            CHECK(text.size == strlen(cases[i / 2].want) &&
                  memcmp(text.data, cases[i / 2].want, text.size) == 0);
        }
        leat_jsonl_close(jsonl);
        leat_free(line);
    }
    static const char *const wrong[] = {"", "a\\", "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        leat_record_rules rules = {.text = wrong[i]};
        leat_jsonl *jsonl;
        CHECK_U64(wrong[i], leat_jsonl_open(&jsonl, &rules, &kit_error), LEAT_INVALID);
    }
}

/* Good JSON of any depth and any size of numbers; the strict reader has no stack to exhaust. */
static void test_deep(void)
{
    enum { DEPTH = 200000 };
    leat_buffer line = {0};
    kit_corpus kit;
    leat_buffer_add_text(&line, "{\"x\":");
    memset(leat_buffer_extend(&line, DEPTH), '[', DEPTH);
    memset(leat_buffer_extend(&line, DEPTH), ']', DEPTH);
    leat_buffer_add_text(&line, ",\"text\":\"deep\\u0000\"}");
    kit_write("deep.jsonl", line.data, line.size);
    if (CHECK_OK(kit_open(&kit, kit_path("deep.jsonl"), &plain), &kit_error)) {
        CHECK_U64("good", kit.summaries[0].bad_records, 0);
        CHECK_U64("text with a NUL", kit.summaries[0].text_bytes, 5);
        kit_close(&kit);
    }
    leat_buffer_deinit(&line);
}

int main(void)
{
    kit_begin();
    test_rows();
    test_replace();
    test_keys();
    test_deep();
    kit_end();
    return check_done();
}
