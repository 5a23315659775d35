/* The wires over byte streams: the caller's functions over socket pairs, and TCP over the loopback; each rank a process. */
#include "base/bytes.h"
#include "collectives/leat_calls.h"
#include "collectives/leat_tcp.h"
#include "wire_cases.h"
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS_MAX = 9, ADDRESS_BYTES = 128 };

/* Shared by the ranks of one job. */
typedef struct job {
    wire_result results[RANKS_MAX];
    char addresses[RANKS_MAX][ADDRESS_BYTES];
    atomic_int listening;
    int ranks;
    int pairs[RANKS_MAX][RANKS_MAX][2]; /* socket pairs; of [a][b], a < b, end 0 is a's */
    bool waiting;                       /* the caller's functions wait */
    void (*run)(leat_wire *, wire_result *);
} job;

typedef struct streams {
    job *shared;
    int rank;
} streams;

static int stream_of(const streams *at, int peer)
{
    return at->rank < peer ? at->shared->pairs[at->rank][peer][0]
                           : at->shared->pairs[peer][at->rank][1];
}

static int64_t give(void *context, int peer, const void *bytes, uint64_t size)
{
    const streams *at = context;
    const ssize_t sent = send(stream_of(at, peer), bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent >= 0 ? sent : errno == EAGAIN ? 0 : -1;
}

static int64_t take(void *context, int peer, void *bytes, uint64_t size)
{
    const streams *at = context;
    const ssize_t got = recv(stream_of(at, peer), bytes, size, MSG_DONTWAIT);
    return got > 0 ? got : got < 0 && errno == EAGAIN ? 0 : -1;
}

/* Waits for the first byte. */
static int64_t take_waiting(void *context, int peer, void *bytes, uint64_t size)
{
    const streams *at = context;
    const ssize_t got = recv(stream_of(at, peer), bytes, size, 0);
    return got > 0 ? got : -1;
}

static int ready(void *context, int peer)
{
    const streams *at = context;
    struct pollfd polled = {stream_of(at, peer), POLLIN, 0};
    return poll(&polled, 1, 0);
}

static void rank_by_calls(job *shared, int rank)
{
    leat_wire *wire = NULL;
    leat_error error;
    streams at = {shared, rank};
    for (int a = 0; a < shared->ranks; a++) {
        for (int b = a + 1; b < shared->ranks; b++) {
            for (int end = 0; end < 2; end++) {
                if ((end == 0 ? a : b) != rank) {
                    close(shared->pairs[a][b][end]);
                }
            }
        }
    }
    const leat_calls calls = {.rank = rank,
                              .size = shared->ranks,
                              .context = &at,
                              .send = give,
                              .recv = shared->waiting ? take_waiting : take,
                              .ready = shared->waiting ? ready : NULL};
    wire_expect(&shared->results[rank], leat_wire_open_calls(&wire, &calls, &error) == LEAT_OK,
                "open", 0);
    shared->run(wire, &shared->results[rank]);
    leat_wire_close(wire);
}

/* Connections of somebody else to a listening rank: one says nothing, one says something else.  They stay open. */
static void visit_as_stranger(const char *address)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    to.sin_port = htons((uint16_t)atoi(strchr(address, ':') + 1));
    for (int i = 0; i < 2; i++) {
        const int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0 ||
            (i == 1 && send(fd, "GET / HTTP/1.1\r\nHost: somewhere\r\n", 33, 0) != 33)) {
            perror("stranger");
            exit(1);
        }
    }
}

static void rank_by_tcp(job *shared, int rank)
{
    leat_wire *wire = NULL;
    leat_tcp *tcp = NULL;
    leat_error error;
    const char *addresses[RANKS_MAX];
    wire_expect(&shared->results[rank], leat_tcp_listen(&tcp, "lo", &error) == LEAT_OK, "listen",
                0);
    strcpy(shared->addresses[rank], leat_tcp_address(tcp));
    atomic_fetch_add(&shared->listening, 1);
    while (atomic_load(&shared->listening) < shared->ranks) {
        sched_yield();
    }
    for (int r = 0; r < shared->ranks; r++) {
        addresses[r] = shared->addresses[r];
    }
    if (rank == shared->ranks - 1) {
        visit_as_stranger(addresses[0]);
    }
    const leat_status status = leat_wire_open_tcp(&wire, tcp, rank, shared->ranks, addresses,
                                                  UINT64_C(60000000000), &error);
    wire_expect(&shared->results[rank], status == LEAT_OK, error.text, 0);
    if (status == LEAT_OK) {
        shared->run(wire, &shared->results[rank]);
        leat_wire_close(wire);
    }
}

