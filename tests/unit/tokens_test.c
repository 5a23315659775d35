/* Token data: Megatron's files, .npy arrays and raw tokens, as their own writers made them (../shared/samples) and as nobody
 * should. */
#include "corpus_kit.h"
#include <unistd.h>

/* All documents in order: "1 2 3|4|" and "!|" for a bad one, a part with its number: "1 2/0|3/1|". */
static leat_status dump(kit_corpus *kit, leat_buffer *out)
{
    for (uint64_t d = 0; d < kit->documents; d++) {
        leat_place place;
        uint32_t ids[64], last;
        leat_status status = leat_corpus_places(kit->reader, 0, &d, 1, &place, &kit_error);
        if (status != LEAT_OK) {
            return status;
        }
        if (place.bad) {
            leat_buffer_add_text(out, "!|");
            continue;
        }
        CHECK(place.tokens <= 64);
        status = leat_corpus_read_tokens(kit->reader, 0, &place, 0, place.tokens, ids, &kit_error);
        if (status != LEAT_OK) {
            return status;
        }
        for (uint64_t i = 0; i < place.tokens; i++) {
            leat_buffer_add_format(out, i != 0 ? " %u" : "%u", ids[i]);
        }
        if (place.tokens != 0) { /* the last one alone */
            CHECK_OK(leat_corpus_read_tokens(kit->reader, 0, &place, place.tokens - 1, 1, &last,
                                             &kit_error),
                     &kit_error);
            CHECK_U64("last", last, ids[place.tokens - 1]);
        }
        CHECK_U64(
            "beyond",
            leat_corpus_read_tokens(kit->reader, 0, &place, place.tokens, 1, &last, &kit_error),
            LEAT_INVALID);
        if (place.parts > 1) {
            leat_buffer_add_format(out, "/%u", place.part);
        }
        leat_buffer_add_text(out, "|");
    }
    return LEAT_OK;
}

static void check_file(const char *label, const char *path, const leat_record_rules *rules,
                       uint32_t width, const char *want)
{
    leat_buffer got = {0};
    kit_corpus kit;
    leat_index_options index = {.store = leat_store_posix(), .index_folder = kit_path("index")};
    leat_corpus_options options = {.store = leat_store_posix(), .index_folder = kit_path("index")};
    if (CHECK_OK(kit_open_options(&kit, &path, 1, rules, &index, &options), &kit_error)) {
        CHECK(leat_corpus_is_tokens(kit.corpus, 0) || kit.documents == 0);
        CHECK_U64(label, kit.summaries[0].token_width, width);
        CHECK_OK(dump(&kit, &got), &kit_error);
        CHECK_TEXT(label, leat_buffer_text(&got), want);
        kit_close(&kit);
    }
    leat_buffer_deinit(&got);
}

