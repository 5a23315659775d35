/* The wires that live in one process: single and sim. */
#include "wire_cases.h"
#include <pthread.h>

static void test_errors_as_bytes(void)
{
    uint8_t bytes[LEAT_ERROR_BYTES], again[LEAT_ERROR_BYTES];
    leat_error error, back;
    char longest[2000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    LEAT_FAIL(&error, LEAT_CORRUPT, "text %s", longest);
    leat_error_where(&error, "file:%d", 7);
    leat_error_found(&error, "%s", longest);
    leat_error_wanted(&error, "wanted");
    leat_error_hint(&error, "%s", longest);
    error.rank = 5;
    leat_error_encode(&error, bytes);
    leat_error_decode(&back, bytes);
    CHECK_U64("status", back.status, LEAT_CORRUPT);
    CHECK_U64("rank", (uint64_t)back.rank, 5);
    CHECK_TEXT("text", back.text, error.text);
    CHECK_TEXT("where", back.where, "file:7");
    CHECK_TEXT("found", back.found, error.found);
    CHECK_TEXT("wanted", back.wanted, "wanted");
    CHECK_TEXT("hint", back.hint, error.hint);
    leat_error_encode(&back, again);
    CHECK(memcmp(bytes, again, sizeof bytes) == 0);
    bytes[0] = 200; /* a status that this version does not know */
    leat_error_decode(&back, bytes);
    CHECK_U64("unknown status", back.status, LEAT_DEFECT);
    memset(bytes, 0xff, sizeof bytes);
    leat_error_decode(&back, bytes);
    CHECK(strlen(back.text) < sizeof back.text && strlen(back.hint) < sizeof back.hint);
}

static void test_single(void)
{
    leat_wire *wire = NULL;
    leat_error error;
    wire_result result = {"", 0};
    CHECK_OK(leat_wire_open_single(&wire, &error), &error);
    wire_cases(wire, &result, 1, 1000);
    CHECK_TEXT("single", result.text, "");
    wire->timeout_ns = 20000000;
    leat_wire_group group = {0};
    uint8_t byte;
    CHECK_OK(wire->ops->recv(wire, &group, 0, 3, &byte, 1, &error), &error);
    CHECK_U64("a message that nobody sends", leat_wire_wait(wire, &group, &error), LEAT_PEER);
    CHECK_HAS("says how long", error.text, "did not answer within");
    CHECK_U64("afterwards it is given up", wire->ops->test(wire, &error), LEAT_PEER);
    leat_wire_close(wire);
    leat_wire_close(NULL);
}

/* ---- sim: one thread a rank ---- */

static leat_sim *faulty; /* the simulation under way, for the ranks that put a fault into it */

typedef struct rank_job {
    leat_sim *sim;
    int rank;
    uint64_t seed;
    wire_result result;
    void (*run)(leat_wire *, wire_result *, uint64_t seed);
} rank_job;

static void *rank_thread(void *context)
{
    rank_job *job = context;
    leat_wire *wire = leat_sim_wire(job->sim, job->rank);
    job->run(wire, &job->result, job->seed);
    leat_wire_close(wire);
    return NULL;
}

static void run_ranks(const char *label, int ranks, uint64_t seed, uint32_t delay,
                      void (*run)(leat_wire *, wire_result *, uint64_t))
{
    leat_sim *sim = leat_sim_open(ranks, seed, delay);
    faulty = sim;
    pthread_t threads[64];
    rank_job *jobs = leat_alloc((size_t)ranks, sizeof *jobs);
    for (int r = 0; r < ranks; r++) {
        jobs[r] = (rank_job){sim, r, seed, {"", 0}, run};
        CHECK(pthread_create(&threads[r], NULL, rank_thread, &jobs[r]) == 0);
    }
    for (int r = 0; r < ranks; r++) {
        char text[128];
        snprintf(text, sizeof text, "%s: rank %d of %d, seed %" PRIu64 ", delay %u", label, r,
                 ranks, seed, delay);
        pthread_join(threads[r], NULL);
        CHECK_TEXT(text, jobs[r].result.text, "");
    }
    leat_free(jobs);
    leat_sim_close(sim);
}

static void all_cases(leat_wire *wire, wire_result *result, uint64_t seed)
{
    wire_cases(wire, result, seed, 300);
}

/* The last rank dies between two gathers: the others hear of it in the first or in the second one. */
static void kill_last(leat_wire *wire, wire_result *result, uint64_t seed)
{
    uint64_t head = seed, all[64];
    leat_error error;
    leat_status status = leat_wire_gather_equal(wire, LEAT_CHANNEL_TICK, &head, all, 8, &error);
    if (wire->rank == wire->size - 1) {
        wire_expect(result, status == LEAT_OK, "before the kill", 0);
        leat_sim_kill(faulty, wire->rank);
        wire_expect(result, wire->ops->test(wire, &error) == LEAT_PEER, "the killed one itself", 0);
        return;
    }
    if (status == LEAT_OK) {
        status = leat_wire_gather_equal(wire, LEAT_CHANNEL_TICK, &head, all, 8, &error);
    }
    wire_expect(result, status == LEAT_PEER, "after the kill", 0);
    char text[64];
    snprintf(text, sizeof text, "rank %d is gone", wire->size - 1);
    wire_expect(result, strcmp(error.text, text) == 0, error.text, 0);
    leat_error mine;
    LEAT_FAIL(&mine, LEAT_CORRUPT, "my own");
    wire_expect(result,
                leat_agree(wire, LEAT_CORRUPT, &mine) == LEAT_CORRUPT &&
                    strcmp(mine.text, "my own") == 0,
                "an error of one's own is kept where nobody answers", 0);
    wire_expect(result, leat_agree(wire, LEAT_OK, &mine) == LEAT_PEER, "verdict without peers", 0);
}

/* The last rank joins nothing any more, and nobody is told: only the time limit helps. */
static void silence_last(leat_wire *wire, wire_result *result, uint64_t seed)
{
    uint64_t head = seed, all[64];
    leat_error error;
    wire->timeout_ns = 100000000;
    if (wire->rank == wire->size - 1) {
        leat_sim_silence(faulty, wire->rank);
    }
    wire_expect(result,
                leat_wire_gather_equal(wire, LEAT_CHANNEL_TICK, &head, all, 8, &error) == LEAT_PEER,
                "silence", 0);
}

/* The schedule is a function of the seed: driven by one thread, the same calls complete at the same tests. */
static uint64_t schedule_of(uint64_t seed)
{
    leat_sim *sim = leat_sim_open(3, seed, 20);
    uint64_t sizes[3] = {1, 1, 1}, offsets[3] = {0, 1, 2}, schedule = 0;
    uint8_t mine[3] = {1, 2, 3}, all[3][8][3];
    leat_wire_group groups[3][8] = {{{0}}};
    leat_error error;
    for (int g = 0; g < 8; g++) {
        for (int r = 0; r < 3; r++) {
            leat_wire *wire = leat_sim_wire(sim, r);
            CHECK_OK(wire->ops->gather(wire, &groups[r][g], LEAT_CHANNEL_TICK, &mine[r], all[r][g],
                                       sizes, offsets, &error),
                     &error);
        }
    }
    for (uint64_t t = 0; t < 22; t++) {
        for (int r = 0; r < 3; r++) {
            leat_wire *wire = leat_sim_wire(sim, r);
            CHECK_OK(wire->ops->test(wire, &error), &error);
            for (int g = 0; g < 8; g++) {
                schedule = schedule * 31 + (uint64_t)groups[r][g].pending;
            }
        }
    }
    for (int r = 0; r < 3; r++) {
        for (int g = 0; g < 8; g++) {
            CHECK_U64("done after the longest delay", (uint64_t)groups[r][g].pending, 0);
            CHECK(memcmp(all[r][g], mine, 3) == 0);
        }
        leat_wire_close(leat_sim_wire(sim, r));
    }
    leat_sim_close(sim);
    return schedule;
}

int main(void)
{
    test_errors_as_bytes();
    test_single();
    CHECK_U64("a seed gives one schedule", schedule_of(5), schedule_of(5));
    CHECK(schedule_of(5) != schedule_of(6));
    for (int ranks = 1; ranks <= 17; ranks += ranks < 5 ? 1 : 4) {
        run_ranks("no delay", ranks, (uint64_t)ranks, 0, all_cases);
        run_ranks("delays", ranks, (uint64_t)ranks + 100, 7, all_cases);
    }
    for (int ranks = 2; ranks <= 8; ranks *= 2) {
        run_ranks("kill", ranks, 3, 2, kill_last);
        run_ranks("silence", ranks, 3, 2, silence_last);
    }
    return check_done();
}
