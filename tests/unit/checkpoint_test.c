/* Checkpoints and cursors.bin: round trip, layout, size, every kind of damage, failures and kills at every file call.
 * Cases B43 to B50: a crash or a full disk never costs the older checkpoint, and a damaged one is refused in one line. */
#include "base/memory.h"
#include "base/sha256.h"
#include "check.h"
#include "file_faults.h"
#include "io/state/hdf5_file.h"
#include "io/state/state_calls.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char folder[] = "/tmp/leat_checkpoint_XXXXXX";
static leat_error error;

static void clear_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s/*", folder);
    CHECK(system(command) == 0);
}

/* The content follows from the step; `size` bytes of each part at least. */
static leat_checkpoint make(uint64_t step, size_t size)
{
    leat_checkpoint checkpoint = {.step = step};
    uint64_t seed = step;
    for (size_t i = 0; i < 32; i++) {
        checkpoint.chain[i] = (uint8_t)check_random(&seed);
    }
    for (size_t i = 0; i < size; i++) {
        leat_buffer_add_u8(&checkpoint.cursor, (uint8_t)check_random(&seed));
    }
    leat_buffer_add_format(&checkpoint.settings, "{\"seed\":%" PRIu64 ",\"t\":\"%0*d\"}", step,
                           (int)size, 7);
    leat_buffer_add_format(&checkpoint.info, "{\"job\":\"\xc3\xa9\",\"ranks\":%d}", 16);
    return checkpoint;
}

static void check_equal(const leat_checkpoint *got, uint64_t step, size_t size)
{
    leat_checkpoint want = make(step, size);
    const leat_buffer *pairs[][2] = {
        {&got->cursor, &want.cursor}, {&got->settings, &want.settings}, {&got->info, &want.info}};
    CHECK_U64("step", got->step, step);
    CHECK(memcmp(got->chain, want.chain, 32) == 0);
    for (size_t i = 0; i < 3; i++) {
        CHECK_U64("size", pairs[i][0]->size, pairs[i][1]->size);
        CHECK(pairs[i][0]->size == pairs[i][1]->size &&
              memcmp(pairs[i][0]->data, pairs[i][1]->data, pairs[i][1]->size) == 0);
    }
    leat_checkpoint_deinit(&want);
}

static void write_step(uint64_t step)
{
    leat_checkpoint checkpoint = make(step, 100);
    CHECK_OK(leat_checkpoint_write(folder, &checkpoint, &error), &error);
    leat_checkpoint_deinit(&checkpoint);
}

static void put_file(const char *path, const void *data, size_t size)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    CHECK(file >= 0 && write(file, data, size) == (ssize_t)size);
    close(file);
}

static void test_round_trip(void)
{
    const size_t sizes[] = {1, 100, 256, 257, 5000, 70000, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        leat_checkpoint checkpoint = make(i, sizes[i]), back;
        CHECK_OK(leat_checkpoint_write(folder, &checkpoint, &error), &error);
        char *path = leat_checkpoint_path(folder, i);
        CHECK_OK(leat_checkpoint_read(path, &back, &error), &error);
        check_equal(&back, i, sizes[i]);
        leat_checkpoint_deinit(&back);
        leat_checkpoint_deinit(&checkpoint);
        leat_free(path);
    }
    leat_checkpoint empty = {.step = 1234567}, back;
    CHECK_OK(leat_checkpoint_write(folder, &empty, &error), &error);
    CHECK_OK(leat_checkpoint_newest(folder, UINT64_MAX, &back, NULL, &error), &error);
    CHECK_U64("seven digits", back.step, 1234567);
    CHECK_U64("empty fields", back.cursor.size + back.settings.size + back.info.size, 0);
    leat_checkpoint_deinit(&back);
    clear_folder();
}

