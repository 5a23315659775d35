/* leat_tcp.h: a wire over TCP, for jobs that torchrun or a script starts without MPI.
 *
 *     leat_tcp *tcp = NULL;
 *     leat_tcp_listen(&tcp, NULL, &error);
 *     … the caller brings leat_tcp_address(tcp) of every rank to every rank (a store, an all-gather, a file) …
 *     leat_wire_open_tcp(&wire, tcp, rank, size, addresses, 0, &error);
 *
 * The connections are not encrypted; the random word in an address only keeps strangers out, so addresses are not for logs
 * that others read, and the interface should be the cluster's own. */
#ifndef LEAT_TCP_H
#define LEAT_TCP_H
#include "leat_wire.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_tcp leat_tcp;

/* LOCAL.  Listens on `interface`: a name ("eth0", "lo"), a numeric IPv4 or IPv6 address, or NULL for the first interface that is up
 * and is not the loopback (the loopback where there is none).  The port is the system's choice. */
LEAT_PUBLIC leat_status leat_tcp_listen(leat_tcp **tcp, const char *interface,
                                        leat_error *error) LEAT_MUST_USE;
/* "10.0.0.1:41234#0123456789abcdef", less than 100 characters; lives as long as `tcp`. */
LEAT_PUBLIC const char *leat_tcp_address(const leat_tcp *tcp);
/* Stops listening; only for a `tcp` that was not given to leat_wire_open_tcp.  Accepts NULL. */
LEAT_PUBLIC void leat_tcp_close(leat_tcp *tcp);

/* COLLECTIVE.  Connects every rank with every other; takes `tcp` over, on failure too.  addresses[size] are the ranks' addresses, the
 * same on all.  timeout_ns: 0 is 300 s.  INVALID: an address or rank makes no sense.  PEER: a rank cannot be
 * reached or did not come in time. */
LEAT_PUBLIC leat_status leat_wire_open_tcp(leat_wire **wire, leat_tcp *tcp, int rank, int size,
                                           const char *const *addresses, uint64_t timeout_ns,
                                           leat_error *error) LEAT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
