/* collectives.c: does this environment do what the job's `collectives` asks for? */
#include "collectives/gpu_probe.h"
#include "collectives/wire.h"
#include "loader/loader.h"

/* A job that asks for NCCL by name must not run without it; auto takes MPI, and nothing is looked for. */
leat_status leat_loader_check_collectives(leat_loader *loader, leat_error *error)
{
    if (loader->job->collectives != LEAT_COLLECTIVES_NCCL) {
        return LEAT_OK;
    }
    leat_status status = leat_agree(loader->wire, leat_gpu_probe_require(error), error);
    if (status != LEAT_OK) {
        leat_error_where(error, "%s: collectives", loader->job->path);
    } else if (loader->wire->rank == 0) {
        leat_log_say(&loader->log, LEAT_LOG_WARNING,
                     "collectives: nccl would work here, but there is no device data to carry "
                     "yet: everything goes by MPI");
    }
    return status;
}
