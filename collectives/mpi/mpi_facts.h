/* mpi_facts.h: what can be said about the MPI that leat runs on, without an MPI type in it. */
#ifndef LEAT_COLLECTIVES_MPI_FACTS_H
#define LEAT_COLLECTIVES_MPI_FACTS_H
#include "base/status.h"
#include <stdbool.h>

typedef struct leat_mpi_facts {
    char library[256]; /* first line of what the library says of itself */
    int version, subversion;
    bool running;             /* between MPI_Init and MPI_Finalize */
    const char *thread_level; /* "single", "funneled", "serialized", "multiple"; running only */
    bool any_thread;          /* multiple */
    int yields; /* mpi_yield_when_idle of Open MPI: 1 on, 0 off, -1 where it is not known */
} leat_mpi_facts;

/* LOCAL; works before MPI_Init too. */
LEAT_PUBLIC void leat_mpi_look(leat_mpi_facts *out);
#endif
