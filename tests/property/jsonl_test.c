/* Random files against a naive reader: lines found byte by byte, JSON judged by a small recursive parser that shares nothing
 * with the product.  LEAT_SEED sets the seed. */
#include "corpus_kit.h"

/* ---- the naive reader ---- */

typedef struct naive {
    const uint8_t *at, *end;
    int texts;        /* members "text" of the outermost object */
    bool text_string; /* the last of them is a string … */
    leat_buffer text; /* … which is this */
} naive;

static bool naive_value(naive *n, int depth);

static void naive_space(naive *n)
{
    while (n->at < n->end &&
           (*n->at == ' ' || *n->at == '\t' || *n->at == '\n' || *n->at == '\r')) {
        n->at++;
    }
}

static bool naive_utf8(const uint8_t *at, const uint8_t *end)
{
    while (at < end) {
        uint32_t c = *at++, more = c < 0x80 ? 0 : c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
        static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
        if (c >= 0x80 && (c < 0xc0 || c >= 0xf8)) {
            return false;
        }
        c &= more == 0 ? 0x7f : 0x3fu >> more;
        for (uint32_t i = 0; i < more; i++) {
            if (at == end || (*at & 0xc0) != 0x80) {
                return false;
            }
            c = c << 6 | (*at++ & 0x3f);
        }
        if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
            return false;
        }
    }
    return true;
}

static void naive_put(leat_buffer *out, uint32_t c)
{
    if (c < 0x80) {
        leat_buffer_add_u8(out, (uint8_t)c);
    } else if (c < 0x800) {
        leat_buffer_add_u8(out, (uint8_t)(0xc0 | c >> 6));
        leat_buffer_add_u8(out, (uint8_t)(0x80 | (c & 63)));
    } else if (c < 0x10000) {
        leat_buffer_add_u8(out, (uint8_t)(0xe0 | c >> 12));
        leat_buffer_add_u8(out, (uint8_t)(0x80 | (c >> 6 & 63)));
        leat_buffer_add_u8(out, (uint8_t)(0x80 | (c & 63)));
    } else {
        leat_buffer_add_u8(out, (uint8_t)(0xf0 | c >> 18));
        leat_buffer_add_u8(out, (uint8_t)(0x80 | (c >> 12 & 63)));
        leat_buffer_add_u8(out, (uint8_t)(0x80 | (c >> 6 & 63)));
        leat_buffer_add_u8(out, (uint8_t)(0x80 | (c & 63)));
    }
}

/* Four hex digits behind "\u". */
static bool naive_hex(naive *n, uint32_t *c)
{
    char digits[5] = "";
    if (n->end - n->at < 4) {
        return false;
    }
    memcpy(digits, n->at, 4);
    n->at += 4;
    *c = (uint32_t)strtoul(digits, NULL, 16);
    return strspn(digits, "0123456789abcdefABCDEF") == 4;
}

static bool naive_escape(naive *n, leat_buffer *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    uint32_t c, low;
    if (n->at == n->end || *n->at == 0) {
        return false;
    }
    uint8_t kind = *n->at++;
    const char *simple = strchr(from, kind);
    if (simple != NULL) {
        leat_buffer_add_u8(out, (uint8_t)to[simple - from]);
        return true;
    }
    if (kind != 'u' || !naive_hex(n, &c) || (c >= 0xdc00 && c <= 0xdfff)) {
        return false;
    }
    if (c >= 0xd800 && c <= 0xdbff) {
        if (n->end - n->at < 2 || n->at[0] != '\\' || n->at[1] != 'u') {
            return false;
        }
        n->at += 2;
        if (!naive_hex(n, &low) || low < 0xdc00 || low > 0xdfff) {
            return false;
        }
        c = 0x10000 + (c - 0xd800) * 0x400 + (low - 0xdc00);
    }
    naive_put(out, c);
    return true;
}

static bool naive_string(naive *n, leat_buffer *out)
{
    leat_buffer_clear(out);
    if (n->at == n->end || *n->at++ != '"') {
        return false;
    }
    while (n->at < n->end) {
        uint8_t c = *n->at++;
        if (c == '"') {
            return true;
        }
        if (c < 0x20 || (c == '\\' && !naive_escape(n, out))) {
            return false;
        }
        if (c != '\\') {
            leat_buffer_add_u8(out, c);
        }
    }
    return false;
}

