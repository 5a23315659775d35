/* gpu_probe.h: could NCCL work here?  Looks for libnccl.so.2 and the CUDA runtime by dlopen, so that one binary runs on nodes
 * with and without GPUs.  Opens no device and makes no context.  LOCAL. */
#ifndef LEAT_COLLECTIVES_GPU_PROBE_H
#define LEAT_COLLECTIVES_GPU_PROBE_H
#include "base/status.h"
#include <stdbool.h>

typedef struct leat_gpu_probe {
    bool usable;                               /* both libraries, a driver and a device */
    int nccl_version;                          /* 22809 is 2.28.9; 0: no library */
    int cuda_runtime, cuda_driver;             /* 13000 is 13.0; 0: none */
    int devices;                               /* of this process (CUDA_VISIBLE_DEVICES counts) */
    char nccl_library[256], cuda_library[256]; /* file that was opened, "" where there is none */
    char nccl_reason[256], cuda_reason[256];   /* why it is not used, "" where it can be */
    char hint[256];                            /* what to do, "" where it is usable */
} leat_gpu_probe;

void leat_gpu_probe_run(leat_gpu_probe *out);
/* OK, or ENVIRONMENT with the reason: for jobs that ask for NCCL by name. */
leat_status leat_gpu_probe_require(leat_error *error) LEAT_MUST_USE;
/* "2.28.9" and "13.0" of the numbers above. */
void leat_gpu_nccl_version(int version, char *out, size_t size);
void leat_gpu_cuda_version(int version, char *out, size_t size);
#endif