/* Equal content, equal bytes (B48), and below 20 KB + 100 bytes a dataset with settings as they come. */
static void test_size(void)
{
    leat_checkpoint checkpoint = make(1, 100);
    leat_buffer files[2] = {{0}, {0}};
    char *path = leat_checkpoint_path(folder, 1);
    for (size_t i = 0; i < 2; i++) {
        CHECK_OK(leat_checkpoint_write(folder, &checkpoint, &error), &error);
        CHECK_OK(leat_state_read_file(path, 1 << 20, &files[i], &error), &error);
    }
    CHECK(files[0].size == files[1].size &&
          memcmp(files[0].data, files[1].data, files[0].size) == 0);
    printf("checkpoint with 100 bytes a part: %zu bytes\n", files[0].size);
    CHECK(files[0].size < 20 * 1024);
    leat_checkpoint_deinit(&checkpoint);
    uint64_t seed = 3;
    enum { DATASETS = 1000 };
    for (int i = 0; i < DATASETS; i++) {
        uint64_t row[5] = {check_random(&seed) >> 30, check_random(&seed) >> 50, 1234,
                           check_random(&seed) >> 56, check_random(&seed) >> 40};
        leat_buffer_add(&checkpoint.cursor, row, sizeof row);
        leat_buffer_add_format(
            &checkpoint.settings,
            "{\"name\":\"dataset_%03d\",\"weight\":%d,\"text\":\"text\",\"add_special\":false,"
            "\"holdout\":0,\"use\":\"train\",\"shuffle\":{\"unit\":\"block\",\"block\":256,"
            "\"buffer\":16384,\"piece_window\":256,\"window_tokens\":1048576},\"documents\":%d,"
            "\"shards\":\"%016" PRIx64 "%016" PRIx64 "%016" PRIx64 "%016" PRIx64 "\"},",
            i, i + 1, i * 77, check_random(&seed), check_random(&seed), check_random(&seed),
            check_random(&seed));
    }
    CHECK_OK(leat_checkpoint_write(folder, &checkpoint, &error), &error);
    path[strlen(path) - 4] = '0'; /* step 0 */
    CHECK_OK(leat_state_read_file(path, 1 << 20, &files[0], &error), &error);
    printf("checkpoint with %d datasets: %zu bytes\n", DATASETS, files[0].size);
    CHECK(files[0].size < 20 * 1024 + 100 * DATASETS);
    leat_buffer_deinit(&files[0]);
    leat_buffer_deinit(&files[1]);
    leat_checkpoint_deinit(&checkpoint);
    leat_free(path);
    clear_folder();
}

static void check_refused(const char *label, const char *path)
{
    leat_checkpoint checkpoint;
    leat_status status = leat_checkpoint_read(path, &checkpoint, &error);
    if (!CHECK(status == LEAT_CORRUPT)) {
        printf("  %s\n", label);
    }
    CHECK(strchr(error.text, '\n') == NULL && error.text[0] != '\0' && error.where[0] != '\0');
    leat_checkpoint_deinit(&checkpoint);
}

/* B45: cut at every length, one bit changed at every byte, random bytes in random places: always refused. */
static void test_damage(void)
{
    leat_buffer file = {0};
    char label[64], *path = leat_checkpoint_path(folder, 5);
    uint64_t seed = 45;
    write_step(5);
    CHECK_OK(leat_state_read_file(path, 1 << 20, &file, &error), &error);
    for (size_t size = 0; size < file.size; size += size < 64 || size + 64 > file.size ? 1 : 41) {
        snprintf(label, sizeof label, "cut to %zu bytes", size);
        put_file(path, file.data, size);
        check_refused(label, path);
    }
    for (size_t at = 0; at < file.size; at++) {
        snprintf(label, sizeof label, "bit changed in byte %zu", at);
        uint8_t old = file.data[at];
        file.data[at] ^= (uint8_t)(1u << (check_random(&seed) % 8));
        put_file(path, file.data, file.size);
        check_refused(label, path);
        file.data[at] = old;
    }
    for (int i = 0; i < 200; i++) {
        leat_buffer noise = {0};
        leat_buffer_add(&noise, file.data, file.size);
        for (uint64_t n = 1 + check_random(&seed) % 64; n > 0; n--) {
            noise.data[check_random(&seed) % noise.size] ^=
                (uint8_t)(1 + check_random(&seed) % 255);
        }
        put_file(path, noise.data, noise.size);
        check_refused("noise", path);
        leat_buffer_deinit(&noise);
    }
    leat_buffer_add_u8(&file, 0);
    put_file(path, file.data, file.size);
    check_refused("one byte more", path);
    check_refused("a folder", folder);
    check_refused("a device", "/dev/zero");
    leat_checkpoint checkpoint;
    CHECK(leat_checkpoint_read("/nowhere/x.h5", &checkpoint, &error) == LEAT_NOT_FOUND);
    leat_buffer_deinit(&file);
    leat_free(path);
    clear_folder();
}

