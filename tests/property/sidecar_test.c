/* Side-cars with right checksums and wrong content, and stores that fail at any of their calls: an error, never a crash, never
 * something else's text.  LEAT_SEED sets the seed. */
#include "corpus_kit.h"
#include "io/index/sidecar.h"

static const leat_record_rules rules = {
    .text = "text", .part_bytes = 64, .record_bytes_max = 1 << 30};

static void write_records(const char *name)
{
    leat_buffer content = {0};
    for (size_t i = 0; i < 600; i++) {
        leat_buffer_add_format(&content, "{\"text\":\"%0*zu\"}\n", i % 9 == 0 ? 300 : 5, i);
        if (i % 50 == 3) {
            leat_buffer_add_text(&content, "bad\n\n");
        }
    }
    kit_write(name, content.data, content.size);
    leat_buffer_deinit(&content);
}

/* Changes some bytes of entries and seals their blocks again. */
static void vandalize(leat_buffer *sidecar, uint64_t *seed)
{
    uint64_t blocks = sidecar->size / LEAT_SIDECAR_BLOCK;
    for (size_t i = 0, count = 1 + check_random(seed) % 20; i < count; i++) {
        uint64_t number = 1 + check_random(seed) % (blocks - 1);
        uint8_t *block = sidecar->data + number * LEAT_SIDECAR_BLOCK;
        size_t at = 8 + check_random(seed) % (LEAT_SIDECAR_BLOCK - 8);
        uint64_t how = check_random(seed) % 3;
        block[at] = how == 0 ? 0xff : how == 1 ? 0 : (uint8_t)check_random(seed);
        leat_block_seal(block, number);
    }
}

static void test_wrong_content(uint64_t seed)
{
    kit_corpus kit;
    leat_buffer good = {0}, now = {0}, out = {0};
    size_t refused = 0;
    write_records("v.jsonl");
    char *path = kit_path("v.jsonl"), *sidecar = leat_sidecar_path(path, &rules, NULL);
    CHECK_OK(kit_open(&kit, path, &rules), &kit_error);
    kit_close(&kit);
    CHECK_OK(leat_store_read_whole(leat_store_posix(), sidecar, 1 << 20, &good, &kit_error),
             &kit_error);
    for (size_t i = 0; i < 400; i++) {
        leat_buffer_clear(&now);
        leat_buffer_add(&now, good.data, good.size);
        vandalize(&now, &seed);
        CHECK_OK(leat_store_posix()->write_whole(leat_store_posix(), sidecar,
                                                 (leat_bytes){now.data, now.size}, &kit_error),
                 &kit_error);
        if (!CHECK_OK(kit_open(&kit, path, &rules), &kit_error)) {
            break;
        }
        leat_buffer_clear(&out);
        leat_status status = kit_dump(&kit, &out);
        refused += status != LEAT_OK;
        CHECK(status == LEAT_OK || status == LEAT_CORRUPT);
        kit_close(&kit);
    }
    printf("%zu of 400 refused\n", refused);
    CHECK(refused > 200);
    leat_free(sidecar);
    leat_buffer_deinit(&good);
    leat_buffer_deinit(&now);
    leat_buffer_deinit(&out);
}

static size_t calls_left;

static leat_status spend(const char *what, leat_error *error)
{
    if (calls_left == 0) {
        return LEAT_FAIL(error, LEAT_IO, "injected: %s", what);
    }
    calls_left--;
    return LEAT_OK;
}

static leat_status failing_stat(leat_store *store, const char *path, leat_file_stat *out,
                                leat_error *error)
{
    leat_status status = spend("stat", error);
    return status != LEAT_OK ? status : leat_store_posix()->stat(store, path, out, error);
}

static leat_status failing_open(leat_store *store, const char *path, leat_file **out,
                                leat_error *error)
{
    leat_status status = spend("open", error);
    *out = NULL;
    return status != LEAT_OK ? status : leat_store_posix()->open(store, path, out, error);
}

static leat_status failing_read(leat_file *file, uint64_t offset, void *out, size_t bytes,
                                leat_error *error)
{
    leat_status status = spend("read", error);
    return status != LEAT_OK ? status : leat_store_posix()->read(file, offset, out, bytes, error);
}

static leat_status failing_create(leat_store *store, const char *path, leat_writer **out,
                                  leat_error *error)
{
    leat_status status = spend("create", error);
    *out = NULL;
    return status != LEAT_OK ? status : leat_store_posix()->create(store, path, out, error);
}

static leat_status failing_write(leat_writer *writer, uint64_t offset, leat_bytes content,
                                 leat_error *error)
{
    leat_status status = spend("write", error);
    return status != LEAT_OK ? status : leat_store_posix()->write(writer, offset, content, error);
}

static leat_status failing_commit(leat_writer *writer, leat_error *error)
{
    leat_status status = spend("commit", error);
    if (status != LEAT_OK) {
        leat_store_posix()->discard(writer);
        return status;
    }
    return leat_store_posix()->commit(writer, error);
}

static void test_failing_store(const char *name, const leat_record_rules *by)
{
    leat_store store = *leat_store_posix();
    store.stat = failing_stat;
    store.open = failing_open;
    store.read = failing_read;
    store.create = failing_create;
    store.write = failing_write;
    store.commit = failing_commit;
    leat_index_options index = {.store = &store};
    leat_corpus_options options = {.store = &store, .files_max = 1};
    const char *path = kit_path(name);
    for (int built = 0; built < 2;
         built++) { /* first with the build, then with the side-car there */
        bool done = false;
        size_t calls = 0;
        index.rebuild = built == 0;
        for (; !done && calls < 1000; calls++) {
            kit_corpus kit;
            leat_buffer out = {0};
            calls_left = calls;
            leat_status status = kit_open_options(&kit, &path, 1, by, &index, &options);
            if (status == LEAT_OK) {
                status = leat_corpus_is_tokens(kit.corpus, 0) ? LEAT_OK : kit_dump(&kit, &out);
                kit_close(&kit);
            }
            done = status == LEAT_OK;
            if (!done) {
                CHECK_U64(kit_error.text, status, LEAT_IO);
                CHECK_HAS("cause", kit_error.text, "injected");
            }
            leat_buffer_deinit(&out);
        }
        printf("%s: %zu calls\n", name, calls);
        CHECK(done && calls > 5);
    }
}

int main(void)
{
    const char *set = getenv("LEAT_SEED");
    uint64_t seed = set != NULL ? strtoull(set, NULL, 10) : 20251130;
    printf("LEAT_SEED=%" PRIu64 "\n", seed);
    kit_begin();
    test_wrong_content(seed);
    write_records("s.jsonl");
    test_failing_store("s.jsonl", &rules);
    kit_write("m.bin", "\1\0\2\0\377\377", 6);
    kit_write("m.idx",
              "MMIDIDX\0\0\1\0\0\0\0\0\0\0\3\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0"
              "\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0",
              62);
    test_failing_store("m.bin", &(leat_record_rules){0});
    kit_end();
    return check_done();
}
