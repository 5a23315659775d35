/* Side-car indexes: fresh ones are used, stale and damaged ones never, and nobody ever meets half of one. */
#include "corpus_kit.h"
#include "io/index/sidecar.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const leat_record_rules rules = {.text = "text", .part_bytes = 64};

static leat_status index_it(const char *path, const leat_record_rules *by, leat_shard_summary *out)
{
    leat_index_options options = {.store = leat_store_posix()};
    return leat_shard_index(path, by, &options, out, &kit_error);
}

/* Records of which every 50th is cut into parts and every 71st is bad. */
static void write_records(const char *name, size_t count, uint64_t seed)
{
    leat_buffer content = {0};
    for (size_t i = 0; i < count; i++) {
        leat_buffer_add_format(&content, "{\"text\":\"%zu %08x", i, (unsigned)check_random(&seed));
        for (size_t j = 0; i % 50 == 7 && j < 30; j++) {
            leat_buffer_add_format(&content, " word%zu", j);
        }
        leat_buffer_add_text(&content, i % 71 == 3 ? "\n" : "\"}\n");
    }
    kit_write(name, content.data, content.size);
    leat_buffer_deinit(&content);
}

static void read_all(const char *path, leat_buffer *out)
{
    CHECK_OK(leat_store_read_whole(leat_store_posix(), path, 1 << 30, out, &kit_error), &kit_error);
}

static void write_at(const char *path, uint64_t offset, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY);
    CHECK(fd >= 0 && pwrite(fd, bytes, size, (off_t)offset) == (ssize_t)size && close(fd) == 0);
}

static void check_built(const char *label, const char *path, uint32_t built)
{
    leat_shard_summary summary;
    if (CHECK_OK(index_it(path, &rules, &summary), &kit_error)) {
        CHECK_U64(label, summary.built, built);
    }
}

static void test_stale(void)
{
    char *path = kit_path("s.jsonl");
    leat_shard_summary first, second;
    write_records("s.jsonl", 20000, 1);
    CHECK_OK(index_it(path, &rules, &first), &kit_error);
    CHECK_U64("first", first.built, 1);
    CHECK_U64("records", first.records, 20000);
    CHECK_U64("first bad", first.first_bad_record, 3);
    CHECK_U64("first bad line", first.first_bad_line, 4);
    check_built("again", path, 0);

    struct timespec times[2] = {{.tv_sec = 1000, .tv_nsec = 5}, {.tv_sec = 1000, .tv_nsec = 5}};
    CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
    CHECK_OK(index_it(path, &rules, &second), &kit_error);
    CHECK_U64("another time alone", second.built, 0);
    CHECK_U64("time of the file", second.modified_ns, 1000000000005u);
    CHECK(memcmp(first.content_hash, second.content_hash, 16) == 0);

    write_at(path, 9, "X", 1);
    check_built("start changed", path, 1);
    write_at(path, first.file_bytes / 2, "X", 1);
    check_built("middle changed", path, 1);
    write_at(path, first.file_bytes - 4, "X", 1);
    check_built("end changed", path, 1);
    write_at(path, first.file_bytes, "\n", 1);
    check_built("longer", path, 1);
    CHECK(truncate(path, (off_t)first.file_bytes) == 0);
    check_built("shorter", path, 1);
    check_built("and fresh", path, 0);

    uint8_t bytes[LEAT_SHARD_SUMMARY_BYTES];
    leat_shard_summary_encode(&second, bytes);
    leat_shard_summary back;
    leat_shard_summary_decode(&back, bytes);
    CHECK(back.documents == second.documents && back.text_bytes == second.text_bytes &&
          back.first_bad_line == second.first_bad_line && back.built == second.built &&
          memcmp(back.content_hash, second.content_hash, 16) == 0);
}

