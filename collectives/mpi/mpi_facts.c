#include "collectives/mpi/mpi_facts.h"
#include <mpi.h>
#include <stdio.h>
#include <string.h>

/* The variable's value in force, whoever set it (environment, mpirun, a file). */
static int yield_when_idle(void)
{
    int given = 0, index = 0, count = 0, yields = -1;
    MPI_T_cvar_handle handle;
    union {
        unsigned char bytes[64];
        long long aligned;
    } value = {{0}};
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &given) != MPI_SUCCESS) {
        return -1;
    }
    if (MPI_T_cvar_get_index("mpi_yield_when_idle", &index) == MPI_SUCCESS &&
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS) {
        if (count == 1 && MPI_T_cvar_read(handle, value.bytes) == MPI_SUCCESS) {
            yields = 0;
            for (size_t i = 0; i < sizeof value.bytes; i++) {
                yields = yields || value.bytes[i] != 0;
            }
        }
        MPI_T_cvar_handle_free(&handle);
    }
    MPI_T_finalize();
    return yields;
}

void leat_mpi_look(leat_mpi_facts *out)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0, begun = 0, over = 0, level = MPI_THREAD_SINGLE;
    *out = (leat_mpi_facts){.yields = -1};
    if (MPI_Get_library_version(text, &length) == MPI_SUCCESS) {
        text[strcspn(text, "\n,")] = '\0';
        snprintf(out->library, sizeof out->library, "%.250s", text);
    }
    MPI_Get_version(&out->version, &out->subversion);
    MPI_Initialized(&begun);
    MPI_Finalized(&over);
    out->running = begun && !over;
    if (out->running && MPI_Query_thread(&level) == MPI_SUCCESS) {
        out->any_thread = level == MPI_THREAD_MULTIPLE;
        out->thread_level = level == MPI_THREAD_MULTIPLE     ? "multiple"
                            : level == MPI_THREAD_SERIALIZED ? "serialized"
                            : level == MPI_THREAD_FUNNELED   ? "funneled"
                                                             : "single";
        out->yields = yield_when_idle();
    }
}
