/* A folder of checkpoints: the newest whole one, pruning, failures and kills at every file call.  Cases B43 to B49: a crash or a
 * full disk never costs the older checkpoint. */
#include "checkpoint_cases.h"
#include "file_faults.h"
#include <dirent.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

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

/* A crash of the machine, not only of the process: the content is synced before the rename, the folder after it. */
static void test_order(void)
{
    file_faults faults;
    leat_checkpoint checkpoint = make(20, 100);
    write_step(10);
    file_faults_init(&faults, -1, 0);
    CHECK_OK(leat_checkpoint_write_with(&faults.ops, folder, &checkpoint, &error), &error);
    CHECK_TEXT("open write sync close rename, open sync close", faults.trace, "owscrosc");
    leat_checkpoint_deinit(&checkpoint);
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
    test_newest();
    test_prune();
    test_order();
    test_failing();
    test_killed();
    test_world();
    rmdir(folder);
    return check_done();
}