static void test_samples(void)
{
    char samples[500];
    const char *source = getenv("LEAT_SOURCE_DIR");
    snprintf(samples, sizeof samples, "%s/../shared/samples", source != NULL ? source : ".");
    if (access(samples, R_OK) != 0) {
        printf("SKIPPED in part: there is no %s\n", samples);
        return;
    }
    static const struct {
        const char *name;
        leat_record_rules rules;
        uint32_t width;
        const char *want;
    } cases[] = {
        {"mg0.bin", {0}, 2, "1 2 3 4 5||9|"},
        {"mg1.bin", {.format = "megatron"}, 2, "1 2 3 4 5||9|"},
        {"part-0-00000.npy",
         {.dtype = "uint16", .has_eos_id = true, .eos_id = 50256},
         2,
         "1 2 3 50256|5 50256|"},
        {"part-0-00000.npy", {.dtype = "uint16"}, 2, "1 2 3 50256 5 50256|"},
        {"part-0-00000.npy", {.format = "raw", .dtype = "u4"}, 4, "131073 3293577219 3293577221|"},
        {"a.npy", {0}, 2, "0 1 2 3 4|"},
        {"a.npy", {.has_eos_id = true, .eos_id = 2}, 2, "0 1 2|3 4|"},
        {"mgi.bin", {.dtype = "int32"}, 4, ""},
        {"a.ds", {0}, 2, "1 2 3||65535 7|"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", samples, cases[i].name);
        check_file(cases[i].name, path, &cases[i].rules, cases[i].width, cases[i].want);
    }
    static const char *const refused[] = {
        "b.npy", "c.npy", "f.npy", "z.npy", "mg0.idx", "part-0-00000.npy", "mgi.bin", "a.npz"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char path[600];
        leat_shard_summary summary;
        leat_index_options index = {.store = leat_store_posix(), .index_folder = kit_path("index")};
        snprintf(path, sizeof path, "%s/%s", samples, refused[i]);
        CHECK_U64(refused[i],
                  leat_shard_index(path, &(leat_record_rules){0}, &index, &summary, &kit_error),
                  LEAT_INVALID);
        CHECK(kit_error.hint[0] != '\0' || kit_error.wanted[0] != '\0');
    }
}

static void test_raw(void)
{
    static const struct {
        const char *label;
        leat_record_rules rules;
        const char *bytes;
        size_t size;
        uint32_t width;
        const char *want;
    } cases[] = {
        {"u1", {.dtype = "uint8"}, "\0\xff", 2, 1, "0 255|"},
        {"u2 wide ids", {.dtype = "uint16"}, "\xfe\xff\xff\xff", 4, 2, "65534 65535|"},
        {"u4 wide ids", {.dtype = "uint32"}, "\0\0\1\0\xff\xff\xff\xff", 8, 4, "65536 4294967295|"},
        {"i4 negative", {.dtype = "int32"}, "\1\0\0\0\xff\xff\xff\xff", 8, 4, "!|"},
        {"i4 negative, one document of two",
         {.dtype = "int32", .has_eos_id = true, .eos_id = 1},
         "\xff\xff\xff\xff\1\0\0\0\2\0\0\0\1\0\0\0",
         16,
         4,
         "!|2 1|"},
        {"i2 negative", {.dtype = "int16"}, "\0\x80", 2, 2, "!|"},
        {"u8", {.dtype = "uint64"}, "\xff\xff\xff\xff\0\0\0\0", 8, 8, "4294967295|"},
        {"u8 too wide", {.dtype = "uint64"}, "\0\0\0\0\1\0\0\0", 8, 8, "!|"},
        {"eos first, twice, last",
         {.dtype = "uint8", .has_eos_id = true, .eos_id = 0},
         "\0\1\0\0\2\0",
         6,
         1,
         "0|1 0|0|2 0|"},
        {"no eos at the end",
         {.dtype = "uint8", .has_eos_id = true, .eos_id = 9},
         "\1\11\2",
         3,
         1,
         "1 9|2|"},
        {"empty", {.dtype = "uint8"}, "", 0, 1, ""},
        {"parts of 16 tokens",
         {.dtype = "uint8", .part_bytes = 67},
         "abcdefghijklmnopqrstuvwxyzabcdefg",
         33,
         1,
         "97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112/0|113 114 115 116 117 118 "
         "119 120 121 122 97 98 99 100 101 102/1|103/2|"},
        {"16 tokens are one",
         {.dtype = "uint8", .part_bytes = 64},
         "aaaaaaaaaaaaaaaa",
         16,
         1,
         "97 97 97 97 97 97 97 97 97 97 97 97 97 97 97 97|"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[20];
        snprintf(name, sizeof name, "r%zu.bin", i);
        kit_write(name, cases[i].bytes, cases[i].size);
        check_file(cases[i].label, kit_path(name), &cases[i].rules, cases[i].width, cases[i].want);
    }
}

static leat_status try_index(const char *name, const leat_record_rules *rules)
{
    leat_shard_summary summary;
    leat_index_options index = {.store = leat_store_posix()};
    return leat_shard_index(kit_path(name), rules, &index, &summary, &kit_error);
}

static void write_npy(const char *dictionary, const void *data, size_t size)
{
    leat_buffer file = {0};
    leat_buffer_add(&file, "\x93NUMPY\1\0", 8);
    leat_buffer_add(&file, (uint8_t[2]){(uint8_t)strlen(dictionary), 0}, 2);
    leat_buffer_add_text(&file, dictionary);
    leat_buffer_add(&file, data, size);
    kit_write("n.npy", file.data, file.size);
    leat_buffer_deinit(&file);
}

static void test_npy(void)
{
    static const struct {
        const char *dictionary;
        leat_status status;
        const char *want;
    } cases[] = {
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (4,), }\n", LEAT_OK,
         "513 1027 1541 2055|"},
        {"{'shape':(2,2),'fortran_order':False,'descr':'<u2'}", LEAT_OK, "513 1027|1541 2055|"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (3, 1)}", LEAT_OK, "1|2|3|"},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (1,)}", LEAT_OK, "!|"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (0,)}", LEAT_OK, ""},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (5,)}", LEAT_CORRUPT, NULL},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (18446744073709551615,)}", LEAT_CORRUPT,
         NULL},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (18446744073709551616,)}", LEAT_INVALID,
         NULL},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
         LEAT_INVALID, NULL},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (9, 0)}", LEAT_INVALID, NULL},
        {"{'descr': '<u2', 'fortran_order': True, 'shape': (2, 2)}", LEAT_INVALID, NULL},
        {"{'descr': '>u2', 'fortran_order': False, 'shape': (4,)}", LEAT_INVALID, NULL},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (4,)}", LEAT_INVALID, NULL},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", LEAT_INVALID, NULL},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (1,1,1)}", LEAT_INVALID, NULL},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (4", LEAT_INVALID, NULL},
        {"{'descr': '<u2', 'fortran_order': False, 'shape'", LEAT_INVALID, NULL},
        {"{'descr': '<u2", LEAT_INVALID, NULL},
        {"", LEAT_INVALID, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_npy(cases[i].dictionary, "\1\2\3\4\5\6\7\10", 8);
        CHECK_U64(cases[i].dictionary, try_index("n.npy", &(leat_record_rules){.format = "npy"}),
                  cases[i].status);
        if (cases[i].status == LEAT_OK) {
            uint32_t width = strstr(cases[i].dictionary, "u1") != NULL   ? 1
                             : strstr(cases[i].dictionary, "i8") != NULL ? 8
                                                                         : 2;
            check_file(cases[i].dictionary, kit_path("n.npy"), &(leat_record_rules){0}, width,
                       cases[i].want);
        }
    }
}

