/* manifest.c: DIR/manifest.json of a run, on rank 0: read where the run goes on, kept and added to, written whole. */
#include "base/memory.h"
#include "loader/loader.h"
#include <unistd.h>

enum { MANIFEST_BYTES_MAX = 1 << 30, HOST_BYTES = 64 };

leat_status leat_loader_read_manifest(const char *folder, leat_manifest **out, leat_error *error)
{
    leat_buffer text = {0};
    char *path = leat_format("%s/manifest.json", folder);
    *out = NULL;
    leat_status status =
        leat_store_read_whole(leat_store_posix(), path, MANIFEST_BYTES_MAX, &text, error);
    if (status == LEAT_OK) {
        status = leat_manifest_read(out, (leat_bytes){text.data, text.size}, path, error);
    }
    leat_buffer_deinit(&text);
    leat_free(path);
    return status;
}

/* What was there is compared; its restarts and forks are kept. */
static leat_status merge(leat_loader *loader, const leat_manifest *old, leat_error *error)
{
    uint64_t row = leat_plan_step_first_row(loader->spec.batch_sizes, loader->spec.batch_size_count,
                                            loader->first_step);
    leat_status status = leat_job_compare_settings_at(
        (leat_bytes){loader->settings.data, loader->settings.size}, loader->job->path,
        (leat_bytes){(const uint8_t *)old->settings, strlen(old->settings)},
        loader->options.run_folder, row, error);
    if (status != LEAT_OK) {
        leat_error_wrap(error, "%s holds another run", loader->options.run_folder);
        leat_error_hint(error, "give this run a folder of its own with --out");
        return status;
    }
    for (size_t i = 0; i < old->restart_count; i++) {
        const leat_manifest_restart *restart = &old->restarts[i];
        leat_manifest_add_restart(loader->manifest, restart->step, restart->ranks,
                                  (const char *const *)restart->hosts, restart->host_count);
    }
    for (size_t i = 0; i < old->fork_count; i++) {
        leat_manifest_add_fork(loader->manifest, &old->forks[i]);
    }
    return LEAT_OK;
}

/* Every host once, in the order of ranks. */
static leat_status add_restart(leat_loader *loader, leat_error *error)
{
    size_t ranks = (size_t)loader->wire->size, count = 0;
    char mine[HOST_BYTES] = "", *all = leat_alloc(ranks, HOST_BYTES);
    if (gethostname(mine, sizeof mine - 1) != 0) {
        mine[0] = '?';
    }
    leat_status status =
        leat_wire_gather_equal(loader->wire, LEAT_CHANNEL_CALL, mine, all, HOST_BYTES, error);
    const char **hosts = leat_alloc(ranks, sizeof *hosts);
    for (size_t r = 0; r < ranks && status == LEAT_OK; r++) {
        const char *host = all + r * HOST_BYTES;
        size_t at = 0;
        while (at < count && strcmp(hosts[at], host) != 0) {
            at++;
        }
        if (at == count) {
            hosts[count++] = host;
        }
    }
    if (status == LEAT_OK && loader->manifest != NULL) {
        leat_manifest_add_restart(loader->manifest, loader->first_step, ranks, hosts, count);
    }
    leat_free(hosts);
    leat_free(all);
    return status;
}

static leat_status write_manifest(leat_loader *loader, leat_error *error)
{
    leat_buffer json = {0};
    char *path = leat_format("%s/manifest.json", loader->options.run_folder);
    leat_manifest_set_version(loader->manifest, "leat", LEAT_VERSION);
    leat_manifest_write(loader->manifest, &json);
    leat_status status = leat_store_posix()->write_whole(leat_store_posix(), path,
                                                         (leat_bytes){json.data, json.size}, error);
    leat_buffer_deinit(&json);
    leat_free(path);
    return status;
}

leat_status leat_loader_open_manifest(leat_loader *loader, leat_error *error)
{
    if (loader->options.run_folder == NULL || loader->options.replay) {
        return LEAT_OK;
    }
    leat_status status = LEAT_OK;
    if (loader->folder != NULL) {
        leat_manifest *old = NULL;
        status = leat_loader_read_manifest(loader->options.run_folder, &old, error);
        if (status == LEAT_OK) {
            status = merge(loader, old, error);
        } else if (status == LEAT_NOT_FOUND) {
            status = LEAT_OK;
        }
        leat_manifest_close(old);
    }
    status = leat_agree(loader->wire, status, error);
    status = status == LEAT_OK ? add_restart(loader, error) : status;
    if (status == LEAT_OK) {
        status = leat_agree(
            loader->wire, loader->folder != NULL ? write_manifest(loader, error) : LEAT_OK, error);
    }
    return status;
}