/* A second wire beside the first, used in turn with it. */
static void two_wires(leat_wire *wire, wire_result *result)
{
    leat_wire *other = NULL;
    leat_error error;
    if (wire->ops->dup == NULL) {
        return; /* the caller's functions carry one wire */
    }
    wire_expect(result, wire->ops->dup(wire, &other, &error) == LEAT_OK, "dup", 0);
    for (uint64_t round = 0; round < 3; round++) {
        wire_pairs(wire, result, 50 + round, 500);
        wire_gathers(other, result, 60 + round, 500);
    }
    wire_agreements(other, result);
    leat_wire_close(other);
}

static void run_job(const char *label, int ranks, bool tcp, bool waiting,
                    void (*run)(leat_wire *, wire_result *))
{
    job *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t processes[RANKS_MAX];
    shared->ranks = ranks;
    shared->run = run;
    shared->waiting = waiting;
    for (int a = 0; a < ranks && !tcp; a++) {
        for (int b = a + 1; b < ranks; b++) {
            CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, shared->pairs[a][b]) == 0);
        }
    }
    fflush(stdout);
    for (int r = 0; r < ranks; r++) {
        processes[r] = fork();
        if (processes[r] == 0) {
            alarm(100);
            (tcp ? rank_by_tcp : rank_by_calls)(shared, r);
            exit(0);
        }
    }
    for (int a = 0; a < ranks && !tcp; a++) {
        for (int b = a + 1; b < ranks; b++) {
            close(shared->pairs[a][b][0]);
            close(shared->pairs[a][b][1]);
        }
    }
    for (int r = 0; r < ranks; r++) {
        int status = -1;
        char text[96];
        snprintf(text, sizeof text, "%s by %s, rank %d of %d", label,
                 tcp       ? "tcp"
                 : waiting ? "waiting calls"
                           : "calls",
                 r, ranks);
        waitpid(processes[r], &status, 0);
        CHECK_TEXT(text, shared->results[r].text, "");
        CHECK_U64(text, (uint64_t)status, 0);
    }
    munmap(shared, sizeof *shared);
}

static void small_cases(leat_wire *wire, wire_result *result)
{
    wire_cases(wire, result, 11, 700);
}

/* More than any socket buffer holds, so that both sides must read to let the other go on. */
static void large_cases(leat_wire *wire, wire_result *result)
{
    wire_gathers(wire, result, 21, 600000);
    wire_pairs(wire, result, 22, 600000);
}

/* Messages of many sizes come before their receives, some of them in the middle of their way. */
static void early_messages(leat_wire *wire, wire_result *result)
{
    enum { COUNT = 40 };
    leat_error error;
    leat_wire_group group = {0};
    uint8_t *got[COUNT], *sent[COUNT];
    const int next = (wire->rank + 1) % wire->size;
    const int last = (wire->rank + wire->size - 1) % wire->size;
    for (uint64_t i = 0; i < COUNT; i++) {
        const uint64_t size = i * i * 300;
        sent[i] = wire_fill(i, wire->rank, next, size);
        wire_expect(result,
                    wire->ops->send(wire, &group, next, (uint32_t)(i % 3), sent[i], size, &error) ==
                        LEAT_OK,
                    "send", i);
        wire_expect(result, wire->ops->test(wire, &error) == LEAT_OK, "test", i);
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        got[i] = leat_alloc(i * i * 300 + 1, 1);
    }
    for (uint32_t tag = 3; tag-- > 0;) {
        for (uint64_t i = tag; i < COUNT; i += 3) {
            wire_expect(result,
                        wire->ops->recv(wire, &group, last, tag, got[i], i * i * 300, &error) ==
                            LEAT_OK,
                        "recv", i);
            wire_expect(result, wire->ops->test(wire, &error) == LEAT_OK, "test", i);
        }
    }
    wire_expect(result, leat_wire_wait(wire, &group, &error) == LEAT_OK, "all arrive", 0);
    for (uint64_t i = 0; i < COUNT; i++) {
        wire_expect(result, wire_wrong(got[i], i, last, wire->rank, i * i * 300) == 0, "bytes", i);
        leat_free(got[i]);
        leat_free(sent[i]);
    }
}

/* The last rank ends without a word while the others wait for it. */
static void dies(leat_wire *wire, wire_result *result)
{
    uint64_t head = 1, all[RANKS_MAX];
    leat_error error;
    const leat_status before = leat_agree(wire, LEAT_OK, &error);
    if (wire->rank == wire->size - 1) {
        wire_expect(result, before == LEAT_OK, "before", 0);
        _exit(0);
    }
    const uint64_t start = wire->clock->now_ns(wire->clock->context);
    const leat_status status =
        before != LEAT_OK
            ? before /* it was that quick */
            : leat_wire_gather_equal(wire, LEAT_CHANNEL_TICK, &head, all, sizeof head, &error);
    wire_expect(result, status == LEAT_PEER, "a rank died", 0);
    wire_expect(result, strstr(error.text, "is gone") != NULL, error.text, 0);
    wire_expect(result, wire->clock->now_ns(wire->clock->context) - start < UINT64_C(20000000000),
                "noticed soon", 0);
}