typedef struct set {
    uint8_t dtype;
    uint64_t sequences, entries;
    int32_t length[4];
    int64_t place[4], document[5];
    const char *want; /* NULL: CORRUPT */
    const char *reason;
} set;

static void write_set(const set *s, size_t extra)
{
    leat_buffer index = {0};
    leat_buffer_add(&index, "MMIDIDX\0\0\1\0\0\0\0\0\0\0", 17);
    leat_buffer_add_u8(&index, s->dtype);
    leat_buffer_add_u64(&index, s->sequences);
    leat_buffer_add_u64(&index, s->entries);
    for (size_t i = 0; i < s->sequences && i < 4; i++) {
        leat_buffer_add_u32(&index, (uint32_t)s->length[i]);
    }
    for (size_t i = 0; i < s->sequences && i < 4; i++) {
        leat_buffer_add_u64(&index, (uint64_t)s->place[i]);
    }
    for (size_t i = 0; i < s->entries && i < 5; i++) {
        leat_buffer_add_u64(&index, (uint64_t)s->document[i]);
    }
    memset(leat_buffer_extend(&index, extra), 0, extra);
    kit_write("m.idx", index.data, index.size);
    leat_buffer_deinit(&index);
}

static void test_megatron(void)
{
    static const set cases[] = {
        {8, 3, 4, {1, 2, 1}, {0, 2, 6}, {0, 1, 2, 3}, "1|2 3|4|", NULL},
        {8, 2, 3, {1, 1}, {6, 0}, {0, 1, 2}, "4|1|", NULL}, /* places need not be in order */
        {8, 2, 2, {2, 2}, {0, 4}, {0, 2}, "1 2 3 4|", NULL},
        {8, 0, 1, {0}, {0}, {0}, "", NULL},
        {8, 0, 0, {0}, {0}, {0}, "", NULL},
        {8, 1, 4, {4}, {0}, {0, 0, 1, 1}, "|1 2 3 4||", NULL},
        {4, 1, 2, {2}, {0}, {0, 1}, "131073 262147|", NULL},
        {1, 1, 2, {3}, {5}, {0, 1}, "0 4 0|", NULL},
        {8, 2, 2, {1, 1}, {0, 4}, {0, 2}, NULL, "not in one piece"},
        {8, 1, 2, {5}, {0}, {0, 1}, NULL, "outside"},
        {8, 1, 2, {1}, {8}, {0, 1}, NULL, "outside"},
        {8, 1, 2, {1}, {-2}, {0, 1}, NULL, "outside"},
        {8, 1, 2, {-1}, {0}, {0, 1}, NULL, "outside"},
        {8, 1, 2, {1}, {0}, {1, 1}, NULL, "sequence 0"},
        {8, 2, 3, {1, 1}, {0, 2}, {0, 2, 1}, NULL, "not in order"},
        {8, 2, 3, {1, 1}, {0, 2}, {0, 1, 9}, NULL, "not in order"},
        {8, 2, 2, {1, 1}, {0, 2}, {0, 1}, NULL, "last sequence"},
        {8, 1, 0, {1}, {0}, {0}, NULL, "no documents"},
        {7, 1, 2, {1}, {0}, {0, 1}, NULL, "type of tokens"},
        {9, 1, 2, {1}, {0}, {0, 1}, NULL, "type of tokens"},
        {8, (uint64_t)1 << 60, 2, {1}, {0}, {0, 1}, NULL, "counts"},
        {8, 1 << 20, 2, {1}, {0}, {0, 1}, NULL, "size"},
    };
    kit_write("m.bin", "\1\0\2\0\3\0\4\0", 8);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_set(&cases[i], 0);
        if (cases[i].want != NULL) {
            uint32_t width = cases[i].dtype == 8 ? 2 : cases[i].dtype == 4 ? 4 : 1;
            check_file(cases[i].want, kit_path("m.bin"), &(leat_record_rules){0}, width,
                       cases[i].want);
            write_set(&cases[i], (size_t)cases[i].sequences); /* with modes */
            check_file(cases[i].want, kit_path("m.bin"), &(leat_record_rules){0}, width,
                       cases[i].want);
        } else {
            CHECK_U64(cases[i].reason, try_index("m.bin", &(leat_record_rules){0}), LEAT_CORRUPT);
            CHECK_HAS(cases[i].reason, kit_error.text, cases[i].reason);
        }
    }
    const set negative = {4, 3, 4, {1, 1, 1}, {0, 4, 8}, {0, 1, 2, 3}, "", ""};
    kit_write("m.bin", "\1\0\0\0\xff\xff\xff\xff\3\0\0\0", 12);
    write_set(&negative, 0);
    check_file("negative", kit_path("m.bin"), &(leat_record_rules){0}, 4, "1|!|3|");
    CHECK(unlink(kit_path("m.idx")) == 0);
    CHECK_U64("no .idx", try_index("m.bin", &(leat_record_rules){.format = "megatron"}),
              LEAT_NOT_FOUND);
    kit_write("m.idx", "MMIDIDX", 7);
    CHECK_U64("cut .idx", try_index("m.bin", &(leat_record_rules){0}), LEAT_CORRUPT);
}

