/* tcp_meet.h: how the ranks of a TCP wire find each other; shared by tcp.c and tcp_meet.c. */
#ifndef LEAT_COLLECTIVES_TCP_MEET_H
#define LEAT_COLLECTIVES_TCP_MEET_H
#include "collectives/leat_tcp.h"
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { LEAT_TCP_ADDRESS_BYTES = 128 };

struct leat_tcp {
    int listener, epoll;
    int rank, size;
    uint64_t word;
    char address[LEAT_TCP_ADDRESS_BYTES];
    int *sockets; /* [size]; -1: none */
    struct epoll_event *events;
};

typedef struct leat_tcp_target {
    struct sockaddr_storage address;
    socklen_t address_bytes;
    uint64_t word;
} leat_tcp_target;

/* ENVIRONMENT with the text of errno. */
leat_status leat_tcp_fail(leat_error *error, const char *doing, const char *what);
void leat_tcp_socket_close(int *at); /* accepts -1, and leaves it */
/* COLLECTIVE.  Fills tcp->sockets; PEER where a rank cannot be reached or does not come. */
leat_status leat_tcp_meet(leat_tcp *tcp, const leat_tcp_target *targets, uint64_t timeout_ns,
                          leat_error *error) LEAT_MUST_USE;
#endif
