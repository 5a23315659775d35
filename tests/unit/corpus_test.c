/* Documents of a corpus: parts, sizes around the buffer's edges, many shards, any order of asking. */
#include "corpus_kit.h"
#include "io/index/parts.h"
#include <pthread.h>

static const leat_record_rules plain = {.text = "text"};

/* docs/plan.md, section 4, word by word. */
static size_t naive_part_end(const uint8_t *text, size_t size, size_t s, size_t part_bytes)
{
    if (size - s <= part_bytes) {
        return size;
    }
    for (size_t c = s + part_bytes; c > s + part_bytes / 2; c--) {
        if (text[c - 1] == '\n') {
            return c;
        }
    }
    for (size_t c = s + part_bytes; c > s + part_bytes / 2; c--) {
        if (text[c] == ' ') {
            return c;
        }
    }
    for (size_t c = s + part_bytes;; c--) {
        if ((text[c] & 0xc0) != 0x80) {
            return c;
        }
    }
}

/* size bytes of UTF-8 made of the kinds of `mix`: n newline, s space, a letter, 2 3 4 sequences. */
static void random_text(leat_buffer *out, size_t size, const char *mix, uint64_t *seed)
{
    leat_buffer_clear(out);
    while (out->size < size) {
        switch (mix[check_random(seed) % strlen(mix)]) {
        case 'n':
            leat_buffer_add_u8(out, '\n');
            break;
        case 's':
            leat_buffer_add_u8(out, ' ');
            break;
        case '2':
            leat_buffer_add_text(out, "\xc3\xa9");
            break;
        case '3':
            leat_buffer_add_text(out, "\xe2\x82\xac");
            break;
        case '4':
            leat_buffer_add_text(out, "\xf0\x9f\x98\x80");
            break;
        default:
            leat_buffer_add_u8(out, 'a');
        }
    }
}

static const char *const mixes[] = {
    "a",
    "4",
    "a4",
    "s",
    "n",
    "aaaaaaaaaaaaaaaaaaaaas",
    "aaaaaaaaaaaaaaaaaaaaaaan",
    "a2s34n",
    "3333333333333333333333333s",
    "2222222222222222222222222222222222222222222222222222222222222n"};

static void test_part_ends(void)
{
    static const size_t sizes[] = {64, 65, 66, 67, 100, 127, 128, 1000};
    uint64_t seed = 11;
    leat_buffer text = {0};
    for (size_t i = 0; i < 3000; i++) {
        size_t part_bytes = sizes[i % 8], begin = 0, parts = 0;
        random_text(&text, check_random(&seed) % 2500, mixes[i % 10], &seed);
        while (begin < text.size) {
            size_t end = leat_part_end(text.data, text.size, begin, part_bytes);
            if (!CHECK_U64(mixes[i % 10], end,
                           naive_part_end(text.data, text.size, begin, part_bytes))) {
                printf("  seed 11, case %zu, part_bytes %zu, begin %zu\n", i, part_bytes, begin);
                leat_buffer_deinit(&text);
                return;
            }
            begin = end;
            parts++;
        }
        CHECK(parts <= 2 * text.size / part_bytes + 1);
    }
    CHECK_U64("never cut", leat_part_end(text.data, text.size, 0, 0), text.size);
    leat_buffer_deinit(&text);
}

static void add_json_text(leat_buffer *out, const leat_buffer *text)
{
    leat_buffer_add_text(out, "{\"text\":\"");
    for (size_t i = 0; i < text->size; i++) {
        if (text->data[i] == '\n') {
            leat_buffer_add_text(out, "\\n");
        } else {
            leat_buffer_add_u8(out, text->data[i]);
        }
    }
    leat_buffer_add_text(out, "\"}\n");
}

enum { PARTS_RECORDS = 700, PARTS_BYTES = 80 };

/* What the documents of test_parts are. */
typedef struct expected {
    leat_buffer texts[PARTS_RECORDS];
    uint64_t *record, *begin, *end; /* of every document */
    uint64_t count;
} expected;

static void expect_parts(expected *e)
{
    size_t capacity[3] = {0};
    for (size_t i = 0; i < PARTS_RECORDS; i++) {
        const leat_buffer *text = &e->texts[i];
        for (size_t begin = 0, first = 1; first || begin < text->size; first = 0) {
            LEAT_GROW(e->record, capacity[0], e->count + 1);
            LEAT_GROW(e->begin, capacity[1], e->count + 1);
            LEAT_GROW(e->end, capacity[2], e->count + 1);
            e->record[e->count] = i;
            e->begin[e->count] = begin;
            begin = naive_part_end(text->data, text->size, begin, PARTS_BYTES);
            e->end[e->count++] = begin;
        }
    }
}

