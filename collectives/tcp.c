/* tcp.c: sockets as byte streams under the stream wire.  A closed connection is known at the next test. */
#include "collectives/leat_tcp.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "collectives/stream.h"
#include "collectives/tcp_meet.h"
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIMEOUT_DEFAULT_NS UINT64_C(300000000000)

/* ---- listening ---- */

static socklen_t address_size(const struct sockaddr *address)
{
    return address->sa_family == AF_INET    ? (socklen_t)sizeof(struct sockaddr_in)
           : address->sa_family == AF_INET6 ? (socklen_t)sizeof(struct sockaddr_in6)
                                            : 0;
}

/* IPv6 addresses that need a scope are of no use to another host. */
static bool usable_address(const struct ifaddrs *at)
{
    if (at->ifa_addr == NULL || !(at->ifa_flags & IFF_UP)) {
        return false;
    }
    return at->ifa_addr->sa_family == AF_INET ||
           (at->ifa_addr->sa_family == AF_INET6 &&
            !IN6_IS_ADDR_LINKLOCAL(
                &((const struct sockaddr_in6 *)(const void *)at->ifa_addr)->sin6_addr));
}

/* How well an interface's address fits what was asked for; 0: not at all. */
static int fit(const struct ifaddrs *at, const char *interface)
{
    if (!usable_address(at)) {
        return 0;
    }
    const int family = at->ifa_addr->sa_family == AF_INET ? 2 : 1;
    if (interface != NULL) {
        return strcmp(at->ifa_name, interface) == 0 ? family : 0;
    }
    return family + (at->ifa_flags & IFF_LOOPBACK ? 0 : 2);
}

static leat_status find_interface(const char *interface, struct sockaddr_storage *out,
                                  leat_error *error)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *found = NULL;
    struct ifaddrs *all = NULL, *best = NULL;
    memset(out, 0, sizeof *out);
    if (interface != NULL && getaddrinfo(interface, NULL, &hints, &found) == 0) {
        memcpy(out, found->ai_addr, found->ai_addrlen);
        freeaddrinfo(found);
        return LEAT_OK;
    }
    if (getifaddrs(&all) != 0) {
        return leat_tcp_fail(error, "list", "the network interfaces");
    }
    for (struct ifaddrs *at = all; at != NULL; at = at->ifa_next) {
        if (fit(at, interface) > (best == NULL ? 0 : fit(best, interface))) {
            best = at;
        }
    }
    if (best != NULL) {
        memcpy(out, best->ifa_addr, address_size(best->ifa_addr));
    } else {
        LEAT_FAIL(error, LEAT_INVALID, "no such network interface or address");
        leat_error_found(error, "%s", interface == NULL ? "no interface that is up" : interface);
        leat_error_wanted(error, "the name of an interface that is up, or one of its addresses");
        leat_error_hint(error, "`ip address` lists them");
    }
    freeifaddrs(all);
    return best != NULL ? LEAT_OK : LEAT_INVALID;
}

