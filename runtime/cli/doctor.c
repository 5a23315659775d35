/* leat doctor: what this environment has, what it lacks, and what to do about it. */
#include "cli/doctor.h"
#include "base/json_out.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "collectives/gpu_probe.h"
#include "collectives/wire.h"
#include "io/state/hdf5_file.h"
#include <stdarg.h>
#include <stdio.h>

leat_doctor_finding *leat_doctor_add(leat_doctor *doctor, const char *subject,
                                     leat_doctor_level level, const char *format, ...)
{
    if (doctor->count < LEAT_DOCTOR_FINDINGS_MAX) {
        doctor->count++;
    }
    leat_doctor_finding *finding = &doctor->findings[doctor->count - 1];
    va_list arguments;
    *finding = (leat_doctor_finding){.level = level};
    snprintf(finding->subject, sizeof finding->subject, "%s", subject);
    va_start(arguments, format);
    vsnprintf(finding->found, sizeof finding->found, format, arguments);
    va_end(arguments);
    return finding;
}

void leat_doctor_remedy(leat_doctor_finding *finding, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->remedy, sizeof finding->remedy, format, arguments);
    va_end(arguments);
}

static void libraries(leat_doctor *doctor)
{
    char version[32];
    if (leat_hdf5_version(version, sizeof version)) {
        leat_doctor_add(doctor, "HDF5", LEAT_DOCTOR_OK, "%s", version);
    } else {
        leat_doctor_finding *finding =
            leat_doctor_add(doctor, "HDF5", LEAT_DOCTOR_FAIL,
                            "the library is not the one leat was built with: %s", version);
        leat_doctor_remedy(finding,
                           "build leat again, or put the old library into LD_LIBRARY_PATH");
    }
    leat_doctor_add(doctor, "OpenSSL", LEAT_DOCTOR_OK, "%s", leat_sha256_library());
}

static void gpu(leat_doctor *doctor)
{
    leat_gpu_probe probe;
    char runtime[16], driver[16], nccl[24];
    leat_gpu_probe_run(&probe);
    leat_gpu_cuda_version(probe.cuda_runtime, runtime, sizeof runtime);
    leat_gpu_cuda_version(probe.cuda_driver, driver, sizeof driver);
    leat_gpu_nccl_version(probe.nccl_version, nccl, sizeof nccl);
    leat_doctor_finding *finding;
    if (probe.cuda_reason[0] == '\0') {
        leat_doctor_add(doctor, "CUDA", LEAT_DOCTOR_OK, "runtime %s, driver %s, devices: %d (%s)",
                        runtime, driver, probe.devices, probe.cuda_library);
    } else if (probe.cuda_runtime == 0) {
        finding = leat_doctor_add(doctor, "CUDA", LEAT_DOCTOR_ABSENT, "%s", probe.cuda_reason);
        leat_doctor_remedy(finding, "only needed where batches go to GPUs: %s", probe.hint);
    } else {
        finding =
            leat_doctor_add(doctor, "CUDA", LEAT_DOCTOR_ABSENT, "runtime %s, not used: %s (%s)",
                            runtime, probe.cuda_reason, probe.cuda_library);
        leat_doctor_remedy(finding, "only needed where batches go to GPUs: %s", probe.hint);
    }
    if (probe.usable) {
        leat_doctor_add(doctor, "NCCL", LEAT_DOCTOR_OK, "%s (%s)", nccl, probe.nccl_library);
    } else {
        finding = probe.nccl_version == 0
                      ? leat_doctor_add(doctor, "NCCL", LEAT_DOCTOR_ABSENT, "%s", probe.nccl_reason)
                      : leat_doctor_add(doctor, "NCCL", LEAT_DOCTOR_ABSENT, "%s, not used: %s (%s)",
                                        nccl, probe.nccl_reason, probe.nccl_library);
        leat_doctor_remedy(finding, "collectives: auto uses MPI; collectives: nccl ends with "
                                    "exit code 6 here");
    }
}