/* Writes fields as a file with a right footer: what HDF5 itself then finds wrong is one line too. */
static void put_fields(const char *path, const leat_hdf5_field *fields, size_t count)
{
    leat_buffer bytes = {0};
    uint8_t digest[32];
    CHECK_OK(leat_hdf5_write(fields, count, &bytes, &error), &error);
    leat_sha256_of(bytes.data, bytes.size, digest);
    uint64_t size = bytes.size;
    leat_buffer_add(&bytes, "LEATCKP1", 8);
    leat_buffer_add_u64(&bytes, size);
    leat_buffer_add(&bytes, digest, 32);
    put_file(path, bytes.data, bytes.size);
    leat_buffer_deinit(&bytes);
}

static void test_fields(void)
{
    uint8_t bytes[32] = {0};
    const leat_hdf5_field format = {
        "format", LEAT_HDF5_TEXT, 0, {(const uint8_t *)"leat checkpoint 1", 17}, NULL};
    const leat_hdf5_field other = {
        "format", LEAT_HDF5_TEXT, 0, {(const uint8_t *)"leat checkpoint 2", 17}, NULL};
    const leat_hdf5_field step = {"step", LEAT_HDF5_NUMBER, 7, {NULL, 0}, NULL};
    const leat_hdf5_field step_text = {"step", LEAT_HDF5_TEXT, 7, {bytes, 1}, NULL};
    const leat_hdf5_field chain = {"chain", LEAT_HDF5_BYTES, 0, {bytes, 32}, NULL};
    const leat_hdf5_field chain_short = {"chain", LEAT_HDF5_BYTES, 0, {bytes, 31}, NULL};
    const leat_hdf5_field cursor = {"cursor", LEAT_HDF5_BYTES, 0, {bytes, 5}, NULL};
    const leat_hdf5_field cursor_number = {"cursor", LEAT_HDF5_NUMBER, 0, {NULL, 0}, NULL};
    const leat_hdf5_field settings = {"settings", LEAT_HDF5_TEXT, 0, {bytes, 0}, NULL};
    const leat_hdf5_field info = {"info", LEAT_HDF5_TEXT, 0, {bytes, 0}, NULL};
    const leat_hdf5_field info_bytes = {"info", LEAT_HDF5_BYTES, 0, {bytes, 4}, NULL};
    const leat_hdf5_field sha256 = {"sha256", LEAT_HDF5_BYTES, 0, {bytes, 32}, NULL};
    const struct {
        const char *label;
        leat_hdf5_field fields[7];
        size_t count;
        const char *want;
    } cases[] = {
        {"nothing", {step}, 1, "the field format is missing"},
        {"other format", {other}, 1, "a format that is not ours"},
        {"no step",
         {format, chain, cursor, settings, info, sha256},
         6,
         "the field step is missing"},
        {"step is text", {format, step_text, chain, cursor, settings, info, sha256}, 7, "step"},
        {"short chain", {format, step, chain_short, cursor, settings, info, sha256}, 7, "32 bytes"},
        {"number", {format, step, chain, cursor_number, settings, info, sha256}, 7, "cursor"},
        {"bytes", {format, step, chain, cursor, settings, info_bytes, sha256}, 7, "field info"},
        {"digest", {format, step, chain, cursor, settings, info, sha256}, 7, "fields differ"},
    };
    char path[128];
    snprintf(path, sizeof path, "%s/x.h5", folder);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_checkpoint checkpoint;
        put_fields(path, cases[i].fields, cases[i].count);
        CHECK(leat_checkpoint_read(path, &checkpoint, &error) ==
              (i == 1 ? LEAT_MISMATCH : LEAT_CORRUPT));
        CHECK_HAS(cases[i].label, error.text, cases[i].want);
        CHECK_HAS(cases[i].label, error.where, path);
    }
    clear_folder();
}

static char said[8192];
static void remember(void *context, leat_log_level level, const char *line)
{
    (void)context;
    (void)level;
    strncat(said, line, sizeof said - strlen(said) - 2);
    strcat(said, "\n");
}

