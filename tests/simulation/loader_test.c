/* The same global batches on any number of ranks, with any number of threads, any look-ahead and any delay, from any step. */
#include "collectives/wire.h"
#include "leat.h"
#include "simulation/job_folder.h"
#include <pthread.h>

enum { STEPS_MOST = 256 };

typedef struct run {
    const char *job;
    leat_options options;
    int ranks;
    uint64_t seed;
    uint32_t delay;
    uint64_t steps;                /* to take; 0: to the end */
    uint8_t chain[STEPS_MOST][32]; /* by step - first */
    uint64_t first, end;
    void *state; /* of the step after the last */
    size_t state_bytes;
    leat_status status; /* of the lowest failing rank */
    leat_error error;
    leat_sim *sim;
} run;

typedef struct rank_run {
    run *of;
    int rank;
    leat_status status;
    leat_error error;
    uint64_t end;
    void *state;
    size_t state_bytes;
} rank_run;

static leat_status take_steps(rank_run *me, leat_loader *loader)
{
    run *of = me->of;
    uint64_t first = leat_loader_step(loader);
    leat_batch batch;
    for (;;) {
        if (of->steps != 0 && leat_loader_step(loader) == first + of->steps) {
            break;
        }
        leat_status status = leat_loader_next(loader, &batch, &me->error);
        if (status != LEAT_OK || batch.end) {
            me->end = leat_loader_step(loader);
            return status;
        }
        leat_loader_done(loader, &batch);
    }
    me->end = leat_loader_step(loader);
    return leat_loader_state(loader, me->end, &me->state, &me->state_bytes, &me->error);
}

static void *run_rank(void *argument)
{
    rank_run *me = argument;
    run *of = me->of;
    leat_wire *wire = leat_sim_wire(of->sim, me->rank);
    leat_loader *loader = NULL;
    me->status = leat_loader_open(&loader, wire, of->job, &of->options, &me->error);
    if (me->status == LEAT_OK) {
        if (me->rank == 0) {
            of->first = leat_loader_step(loader);
        }
        me->status = take_steps(me, loader);
        leat_error error;
        uint8_t batch[32];
        if (me->rank == 0 && me->status == LEAT_OK && of->options.run_folder != NULL) {
            me->status = LEAT_OK;
        }
        if (me->status == LEAT_OK) {
            /* A save brings all ranks and all digests to one place. */
            me->status = leat_loader_save(loader, of->options.run_folder, me->end, &me->error);
        }
        for (uint64_t s = of->first;
             me->rank == 0 && me->status == LEAT_OK && s < me->end && s - of->first < STEPS_MOST;
             s++) {
            /* The digests of the last hundred steps are held. */
            if (s + 60 >= me->end &&
                leat_loader_digest(loader, s, batch, of->chain[s - of->first], &error) != LEAT_OK) {
                me->status = LEAT_NOT_FOUND;
                me->error = error;
            }
        }
    }
    leat_loader_close(loader);
    leat_wire_close(wire);
    return NULL;
}

static void run_all(run *of)
{
    pthread_t threads[128];
    rank_run ranks[128];
    of->sim = leat_sim_open(of->ranks, of->seed, of->delay);
    for (int r = 0; r < of->ranks; r++) {
        ranks[r] = (rank_run){.of = of, .rank = r};
    }
    for (int r = 0; r < of->ranks; r++) {
        pthread_create(&threads[r], NULL, run_rank, &ranks[r]);
    }
    for (int r = 0; r < of->ranks; r++) {
        pthread_join(threads[r], NULL);
    }
    of->status = LEAT_OK;
    for (int r = of->ranks - 1; r >= 0; r--) {
        if (ranks[r].status != LEAT_OK) {
            of->status = ranks[r].status;
            of->error = ranks[r].error;
        }
        CHECK_U64("all ranks end at one step", ranks[r].end, ranks[0].end);
        if (of->status == LEAT_OK && r > 0) {
            CHECK(ranks[r].state_bytes == ranks[0].state_bytes);
            CHECK(ranks[r].state_bytes == 0 ||
                  memcmp(ranks[r].state, ranks[0].state, ranks[0].state_bytes) == 0);
        }
        if (r > 0) {
            leat_state_free(ranks[r].state);
        }
    }
    of->end = ranks[0].end;
    of->state = ranks[0].state;
    of->state_bytes = ranks[0].state_bytes;
    leat_sim_close(of->sim);
}

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

static const char *const jobs[] = {
    "sequence_length: 16\nbatch_size: 12",
    "sequence_length: 31\nbatch_size: 17\npacking: best_fit\npack_window: 9",
    "sequence_length: 24\nbatch_size: [{from_step: 0, batch_size: 13}, {from_step: 3, batch_size: "
    "29}]\npacking: single",
    "sequence_length: 40\nbatch_size: 16\nmix_by: documents\npart_bytes: 64",
    "sequence_length: 20\nbatch_size: 14\npasses: 2\ndrop_last: false",
};

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
