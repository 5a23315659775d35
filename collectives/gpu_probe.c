#include "collectives/gpu_probe.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The few calls that are needed; the headers of NCCL and CUDA are not (their enums are int here). */
typedef int (*version_call)(int *out);
typedef const char *(*text_call)(int code);

/* dlsym gives an object pointer, which ISO C does not convert to a function pointer. */
static bool find_call(void *library, const char *name, void *call, size_t call_bytes)
{
    void *at = dlsym(library, name);
    memcpy(call, &at, call_bytes);
    return at != NULL;
}

/* The libraries stay open: CUDA does not survive being unloaded. */
static void *open_library(const char *const *names, const char *symbol, char *path,
                          size_t path_bytes, char *reason, size_t reason_bytes)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library != NULL) {
            Dl_info info;
            void *at = dlsym(library, symbol);
            bool known = at != NULL && dladdr(at, &info) != 0 && info.dli_fname != NULL;
            snprintf(path, path_bytes, "%s", known ? info.dli_fname : names[i]);
            return library;
        }
        if (i == 0) {
            const char *why = dlerror();
            snprintf(reason, reason_bytes, "%s", why != NULL ? why : "cannot be opened");
        }
    }
    return NULL;
}

static void probe_cuda(leat_gpu_probe *out)
{
    static const char *const names[] = {"libcudart.so.13", "libcudart.so.12", NULL};
    char reason[sizeof out->cuda_reason];
    version_call runtime, driver, count;
    text_call text;
    void *library = open_library(names, "cudaGetDeviceCount", out->cuda_library,
                                 sizeof out->cuda_library, reason, sizeof reason);
    if (library == NULL) {
        snprintf(out->cuda_reason, sizeof out->cuda_reason, "no CUDA runtime: %.200s", reason);
        return;
    }
    if (!find_call(library, "cudaRuntimeGetVersion", &runtime, sizeof runtime) ||
        !find_call(library, "cudaDriverGetVersion", &driver, sizeof driver) ||
        !find_call(library, "cudaGetDeviceCount", &count, sizeof count) ||
        !find_call(library, "cudaGetErrorString", &text, sizeof text)) {
        snprintf(out->cuda_reason, sizeof out->cuda_reason, "%.200s is no CUDA runtime",
                 out->cuda_library);
        return;
    }
    if (runtime(&out->cuda_runtime) != 0) {
        out->cuda_runtime = 0;
    }
    if (driver(&out->cuda_driver) != 0 || out->cuda_driver == 0) {
        out->cuda_driver = 0;
        snprintf(out->cuda_reason, sizeof out->cuda_reason, "no driver");
        return;
    }
    int code = count(&out->devices);
    if (code != 0) {
        const char *why = text(code);
        out->devices = 0;
        snprintf(out->cuda_reason, sizeof out->cuda_reason, "%s", why != NULL ? why : "CUDA fails");
    } else if (out->devices <= 0) {
        out->devices = 0;
        snprintf(out->cuda_reason, sizeof out->cuda_reason, "no device");
    }
}

static void probe_nccl(leat_gpu_probe *out)
{
    static const char *const names[] = {"libnccl.so.2", NULL};
    char reason[sizeof out->nccl_reason];
    version_call version;
    void *library = open_library(names, "ncclGetVersion", out->nccl_library,
                                 sizeof out->nccl_library, reason, sizeof reason);
    if (library == NULL) {
        snprintf(out->nccl_reason, sizeof out->nccl_reason, "no NCCL: %.200s", reason);
    } else if (!find_call(library, "ncclGetVersion", &version, sizeof version) ||
               version(&out->nccl_version) != 0 || out->nccl_version <= 0) {
        out->nccl_version = 0;
        snprintf(out->nccl_reason, sizeof out->nccl_reason, "%.200s is no NCCL", out->nccl_library);
    } else if (out->cuda_reason[0] != '\0') {
        snprintf(out->nccl_reason, sizeof out->nccl_reason, "%.250s", out->cuda_reason);
    }
}

void leat_gpu_probe_run(leat_gpu_probe *out)
{
    *out = (leat_gpu_probe){.usable = false};
    probe_cuda(out);
    probe_nccl(out);
    out->usable = out->nccl_reason[0] == '\0';
    const char *hint = "";
    if (out->cuda_library[0] == '\0' || out->nccl_version == 0) {
        hint = "put libnccl.so.2 and libcudart.so.13 where the loader looks (LD_LIBRARY_PATH)";
    } else if (out->cuda_driver == 0) {
        hint = "run on a node with an NVIDIA driver (nvidia-smi must work there)";
    } else if (!out->usable) {
        hint = "give each process its GPU (srun --gpus-per-task=1, or CUDA_VISIBLE_DEVICES)";
    }
    snprintf(out->hint, sizeof out->hint, "%s", hint);
}

leat_status leat_gpu_probe_require(leat_error *error)
{
    leat_gpu_probe probe;
    leat_gpu_probe_run(&probe);
    if (probe.usable) {
        return LEAT_OK;
    }
    LEAT_FAIL(error, LEAT_ENVIRONMENT, "NCCL cannot work here: %s", probe.nccl_reason);
    leat_error_found(error, "NCCL %d, CUDA runtime %d, driver %d, %d devices", probe.nccl_version,
                     probe.cuda_runtime, probe.cuda_driver, probe.devices);
    leat_error_wanted(error, "NCCL 2, the CUDA runtime, a driver and a device");
    leat_error_hint(error, "%s; or leave `collectives` at auto, and MPI carries everything",
                    probe.hint);
    return LEAT_ENVIRONMENT;
}

void leat_gpu_nccl_version(int version, char *out, size_t size)
{
    /* From 2.9 on the number is major·10000 + minor·100 + patch, before it major·1000. */
    int unit = version >= 10000 ? 10000 : 1000;
    snprintf(out, size, "%d.%d.%d", version / unit, version % unit / 100, version % 100);
}

void leat_gpu_cuda_version(int version, char *out, size_t size)
{
    snprintf(out, size, "%d.%d", version / 1000, version % 1000 / 10);
}
