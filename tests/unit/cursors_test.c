/* cursors.bin: find, truncate, torn and damaged records, a kill and a failure at every file call. */
#include "base/memory.h"
#include "check.h"
#include "file_faults.h"
#include "io/state/state_calls.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char folder[] = "/tmp/leat_cursors_XXXXXX", path[64];
static leat_error error;

/* Cursors of different lengths, so that the records have different sizes. */
static leat_status append_with(const leat_file_ops *ops, uint64_t step)
{
    uint8_t bytes[200], chain[32];
    memset(bytes, (int)(step / 100), sizeof bytes);
    memset(chain, (int)(step / 50), sizeof chain);
    return leat_cursors_append_with(ops, folder, step, chain,
                                    (leat_bytes){bytes, 100 + (size_t)(step / 100) % 7}, &error);
}

static leat_status append(uint64_t step)
{
    return append_with(leat_file_ops_posix(), step);
}

static void fill(uint64_t records)
{
    unlink(path);
    for (uint64_t i = 0; i < records; i++) {
        CHECK_OK(append(i * 100), &error);
    }
}

/* want UINT64_MAX: there is none. */
static void check_find(uint64_t step_max, uint64_t want)
{
    uint64_t step = 0;
    uint8_t chain[32];
    leat_buffer cursor = {0};
    leat_status status = leat_cursors_find(folder, step_max, &step, chain, &cursor, &error);
    if (want == UINT64_MAX) {
        CHECK_U64("status", status, LEAT_NOT_FOUND);
    } else if (CHECK_OK(status, &error)) {
        CHECK_U64("step", step, want);
        CHECK_U64("size", cursor.size, 100 + want / 100 % 7);
        CHECK_U64("content", cursor.data[99], (want / 100) & 255);
        CHECK_U64("chain", chain[31], (want / 50) & 255);
    }
    leat_buffer_deinit(&cursor);
}

static uint64_t file_size(void)
{
    struct stat info;
    return stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}

static void test_find(void)
{
    check_find(UINT64_MAX, UINT64_MAX);
    CHECK_OK(leat_cursors_truncate(folder, 5, &error), &error);
    fill(300);
    const uint64_t cases[][2] = {{UINT64_MAX, 29900}, {29900, 29900}, {29899, 29800}, {150, 100},
                                 {100, 100},          {99, 0},        {0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_find(cases[i][0], cases[i][1]);
    }
    uint64_t size = file_size();
    CHECK_OK(append(29900), &error);
    CHECK_U64("the same record again changes nothing", file_size(), size);
    CHECK(append(29800) == LEAT_INVALID);
    uint8_t other[100] = {0}, chain[32] = {0};
    CHECK(leat_cursors_append(folder, 29900, chain, (leat_bytes){other, 100}, &error) ==
          LEAT_MISMATCH);
    CHECK_OK(leat_cursors_truncate(folder, 250, &error), &error);
    check_find(UINT64_MAX, 200);
    CHECK_OK(append(300), &error);
    check_find(UINT64_MAX, 300);
    fill(2);
    CHECK_OK(leat_cursors_truncate(folder, 100, &error), &error);
    check_find(UINT64_MAX, 100);
}

static void test_torn(void)
{
    fill(5);
    uint64_t size = file_size();
    CHECK(truncate(path, 0) == 0);
    check_find(UINT64_MAX, UINT64_MAX);
    for (uint64_t cut = 1; cut < size; cut++) {
        fill(5);
        CHECK(truncate(path, (off_t)cut) == 0);
        uint64_t whole = 0, end = 0; /* records that are whole within the cut */
        for (; end + 164 + whole % 7 <= cut; whole++) {
            end += 164 + whole % 7;
        }
        check_find(UINT64_MAX, whole == 0 ? UINT64_MAX : (whole - 1) * 100);
        CHECK_OK(append(1000), &error);
        CHECK_U64("torn record dropped", file_size(), end + 164 + 10 % 7);
        check_find(999, whole == 0 ? UINT64_MAX : (whole - 1) * 100);
        check_find(UINT64_MAX, 1000);
    }
}

/* One byte changed anywhere: the records before it are found, none is ever wrong. */
static void test_damaged(void)
{
    fill(5);
    uint64_t size = file_size(), begin = 0, number = 0;
    for (uint64_t at = 0; at < size; at++) {
        if (at == begin + 164 + number % 7) {
            begin = at;
            number++;
        }
        fill(5);
        int file = open(path, O_RDWR);
        uint8_t byte;
        CHECK(pread(file, &byte, 1, (off_t)at) == 1);
        byte ^= (uint8_t)(1 + at % 255);
        CHECK(pwrite(file, &byte, 1, (off_t)at) == 1);
        close(file);
        check_find(UINT64_MAX, number < 4 ? 400 : 300);
        check_find(number * 100, number == 0 ? UINT64_MAX : (number - 1) * 100);
    }
}

static void test_failing(void)
{
    bool failed = true;
    for (long at = 0; failed; at++) {
        file_faults faults;
        fill(3);
        file_faults_init(&faults, at, ENOSPC);
        leat_status status = append_with(&faults.ops, 300);
        failed = faults.calls > at;
        CHECK(status == LEAT_OK || status == LEAT_IO);
        check_find(UINT64_MAX, status == LEAT_OK ? 300 : 200);
        CHECK_OK(append(300), &error);
        check_find(UINT64_MAX, 300);
        check_find(299, 200);
    }
}

static void test_killed(void)
{
    bool finished = false;
    for (long at = 0; !finished; at++) {
        fill(3);
        CHECK(truncate(path, (off_t)file_size() - 1) == 0);
        pid_t child = fork();
        if (child == 0) {
            file_faults faults;
            file_faults_init(&faults, at, EIO);
            faults.kill = 1;
            _exit(append_with(&faults.ops, 300) != LEAT_OK);
        }
        int state;
        CHECK(waitpid(child, &state, 0) == child);
        finished = WIFEXITED(state);
        CHECK(finished ? WEXITSTATUS(state) == 0 : WTERMSIG(state) == SIGKILL);
        check_find(299, 100);
        CHECK_OK(append(300), &error);
        check_find(UINT64_MAX, 300);
        check_find(299, 100);
    }
}

int main(void)
{
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/cursors.bin", folder);
    test_find();
    test_torn();
    test_damaged();
    test_failing();
    test_killed();
    unlink(path);
    rmdir(folder);
    return check_done();
}