/* The .idx belongs to the shard: where it alone changes, the side-car is stale. */
static void test_companion_changes(void)
{
    const set first = {8, 2, 3, {2, 2}, {0, 4}, {0, 1, 2}, "", ""},
              second = {8, 2, 3, {2, 1}, {0, 4}, {0, 1, 2}, "", ""};
    leat_shard_summary summary, again;
    leat_index_options index = {.store = leat_store_posix()};
    kit_write("m.bin", "\1\0\2\0\3\0\4\0", 8);
    write_set(&first, 0);
    CHECK_OK(
        leat_shard_index(kit_path("m.bin"), &(leat_record_rules){0}, &index, &summary, &kit_error),
        &kit_error);
    CHECK_OK(
        leat_shard_index(kit_path("m.bin"), &(leat_record_rules){0}, &index, &again, &kit_error),
        &kit_error);
    CHECK_U64("fresh", again.built, 0);
    CHECK_U64("4 bytes a token", again.text_bytes, 16);
    write_set(&second, 0);
    CHECK_OK(
        leat_shard_index(kit_path("m.bin"), &(leat_record_rules){0}, &index, &again, &kit_error),
        &kit_error);
    CHECK_U64("stale", again.built, 1);
    CHECK(memcmp(summary.content_hash, again.content_hash, 16) != 0);
}

