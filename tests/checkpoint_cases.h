/* checkpoint_cases.h: a folder with checkpoints whose content follows from their step, for the tests of checkpoints. */
#ifndef LEAT_TESTS_CHECKPOINT_CASES_H
#define LEAT_TESTS_CHECKPOINT_CASES_H
#include "base/memory.h"
#include "check.h"
#include "io/state/state_calls.h"
#include <fcntl.h>
#include <unistd.h>

static char folder[] = "/tmp/leat_checkpoint_XXXXXX";
static leat_error error;

static inline void clear_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s/*", folder);
    CHECK(system(command) == 0);
}

/* The content follows from the step; `size` bytes of each part at least. */
static inline leat_checkpoint make(uint64_t step, size_t size)
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

static inline void check_equal(const leat_checkpoint *got, uint64_t step, size_t size)
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

static inline void write_step(uint64_t step)
{
    leat_checkpoint checkpoint = make(step, 100);
    CHECK_OK(leat_checkpoint_write(folder, &checkpoint, &error), &error);
    leat_checkpoint_deinit(&checkpoint);
}

static inline void put_file(const char *path, const void *data, size_t size)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    CHECK(file >= 0 && write(file, data, size) == (ssize_t)size);
    close(file);
}
#endif