/* B44: the newest whole one wins; the others are named with the reason. */
static void test_newest(void)
{
    const leat_log log = {remember, NULL};
    leat_checkpoint found;
    char path[160];
    CHECK(leat_checkpoint_newest(folder, UINT64_MAX, &found, &log, &error) == LEAT_NOT_FOUND);
    write_step(8);
    write_step(10);
    write_step(12);
    char *twelve = leat_checkpoint_path(folder, 12), *ten = leat_checkpoint_path(folder, 10);
    CHECK(truncate(twelve, 1000) == 0);
    const char *names[] = {"step-000014.h5",  "step-000099.h5.123.tmp",
                           "step-000099.h5~", "step-99.h5",
                           "step-.h5",        "step-18446744073709551616.h5"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/checkpoints/%s", folder, names[i]);
        put_file(path, "", 0);
    }
    snprintf(path, sizeof path, "%s/checkpoints/step-000016.h5", folder);
    CHECK(mkdir(path, 0777) == 0);
    snprintf(path, sizeof path, "%s/checkpoints/step-000018.h5", folder);
    CHECK(link(ten, path) == 0);
    snprintf(path, sizeof path, "%s/checkpoints/step-000020.h5", folder);
    CHECK(mkfifo(path, 0666) == 0);
    CHECK_OK(leat_checkpoint_newest(folder, UINT64_MAX, &found, &log, &error), &error);
    check_equal(&found, 10, 100);
    leat_checkpoint_deinit(&found);
    const char *reasons[] = {"step-000020.h5 is not a plain file",
                             "step-000018.h5 holds step 10",
                             "step-000016.h5 is not a plain file",
                             "step-000014.h5 is no whole checkpoint: it is empty",
                             "step-000012.h5 is no whole checkpoint: its end is missing",
                             "the checkpoint of step 10 instead"};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        CHECK_HAS("reason", said, reasons[i]);
    }
    CHECK_OK(leat_checkpoint_newest(folder, 9, &found, &log, &error), &error);
    check_equal(&found, 8, 100);
    leat_checkpoint_deinit(&found);
    CHECK(leat_checkpoint_newest(folder, 7, &found, &log, &error) == LEAT_NOT_FOUND);
    char *eight = leat_checkpoint_path(folder, 8);
    unlink(ten);
    unlink(eight);
    CHECK(leat_checkpoint_newest(folder, UINT64_MAX, &found, &log, &error) == LEAT_CORRUPT);
    CHECK_HAS("none is whole", error.text, "none of the 5 checkpoints");
    leat_free(eight);
    leat_free(ten);
    leat_free(twelve);
    clear_folder();
}

static size_t count_files(const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    DIR *entries = opendir(path);
    size_t count = 0;
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    if (entries != NULL) {
        closedir(entries);
    }
    return count;
}

static void test_prune(void)
{
    char path[160];
    leat_checkpoint found;
    CHECK_OK(leat_checkpoint_prune(folder, 2, &error), &error);
    for (uint64_t step = 10; step <= 60; step += 10) {
        write_step(step);
    }
    char *newest = leat_checkpoint_path(folder, 60);
    CHECK(truncate(newest, 100) == 0);
    snprintf(path, sizeof path, "%s/checkpoints/step-000070.h5.1.tmp", folder);
    put_file(path, "x", 1);
    snprintf(path, sizeof path, "%s/cursors.bin.1.tmp", folder);
    put_file(path, "x", 1);
    CHECK_OK(leat_checkpoint_prune(folder, 0, &error), &error);
    CHECK_U64("0 keeps all, temporary files go", count_files("checkpoints"), 6);
    CHECK_U64("in the run folder too", count_files("."), 1);
    CHECK_OK(leat_checkpoint_prune(folder, 2, &error), &error);
    CHECK_U64("two whole ones and the damaged one", count_files("checkpoints"), 3);
    CHECK_OK(leat_checkpoint_newest(folder, UINT64_MAX, &found, NULL, &error), &error);
    CHECK_U64("newest whole", found.step, 50);
    leat_checkpoint_deinit(&found);
    leat_free(newest);
    clear_folder();
}

/* What must hold whatever happened to the writing of step 20 while step 10 was there. */
static bool step_20_or_10(const char *label, long at)
{
    leat_checkpoint found;
    leat_log log = {remember, NULL};
    said[0] = '\0';
    bool ok = CHECK_OK(leat_checkpoint_newest(folder, UINT64_MAX, &found, &log, &error), &error);
    ok = CHECK(found.step == 10 || found.step == 20) && ok;
    check_equal(&found, found.step, 100);
    ok = CHECK_TEXT("nothing is rejected", said, "") && ok;
    bool is_20 = found.step == 20;
    leat_checkpoint_deinit(&found);
    if (!ok) {
        printf("  %s at call %ld\n", label, at);
    }
    return is_20;
}