/* Sizes that both sides should know differ: an error that names the rank, not a crash. */
static void wrong_sizes(leat_wire *wire, wire_result *result)
{
    uint8_t bytes[64] = {0};
    leat_error error;
    leat_wire_group group = {0};
    if (wire->rank == 0) {
        wire_expect(result, wire->ops->send(wire, &group, 1, 7, bytes, 10, &error) == LEAT_OK,
                    "send", 0);
        const leat_status status = leat_wire_wait(wire, &group, &error);
        wire_expect(result, status == LEAT_OK || status == LEAT_PEER, "sent, or rank 1 is gone", 0);
    } else if (wire->rank == 1) {
        leat_status status = wire->ops->recv(wire, &group, 0, 7, bytes, 64, &error);
        if (status == LEAT_OK) {
            status = leat_wire_wait(wire, &group, &error);
        }
        wire_expect(result, status == LEAT_DEFECT, "sizes differ", 0);
        wire_expect(result, strcmp(error.found, "10 bytes with tag 7") == 0, error.found, 0);
        wire_expect(result, strcmp(error.wanted, "64 bytes") == 0, error.wanted, 0);
    }
}

/* ---- one end is ours, the other is not leat ---- */

static uint8_t noise[256];
static uint64_t noise_at, noise_end;

static int64_t give_nothing(void *context, int peer, const void *bytes, uint64_t size)
{
    (void)context;
    (void)peer;
    (void)bytes;
    return (int64_t)size;
}

static int64_t take_noise(void *context, int peer, void *bytes, uint64_t size)
{
    (void)context;
    (void)peer;
    const uint64_t left = noise_end - noise_at, part = left < size ? left : size;
    memcpy(bytes, noise + noise_at, part);
    noise_at += part;
    return (int64_t)part;
}

static void test_noise(void)
{
    uint64_t seed = 42;
    for (int round = 0; round < 200; round++) {
        leat_wire *wire = NULL;
        leat_error error;
        const leat_calls calls = {.rank = 0, .size = 2, .send = give_nothing, .recv = take_noise};
        for (size_t i = 0; i < sizeof noise; i++) {
            noise[i] = (uint8_t)check_random(&seed);
        }
        if (round % 2 == 0) {
            memcpy(noise, "LFRM", 4); /* only the rest is wrong */
        }
        noise_at = 0;
        noise_end = sizeof noise;
        CHECK_OK(leat_wire_open_calls(&wire, &calls, &error), &error);
        CHECK_U64("noise", wire->ops->test(wire, &error), LEAT_PEER);
        CHECK_HAS("noise", error.text, "what rank 1 sends is no message of leat");
        CHECK_U64("stays so", wire->ops->test(wire, &error), LEAT_PEER);
        leat_wire_close(wire);
    }
}

static void head_of(uint32_t tag, uint64_t size)
{
    uint32_t check = 0x811c9dc5u; /* FNV-1a, once more */
    memset(noise, 0, sizeof noise);
    memcpy(noise, "LFRM", 4);
    leat_put_u32(noise + 4, tag);
    leat_put_u64(noise + 8, size);
    leat_put_u32(noise + 24, 1); /* the sender; the frame's number is 0 */
    for (int i = 0; i < 28; i++) {
        check = (check ^ noise[i]) * 0x01000193u;
    }
    leat_put_u32(noise + 28, check);
    noise_at = 0;
    noise_end = 32;
}

static leat_status test_of_noise(void)
{
    leat_wire *wire = NULL;
    leat_error error;
    const leat_calls calls = {.rank = 0, .size = 2, .send = give_nothing, .recv = take_noise};
    CHECK_OK(leat_wire_open_calls(&wire, &calls, &error), &error);
    const leat_status status = wire->ops->test(wire, &error);
    wire->ops->abandon(wire); /* nobody would say farewell */
    leat_wire_close(wire);
    return status;
}

