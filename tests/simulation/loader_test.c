/* The same global batches on any number of ranks, with any number of threads, any look-ahead and any delay, from any step. */
#include "simulation/sim_run.h"

static void same_chain(const char *label, const run *got, const run *want)
{
    for (uint64_t s = got->first; s < got->end && s - got->first < STEPS_MOST; s++) {
        if (s + 60 >= got->end && s + 60 >= want->end && s < want->end &&
            s - want->first < STEPS_MOST) {
            check_count++;
            if (memcmp(got->chain[s - got->first], want->chain[s - want->first], 32) != 0) {
                check_failures++;
                printf("%s: %d ranks: the chain differs at step %" PRIu64 "\n", label, got->ranks,
                       s);
                return;
            }
        }
    }
}

#define SIZES(sequence, batch) "sequence_length: " sequence "\nbatch_size: " batch "\n"
static const char plain[] = SIZES("16", "12");
static const char fitted[] = SIZES("31", "17") "packing: best_fit\npack_window: 9\n";
static const char single[] = SIZES(
    "24", "[{from_step: 0, batch_size: 13}, {from_step: 3, batch_size: 29}]") "packing: single\n";
static const char parts[] = SIZES("40", "16") "mix_by: documents\npart_bytes: 64\n";
static const char passes[] = SIZES("20", "14") "passes: 2\ndrop_last: false\n";
static const char *const jobs[] = {plain, fitted, single, parts, passes};

static void test_job(size_t j, uint64_t seed)
{
    static const int counts[] = {2, 3, 5, 8, 12};
    job_folder folder;
    char out[300];
    job_folder_make(&folder, seed, jobs[j]);
    snprintf(out, sizeof out, "%s/run-base", folder.path);
    run base = {
        .job = folder.job, .ranks = 1, .steps = j == 4 ? 0 : 40, .options = {.run_folder = out}};
    run_all(&base);
    if (!CHECK_OK(base.status, &base.error)) {
        return;
    }
    CHECK(base.end > 3);
    leat_state_free(base.state);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint64_t random = seed + i * 77 + j;
        char set[40], ahead[40];
        snprintf(set, sizeof set, "threads=%d", 1 + (int)(check_random(&random) % 8));
        snprintf(ahead, sizeof ahead, "look_ahead=%d", 1 + (int)(check_random(&random) % 5));
        const char *sets[] = {set, ahead};
        snprintf(out, sizeof out, "%s/run-%zu", folder.path, i);
        run part = {.job = folder.job,
                    .ranks = counts[i],
                    .seed = check_random(&random),
                    .delay = (uint32_t)(i % 3) * 7};
        part.steps = 1 + check_random(&random) % (base.end - 1);
        part.options = (leat_options){.run_folder = out, .set = sets, .set_count = 2};
        part.options.progress = i % 2 == 0 ? LEAT_PROGRESS_THREAD : LEAT_PROGRESS_CALLER;
        part.options.inline_work = i % 2 == 1;
        run_all(&part);
        if (!CHECK_OK(part.status, &part.error)) {
            continue;
        }
        same_chain(jobs[j], &part, &base);
        /* Another rank count goes on from the checkpoint. */
        run rest = {.job = folder.job,
                    .ranks = counts[(i + 2) % 5],
                    .seed = check_random(&random),
                    .delay = 3};
        rest.options = (leat_options){.run_folder = out, .resume = out, .inline_work = i % 2 == 0};
        rest.steps = base.end - part.end;
        if (rest.steps == 0) {
            leat_state_free(part.state);
            continue;
        }
        run_all(&rest);
        if (CHECK_OK(rest.status, &rest.error)) {
            CHECK_U64("goes on where it was saved", rest.first, part.end);
            CHECK_U64("ends alike", rest.end, base.end);
            same_chain(jobs[j], &rest, &base);
        }
        leat_state_free(part.state);
        leat_state_free(rest.state);
    }
    job_folder_remove(&folder);
}

int main(void)
{
    const char *text = getenv("LEAT_TEST_SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : 1;
    printf("LEAT_TEST_SEED=%" PRIu64 "\n", seed);
    for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++) {
        test_job(j, seed + j);
    }
    return check_done();
}