static leat_status address_write(leat_tcp *tcp, leat_error *error)
{
    struct sockaddr_storage bound;
    socklen_t bytes = sizeof bound;
    char host[64], port[16];
    if (getsockname(tcp->listener, (struct sockaddr *)&bound, &bytes) != 0 ||
        getnameinfo((struct sockaddr *)&bound, bytes, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        return leat_tcp_fail(error, "name", "the listening socket");
    }
    snprintf(tcp->address, sizeof tcp->address,
             bound.ss_family == AF_INET6 ? "[%s]:%s#%016" PRIx64 : "%s:%s#%016" PRIx64, host, port,
             tcp->word);
    return LEAT_OK;
}

leat_status leat_tcp_listen(leat_tcp **out, const char *interface, leat_error *error)
{
    struct sockaddr_storage address;
    *out = NULL;
    leat_error_clear(error);
    leat_status status = find_interface(interface, &address, error);
    if (status != LEAT_OK) {
        return status;
    }
    leat_tcp *tcp = leat_alloc(1, sizeof *tcp);
    tcp->epoll = -1;
    tcp->listener = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (tcp->listener < 0 ||
        bind(tcp->listener, (struct sockaddr *)&address,
             address_size((struct sockaddr *)&address)) != 0 ||
        listen(tcp->listener, SOMAXCONN) != 0) {
        status = leat_tcp_fail(error, "listen on", interface == NULL ? "the network" : interface);
    } else if (getrandom(&tcp->word, sizeof tcp->word, 0) != (ssize_t)sizeof tcp->word) {
        status = leat_tcp_fail(error, "get", "random bytes");
    } else {
        status = address_write(tcp, error);
    }
    if (status != LEAT_OK) {
        leat_tcp_close(tcp);
        return status;
    }
    *out = tcp;
    return LEAT_OK;
}

const char *leat_tcp_address(const leat_tcp *tcp)
{
    return tcp->address;
}

void leat_tcp_close(leat_tcp *tcp)
{
    if (tcp == NULL) {
        return;
    }
    leat_tcp_socket_close(&tcp->listener);
    leat_tcp_socket_close(&tcp->epoll);
    for (int r = 0; tcp->sockets != NULL && r < tcp->size; r++) {
        leat_tcp_socket_close(&tcp->sockets[r]);
    }
    leat_free(tcp->sockets);
    leat_free(tcp->events);
    leat_free(tcp);
}

/* ---- opening ---- */

/* "host:port#word"; the host is numeric, in brackets where it is IPv6. */
static bool target_parse(const char *text, leat_tcp_target *out)
{
    char copy[LEAT_TCP_ADDRESS_BYTES], *host = copy;
    uint8_t word[8];
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (text == NULL || strlen(text) >= sizeof copy) {
        return false;
    }
    strcpy(copy, text);
    char *hash = strchr(copy, '#');
    char *colon = strrchr(copy, ':');
    if (hash == NULL || colon == NULL || !leat_unhex(hash + 1, word, sizeof word)) {
        return false;
    }
    *hash = *colon = '\0';
    if (host[0] == '[' && colon > host + 1 && colon[-1] == ']') {
        host++;
        colon[-1] = '\0';
    }
    if (getaddrinfo(host, colon + 1, &hints, &found) != 0) {
        return false;
    }
    memset(out, 0, sizeof *out);
    memcpy(&out->address, found->ai_addr, found->ai_addrlen);
    out->address_bytes = found->ai_addrlen;
    freeaddrinfo(found);
    for (size_t i = 0; i < sizeof word; i++) {
        out->word = out->word << 8 | word[i];
    }
    return true;
}

/* ---- the streams ---- */

static int64_t moved(ssize_t result)
{
    if (result < 0) {
        return errno == EAGAIN || errno == EINTR ? 0 : LEAT_STREAM_GONE;
    }
    return result;
}

static int64_t tcp_send(void *context, int peer, const void *bytes, uint64_t size)
{
    const leat_tcp *tcp = context;
    return moved(send(tcp->sockets[peer], bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT));
}

static int64_t tcp_recv(void *context, int peer, void *bytes, uint64_t size)
{
    const leat_tcp *tcp = context;
    const ssize_t got = recv(tcp->sockets[peer], bytes, size, MSG_DONTWAIT);
    return got == 0 ? LEAT_STREAM_GONE : moved(got);
}

static int tcp_ready(void *context, int *peers)
{
    const leat_tcp *tcp = context;
    const int count = tcp->size > 1 ? epoll_wait(tcp->epoll, tcp->events, tcp->size, 0) : 0;
    for (int i = 0; i < count; i++) {
        peers[i] = tcp->events[i].data.fd; /* the rank */
    }
    return count > 0 ? count : 0;
}

static void tcp_close(void *context)
{
    leat_tcp_close(context);
}

/* Connects once more; the addresses go over the wire that is there. */
static leat_status tcp_dup(void *context, leat_wire *wire, leat_wire **out, leat_error *error)
{
    const leat_tcp *tcp = context;
    leat_tcp *other = NULL;
    char mine[LEAT_TCP_ADDRESS_BYTES], *host = mine;
    char *all = leat_alloc((size_t)tcp->size, sizeof mine);
    const char **addresses = leat_alloc((size_t)tcp->size, sizeof *addresses);
    memcpy(mine, tcp->address, sizeof mine);
    *strrchr(mine, ':') = '\0';
    if (mine[0] == '[') {
        host++;
        mine[strlen(mine) - 1] = '\0';
    }
    leat_status status = leat_agree(wire, leat_tcp_listen(&other, host, error), error);
    if (status == LEAT_OK) {
        memcpy(mine, other->address, sizeof mine);
        status = leat_wire_gather_equal(wire, LEAT_CHANNEL_CALL, mine, all, sizeof mine, error);
    }
    for (size_t r = 0; r < (size_t)tcp->size; r++) {
        addresses[r] = all + r * sizeof mine;
        all[(r + 1) * sizeof mine - 1] = '\0';
    }
    if (status == LEAT_OK) {
        status = leat_wire_open_tcp(out, other, tcp->rank, tcp->size, addresses, wire->timeout_ns,
                                    error);
    } else {
        leat_tcp_close(other);
    }
    leat_free(addresses);
    leat_free(all);
    return status;
}

static leat_status watch_all(leat_tcp *tcp, leat_error *error)
{
    tcp->epoll = epoll_create1(EPOLL_CLOEXEC);
    tcp->events = leat_alloc((size_t)tcp->size, sizeof *tcp->events);
    if (tcp->epoll < 0) {
        return leat_tcp_fail(error, "make", "an epoll instance");
    }
    for (int r = 0; r < tcp->size; r++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = r};
        if (r != tcp->rank && epoll_ctl(tcp->epoll, EPOLL_CTL_ADD, tcp->sockets[r], &event) != 0) {
            return leat_tcp_fail(error, "watch", "a socket");
        }
    }
    return LEAT_OK;
}