/* A whole head is taken; with any bit turned, or with a size or a tag beyond the limits, it is not. */
static void test_damaged_heads(void)
{
    head_of(3, 5);
    CHECK_U64("a whole head", test_of_noise(), LEAT_OK);
    for (size_t bit = 0; bit < 32 * 8; bit++) {
        head_of(3, 5);
        noise[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (!CHECK_U64("a head with a bit turned", test_of_noise(), LEAT_PEER)) {
            printf("bit %zu\n", bit);
        }
    }
    head_of(3, UINT64_MAX);
    CHECK_U64("too large", test_of_noise(), LEAT_PEER);
    head_of(UINT32_MAX, 5);
    CHECK_U64("no such tag", test_of_noise(), LEAT_PEER);
}

static void test_open_errors(void)
{
    leat_wire *wire = NULL;
    leat_tcp *tcp = NULL;
    leat_error error;
    const leat_calls bad[] = {{.rank = 2, .size = 2, .send = give, .recv = take},
                              {.rank = -1, .size = 2, .send = give, .recv = take},
                              {.rank = 0, .size = 0, .send = give, .recv = take},
                              {.rank = 0, .size = 2, .send = give},
                              {.rank = 0, .size = 2, .recv = take}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_U64("bad calls", leat_wire_open_calls(&wire, &bad[i], &error), LEAT_INVALID);
    }
    CHECK_U64("no such interface", leat_tcp_listen(&tcp, "nonesuch7", &error), LEAT_INVALID);
    CHECK_TEXT("names it", error.found, "nonesuch7");
    const char *const texts[] = {"",
                                 "x",
                                 "127.0.0.1",
                                 "127.0.0.1:1",
                                 "host:1#0123456789abcdef",
                                 ":#",
                                 "127.0.0.1:1#01234567",
                                 "[::1:5#0123456789abcdef",
                                 NULL};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK_OK(leat_tcp_listen(&tcp, "127.0.0.1", &error), &error);
        CHECK_HAS("address", leat_tcp_address(tcp), "127.0.0.1:");
        const char *addresses[2] = {leat_tcp_address(tcp), texts[i]};
        CHECK_U64("bad address", leat_wire_open_tcp(&wire, tcp, 0, 2, addresses, 1, &error),
                  LEAT_INVALID);
        CHECK_TEXT("says which", error.text, "the address of rank 1 makes no sense");
    }
    CHECK_OK(leat_tcp_listen(&tcp, NULL, &error), &error);
    leat_tcp_close(tcp);
    leat_tcp_close(NULL);
}

/* Nobody comes; the port of the other rank is closed; there is no other rank. */
static void test_tcp_alone(void)
{
    leat_wire *wire = NULL;
    leat_tcp *tcp = NULL, *other = NULL;
    leat_error error;
    char away[ADDRESS_BYTES];
    CHECK_OK(leat_tcp_listen(&tcp, "lo", &error), &error);
    CHECK_OK(leat_tcp_listen(&other, "lo", &error), &error);
    strcpy(away, leat_tcp_address(other));
    const char *addresses[2] = {leat_tcp_address(tcp), away};
    CHECK_U64("nobody comes", leat_wire_open_tcp(&wire, tcp, 0, 2, addresses, 50000000, &error),
              LEAT_PEER);
    CHECK_HAS("nobody comes", error.text,
              "1 ranks did not connect in time, the first of them rank 1");
    leat_tcp_close(other);
    CHECK_OK(leat_tcp_listen(&tcp, "lo", &error), &error);
    addresses[0] = away;
    addresses[1] = leat_tcp_address(tcp);
    CHECK_U64("nobody listens",
              leat_wire_open_tcp(&wire, tcp, 1, 2, addresses, UINT64_C(10000000000), &error),
              LEAT_PEER);
    CHECK_HAS("nobody listens", error.text, "rank 0 cannot be reached by rank 1");
    CHECK_OK(leat_tcp_listen(&tcp, "lo", &error), &error);
    addresses[0] = leat_tcp_address(tcp);
    CHECK_OK(leat_wire_open_tcp(&wire, tcp, 0, 1, addresses, 0, &error), &error);
    wire_result result = {"", 0};
    wire_cases(wire, &result, 3, 500);
    CHECK_TEXT("one rank", result.text, "");
    leat_wire_close(wire);
}

int main(void)
{
    test_open_errors();
    test_noise();
    test_damaged_heads();
    test_tcp_alone();
    for (int ranks = 1; ranks <= RANKS_MAX; ranks += ranks < 3 ? 1 : 3) {
        for (int way = 0; way < 3; way++) {
            run_job("cases", ranks, way == 2, way == 1, small_cases);
        }
    }
    for (int way = 0; way < 3; way++) {
        run_job("large", 3, way == 2, way == 1, large_cases);
        run_job("two wires", 5, way == 2, way == 1, two_wires);
        run_job("early", 3, way == 2, way == 1, early_messages);
        run_job("a rank dies", 4, way == 2, way == 1, dies);
        run_job("wrong sizes", 2, way == 2, way == 1, wrong_sizes);
    }
    return check_done();
}