static bool is_expected(const expected *e, uint64_t document, const leat_place *place,
                        const leat_text *got)
{
    uint64_t begin = e->begin[document], end = e->end[document];
    const leat_buffer *text = &e->texts[e->record[document]];
    return place->record == e->record[document] && place->text_begin == begin &&
           place->text_end == end && got->size == end - begin && !got->bad &&
           place->part < place->parts && (place->part == 0) == (begin == 0) &&
           (place->part + 1 == place->parts) == (end == text->size) &&
           (got->size == 0 || memcmp(got->data, text->data + begin, got->size) == 0);
}

/* Up to 50 documents at once, at random or in sequence. */
static bool ask(kit_corpus *kit, const expected *e, bool follow, uint64_t *seed)
{
    enum { MOST = 50 };
    uint64_t documents[MOST];
    leat_place places[MOST];
    leat_text got[MOST];
    size_t asked = 1 + check_random(seed) % MOST;
    for (size_t i = 0; i < asked; i++) {
        documents[i] =
            follow && i != 0 ? (documents[i - 1] + 1) % e->count : check_random(seed) % e->count;
    }
    CHECK_OK(leat_corpus_places(kit->reader, 0, documents, asked, places, &kit_error), &kit_error);
    CHECK_OK(leat_corpus_read_texts(kit->reader, 0, places, asked, got, &kit_error), &kit_error);
    for (size_t i = 0; i < asked; i++) {
        if (!CHECK(is_expected(e, documents[i], &places[i], &got[i]))) {
            printf("  document %" PRIu64 "\n", documents[i]);
            return false;
        }
    }
    return true;
}

/* Records of all sizes with parts: numbers, ranges and texts of the documents. */
static void test_parts(void)
{
    leat_record_rules rules = {.text = "text", .part_bytes = PARTS_BYTES};
    uint64_t seed = 12;
    leat_buffer file = {0};
    kit_corpus kit;
    expected e = {0};
    for (size_t i = 0; i < PARTS_RECORDS; i++) {
        random_text(&e.texts[i], i == 300 ? 20000 : check_random(&seed) % 300, mixes[i % 10],
                    &seed);
        add_json_text(&file, &e.texts[i]);
    }
    expect_parts(&e);
    kit_write("p.jsonl", file.data, file.size);
    if (!CHECK_OK(kit_open(&kit, kit_path("p.jsonl"), &rules), &kit_error)) {
        return;
    }
    CHECK_U64("records", kit.summaries[0].records, PARTS_RECORDS);
    if (CHECK_U64("documents", kit.documents, e.count)) {
        for (size_t round = 0; round < 3000 && ask(&kit, &e, round % 2 == 0, &seed); round++) {
        }
    }
    leat_place place;
    CHECK_U64("no such document",
              leat_corpus_places(kit.reader, 0, &e.count, 1, &place, &kit_error), LEAT_INVALID);
    kit_close(&kit);
    for (size_t i = 0; i < PARTS_RECORDS; i++) {
        leat_buffer_deinit(&e.texts[i]);
    }
    leat_buffer_deinit(&file);
    leat_free(e.record);
    leat_free(e.begin);
    leat_free(e.end);
}

/* A first record whose end lies at, before and behind the edge of a read of 2^20 bytes, then small ones, then none or a
 * last one without its end. */
static void test_edges(void)
{
    static const char *const ends[] = {"\n", "\r\n", "\n\n", "\n \r\n"};
    for (size_t i = 0; i < 4 * 11 * 2; i++) {
        leat_buffer file = {0}, got = {0};
        kit_corpus kit;
        const char *end = ends[i % 4];
        size_t edge = ((size_t)(1 + i % 2) << 20) + i / 8 - 5, used = 11 + strlen(end);
        leat_buffer_add_text(&file, "{\"text\":\"");
        memset(leat_buffer_extend(&file, edge - used), 'x', edge - used);
        leat_buffer_add_format(&file, "\"}%s{\"text\":\"a\"}%s{\"text\":\"b\"}", end, end);
        kit_write("e.jsonl", file.data, file.size);
        if (CHECK_OK(kit_open(&kit, kit_path("e.jsonl"), &plain), &kit_error)) {
            CHECK_OK(kit_dump(&kit, &got), &kit_error);
            CHECK_U64("documents", kit.documents, 3);
            CHECK_U64("bytes", got.size, edge - used + 2 + 6);
            CHECK_HAS("rest", leat_buffer_text(&got) + edge - used, "><a><b>");
            kit_close(&kit);
        }
        leat_buffer_deinit(&file);
        leat_buffer_deinit(&got);
    }
}

