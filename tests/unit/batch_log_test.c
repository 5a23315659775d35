/* The batch log: append, comparison of steps done again, torn and damaged lines, a full disk, a kill at every file call. */
#include "digest/batch_log.h"
#include "base/memory.h"
#include "check.h"
#include "file_faults.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static char folder[] = "/tmp/leat_batch_log_XXXXXX", path[64];
static leat_error error;

static leat_batch_line line_of(uint64_t step)
{
    static const uint64_t tokens[3] = {1000, 0, UINT64_MAX};
    leat_batch_line line = {.step = step, .rows = 7 + step % 3, .tokens = 5, .datasets = 3};
    line.dataset_tokens = tokens;
    for (size_t i = 0; i < 32; i++) {
        line.batch[i] = (uint8_t)(step * 7 + i);
        line.chain[i] = (uint8_t)(step * 13 + i);
    }
    return line;
}

static leat_status add(leat_batch_log *log, uint64_t step)
{
    leat_batch_line line = line_of(step);
    return leat_batch_log_add(log, &line, &error);
}

/* A fresh log with steps 0 … steps-1. */
static void fill(uint64_t steps)
{
    leat_batch_log *log;
    unlink(path);
    CHECK_OK(leat_batch_log_open(&log, path, &error), &error);
    for (uint64_t step = 0; step < steps; step++) {
        CHECK_OK(add(log, step), &error);
    }
    CHECK_OK(leat_batch_log_close(log, &error), &error);
}

static uint64_t file_size(void)
{
    struct stat info;
    return stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}

static void write_at(uint64_t offset, const char *text, size_t bytes)
{
    int file = open(path, O_WRONLY | O_CREAT, 0666);
    CHECK(pwrite(file, text, bytes, (off_t)offset) == (ssize_t)bytes);
    close(file);
}

static void check_content(uint64_t steps)
{
    leat_batch_reader *reader;
    leat_batch_entry entry;
    CHECK_OK(leat_batch_reader_open(&reader, path, &error), &error);
    for (uint64_t step = 0; step < steps; step++) {
        leat_batch_line line = line_of(step);
        CHECK_OK(leat_batch_reader_next(reader, &entry, &error), &error);
        CHECK(!entry.end && entry.step == step && entry.rows == line.rows && entry.tokens == 5);
        CHECK(memcmp(entry.batch, line.batch, 32) == 0 && memcmp(entry.chain, line.chain, 32) == 0);
        CHECK(entry.datasets == 2 && entry.by_dataset[1] == 1000 && entry.by_dataset[2] == 2 &&
              entry.by_dataset[3] == UINT64_MAX);
    }
    CHECK_OK(leat_batch_reader_next(reader, &entry, &error), &error);
    CHECK(entry.end);
    leat_batch_reader_close(reader);
}

static void test_text(void)
{
    char text[512] = "";
    fill(1);
    FILE *file = fopen(path, "r");
    CHECK(fgets(text, sizeof text, file) != NULL);
    fclose(file);
    CHECK_TEXT("the documented line", text,
               "{\"step\":0,\"batch\":\"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c"
               "1d1e1f\",\"chain\":\"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e"
               "1f\",\"rows\":7,\"tokens\":5,\"by_dataset\":[[0,1000],[2,18446744073709551615]]}"
               "\n");
}

static void test_again(void)
{
    leat_batch_log *log;
    fill(50);
    uint64_t size = file_size();
    CHECK_OK(leat_batch_log_open(&log, path, &error), &error);
    CHECK_U64("steps", leat_batch_log_steps(log), 50);
    for (uint64_t step = 20; step < 55; step++) {
        CHECK_OK(add(log, step), &error);
        if (step == 49) {
            CHECK_U64("steps done again add nothing", file_size(), size);
        }
    }
    leat_batch_line line = line_of(31);
    line.batch[5] ^= 1;
    CHECK(leat_batch_log_add(log, &line, &error) == LEAT_MISMATCH);
    CHECK_HAS("names the step", error.text, "step 31");
    CHECK_HAS("and both digests", error.text, "d9dadbdcdddf");
    CHECK_HAS("and both digests", error.text, "d9dadbdcddde");
    line = line_of(32);
    line.chain[31] ^= 1;
    CHECK(leat_batch_log_add(log, &line, &error) == LEAT_MISMATCH);
    CHECK_HAS("names the chain", error.text, "another chain");
    CHECK(add(log, 56) == LEAT_INVALID);
    CHECK_HAS("gap", error.wanted, "from 0 to 55");
    CHECK_OK(add(log, 55), &error);
    CHECK_OK(leat_batch_log_close(log, &error), &error);
    check_content(56);
    unlink(path);
    CHECK_OK(leat_batch_log_open(&log, path, &error), &error);
    CHECK_OK(add(log, 150), &error);
    CHECK_OK(add(log, 151), &error);
    CHECK_OK(add(log, 150), &error);
    CHECK(add(log, 149) == LEAT_INVALID);
    CHECK_U64("first of a run that began later", leat_batch_log_first(log), 150);
    CHECK_OK(leat_batch_log_close(log, &error), &error);
}

