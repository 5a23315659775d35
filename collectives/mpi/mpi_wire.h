/* mpi_wire.h: what tests of the MPI wire may turn. */
#ifndef LEAT_COLLECTIVES_MPI_WIRE_H
#define LEAT_COLLECTIVES_MPI_WIRE_H
#include "collectives/wire.h"

/* MPI counts in int: no single operation moves more bytes than this, larger ones are cut.  The same on all ranks, set while
 * nothing is under way; at most INT_MAX. */
LEAT_PUBLIC void leat_mpi_chunk_set(leat_wire *wire, uint64_t bytes);
#endif
