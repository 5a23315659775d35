/* sim_run.h: a job on N simulated ranks, each a thread of this process, for tests. */
#ifndef LEAT_TESTS_SIM_RUN_H
#define LEAT_TESTS_SIM_RUN_H
#include "collectives/wire.h"
#include "leat.h"
#include "simulation/job_folder.h"
#include <pthread.h>

enum { STEPS_MOST = 256 };

typedef struct run run;
struct run {
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
    bool stopped; /* the run ended because a stop was asked for */
    bool no_save;
    /* Called by every rank before it asks for step `step`; may be NULL. */
    void (*before)(run *of, int rank, leat_loader *loader, uint64_t step);
    uint64_t at_step; /* for `before` */
    int at_rank;
};

typedef struct rank_run {
    run *of;
    int rank;
    leat_status status;
    leat_error error;
    uint64_t end;
    bool stopped;
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
        if (of->before != NULL) {
            of->before(of, me->rank, loader, leat_loader_step(loader));
        }
        leat_status status = leat_loader_next(loader, &batch, &me->error);
        if (status != LEAT_OK || batch.end) {
            me->end = leat_loader_step(loader);
            me->stopped = status == LEAT_OK && batch.stopped;
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
        if (me->status == LEAT_OK && !of->no_save) {
            /* A save brings all ranks and all digests to one place. */
            me->status = leat_loader_save(loader, of->options.run_folder, me->end, &me->error);
        }
        for (uint64_t s = of->first; me->rank == 0 && me->status == LEAT_OK && !of->no_save &&
                                     s < me->end && s - of->first < STEPS_MOST;
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

static inline void run_all(run *of)
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
        if (of->status == LEAT_OK) {
            CHECK_U64("all ranks end at one step", ranks[r].end, ranks[0].end);
            CHECK(ranks[r].stopped == ranks[0].stopped);
        }
        if (r != of->at_rank || of->before == NULL) {
            CHECK_TEXT("one verdict", leat_status_name(ranks[r].status),
                       leat_status_name(ranks[of->ranks - 1].status));
        }
        if (of->status == LEAT_OK && r > 0) {
            CHECK(ranks[r].state_bytes == ranks[0].state_bytes);
            CHECK(ranks[r].state_bytes == 0 ||
                  memcmp(ranks[r].state, ranks[0].state, ranks[0].state_bytes) == 0);
        }
        if (r > 0) {
            leat_state_free(ranks[r].state);
        }
    }
    of->stopped = ranks[0].stopped;
    of->end = ranks[0].end;
    of->state = ranks[0].state;
    of->state_bytes = ranks[0].state_bytes;
    leat_sim_close(of->sim);
}
#endif