static size_t naive_digits(naive *n)
{
    size_t count = 0;
    for (; n->at < n->end && *n->at >= '0' && *n->at <= '9'; n->at++) {
        count++;
    }
    return count;
}

static bool naive_number(naive *n)
{
    if (n->at < n->end && *n->at == '-') {
        n->at++;
    }
    bool zero = n->at < n->end && *n->at == '0';
    size_t count = naive_digits(n);
    if (count == 0 || (zero && count > 1)) {
        return false;
    }
    if (n->at < n->end && *n->at == '.') {
        n->at++;
        if (naive_digits(n) == 0) {
            return false;
        }
    }
    if (n->at < n->end && (*n->at == 'e' || *n->at == 'E')) {
        n->at++;
        if (n->at < n->end && (*n->at == '+' || *n->at == '-')) {
            n->at++;
        }
        return naive_digits(n) != 0;
    }
    return true;
}

static bool naive_members(naive *n, int depth, bool object)
{
    leat_buffer name = {0};
    bool good = true, first = true;
    n->at++;
    for (naive_space(n); good; first = false) {
        naive_space(n);
        if (n->at < n->end && *n->at == (object ? '}' : ']') && first) {
            n->at++;
            break;
        }
        if (object) {
            good = naive_string(n, &name);
            naive_space(n);
            good = good && n->at < n->end && *n->at++ == ':';
            naive_space(n);
        }
        bool is_text = object && depth == 0 && name.size == 4 && memcmp(name.data, "text", 4) == 0;
        if (good && is_text && n->at < n->end && *n->at == '"') {
            n->text_string = true;
            good = naive_string(n, &n->text);
        } else {
            n->text_string = n->text_string && !is_text;
            good = good && naive_value(n, depth + 1);
        }
        n->texts += is_text;
        naive_space(n);
        good = good && n->at < n->end;
        if (good && *n->at == (object ? '}' : ']')) {
            n->at++;
            break;
        }
        good = good && *n->at++ == ',';
    }
    leat_buffer_deinit(&name);
    return good;
}

static bool naive_value(naive *n, int depth)
{
    static const char *const words[] = {"true", "false", "null"};
    leat_buffer ignored = {0};
    bool good = false;
    naive_space(n);
    if (n->at == n->end) {
        return false;
    }
    if (*n->at == '{' || *n->at == '[') {
        return naive_members(n, depth, *n->at == '{');
    }
    if (*n->at == '"') {
        good = naive_string(n, &ignored);
        leat_buffer_deinit(&ignored);
        return good;
    }
    for (size_t i = 0; i < 3; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(n->end - n->at) >= length && memcmp(n->at, words[i], length) == 0) {
            n->at += length;
            return true;
        }
    }
    return naive_number(n);
}

/* One line, as kit_dump writes it; nothing for a blank one. */
static void naive_line(const uint8_t *data, size_t size, size_t limit, leat_buffer *out)
{
    naive n = {.at = data, .end = data + size};
    size_t blank = 0;
    if (size != 0 && data[size - 1] == '\r') {
        size--;
        n.end--;
    }
    while (blank < size && (data[blank] == ' ' || data[blank] == '\t' || data[blank] == '\r')) {
        blank++;
    }
    if (blank == size) {
        return;
    }
    bool good = size <= limit && naive_utf8(data, data + size);
    naive_space(&n);
    good = good && n.at < n.end && *n.at == '{' && naive_value(&n, 0);
    naive_space(&n);
    good = good && n.at == n.end && n.texts == 1 && n.text_string;
    leat_buffer_add_text(out, good ? "<" : "<!");
    leat_buffer_add(out, n.text.data, good ? n.text.size : 0);
    leat_buffer_add_text(out, ">");
    leat_buffer_deinit(&n.text);
}