static const char *const level_names[] = {"ok", "absent", "warning", "fails"};

static void print_json(const leat_doctor *doctor, bool fine)
{
    leat_buffer buffer = {0};
    leat_json_out out = {&buffer, false};
    leat_json_object(&out);
    leat_json_key_bool(&out, "ok", fine);
    leat_json_key_text(&out, "leat", LEAT_VERSION);
    leat_json_key(&out, "findings");
    leat_json_array(&out);
    for (size_t i = 0; i < doctor->count; i++) {
        const leat_doctor_finding *finding = &doctor->findings[i];
        leat_json_object(&out);
        leat_json_key_text(&out, "subject", finding->subject);
        leat_json_key_text(&out, "level", level_names[finding->level]);
        leat_json_key_text(&out, "found", finding->found);
        leat_json_key_text(&out, "remedy", finding->remedy[0] != '\0' ? finding->remedy : NULL);
        leat_json_object_end(&out);
    }
    leat_json_array_end(&out);
    leat_json_object_end(&out);
    printf("%s\n", leat_buffer_text(&buffer));
    leat_buffer_deinit(&buffer);
}

static void print_text(const leat_doctor *doctor, size_t fails, size_t warnings)
{
    for (size_t i = 0; i < doctor->count; i++) {
        const leat_doctor_finding *finding = &doctor->findings[i];
        printf("%-8s %-12s %s\n", level_names[finding->level], finding->subject, finding->found);
        if (finding->remedy[0] != '\0') {
            printf("%-8s %-12s -> %s\n", "", "", finding->remedy);
        }
    }
    if (fails != 0) {
        printf("\nleat will not run well here: %zu to mend, %zu to look at\n", fails, warnings);
    } else if (warnings != 0) {
        printf("\nleat runs here; %zu to look at\n", warnings);
    } else {
        printf("\nleat runs here\n");
    }
}

static leat_status run(leat_cli *cli, int argc, char **argv)
{
    static const struct option options[] = {{NULL, 0, NULL, 0}};
    if (getopt_long(argc, argv, ":", options, NULL) != -1) {
        return leat_cli_unknown(cli, "doctor", argv);
    }
    leat_doctor *doctor = leat_alloc(1, sizeof *doctor);
    doctor->cli = cli;
    leat_doctor_add(doctor, "leat", LEAT_DOCTOR_OK, "%s", LEAT_VERSION);
    leat_status status = leat_doctor_ranks(doctor, &cli->error);
    if (status == LEAT_OK && leat_cli_root(cli)) {
        libraries(doctor);
        gpu(doctor);
        if (optind == argc) {
            leat_doctor_path(doctor, ".");
        }
        for (int i = optind; i < argc; i++) {
            leat_doctor_path(doctor, argv[i]);
        }
        size_t levels[4] = {0};
        for (size_t i = 0; i < doctor->count; i++) {
            levels[doctor->findings[i].level]++;
        }
        if (cli->json) {
            print_json(doctor, levels[LEAT_DOCTOR_FAIL] == 0);
        } else {
            print_text(doctor, levels[LEAT_DOCTOR_FAIL], levels[LEAT_DOCTOR_WARN]);
        }
        cli->exit_code = levels[LEAT_DOCTOR_FAIL] == 0 ? LEAT_EXIT_OK : LEAT_EXIT_DIFFERS;
    }
    leat_free(doctor);
    return status;
}

const leat_command leat_command_doctor = {
    "doctor",
    "leat doctor [PATH]…",
    "Say what this environment has, what it lacks, and what to do",
    "MPI and its thread level, cores and binding against the ranks of each host, HDF5, OpenSSL, "
    "CUDA, NCCL, and the\n"
    "file system of each PATH (default: where you are): its kind, and whether files can be "
    "written, synced, linked and\n"
    "renamed there.  Start it as you start the job (mpirun, srun) to see what the job would see.\n"
    "Exit code 1: something will not do.\n",
    true,
    run};
