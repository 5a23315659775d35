/* leat_wire.h: what connects the ranks of a job, as a handle.  It is opened by one of leat_wire_open_single (here), _mpi
 * (leat_mpi.h), _tcp (leat_tcp.h) and _calls (leat_calls.h), given to leat_loader_open, and closed after the loaders on it. */
#ifndef LEAT_WIRE_PUBLIC_H
#define LEAT_WIRE_PUBLIC_H
#include "leat_status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_wire leat_wire;

/* A job of one rank. */
LEAT_PUBLIC leat_status leat_wire_open_single(leat_wire **wire, leat_error *error) LEAT_MUST_USE;
/* COLLECTIVE on a healthy wire, LOCAL after an error.  Accepts NULL. */
LEAT_PUBLIC void leat_wire_close(leat_wire *wire);

#ifdef __cplusplus
}
#endif
#endif
