/* Several loaders on one wire, taken in turns, and one that begins again: each has its own batches, whatever the others do. */
#include "simulation/sim_run.h"

enum { RANKS = 3, STEPS = 9 };

typedef struct member {
    leat_sim *sim;
    const char *jobs[2];
    int rank;
    uint8_t chains[2][STEPS][32], again[STEPS][32];
} member;

static void take(leat_loader *loader, uint8_t chains[STEPS][32], uint64_t steps)
{
    leat_error error;
    leat_batch batch;
    uint8_t digest[32];
    for (uint64_t s = 0; s < steps; s++) {
        if (!CHECK_OK(leat_loader_next(loader, &batch, &error), &error) || batch.end) {
            return;
        }
        uint64_t step = batch.step;
        leat_loader_done(loader, &batch);
        CHECK_OK(leat_loader_settle(loader, &error), &error);
        CHECK_OK(leat_loader_digest(loader, step, digest, chains[step % STEPS], &error), &error);
    }
}

static void *run_member(void *argument)
{
    member *me = argument;
    leat_error error;
    leat_wire *wire = leat_sim_wire(me->sim, me->rank);
    leat_loader *loaders[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        leat_options options = {.inline_work = i == 1, .steps = i == 1 ? STEPS : 0};
        CHECK_OK(leat_loader_open(&loaders[i], wire, me->jobs[i], &options, &error), &error);
    }
    for (int turn = 0; turn < 3; turn++) {
        take(loaders[0], me->chains[0], STEPS / 3);
        take(loaders[1], me->chains[1], STEPS / 3);
    }
    leat_batch batch;
    CHECK_OK(leat_loader_next(loaders[1], &batch, &error), &error);
    CHECK(batch.end && !batch.stopped);
    CHECK_OK(leat_loader_rewind(loaders[1], &error), &error);
    take(loaders[1], me->again, STEPS);
    leat_loader_close(loaders[1]);
    leat_loader_close(loaders[0]);
    leat_wire_close(wire);
    return NULL;
}

static void run_members(member *members, int ranks, const char *job, const char *other)
{
    pthread_t threads[RANKS];
    leat_sim *sim = leat_sim_open(ranks, 3, 2);
    for (int r = 0; r < ranks; r++) {
        members[r] = (member){.sim = sim, .jobs = {job, other}, .rank = r};
        pthread_create(&threads[r], NULL, run_member, &members[r]);
    }
    for (int r = 0; r < ranks; r++) {
        pthread_join(threads[r], NULL);
    }
    leat_sim_close(sim);
}

int main(void)
{
    static member one[RANKS], three[RANKS];
    job_folder first, second;
    job_folder_make(&first, 1, "sequence_length: 16\nbatch_size: 12\n");
    job_folder_make(&second, 2, "sequence_length: 20\nbatch_size: 9\n");
    run_members(one, 1, first.job, second.job);
    run_members(three, RANKS, first.job, second.job);
    CHECK(memcmp(one[0].chains, three[0].chains, sizeof one[0].chains) == 0);
    CHECK(memcmp(three[0].chains, three[2].chains, sizeof one[0].chains) == 0);
    CHECK(memcmp(three[1].chains[1], three[1].again, sizeof one[0].again) == 0);
    CHECK(memcmp(one[0].chains[0], one[0].chains[1], sizeof one[0].again) != 0);
    job_folder_remove(&first);
    job_folder_remove(&second);
    return check_done();
}
