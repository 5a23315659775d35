/* Every rank count from 1 to the rows of a batch goes on from the state of any recent step, with its own number of threads. */
#include "simulation/sim_run.h"

enum { ROWS = 40, STATES = 24 };

static void *states[STATES];
static size_t state_bytes[STATES];

static void keep_state(run *of, int rank, leat_loader *loader, uint64_t step)
{
    (void)of;
    leat_error error;
    if (rank == 0 && step < STATES) {
        CHECK_OK(leat_loader_state(loader, step, &states[step], &state_bytes[step], &error),
                 &error);
    }
}

int main(void)
{
    const char *text = getenv("LEAT_TEST_SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : 9;
    char out[300], set[40];
    job_folder folder;
    printf("LEAT_TEST_SEED=%" PRIu64 "\n", seed);
    job_folder_make(&folder, seed, "sequence_length: 24\nbatch_size: 40\n");
    snprintf(out, sizeof out, "%s/base", folder.path);
    run base = {
        .job = folder.job, .ranks = 1, .steps = STATES + 6, .at_rank = -1, .before = keep_state};
    base.options = (leat_options){.run_folder = out};
    run_all(&base);
    CHECK_OK(base.status, &base.error);
    for (int ranks = 1; ranks <= ROWS; ranks++) {
        uint64_t from = check_random(&seed) % STATES;
        snprintf(set, sizeof set, "threads=%d", 1 + (int)(check_random(&seed) % 8));
        const char *sets[] = {set, ranks % 2 == 0 ? "tokens=own" : "tokens=exchange"};
        snprintf(out, sizeof out, "%s/run-%d", folder.path, ranks);
        run of = {.job = folder.job, .ranks = ranks, .seed = check_random(&seed), .steps = 4};
        of.delay = (uint32_t)(check_random(&seed) % 6);
        of.options = (leat_options){
            .state = states[from], .state_bytes = state_bytes[from], .set = sets, .set_count = 2};
        of.options.run_folder = out;
        of.options.inline_work = ranks > 8;
        of.options.progress = ranks % 4 < 2 ? LEAT_PROGRESS_CALLER : LEAT_PROGRESS_THREAD;
        run_all(&of);
        if (!CHECK_OK(of.status, &of.error)) {
            continue;
        }
        CHECK_U64("begins at the step of its state", of.first, from);
        /* A state has no chain: it begins anew, so batches are compared by their logs. */
        char ours[400], line[1000], want[1000];
        snprintf(ours, sizeof ours, "%s/batches.jsonl", out);
        snprintf(line, sizeof line, "%s/base/batches.jsonl", folder.path);
        FILE *a = fopen(line, "r"), *b = fopen(ours, "r");
        for (uint64_t s = 0; a != NULL && s < from; s++) {
            CHECK(fgets(want, sizeof want, a) != NULL);
        }
        for (int s = 0; a != NULL && b != NULL && s < 4; s++) {
            CHECK(fgets(want, sizeof want, a) != NULL && fgets(line, sizeof line, b) != NULL);
            CHECK(strstr(want, "\"chain\"") != NULL &&
                  strncmp(want, line, (size_t)(strstr(want, "\"chain\"") - want)) == 0);
        }
        CHECK(a != NULL && b != NULL);
        fclose(a);
        fclose(b);
        leat_state_free(of.state);
    }
    for (int s = 0; s < STATES; s++) {
        leat_state_free(states[s]);
    }
    leat_state_free(base.state);
    job_folder_remove(&folder);
    return check_done();
}
