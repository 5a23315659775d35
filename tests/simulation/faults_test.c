/* The bad day, on simulated ranks: a rank that is gone, data that changed after it was indexed, a stop wish at any step. */
#include "simulation/sim_run.h"
#include <fcntl.h>
#include <unistd.h>

static const char settings[] = "sequence_length: 24\nbatch_size: 16\n";

static void kill_rank(run *of, int rank, leat_loader *loader, uint64_t step)
{
    (void)loader;
    if (rank == of->at_rank && step == of->at_step) {
        leat_sim_kill(of->sim, rank);
    }
}

/* Everybody who lives learns it, and nobody waits for ever. */
static void test_kill(uint64_t seed)
{
    job_folder folder;
    job_folder_make(&folder, seed, settings);
    for (int i = 0; i < 12; i++) {
        run of = {.job = folder.job,
                  .ranks = 2 + (int)(check_random(&seed) % 6),
                  .seed = check_random(&seed)};
        of.delay = (uint32_t)(i % 3) * 4;
        of.at_rank = (int)(check_random(&seed) % (uint64_t)of.ranks);
        of.at_step = check_random(&seed) % 12;
        of.before = kill_rank;
        of.steps = 60;
        of.no_save = true;
        of.options = (leat_options){.inline_work = i % 2 == 0};
        of.options.progress = i % 4 < 2 ? LEAT_PROGRESS_THREAD : LEAT_PROGRESS_CALLER;
        run_all(&of);
        CHECK_TEXT("a killed rank", leat_status_name(of.status), "PEER");
        leat_state_free(of.state);
    }
    job_folder_remove(&folder);
}

/* A byte of a shard's texts is cut away after it was indexed: the same error on all ranks, at a step that does not depend on
 * their number, and the batches before it are delivered. */
static void test_changed_data(uint64_t seed)
{
    static const int counts[] = {1, 2, 3, 5};
    uint64_t end = 0;
    job_folder folder;
    char path[400];
    job_folder_make(&folder, seed, settings);
    run whole = {.job = folder.job, .ranks = 1, .steps = 1, .no_save = true};
    run_all(&whole);
    CHECK_OK(whole.status, &whole.error);
    leat_state_free(whole.state);
    snprintf(path, sizeof path, "%s/set1-1.jsonl", folder.path);
    int file = open(path, O_RDWR | O_CLOEXEC);
    char byte = '}';
    CHECK(file >= 0 &&
          pwrite(file, &byte, 1, 1500) == 1); /* the size stays, the time is put back below */
    close(file);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        /* The index is newer than the file says: it is checked by hashes of the first, middle and last 64 KiB, so a change in
         * a small file is found at open and the index is made anew; the record is then a bad one. */
        run of = {
            .job = folder.job, .ranks = counts[i], .seed = seed, .no_save = true, .steps = 200};
        run_all(&of);
        CHECK(of.status == LEAT_CORRUPT || of.status == LEAT_OK);
        CHECK(i == 0 || of.end == end);
        end = of.end;
        if (of.status != LEAT_OK) {
            CHECK_HAS("names the file", of.error.text, "set1-1.jsonl");
        }
        leat_state_free(of.state);
    }
    job_folder_remove(&folder);
}

/* The shard shrinks while the job runs.  The look-ahead is about a million tokens, so the job must be longer than that. */
static const char long_settings[] = "sequence_length: 511\nbatch_size: 32\n";

static void shrink(run *of, int rank, leat_loader *loader, uint64_t step)
{
    (void)loader;
    if (rank == 0 && step == of->at_step) {
        char path[400];
        snprintf(path, sizeof path, "%.*s/set0-1.jsonl",
                 (int)(strlen(of->job) - strlen("/job.yaml")), of->job);
        CHECK(truncate(path, 10) == 0);
    }
}

static void test_shrinking_data(uint64_t seed)
{
    static const int counts[] = {1, 2, 4};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        job_folder folder;
        job_folder_make(&folder, seed, long_settings);
        run of = {.job = folder.job,
                  .ranks = counts[i],
                  .seed = seed,
                  .no_save = true,
                  .steps = 500,
                  .at_step = 3};
        of.before = shrink;
        of.at_rank = -1;
        run_all(&of);
        CHECK(of.status == LEAT_CORRUPT || of.status == LEAT_IO);
        CHECK(of.end >= 3 && of.end < 500);
        CHECK_HAS("names the file", of.error.text, "set0-1.jsonl");
        leat_state_free(of.state);
        job_folder_remove(&folder);
    }
}

static void ask_to_stop(run *of, int rank, leat_loader *loader, uint64_t step)
{
    if (rank == of->at_rank && step == of->at_step) {
        leat_loader_stop(loader);
    }
}

static void test_stop(uint64_t seed)
{
    job_folder folder;
    char out[300];
    job_folder_make(&folder, seed, settings);
    for (int i = 0; i < 16; i++) {
        snprintf(out, sizeof out, "%s/run-%d", folder.path, i);
        run of = {.job = folder.job,
                  .ranks = 1 + (int)(check_random(&seed) % 7),
                  .seed = check_random(&seed)};
        of.delay = (uint32_t)(i % 4) * 5;
        of.at_rank = (int)(check_random(&seed) % (uint64_t)of.ranks);
        of.at_step = check_random(&seed) % 30;
        of.before = ask_to_stop;
        of.options = (leat_options){.run_folder = out, .inline_work = i % 2 == 0};
        of.options.progress = i % 4 < 2 ? LEAT_PROGRESS_THREAD : LEAT_PROGRESS_CALLER;
        run_all(&of);
        if (CHECK_OK(of.status, &of.error)) {
            CHECK(of.stopped);
            CHECK(of.end >= of.at_step && of.end < of.at_step + 4000);
        }
        leat_state_free(of.state);
    }
    job_folder_remove(&folder);
}

int main(void)
{
    const char *text = getenv("LEAT_TEST_SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : 5;
    printf("LEAT_TEST_SEED=%" PRIu64 "\n", seed);
    test_stop(seed);
    test_kill(seed + 1);
    test_changed_data(seed + 2);
    test_shrinking_data(seed + 3);
    return check_done();
}