/* The log is cut at every byte of its last lines: whole lines stay, the rest is dropped, and the run goes on. */
static void test_torn(void)
{
    fill(4);
    uint64_t size = file_size(), line = size / 4;
    for (uint64_t cut = 0; cut <= size; cut += cut < 2 * line ? 37 : 1) {
        leat_batch_log *log;
        fill(4);
        CHECK(truncate(path, (off_t)cut) == 0);
        CHECK_OK(leat_batch_log_open(&log, path, &error), &error);
        uint64_t steps = leat_batch_log_steps(log);
        CHECK_U64("whole lines", steps, cut / line);
        CHECK_U64("torn line dropped", file_size(), cut / line * line);
        for (uint64_t step = 0; step < 4; step++) {
            CHECK_OK(add(log, step), &error);
        }
        CHECK_OK(leat_batch_log_close(log, &error), &error);
        CHECK_U64("as before", file_size(), size);
    }
    check_content(4);
}

static void test_damaged(void)
{
    leat_batch_log *log;
    leat_batch_entry entry;
    leat_batch_reader *reader;
    uint8_t batch[32], chain[32];
    uint64_t rows;
    fill(10);
    uint64_t size = file_size(), line = size / 10;
    write_at(size, "\0\0\0\0\0\0\0\0", 8); /* as after a power cut */
    write_at(9 * line + 3, "\0", 1);
    CHECK_OK(leat_batch_log_open(&log, path, &error), &error);
    CHECK_U64("last line dropped", leat_batch_log_steps(log), 9);
    CHECK_OK(leat_batch_log_close(log, &error), &error);
    write_at(7 * line + 3, "x", 1);
    write_at(8 * line + 3, "x", 1);
    CHECK(leat_batch_log_open(&log, path, &error) == LEAT_CORRUPT);
    CHECK_HAS("where", error.where, "byte 1610");
    CHECK(leat_batch_log_find(path, 7, batch, chain, &rows, &error) == LEAT_CORRUPT);

    fill(10);
    write_at(3 * line + 8, "4", 1); /* step 3 says 4 */
    CHECK_OK(leat_batch_log_open(&log, path, &error), &error);
    CHECK_OK(add(log, 2), &error);
    CHECK(add(log, 3) == LEAT_CORRUPT);
    CHECK_HAS("found", error.found, "step 4");
    CHECK_OK(leat_batch_log_close(log, &error), &error);
    CHECK_OK(leat_batch_reader_open(&reader, path, &error), &error);
    CHECK_OK(leat_batch_reader_seek(reader, 2, &error), &error);
    CHECK_OK(leat_batch_reader_next(reader, &entry, &error), &error);
    CHECK_U64("sought", entry.step, 2);
    CHECK(leat_batch_reader_next(reader, &entry, &error) == LEAT_CORRUPT);
    leat_batch_reader_close(reader);
    CHECK(leat_batch_log_open(&log, folder, &error) == LEAT_IO);
    CHECK(leat_batch_reader_open(&reader, "/nowhere/x", &error) == LEAT_NOT_FOUND);
    CHECK(leat_batch_reader_open(&reader, folder, &error) == LEAT_IO);
}

/* Any byte changed to any of a few values: refused or read, never a crash. */
static void test_flipped(void)
{
    for (uint64_t at = 0; at < 3 * 270; at += 3) {
        uint8_t batch[32], chain[32];
        uint64_t rows;
        leat_batch_log *log;
        if (at % 30 == 0) {
            fill(3);
        }
        write_at(at, at % 2 ? "\n" : at % 5 ? "9" : "\0", 1);
        for (uint64_t step = 0; step < 3; step++) {
            leat_status status = leat_batch_log_find(path, step, batch, chain, &rows, &error);
            CHECK(status == LEAT_OK || status == LEAT_CORRUPT || status == LEAT_NOT_FOUND);
        }
        leat_status status = leat_batch_log_open(&log, path, &error);
        CHECK(status == LEAT_OK || status == LEAT_CORRUPT);
        leat_batch_log_close(log, &error);
    }
}

