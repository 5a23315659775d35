/* leat_mpi.h: a wire over MPI (library libleat_mpi, built per MPI). */
#ifndef LEAT_MPI_H
#define LEAT_MPI_H
#include "leat_wire.h"
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* COLLECTIVE over `comm`, which is duplicated and stays the caller's; MPI must be initialised, and `comm` must be an
 * intracommunicator.  With MPI_THREAD_MULTIPLE a loader thread drives the wire; with less the caller's thread does, inside leat's
 * calls.  leat never calls MPI_Abort.  The wire is closed before MPI_Finalize; where it is not, MPI_Finalize stops it.
 * ENVIRONMENT: MPI is not initialised or cannot give the communicators. */
LEAT_PUBLIC leat_status leat_wire_open_mpi(leat_wire **wire, MPI_Comm comm,
                                           leat_error *error) LEAT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