/* Every cut and every flipped byte of a small side-car is found when it is opened. */
static void test_damage(void)
{
    char *path = kit_path("d.jsonl");
    leat_buffer good = {0}, now = {0};
    leat_index_options readonly = {.store = leat_store_posix(), .readonly = true};
    leat_shard_summary summary;
    write_records("d.jsonl", 600, 2);
    check_built("first", path, 1);
    char *sidecar = leat_sidecar_path(
        path, &(leat_record_rules){.text = "text", .part_bytes = 64, .record_bytes_max = 1 << 30},
        NULL);
    read_all(sidecar, &good);
    CHECK(good.size >= 4 * LEAT_SIDECAR_BLOCK);
    for (size_t at = 0; at < good.size; at += at < 300 ? 1 : 97) {
        uint8_t flipped = good.data[at] ^ (uint8_t)(1u << (at % 8));
        write_at(sidecar, at, &flipped, 1);
        leat_status status = leat_shard_index(path, &rules, &readonly, &summary, &kit_error);
        if (!CHECK_U64("flipped", status, LEAT_NOT_FOUND)) {
            printf("  byte %zu\n", at);
        }
        write_at(sidecar, at, &good.data[at], 1);
    }
    CHECK_OK(leat_shard_index(path, &rules, &readonly, &summary, &kit_error), &kit_error);
    uint8_t *swapped = leat_alloc(2, LEAT_SIDECAR_BLOCK); /* each whole, in the wrong place */
    memcpy(swapped, good.data + 2 * LEAT_SIDECAR_BLOCK, LEAT_SIDECAR_BLOCK);
    memcpy(swapped + LEAT_SIDECAR_BLOCK, good.data + LEAT_SIDECAR_BLOCK, LEAT_SIDECAR_BLOCK);
    write_at(sidecar, LEAT_SIDECAR_BLOCK, swapped, 2 * LEAT_SIDECAR_BLOCK);
    leat_free(swapped);
    check_built("blocks swapped", path, 1);
    const size_t cuts[] = {0, 1, 8, 4095, 4096, 8191, 8192, good.size - 4096, good.size - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        CHECK(truncate(sidecar, (off_t)cuts[i]) == 0);
        check_built("cut", path, 1);
        read_all(sidecar, &now);
        CHECK(now.size == good.size && memcmp(now.data, good.data, good.size) == 0);
    }
    write_at(sidecar, good.size, "x", 1);
    check_built("longer", path, 1);
    leat_free(sidecar);
    leat_buffer_deinit(&good);
    leat_buffer_deinit(&now);
}

/* In a large side-car blocks are checked when they are read; the corpus mends it by itself. */
static void test_damage_found_late(void)
{
    enum { DOCUMENTS = 80000 };
    kit_corpus kit;
    leat_buffer want = {0}, got = {0};
    leat_record_rules by = {.text = "text", .record_bytes_max = 1 << 30};
    write_records("l.jsonl", DOCUMENTS, 3);
    char *path = kit_path("l.jsonl"), *sidecar = leat_sidecar_path(path, &by, NULL);
    for (int round = 0; round < 3; round++) {
        if (!CHECK_OK(kit_open(&kit, path, &by), &kit_error)) {
            return;
        }
        CHECK_U64("built", kit.summaries[0].built, round == 0);
        if (round == 1) {
            write_at(sidecar, 200 * LEAT_SIDECAR_BLOCK + 1234, "\xff\x00\xff", 3);
        } else if (round == 2) {
            CHECK(unlink(sidecar) == 0);
        }
        leat_buffer_clear(&got);
        CHECK_OK(kit_dump(&kit, round == 0 ? &want : &got), &kit_error);
        CHECK(round == 0 || (got.size == want.size && memcmp(got.data, want.data, got.size) == 0));
        kit_close(&kit);
    }
    leat_free(sidecar);
    leat_buffer_deinit(&want);
    leat_buffer_deinit(&got);
}

typedef struct worker {
    kit_corpus *kit;
    uint64_t first;
    leat_status status;
    leat_error error;
} worker;