/* A disk that is full in the middle of a line: the line is taken back, and can be added when there is room. */
static void test_full(void)
{
    for (long at = 0; at < 12; at++) {
        file_faults faults;
        leat_batch_log *log;
        unlink(path);
        file_faults_init(&faults, -1, ENOSPC);
        faults.lasting = 1;
        CHECK_OK(leat_batch_log_open_with(&log, path, &faults.ops, &error), &error);
        faults.at = faults.calls + at;
        uint64_t step = 0;
        while (add(log, step) == LEAT_OK) {
            step++;
        }
        CHECK_U64("steps before the disk was full", step, (uint64_t)at);
        CHECK(error.status == LEAT_IO);
        CHECK_HAS("says why", error.text, "No space left");
        check_content(step);
        CHECK(add(log, step) == LEAT_IO);
        faults.at = -1;
        CHECK_OK(add(log, step), &error);
        CHECK_OK(leat_batch_log_close(log, &error), &error);
        check_content(step + 1);
    }
}

/* SIGKILL at every file call of a run that adds ten lines; what is there then is whole lines and at most one torn. */
static void test_killed(void)
{
    int finished = 0;
    for (long at = 0; !finished; at++) {
        unlink(path);
        pid_t child = fork();
        if (child == 0) {
            file_faults faults;
            leat_batch_log *log;
            file_faults_init(&faults, at, EIO);
            faults.kill = 1;
            int bad = leat_batch_log_open_with(&log, path, &faults.ops, &error) != LEAT_OK;
            for (uint64_t step = 0; step < 10 && !bad; step++) {
                bad = add(log, step) != LEAT_OK || leat_batch_log_flush(log, &error) != LEAT_OK;
            }
            _exit(bad || leat_batch_log_close(log, &error) != LEAT_OK);
        }
        int state;
        CHECK(waitpid(child, &state, 0) == child);
        finished = WIFEXITED(state);
        CHECK(finished ? WEXITSTATUS(state) == 0 : WTERMSIG(state) == SIGKILL);
        leat_batch_log *log;
        CHECK_OK(leat_batch_log_open(&log, path, &error), &error);
        for (uint64_t step = leat_batch_log_steps(log); step < 10; step++) {
            CHECK_OK(add(log, step), &error);
        }
        CHECK_OK(leat_batch_log_close(log, &error), &error);
        check_content(10);
        CHECK(at < 100);
    }
}

/* 200,000 steps: each found; opening reads only the end. */
static void test_long(void)
{
    leat_batch_log *log;
    uint64_t steps = 200000, rows, seed = 1;
    uint8_t batch[32], chain[32];
    unlink(path);
    CHECK_OK(leat_batch_log_open(&log, path, &error), &error);
    int bad = 0;
    for (uint64_t step = 0; step < steps; step++) {
        bad |= add(log, step) != LEAT_OK;
    }
    CHECK(!bad);
    CHECK_OK(leat_batch_log_close(log, &error), &error);
    clock_t start = clock();
    CHECK_OK(leat_batch_log_open(&log, path, &error), &error);
    CHECK_U64("steps", leat_batch_log_steps(log), steps);
    CHECK_OK(leat_batch_log_close(log, &error), &error);
    for (int i = 0; i < 200; i++) {
        uint64_t step = i == 0 ? 0 : i == 1 ? steps - 1 : check_random(&seed) % steps;
        leat_batch_line line = line_of(step);
        CHECK_OK(leat_batch_log_find(path, step, batch, chain, &rows, &error), &error);
        CHECK(memcmp(batch, line.batch, 32) == 0 && memcmp(chain, line.chain, 32) == 0 &&
              rows == line.rows);
    }
    CHECK(leat_batch_log_find(path, steps, batch, chain, &rows, &error) == LEAT_NOT_FOUND);
    printf("open and 200 look-ups in %" PRIu64 " steps: %ld us of processor time\n", steps,
           (long)((clock() - start) * 1000000 / CLOCKS_PER_SEC));
}

int main(void)
{
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/batches.jsonl", folder);
    test_text();
    test_again();
    test_torn();
    test_damaged();
    test_flipped();
    test_full();
    test_killed();
    test_long();
    unlink(path);
    rmdir(folder);
    return check_done();
}