/* A line of 40 MB between two small ones: read, or refused by the limit, its neighbours untouched. */
static void test_large_record(void)
{
    enum { BIG = 40000000 };
    leat_record_rules limited = {.text = "text", .record_bytes_max = 1000},
                      cut = {.text = "text", .part_bytes = 1 << 20};
    leat_buffer file = {0}, got = {0}, bad = {0};
    kit_corpus kit;
    leat_buffer_add_text(&file, "{\"text\":\"a\"}\n{\"text\":\"");
    memset(leat_buffer_extend(&file, BIG), 'x', BIG);
    leat_buffer_add_text(&file, "\"}\n");
    memset(leat_buffer_extend(&file, BIG / 8), ' ', BIG / 8);
    leat_buffer_add_text(&file, "\r\n{\"text\":\"b\"}\r\n");
    kit_write("big.jsonl", file.data, file.size);
    if (CHECK_OK(kit_open(&kit, kit_path("big.jsonl"), &plain), &kit_error)) {
        CHECK_OK(kit_dump(&kit, &got), &kit_error);
        CHECK_U64("all there", got.size, BIG + 2 + 6);
        kit_close(&kit);
    }
    leat_buffer_clear(&got);
    if (CHECK_OK(kit_open(&kit, kit_path("big.jsonl"), &limited), &kit_error)) {
        CHECK_OK(kit_dump(&kit, &got), &kit_error);
        CHECK_TEXT("refused", leat_buffer_text(&got), "<a><!><b>");
        CHECK_U64("line", kit.summaries[0].first_bad_line, 2);
        kit_close(&kit);
    }
    CHECK_OK(leat_shard_explain_bad(kit_path("big.jsonl"), &limited, leat_store_posix(), 5, &bad,
                                    &kit_error),
             &kit_error);
    CHECK_HAS("reason", leat_buffer_text(&bad),
              "big.jsonl:2: the record is larger than record_bytes_max");
    leat_buffer_clear(&got);
    if (CHECK_OK(kit_open(&kit, kit_path("big.jsonl"), &cut), &kit_error)) {
        uint64_t before = leat_corpus_bytes_read(kit.corpus);
        CHECK_U64("parts", kit.documents, 2 + (BIG + (1 << 20) - 1) / (1 << 20));
        CHECK_OK(kit_dump(&kit, &got), &kit_error);
        CHECK(leat_corpus_bytes_read(kit.corpus) - before < 2 * file.size);
        kit_close(&kit);
    }
    leat_buffer_deinit(&file);
    leat_buffer_deinit(&got);
    leat_buffer_deinit(&bad);
}

/* Around record_bytes_max, whose count leaves out the line's end. */
static void test_limit(void)
{
    static const char *const ends[] = {"\n", "\r\n", ""};
    for (size_t i = 0; i < 9; i++) {
        char content[300];
        int size = 99 + (int)(i / 3);
        kit_corpus kit;
        leat_record_rules limited = {.text = "text", .record_bytes_max = 100};
        int length =
            snprintf(content, sizeof content, "{\"text\":\"%0*d\"}%s", size - 11, 0, ends[i % 3]);
        kit_write("limit.jsonl", content, (size_t)length);
        if (CHECK_OK(kit_open(&kit, kit_path("limit.jsonl"), &limited), &kit_error)) {
            CHECK_U64("bad", kit.summaries[0].bad_records, size > 100);
            kit_close(&kit);
        }
    }
}