static void *find_all(void *context)
{
    worker *w = context;
    leat_corpus_reader *reader = leat_corpus_reader_open(w->kit->corpus);
    for (uint64_t i = 0; i < w->kit->documents && w->status == LEAT_OK; i += 100) {
        uint64_t document = (w->first + i) % w->kit->documents;
        leat_place place;
        leat_text text;
        w->status = leat_corpus_places(reader, 0, &document, 1, &place, &w->error);
        if (w->status == LEAT_OK) {
            w->status = leat_corpus_read_texts(reader, 0, &place, 1, &text, &w->error);
        }
    }
    leat_corpus_reader_close(reader);
    return NULL;
}

/* Eight threads meet damage everywhere; the index is rebuilt under them. */
static void test_damage_found_by_many(void)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    worker workers[THREADS];
    kit_corpus kit;
    leat_record_rules by = {.text = "text", .record_bytes_max = 1 << 30};
    write_records("t.jsonl", 80000, 10);
    char *path = kit_path("t.jsonl"), *sidecar = leat_sidecar_path(path, &by, NULL);
    if (!CHECK_OK(kit_open(&kit, path, &by), &kit_error)) {
        return;
    }
    for (uint64_t block = 1; block < 300; block++) {
        write_at(sidecar, block * LEAT_SIDECAR_BLOCK + 777, "\xff\x01\xff", 3);
    }
    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (worker){.kit = &kit, .first = i * 10000};
        CHECK(pthread_create(&threads[i], NULL, find_all, &workers[i]) == 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK_OK(workers[i].status, &workers[i].error);
    }
    kit_close(&kit);
    leat_free(sidecar);
}

/* Content changed where no window looks: found when it is read, at the latest. */
static void test_changed_under_way(void)
{
    kit_corpus kit;
    leat_buffer out = {0};
    write_records("c.jsonl", 20000, 4);
    char *path = kit_path("c.jsonl");
    if (!CHECK_OK(kit_open(&kit, path, &rules), &kit_error)) {
        return;
    }
    write_at(path, 100000, "\"}\n{\"text\":\"q\"}\n", 16);
    CHECK_U64("changed record", kit_dump(&kit, &out), LEAT_CORRUPT);
    CHECK_HAS("says", kit_error.text, "changed since it was indexed");
    CHECK_HAS("where", kit_error.where, "c.jsonl, byte ");
    kit_close(&kit);
    if (!CHECK_OK(kit_open(&kit, path, &rules), &kit_error)) {
        return;
    }
    CHECK(truncate(path, 1000) == 0);
    CHECK_U64("cut file", kit_dump(&kit, &out), LEAT_CORRUPT);
    kit_close(&kit);
    if (!CHECK_OK(kit_open(&kit, path, &rules), &kit_error)) {
        return;
    }
    write_records("c.jsonl", 20000, 5);
    check_built("indexed anew by somebody else", path, 1);
    CHECK_U64("not ours", kit_dump(&kit, &out), LEAT_CORRUPT);
    CHECK_HAS("says", kit_error.text, "not the one this run began with");
    kit_close(&kit);
    leat_buffer_deinit(&out);
}