static void test_llmc(void)
{
    static const struct {
        const char *label;
        uint32_t magic, version, count;
        leat_record_rules rules;
        leat_status status;
        const char *want;
    } cases[] = {
        {"u16, no eos", 20240520, 1, 6, {0}, LEAT_OK, "7 9 1 9 9 2|"},
        {"eos begins a document",
         20240520,
         1,
         6,
         {.has_eos_id = true, .eos_id = 9},
         LEAT_OK,
         "7|9 1|9|9 2|"},
        {"eos at the start",
         20240520,
         1,
         6,
         {.has_eos_id = true, .eos_id = 7},
         LEAT_OK,
         "7 9 1 9 9 2|"},
        {"u32", 20240801, 7, 3, {0}, LEAT_OK, "589831 589825 131081|"},
        {"another version", 20240801, 1, 3, {.format = "llmc"}, LEAT_INVALID, ""},
        {"too many", 20240520, 1, 7, {0}, LEAT_CORRUPT, ""},
        {"too few", 20240520, 1, 5, {0}, LEAT_CORRUPT, ""},
        {"negative", 20240520, 1, 0xffffffff, {0}, LEAT_CORRUPT, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t file[1024 + 12] = {0};
        leat_put_u32(file, cases[i].magic);
        leat_put_u32(file + 4, cases[i].version);
        leat_put_u32(file + 8, cases[i].count);
        memcpy(file + 1024, "\7\0\11\0\1\0\11\0\11\0\2\0", 12);
        kit_write("l.bin", file, sizeof file);
        CHECK_U64(cases[i].label, try_index("l.bin", &cases[i].rules), cases[i].status);
        if (cases[i].status == LEAT_OK) {
            check_file(cases[i].label, kit_path("l.bin"), &cases[i].rules,
                       cases[i].magic == 20240801 ? 4 : 2, cases[i].want);
        }
    }
}

static void test_datatrove(void)
{
    static const struct {
        const char *label, *tokens;
        size_t size;
        uint64_t ends[3];
        size_t count, extra;
        uint32_t width; /* 0: CORRUPT */
        const char *want;
    } cases[] = {
        {"u16", "\1\0\2\0\3\0\4\0", 8, {1, 1, 4}, 3, 0, 2, "1||2 3 4|"},
        {"u32", "\1\0\2\0\3\0\4\0", 8, {0, 2, 2}, 3, 0, 4, "|131073 262147||"},
        {"no documents", "", 0, {0}, 0, 0, 2, ""},
        {"empty ones", "", 0, {0, 0}, 2, 0, 2, "||"},
        {"last end wrong", "\1\0\2\0\3\0\4\0", 8, {1, 3}, 2, 0, 0, "last end"},
        {"last end beyond", "\1\0", 2, {1, UINT64_MAX}, 2, 0, 0, "last end"},
        {"last end wraps", "\1\0", 2, {0x8000000000000001u}, 1, 0, 0, "last end"},
        {"not in order", "\1\0\2\0\3\0\4\0", 8, {3, 1, 4}, 3, 0, 0, "in order"},
        {"beyond in the middle", "\1\0\2\0\3\0\4\0", 8, {9, 9, 4}, 3, 0, 0, "in order"},
        {"tokens without ends", "\1\0", 2, {0}, 0, 0, 0, "last end"},
        {"odd index", "\1\0", 2, {1}, 1, 3, 0, "multiple of 8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t ends[32] = {0};
        for (size_t j = 0; j < cases[i].count; j++) {
            leat_put_u64(ends + 8 * j, cases[i].ends[j]);
        }
        kit_write("t.ds", cases[i].tokens, cases[i].size);
        kit_write("t.ds.index", ends, 8 * cases[i].count + cases[i].extra);
        if (cases[i].width != 0) {
            check_file(cases[i].label, kit_path("t.ds"), &(leat_record_rules){0}, cases[i].width,
                       cases[i].want);
        } else {
            CHECK_U64(cases[i].label, try_index("t.ds", &(leat_record_rules){0}), LEAT_CORRUPT);
            CHECK_HAS(cases[i].label, kit_error.text, cases[i].want);
        }
    }
}

static void test_mixed(void)
{
    kit_corpus kit;
    leat_index_options index = {.store = leat_store_posix()};
    leat_corpus_options options = {.store = leat_store_posix()};
    kit_write("x.jsonl", "{\"text\":\"a\"}\n", 13);
    const char *paths[2] = {kit_path("x.jsonl"), kit_path("m.bin")};
    CHECK_U64("text and tokens",
              kit_open_options(&kit, paths, 2, &(leat_record_rules){0}, &index, &options),
              LEAT_INVALID);
    leat_free(kit.summaries);
    CHECK_U64(
        "odd size",
        (kit_write("o.bin", "abc", 3), try_index("o.bin", &(leat_record_rules){.dtype = "uint16"})),
        LEAT_CORRUPT);
    CHECK_U64("no such type", try_index("o.bin", &(leat_record_rules){.dtype = "float32"}),
              LEAT_INVALID);
}

int main(void)
{
    kit_begin();
    test_samples();
    test_raw();
    test_npy();
    test_megatron();
    test_companion_changes();
    test_llmc();
    test_datatrove();
    test_mixed();
    kit_end();
    return check_done();
}