/* Lines at the limit that the edge of a read cuts, and lines of blanks beyond it. */
static void test_limit_at_edges(void)
{
    static const struct {
        const char *label, *end;
        size_t spaces;
        const char *want;
        uint64_t limit;
    } cases[] = {
        {"CR is the read's last byte", "\"}\r\n", 0, "good", (1 << 20) - 1},
        {"one byte too many", "\"}x\r\n", 0, "bad", (1 << 20) - 1},
        {"blanks, then a byte", "x\n", 3 << 20, "bad", 1000},
        {"blanks, then a byte at the end", "x", 3 << 20, "bad", 1000},
        {"blanks alone", "\r\n", 3 << 20, "none", 1000},
        {"blanks alone at the end", "", 3 << 20, "none", 1000},
        {"blanks up to the edge", "\r", (2 << 20) - 1, "none", 1000},
        {"bytes, then blanks", "\n", 3 << 20, "bad", 999},
        {"and a byte behind", "\rx", (2 << 20) - 1, "bad", 1000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_buffer file = {0};
        kit_corpus kit;
        leat_record_rules limited = {.format = "jsonl", .record_bytes_max = cases[i].limit};
        if (cases[i].limit == 999) {
            memset(leat_buffer_extend(&file, 3 << 20), 'x', 3 << 20);
        }
        if (cases[i].spaces != 0) {
            memset(leat_buffer_extend(&file, cases[i].spaces), ' ', cases[i].spaces);
        } else {
            leat_buffer_add_text(&file, "{\"text\":\"");
            memset(leat_buffer_extend(&file, cases[i].limit - 11), 'x', cases[i].limit - 11);
        }
        leat_buffer_add_text(&file, cases[i].end);
        kit_write("le.jsonl", file.data, file.size);
        if (CHECK_OK(kit_open(&kit, kit_path("le.jsonl"), &limited), &kit_error)) {
            CHECK_TEXT(cases[i].label,
                       kit.documents == 0                  ? "none"
                       : kit.summaries[0].bad_records == 0 ? "good"
                                                           : "bad",
                       cases[i].want);
            kit_close(&kit);
        }
        leat_buffer_deinit(&file);
    }
}

typedef struct worker {
    kit_corpus *kit;
    uint64_t seed;
    size_t wrong;
    leat_error error;
} worker;

static void *read_at_random(void *context)
{
    worker *w = context;
    leat_corpus_reader *reader = leat_corpus_reader_open(w->kit->corpus);
    for (size_t i = 0; i < 3000; i++) {
        uint64_t document = check_random(&w->seed) % w->kit->documents;
        char want[40];
        leat_place place;
        leat_text text;
        snprintf(want, sizeof want, "%" PRIu64, document);
        if (leat_corpus_places(reader, 0, &document, 1, &place, &w->error) != LEAT_OK ||
            leat_corpus_read_texts(reader, 0, &place, 1, &text, &w->error) != LEAT_OK ||
            text.size != strlen(want) || memcmp(text.data, want, text.size) != 0) {
            w->wrong++;
        }
    }
    leat_corpus_reader_close(reader);
    return NULL;
}

/* Eight threads on 40 shards (some empty) with 4 open files. */
static void test_threads(void)
{
    enum { SHARDS = 40, THREADS = 8 };
    const char *paths[SHARDS];
    char *owned[SHARDS];
    uint64_t document = 0;
    kit_corpus kit;
    leat_index_options index = {.store = leat_store_posix()};
    leat_corpus_options options = {.store = leat_store_posix(), .files_max = 4};
    for (size_t i = 0; i < SHARDS; i++) {
        leat_buffer content = {0};
        char name[40];
        snprintf(name, sizeof name, "t%02zu.jsonl", i);
        for (size_t j = 0; j < i % 7 * 100; j++) {
            leat_buffer_add_format(&content, "{\"text\":\"%" PRIu64 "\"}\n", document++);
        }
        kit_write(name, content.data, content.size);
        paths[i] = owned[i] = leat_strdup(kit_path(name));
        leat_buffer_deinit(&content);
    }
    if (CHECK_OK(kit_open_options(&kit, paths, SHARDS, &plain, &index, &options), &kit_error)) {
        pthread_t threads[THREADS];
        worker workers[THREADS];
        for (size_t i = 0; i < THREADS; i++) {
            workers[i] = (worker){.kit = &kit, .seed = i};
            CHECK(pthread_create(&threads[i], NULL, read_at_random, &workers[i]) == 0);
        }
        for (size_t i = 0; i < THREADS; i++) {
            CHECK(pthread_join(threads[i], NULL) == 0);
            CHECK_U64(workers[i].error.text, workers[i].wrong, 0);
        }
        kit_close(&kit);
    }
    for (size_t i = 0; i < SHARDS; i++) {
        leat_free(owned[i]);
    }
}

int main(void)
{
    kit_begin();
    test_part_ends();
    test_parts();
    test_edges();
    test_large_record();
    test_limit();
    test_limit_at_edges();
    test_threads();
    kit_end();
    return check_done();
}