static void test_rules_do_not_clash(void)
{
    const leat_record_rules kinds[] = {{.text = "text", .part_bytes = 64},
                                       {.text = "text", .part_bytes = 65},
                                       {.text = "m.text", .part_bytes = 64},
                                       {.text = "text", .part_bytes = 64, .replace_bad_utf8 = true},
                                       {.text = "text", .part_bytes = 64, .record_bytes_max = 999},
                                       {.format = "jsonl", .part_bytes = 64}};
    leat_shard_summary summary;
    write_records("k.jsonl", 100, 6);
    for (size_t i = 0; i < 2 * sizeof kinds / sizeof *kinds; i++) {
        size_t kind = i % (sizeof kinds / sizeof *kinds);
        CHECK_OK(index_it(kit_path("k.jsonl"), &kinds[kind], &summary), &kit_error);
        CHECK_U64("built once each", summary.built, i == kind);
    }
    leat_path_list list = {0};
    CHECK_OK(leat_glob(kit_root, "k*", &list, &kit_error), &kit_error);
    CHECK_U64("globs do not meet side-cars", list.count, 1);
    leat_path_list_deinit(&list);
    const leat_record_rules wrong[] = {
        {.part_bytes = 63}, {.record_bytes_max = ((uint64_t)1 << 30) + 1}, {.format = "csv"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_U64("refused", index_it(kit_path("k.jsonl"), &wrong[i], &summary), LEAT_INVALID);
    }
}

static leat_status full_disk(leat_writer *writer, uint64_t offset, leat_bytes content,
                             leat_error *error)
{
    (void)offset;
    (void)content;
    return leat_fail_errno(error, "write", writer->path, 28);
}

static int die(void *context, uint64_t bytes)
{
    (void)context;
    (void)bytes;
    raise(SIGKILL);
    return 0;
}

static int cancel(void *context, uint64_t bytes)
{
    (void)context;
    return bytes > 0;
}

static int append(void *context, uint64_t bytes)
{
    (void)bytes;
    int fd = open(context, O_WRONLY | O_APPEND);
    CHECK(fd >= 0 && write(fd, "\n", 1) == 1 && close(fd) == 0);
    return 0;
}

/* What stops a build leaves no side-car, or the old one. */
static void test_atomic(void)
{
    char *path = kit_path("a.jsonl");
    leat_store full = *leat_store_posix();
    full.write = full_disk;
    leat_shard_summary summary;
    leat_index_options disk_full = {.store = &full, .rebuild = true};
    leat_index_options readonly = {.store = leat_store_posix(), .readonly = true};
    leat_index_options cancelled = {
        .store = leat_store_posix(), .rebuild = true, .progress = cancel};
    leat_index_options appended = {
        .store = leat_store_posix(), .rebuild = true, .progress = append, .progress_context = path};
    write_records("a.jsonl", 3000, 7);
    CHECK_U64("none yet", leat_shard_index(path, &rules, &readonly, &summary, &kit_error),
              LEAT_NOT_FOUND);
    CHECK_U64("disk full", leat_shard_index(path, &rules, &disk_full, &summary, &kit_error),
              LEAT_IO);
    CHECK_U64("still none", leat_shard_index(path, &rules, &readonly, &summary, &kit_error),
              LEAT_NOT_FOUND);
    pid_t child = fork();
    if (child == 0) {
        leat_index_options killed = {.store = leat_store_posix(), .progress = die};
        exit((int)leat_shard_index(path, &rules, &killed, &summary, &kit_error));
    }
    int how;
    CHECK(waitpid(child, &how, 0) == child && WIFSIGNALED(how));
    CHECK_U64("none after a kill", leat_shard_index(path, &rules, &readonly, &summary, &kit_error),
              LEAT_NOT_FOUND);
    check_built("built", path, 1);
    CHECK_U64("cancelled", leat_shard_index(path, &rules, &cancelled, &summary, &kit_error),
              LEAT_PEER);
    CHECK_U64("disk full", leat_shard_index(path, &rules, &disk_full, &summary, &kit_error),
              LEAT_IO);
    CHECK_OK(leat_shard_index(path, &rules, &readonly, &summary, &kit_error), &kit_error);
    CHECK_U64("grows under the scan",
              leat_shard_index(path, &rules, &appended, &summary, &kit_error), LEAT_IO);
    CHECK_HAS("says", kit_error.text, "changed while it was indexed");
    CHECK_U64("missing file", index_it(kit_path("none"), &rules, &summary), LEAT_NOT_FOUND);
}

/* A data folder that cannot be written to: an error with the remedy, and the remedy works.  In a child, because root may
 * write everywhere. */
static void test_readonly_folder(void)
{
    CHECK(mkdir(kit_path("ro"), 0755) == 0 && mkdir(kit_path("open"), 0777) == 0);
    CHECK(chmod(kit_path("open"), 0777) == 0 && chmod(kit_root, 0755) == 0);
    write_records("ro/x.jsonl", 10, 8);
    write_records("open/x.jsonl", 11, 9);
    CHECK(chmod(kit_path("ro"), 0555) == 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        leat_shard_summary summary;
        leat_index_options options = {.store = leat_store_posix()};
        check_failures = 0;
        CHECK(geteuid() != 0 || seteuid(65534) == 0);
        CHECK_U64("refused", index_it(kit_path("ro/x.jsonl"), &rules, &summary), LEAT_IO);
        CHECK_HAS("remedy", kit_error.hint, "index_dir");
        options.index_folder = kit_path("open/deeper/index");
        CHECK_OK(leat_shard_index(kit_path("ro/x.jsonl"), &rules, &options, &summary, &kit_error),
                 &kit_error);
        CHECK_U64("one", summary.records, 10);
        CHECK_OK(leat_shard_index(kit_path("open/x.jsonl"), &rules, &options, &summary, &kit_error),
                 &kit_error);
        CHECK_U64("same name, another folder", summary.records, 11);
        CHECK_OK(leat_shard_index(kit_path("ro/x.jsonl"), &rules, &options, &summary, &kit_error),
                 &kit_error);
        CHECK(summary.records == 10 && summary.built == 0);
        fflush(stdout);
        _exit(check_failures != 0);
    }
    int how;
    CHECK(waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

/* 300 shards under a limit of 40 open files. */
static void test_few_files(void)
{
    enum { SHARDS = 300 };
    struct rlimit old, low;
    char *paths[SHARDS];
    leat_buffer got = {0}, want = {0};
    kit_corpus kit;
    leat_index_options index = {.store = leat_store_posix()};
    leat_corpus_options options = {.store = leat_store_posix(), .files_max = 16};
    CHECK(getrlimit(RLIMIT_NOFILE, &old) == 0);
    for (size_t i = 0; i < SHARDS; i++) {
        char name[40], content[80];
        snprintf(name, sizeof name, "many/%zu.jsonl", i);
        snprintf(content, sizeof content, "{\"text\":\"%zu\"}\n", i);
        paths[i] = leat_strdup(kit_path(name));
        if (i == 0) {
            CHECK_OK(leat_store_make_folder(kit_path("many"), &kit_error), &kit_error);
        }
        kit_write(name, content, strlen(content));
        leat_buffer_add_format(&want, "<%zu>", i);
    }
    low = (struct rlimit){40, old.rlim_max};
    CHECK(setrlimit(RLIMIT_NOFILE, &low) == 0);
    if (CHECK_OK(
            kit_open_options(&kit, (const char *const *)paths, SHARDS, &rules, &index, &options),
            &kit_error)) {
        CHECK_OK(kit_dump(&kit, &got), &kit_error);
        CHECK_TEXT("texts", leat_buffer_text(&got), leat_buffer_text(&want));
        kit_close(&kit);
    }
    CHECK(setrlimit(RLIMIT_NOFILE, &old) == 0);
    for (size_t i = 0; i < SHARDS; i++) {
        leat_free(paths[i]);
    }
    leat_buffer_deinit(&got);
    leat_buffer_deinit(&want);
}

static void test_formats(void)
{
    static const struct {
        const char *name, *content, *found; /* found NULL: accepted */
    } cases[] = {
        {"f1.txt", "  \n{\"text\":\"\"}\n", NULL},
        {"f2", "", NULL},
        {"f3", "hello", "neither"},
        {"f4.jsonl", "hello", NULL},
        {"f5.jsonl", "\x1f\x8b\x08", "gzip"},
        {"f6.jsonl", "\x28\xb5\x2f\xfd", "zstd"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_shard_summary summary;
        kit_write(cases[i].name, cases[i].content, strlen(cases[i].content));
        leat_status status = index_it(kit_path(cases[i].name), &rules, &summary);
        CHECK_U64(cases[i].name, status, cases[i].found == NULL ? LEAT_OK : LEAT_INVALID);
        if (cases[i].found != NULL) {
            CHECK_HAS(cases[i].name, kit_error.found, cases[i].found);
        }
    }
}

int main(void)
{
    kit_begin();
    test_stale();
    test_damage();
    test_damage_found_late();
    test_damage_found_by_many();
    test_changed_under_way();
    test_rules_do_not_clash();
    test_atomic();
    test_readonly_folder();
    test_few_files();
    test_formats();
    kit_end();
    return check_done();
}