/* B49: every call fails in turn, with an error, and no temporary file stays. */
static void test_failing(void)
{
    const int causes[] = {ENOSPC, EIO, EDQUOT};
    for (size_t c = 0; c < sizeof causes / sizeof *causes; c++) {
        bool failed = true;
        for (long at = 0; failed; at++) {
            file_faults faults;
            leat_checkpoint checkpoint = make(20, 100);
            clear_folder();
            write_step(10);
            file_faults_init(&faults, at, causes[c]);
            leat_status status =
                leat_checkpoint_write_with(&faults.ops, folder, &checkpoint, &error);
            failed = faults.calls > at;
            bool is_20 = step_20_or_10("failing", at);
            CHECK(status == (failed && faults.calls - 1 != at ? LEAT_IO : status));
            CHECK(status == LEAT_OK || status == LEAT_IO);
            CHECK(status != LEAT_OK || is_20);
            CHECK_U64("files", count_files("checkpoints"), is_20 ? 2 : 1);
            leat_checkpoint_deinit(&checkpoint);
            CHECK(at < 50);
        }
    }
    clear_folder();
}

/* B43: SIGKILL at every call. */
static void test_killed(void)
{
    bool finished = false;
    for (long at = 0; !finished; at++) {
        clear_folder();
        write_step(10);
        pid_t child = fork();
        if (child == 0) {
            file_faults faults;
            leat_checkpoint checkpoint = make(20, 100);
            file_faults_init(&faults, at, EIO);
            faults.kill = 1;
            _exit(leat_checkpoint_write_with(&faults.ops, folder, &checkpoint, &error) != LEAT_OK);
        }
        int state;
        CHECK(waitpid(child, &state, 0) == child);
        finished = WIFEXITED(state);
        CHECK(finished ? WEXITSTATUS(state) == 0 : WTERMSIG(state) == SIGKILL);
        bool is_20 = step_20_or_10("killed", at);
        CHECK(!finished || is_20);
        CHECK_OK(leat_checkpoint_prune(folder, 0, &error), &error);
        CHECK_U64("left-overs are cleaned", count_files("checkpoints"), is_20 ? 2 : 1);
        CHECK(at < 50);
        if (finished) {
            printf("killed at each of %ld calls\n", at);
            CHECK(at >= 6);
        }
    }
    clear_folder();
}

/* B49 with a real limit, B46 with a lock held by another process, B43 with kills at random moments. */
static void test_world(void)
{
    char *path = leat_checkpoint_path(folder, 10);
    leat_checkpoint checkpoint = make(20, 200000), found;
    write_step(10);
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit limit = {4096, 4096};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(leat_checkpoint_write(folder, &checkpoint, &error) == LEAT_IO ? 0 : 1);
    }
    int state;
    CHECK(waitpid(child, &state, 0) == child && WIFEXITED(state) && WEXITSTATUS(state) == 0);
    CHECK(!step_20_or_10("file size limit", 0));
    int file = open(path, O_RDWR);
    CHECK(flock(file, LOCK_EX) == 0);
    setenv("HDF5_USE_FILE_LOCKING", "TRUE", 1);
    CHECK_OK(leat_checkpoint_read(path, &found, &error), &error);
    leat_checkpoint_deinit(&found);
    close(file);
    uint64_t seed = 43;
    for (int i = 0; i < 20; i++) {
        child = fork();
        if (child == 0) {
            for (uint64_t step = 11;; step++) {
                leat_checkpoint next = make(step, 1000);
                if (leat_checkpoint_write(folder, &next, &error) != LEAT_OK) {
                    _exit(1);
                }
            }
        }
        usleep(1000 + (unsigned)(check_random(&seed) % 20000));
        kill(child, SIGKILL);
        CHECK(waitpid(child, &state, 0) == child && WIFSIGNALED(state));
        said[0] = '\0';
        CHECK_OK(
            leat_checkpoint_newest(folder, UINT64_MAX, &found, &(leat_log){remember, NULL}, &error),
            &error);
        check_equal(&found, found.step, found.step == 10 ? 100 : 1000);
        CHECK_TEXT("none damaged", said, "");
        leat_checkpoint_deinit(&found);
    }
    leat_checkpoint_deinit(&checkpoint);
    leat_free(path);
    clear_folder();
}

int main(void)
{
    CHECK(mkdtemp(folder) != NULL);
    test_round_trip();
    test_size();
    test_damage();
    test_fields();
    test_newest();
    test_prune();
    test_failing();
    test_killed();
    test_world();
    rmdir(folder);
    return check_done();
}
