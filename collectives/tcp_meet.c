/* tcp_meet.c: the ranks of a TCP wire connect.
 *
 * Rank r connects to the ranks below it and is connected to by those above.  Both sides say hello with the random word of the
 * listener, so that a port scanner or a rank of another job is no member. */
#include "collectives/tcp_meet.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/memory.h"
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

enum { HELLO_BYTES = 32, STRANGERS_MOST = 16 };
#define HELLO_MAGIC UINT64_C(0x31706374746165) /* "eattcp1" */
#define HELLO_WAIT_NS UINT64_C(5000000000)     /* a stranger that connects and says nothing */

/* A connection that has not said yet who it is, or has not been answered. */
typedef struct greeting {
    int socket; /* -1: free */
    int rank;   /* whom we called; -1: who called us */
    bool connecting;
    uint32_t sent, got;
    uint8_t out[HELLO_BYTES], in[HELLO_BYTES];
    uint64_t until_ns;
} greeting;

leat_status leat_tcp_fail(leat_error *error, const char *doing, const char *what)
{
    char reason[128];
    const int number = errno;
    snprintf(reason, sizeof reason, "errno %d", number);
    const char *text = strerror_r(number, reason, sizeof reason); /* the GNU form */
    LEAT_FAIL(error, LEAT_ENVIRONMENT, "cannot %s %s: %s", doing, what, text);
    leat_error_hint(error, "name the cluster's interface or its address");
    return LEAT_ENVIRONMENT;
}

void leat_tcp_socket_close(int *at)
{
    if (*at >= 0) {
        close(*at);
    }
    *at = -1;
}

static void hello_write(uint8_t out[HELLO_BYTES], int rank, int size, uint64_t word)
{
    memset(out, 0, HELLO_BYTES);
    leat_put_u64(out, HELLO_MAGIC);
    leat_put_u32(out + 8, (uint32_t)rank);
    leat_put_u32(out + 12, (uint32_t)size);
    leat_put_u64(out + 16, word);
}