static void naive_file(const leat_buffer *file, size_t limit, leat_buffer *out)
{
    size_t begin = file->size >= 3 && memcmp(file->data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    for (size_t at = begin; at <= file->size; at++) {
        if (at == file->size || file->data[at] == '\n') {
            naive_line(file->data + begin, at - begin, limit, out);
            begin = at + 1;
        }
    }
}

/* ---- random files ---- */

static const char *const pieces[] = {"{",
                                     "}",
                                     "[",
                                     "]",
                                     ",",
                                     ":",
                                     "\"",
                                     "\"text\":",
                                     "\"text\":\"",
                                     "{\"text\":\"",
                                     "\"}",
                                     "\n",
                                     "\n",
                                     "\r\n",
                                     " ",
                                     "\t",
                                     "\r",
                                     "\\",
                                     "\\n",
                                     "\\u0041",
                                     "\\ud83d",
                                     "\\ude00",
                                     "\\ud83d\\ude00",
                                     "\\u00",
                                     "a",
                                     "text",
                                     "\xc3\xa9",
                                     "\xe2\x82\xac",
                                     "\xf0\x9f\x98\x80",
                                     "\xff",
                                     "\xed\xa0\x80",
                                     "\xc0\x80",
                                     "\xef\xbb\xbf",
                                     "0",
                                     "-",
                                     "1.5",
                                     "1e9",
                                     "1e999",
                                     "01",
                                     "123456789012345678901234567890",
                                     "null",
                                     "true",
                                     "NaN",
                                     "\x01",
                                     "\x7f",
                                     "\"m\":{\"text\":\"i\"},",
                                     "{\"text\":\"good\"}\n",
                                     "{\"id\":7,\"text\":\"x\"}",
                                     "\"te\\u0078t\":\"e\"",
                                     ",\"z\":[1,{\"a\":[]}]}",
                                     "-0",
                                     "\\/"};

static void random_file(leat_buffer *file, uint64_t *seed)
{
    enum { COUNT = sizeof pieces / sizeof *pieces };
    leat_buffer_clear(file);
    for (size_t i = 0, count = check_random(seed) % 40; i < count; i++) {
        uint64_t kind = check_random(seed) % 4;
        if (kind == 0) { /* a good line with one thing done to it */
            leat_buffer_add_text(file, "{\"a\":[1,\"x\"],\"text\":\"abc\\u00e9\",\"n\":-1.5e3}");
            size_t at = file->size - 1 - check_random(seed) % 43;
            const char *piece = pieces[check_random(seed) % COUNT];
            size_t room = file->size - at < strlen(piece) ? file->size - at : strlen(piece);
            if (check_random(seed) % 2 == 0) {
                memcpy(file->data + at, piece, room);
            }
            leat_buffer_add_u8(file, '\n');
        } else if (kind == 1) {
            leat_buffer_add_text(file, pieces[46]);
        } else {
            leat_buffer_add_text(file, pieces[check_random(seed) % COUNT]);
        }
    }
}

int main(void)
{
    const char *set = getenv("LEAT_SEED");
    uint64_t seed = set != NULL ? strtoull(set, NULL, 10) : 20251130;
    leat_buffer file = {0}, want = {0}, got = {0};
    size_t good = 0;
    printf("LEAT_SEED=%" PRIu64 "\n", seed);
    kit_begin();
    for (size_t i = 0; i < 1500; i++) {
        uint64_t this_seed = seed + i;
        kit_corpus kit;
        random_file(&file, &this_seed);
        leat_record_rules rules = {.format = "jsonl",
                                   .record_bytes_max = 1 + check_random(&this_seed) % 60 * 20};
        kit_write("x.jsonl", file.data, file.size);
        leat_buffer_clear(&want);
        leat_buffer_clear(&got);
        naive_file(&file, (size_t)rules.record_bytes_max, &want);
        if (!CHECK_OK(kit_open(&kit, kit_path("x.jsonl"), &rules), &kit_error)) {
            break;
        }
        CHECK_OK(kit_dump(&kit, &got), &kit_error);
        good += kit.documents - kit.summaries[0].bad_records;
        kit_close(&kit);
        if (!CHECK(got.size == want.size && memcmp(got.data, want.data, got.size) == 0)) {
            printf("  seed %" PRIu64 "\n  got  %s\n  want %s\n  file %s\n", seed + i,
                   leat_buffer_text(&got), leat_buffer_text(&want), leat_buffer_text(&file));
            break;
        }
    }
    CHECK(good > 1000); /* the files are not all rubbish */
    printf("%zu good records\n", good);
    leat_buffer_deinit(&file);
    leat_buffer_deinit(&want);
    leat_buffer_deinit(&got);
    kit_end();
    return check_done();
}