leat_status leat_wire_open_tcp(leat_wire **wire, leat_tcp *tcp, int rank, int size,
                               const char *const *addresses, uint64_t timeout_ns, leat_error *error)
{
    static const leat_stream_ops ops = {"tcp", tcp_send, tcp_recv, tcp_ready, tcp_close, tcp_dup};
    leat_status status = LEAT_OK;
    *wire = NULL;
    leat_error_clear(error);
    if (size < 1 || rank < 0 || rank >= size) {
        leat_tcp_close(tcp);
        LEAT_FAIL(error, LEAT_INVALID, "the rank is not one of the job's");
        leat_error_found(error, "rank %d of %d", rank, size);
        leat_error_wanted(error, "0 <= rank < size");
        return LEAT_INVALID;
    }
    tcp->rank = rank;
    tcp->size = size;
    tcp->sockets = leat_alloc((size_t)size, sizeof *tcp->sockets);
    leat_tcp_target *targets = leat_alloc((size_t)size, sizeof *targets);
    for (int r = 0; r < size; r++) {
        tcp->sockets[r] = -1;
        if (status == LEAT_OK && !target_parse(addresses[r], &targets[r])) {
            status = LEAT_FAIL(error, LEAT_INVALID, "the address of rank %d makes no sense", r);
            leat_error_found(error, "%.150s", addresses[r] == NULL ? "NULL" : addresses[r]);
            leat_error_wanted(error, "what leat_tcp_address gave on rank %d", r);
        }
    }
    if (status == LEAT_OK && targets[rank].word != tcp->word) {
        status = LEAT_FAIL(error, LEAT_INVALID, "the address of rank %d is not its own", rank);
        leat_error_found(error, "%.150s", addresses[rank]);
        leat_error_wanted(error, "%s", tcp->address);
        leat_error_hint(error, "bring the addresses into the order of the ranks");
    }
    if (status == LEAT_OK) {
        status =
            leat_tcp_meet(tcp, targets, timeout_ns != 0 ? timeout_ns : TIMEOUT_DEFAULT_NS, error);
    }
    if (status == LEAT_OK) {
        status = watch_all(tcp, error);
    }
    leat_free(targets);
    leat_tcp_socket_close(&tcp->listener);
    if (status != LEAT_OK) {
        leat_tcp_close(tcp);
        return status;
    }
    *wire = leat_stream_open(&ops, tcp, rank, size, true);
    return LEAT_OK;
}