static void socket_tune(int fd)
{
    const int on = 1, idle_s = 30, interval_s = 10, count = 6;
    /* None of these decides whether the wire works: a host that is gone is only noticed later without them. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

static leat_status call_rank(greeting *at, const leat_tcp *tcp, const leat_tcp_target *to, int rank,
                             leat_error *error)
{
    at->rank = rank;
    at->until_ns = UINT64_MAX;
    at->sent = at->got = 0;
    hello_write(at->out, tcp->rank, tcp->size, to->word);
    at->socket = socket(to->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (at->socket < 0) {
        return leat_tcp_fail(error, "make", "a socket");
    }
    socket_tune(at->socket);
    at->connecting = true;
    if (connect(at->socket, (const struct sockaddr *)&to->address, to->address_bytes) != 0 &&
        errno != EINPROGRESS) {
        return leat_tcp_fail(error, "connect to", "a rank");
    }
    return LEAT_OK;
}

/* False: the connection is of no use. */
static bool greeting_move(greeting *at)
{
    if (at->connecting) {
        int problem = 0;
        socklen_t bytes = sizeof problem;
        if (getsockopt(at->socket, SOL_SOCKET, SO_ERROR, &problem, &bytes) != 0 || problem != 0) {
            errno = problem;
            return false;
        }
        at->connecting = false;
    }
    const bool answering = at->rank < 0; /* who was called speaks second */
    if (at->sent < HELLO_BYTES && (!answering || at->got == HELLO_BYTES)) {
        const ssize_t sent =
            send(at->socket, at->out + at->sent, HELLO_BYTES - at->sent, MSG_NOSIGNAL);
        if (sent < 0) {
            return errno == EAGAIN || errno == EINTR;
        }
        at->sent += (uint32_t)sent;
    }
    if (at->got < HELLO_BYTES) {
        const ssize_t got = recv(at->socket, at->in + at->got, HELLO_BYTES - at->got, 0);
        if (got <= 0) {
            return got < 0 && (errno == EAGAIN || errno == EINTR);
        }
        at->got += (uint32_t)got;
    }
    return true;
}

/* The rank that says hello with our word, or -1. */
static int hello_rank(const leat_tcp *tcp, const greeting *at, const leat_tcp_target *targets)
{
    const uint32_t rank = leat_get_u32(at->in + 8);
    const bool called = at->rank >= 0;
    const uint64_t word = called ? targets[at->rank].word : tcp->word;
    if (leat_get_u64(at->in) != HELLO_MAGIC || leat_get_u64(at->in + 16) != word ||
        leat_get_u32(at->in + 12) != (uint32_t)tcp->size) {
        return -1;
    }
    if (called) {
        return rank == (uint32_t)at->rank ? at->rank : -1;
    }
    return rank > (uint32_t)tcp->rank && rank < (uint32_t)tcp->size && tcp->sockets[rank] < 0
               ? (int)rank
               : -1;
}

typedef struct meeting {
    leat_tcp *tcp;
    const leat_tcp_target *targets;
    greeting *greetings; /* [size + STRANGERS_MOST]: first those that we call */
    struct pollfd *polled;
    int count, missing;
} meeting;

static void accept_all(meeting *meet, uint64_t now)
{
    for (;;) {
        int free_at = meet->tcp->rank; /* the first ones are those that we call */
        while (free_at < meet->count && meet->greetings[free_at].socket >= 0) {
            free_at++;
        }
        if (free_at == meet->count) {
            return; /* strangers fill the rest; they are sent away after some seconds */
        }
        const int fd = accept4(meet->tcp->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            return;
        }
        socket_tune(fd);
        greeting *at = &meet->greetings[free_at];
        *at = (greeting){.socket = fd, .rank = -1, .until_ns = now + HELLO_WAIT_NS};
    }
}

static leat_status fail_reach(const meeting *meet, int rank, leat_error *error)
{
    char host[64] = "?", port[16] = "?";
    const leat_tcp_target *to = &meet->targets[rank];
    const int number = errno;
    (void)getnameinfo((const struct sockaddr *)&to->address, to->address_bytes, host, sizeof host,
                      port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    LEAT_FAIL(error, LEAT_PEER, "rank %d cannot be reached by rank %d", rank, meet->tcp->rank);
    error->rank = meet->tcp->rank;
    leat_error_where(error, "%s port %s", host, port);
    leat_error_found(error, "errno %d", number);
    leat_error_wanted(error, "a leat rank of this job that listens there");
    leat_error_hint(error, "is the rank still there, and does a firewall stand between the hosts?");
    return LEAT_PEER;
}

static leat_status greet(meeting *meet, greeting *at, uint64_t now, leat_error *error)
{
    const bool works = greeting_move(at);
    if (works && at->got == HELLO_BYTES && at->out[0] == 0 && at->rank < 0) {
        /* Who calls is known now; the answer repeats our word. */
        hello_write(at->out, meet->tcp->rank, meet->tcp->size, meet->tcp->word);
        if (hello_rank(meet->tcp, at, meet->targets) < 0) {
            leat_tcp_socket_close(&at->socket);
        }
        return LEAT_OK;
    }
    if (works && at->got == HELLO_BYTES && at->sent == HELLO_BYTES) {
        const int rank = hello_rank(meet->tcp, at, meet->targets);
        if (rank >= 0) {
            meet->tcp->sockets[rank] = at->socket;
            meet->missing--;
            at->socket = -1;
            return LEAT_OK;
        }
    } else if (works && now < at->until_ns) {
        return LEAT_OK;
    }
    if (at->rank >= 0) {
        return fail_reach(meet, at->rank, error);
    }
    leat_tcp_socket_close(&at->socket); /* a stranger */
    return LEAT_OK;
}

static leat_status fail_missing(const meeting *meet, leat_error *error)
{
    int first = 0;
    while (first == meet->tcp->rank || meet->tcp->sockets[first] >= 0) {
        first++;
    }
    LEAT_FAIL(error, LEAT_PEER, "%d ranks did not connect in time, the first of them rank %d",
              meet->missing, first);
    error->rank = meet->tcp->rank;
    leat_error_hint(error,
                    "were all ranks started with the same addresses, and can they reach each "
                    "other? start the job again");
    return LEAT_PEER;
}

static leat_status meet_step(meeting *meet, const leat_clock *clock, leat_error *error)
{
    nfds_t polled = 1;
    meet->polled[0] = (struct pollfd){meet->tcp->listener, POLLIN, 0};
    for (int i = 0; i < meet->count; i++) {
        const greeting *at = &meet->greetings[i];
        const bool sends =
            at->connecting || (at->sent < HELLO_BYTES && (at->rank >= 0 || at->got == HELLO_BYTES));
        if (at->socket >= 0) {
            meet->polled[polled++] =
                (struct pollfd){at->socket, (short)(POLLIN | (sends ? POLLOUT : 0)), 0};
        }
    }
    (void)poll(meet->polled, polled, 100);
    const uint64_t now = clock->now_ns(clock->context);
    nfds_t seen = 1;
    leat_status status = LEAT_OK;
    for (int i = 0; i < meet->count && status == LEAT_OK; i++) {
        greeting *at = &meet->greetings[i];
        if (at->socket >= 0 && (meet->polled[seen++].revents != 0 || now >= at->until_ns)) {
            status = greet(meet, at, now, error);
        }
    }
    accept_all(meet, now);
    return status;
}

leat_status leat_tcp_meet(leat_tcp *tcp, const leat_tcp_target *targets, uint64_t timeout_ns,
                          leat_error *error)
{
    const leat_clock *clock = leat_clock_system();
    const uint64_t start = clock->now_ns(clock->context);
    meeting meet = {tcp, targets, NULL, NULL, tcp->size + STRANGERS_MOST, tcp->size - 1};
    leat_status status = LEAT_OK;
    meet.greetings = leat_alloc((size_t)meet.count, sizeof *meet.greetings);
    meet.polled = leat_alloc((size_t)meet.count + 1, sizeof *meet.polled);
    for (int i = 0; i < meet.count; i++) {
        meet.greetings[i].socket = -1;
    }
    for (int r = 0; r < tcp->rank && status == LEAT_OK; r++) {
        status = call_rank(&meet.greetings[r], tcp, &targets[r], r, error);
    }
    while (status == LEAT_OK && meet.missing > 0) {
        status = meet_step(&meet, clock, error);
        if (status == LEAT_OK && meet.missing > 0 &&
            clock->now_ns(clock->context) - start > timeout_ns) {
            status = fail_missing(&meet, error);
        }
    }
    for (int i = 0; i < meet.count; i++) {
        leat_tcp_socket_close(&meet.greetings[i].socket);
    }
    leat_free(meet.greetings);
    leat_free(meet.polled);
    return status;
}
