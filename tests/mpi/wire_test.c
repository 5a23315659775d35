/* The MPI wire: the cases of every wire, with MPI operations as they are and cut into small chunks. */
#include "collectives/leat_mpi.h"
#include "collectives/mpi/mpi_wire.h"
#include "wire_cases.h"

static void run_cases(leat_wire *wire, const char *label, uint64_t chunk, uint64_t bytes_max)
{
    wire_result result = {"", 0};
    char text[96];
    leat_mpi_chunk_set(wire, chunk);
    wire_cases(wire, &result, chunk % 1000, bytes_max);
    snprintf(text, sizeof text, "%s, rank %d of %d", label, wire->rank, wire->size);
    CHECK_TEXT(text, result.text, "");
}

static void test_cases(void)
{
    leat_wire *wire = NULL;
    leat_error error;
    CHECK_OK(leat_wire_open_mpi(&wire, MPI_COMM_WORLD, &error), &error);
    CHECK(wire->any_thread);
    run_cases(wire, "whole and large", 1 << 30, 20000);
    run_cases(wire, "chunks of 64 bytes", 64, 500);
    run_cases(wire, "chunks of a byte", 1, 12);
    leat_wire_close(wire);
}

/* Two wires at once, and pokes that nobody has looked at when the wires are closed. */
static void test_two_wires(void)
{
    leat_wire *wires[2];
    leat_error error;
    for (int i = 0; i < 2; i++) {
        CHECK_OK(leat_wire_open_mpi(&wires[i], MPI_COMM_WORLD, &error), &error);
    }
    for (int i = 0; i < 2; i++) {
        wires[i]->ops->poke(wires[i]);
        CHECK_OK(leat_agree(wires[1 - i], LEAT_OK, &error), &error);
        wires[i]->ops->poke(wires[i]);
    }
    leat_wire_close(wires[0]);
    leat_wire_close(wires[1]);
}

/* Steady work allocates nothing: operations and their buffers are used again. */
static void test_no_allocation(void)
{
    enum { BYTES = 1000 };
    leat_wire *wire = NULL;
    leat_error error;
    uint8_t mine[BYTES] = {1}, *all;
    uint64_t sizes[64], offsets[64], before = 0;
    CHECK_OK(leat_wire_open_mpi(&wire, MPI_COMM_WORLD, &error), &error);
    all = leat_alloc((size_t)wire->size, BYTES);
    for (int r = 0; r < wire->size; r++) {
        sizes[r] = BYTES;
        offsets[r] = (uint64_t)r * BYTES;
    }
    for (int round = 0; round < 50; round++) {
        leat_wire_group group = {0};
        before = round == 10 ? leat_alloc_count() : before;
        const int next = (wire->rank + 1) % wire->size;
        const int last = (wire->rank + wire->size - 1) % wire->size;
        uint8_t got[BYTES];
        CHECK_OK(wire->ops->recv(wire, &group, last, 1, got, BYTES, &error), &error);
        CHECK_OK(
            wire->ops->gather(wire, &group, LEAT_CHANNEL_TICK, mine, all, sizes, offsets, &error),
            &error);
        CHECK_OK(wire->ops->send(wire, &group, next, 1, mine, BYTES, &error), &error);
        CHECK_OK(leat_wire_wait(wire, &group, &error), &error);
    }
    CHECK_U64("allocations", leat_alloc_count() - before, 0);
    leat_free(all);
    leat_wire_close(wire);
}

/* A rank that waits alone gives up after the time limit, and closing is LOCAL then. */
static void test_timeout(void)
{
    leat_wire *wire = NULL;
    leat_error error;
    int rank;
    uint64_t head = 0, all[64];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK_OK(leat_wire_open_mpi(&wire, MPI_COMM_WORLD, &error), &error);
    wire->timeout_ns = 50000000;
    if (wire->size > 1 && rank == 0) {
        CHECK_U64("alone", leat_wire_gather_equal(wire, LEAT_CHANNEL_TICK, &head, all, 8, &error),
                  LEAT_PEER);
        CHECK_HAS("says so", error.text, "did not answer");
        CHECK_U64("afterwards", wire->ops->test(wire, &error), LEAT_PEER);
    } else {
        wire->ops->abandon(wire);
    }
    leat_wire_close(wire);
    MPI_Barrier(MPI_COMM_WORLD);
}

typedef struct ending {
    leat_wire *wire;
    int called;
} ending;

static void at_ending(void *context)
{
    ending *end = context;
    int over = 0;
    MPI_Finalized(&over);
    CHECK(!over);
    end->called++;
}

int main(int argc, char **argv)
{
    int level, over = 0;
    leat_wire *wire = NULL;
    leat_error error;
    CHECK_U64("before MPI_Init", leat_wire_open_mpi(&wire, MPI_COMM_WORLD, &error),
              LEAT_ENVIRONMENT);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    test_cases();
    test_two_wires();
    test_no_allocation();
    test_timeout();
    CHECK_OK(leat_wire_open_mpi(&wire, MPI_COMM_WORLD, &error), &error);
    ending end = {wire, 0};
    wire->ending = at_ending;
    wire->ending_context = &end;
    MPI_Finalize();
    MPI_Finalized(&over);
    CHECK(over);
    CHECK_U64("the driver was told once", (uint64_t)end.called, 1);
    CHECK_U64("the wire has ended", wire->ops->test(wire, &error), LEAT_PEER);
    CHECK_HAS("says why", error.text, "MPI was finalized");
    leat_wire_close(wire);
    CHECK_U64("after MPI_Finalize", leat_wire_open_mpi(&wire, MPI_COMM_WORLD, &error),
              LEAT_ENVIRONMENT);
    return check_done();
}
