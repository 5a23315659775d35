/* open.c: a loader on the job of a run folder, as its manifest has it. */
#include "audit/audit.h"
#include "loader/loader.h"

leat_status leat_audit_open(leat_loader **out, leat_wire *wire, const char *run_folder,
                            uint64_t step, uint64_t end, const leat_options *options,
                            leat_error *error)
{
    leat_manifest *manifest = NULL;
    *out = NULL;
    leat_status status =
        leat_agree(wire, leat_loader_read_manifest(run_folder, &manifest, error), error);
    if (status == LEAT_OK) {
        leat_options open = *options;
        open.job_text = manifest->job;
        open.resume = run_folder;
        open.at_step = true;
        open.step = step;
        open.steps = end;
        open.replay = true;
        status = leat_loader_open(out, wire, manifest->job_path, &open, error);
    }
    leat_manifest_close(manifest);
    return status;
}

leat_status leat_audit_cause(const char *run_a, const char *run_b, leat_error *error)
{
    leat_manifest *a = NULL, *b = NULL;
    leat_error unread;
    leat_status status = LEAT_OK;
    if (leat_loader_read_manifest(run_a, &a, &unread) == LEAT_OK &&
        leat_loader_read_manifest(run_b, &b, &unread) == LEAT_OK) {
        status = leat_job_compare_settings(
            (leat_bytes){(const uint8_t *)a->settings, strlen(a->settings)}, run_a,
            (leat_bytes){(const uint8_t *)b->settings, strlen(b->settings)}, run_b, error);
        if (status != LEAT_OK &&
            leat_manifest_compare_shards(a, run_a, b, run_b, &unread) != LEAT_OK &&
            strstr(error->text, "shards") != NULL) {
            *error = unread;
        }
    }
    leat_manifest_close(a);
    leat_manifest_close(b);
    return status;
}
