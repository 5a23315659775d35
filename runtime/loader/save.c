/* save.c: a checkpoint of a step that all ranks have reached. */
#include "base/json_out.h"
#include "base/memory.h"
#include "loader/loader.h"

/* What a checkpoint says besides the state: the limits that may change upward, and a few words for people. */
static void describe(const leat_loader *loader, leat_buffer *info)
{
    leat_job_limits(loader->job, info);
    LEAT_ASSERT(info->size > 2 && info->data[info->size - 1] == '}');
    info->size--;
    leat_json_out out = {info, true};
    leat_json_key_text(&out, "leat", LEAT_VERSION);
    leat_json_key_u64(&out, "plan_version", LEAT_PLAN_VERSION);
    leat_json_key_text(&out, "job", loader->job->path);
    leat_json_key(&out, "datasets");
    leat_json_array(&out);
    for (size_t d = 0; d < loader->job->dataset_count; d++) {
        leat_json_object(&out);
        leat_json_key_text(&out, "name", loader->job->datasets[d].name);
        leat_json_key_u64(&out, "weight", loader->weights[d]);
        leat_json_key_u64(&out, "epochs", loader->job->datasets[d].epochs);
        leat_json_key_u64(&out, "documents", loader->shards.documents[d]);
        leat_json_object_end(&out);
    }
    leat_json_array_end(&out);
    leat_json_object_end(&out);
}

static leat_status write_checkpoint(leat_loader *loader, const char *folder, uint64_t step,
                                    leat_error *error)
{
    leat_checkpoint checkpoint = {.step = step};
    uint8_t batch[32];
    leat_status status;
    if (loader->folder != NULL) {
        LEAT_TRY(leat_run_folder_check(loader->folder, error));
    }
    LEAT_TRY(leat_feed_cursor(loader->feed, step, &checkpoint.cursor, error));
    if (step == loader->first_step) {
        memcpy(checkpoint.chain, loader->start.chain, sizeof checkpoint.chain);
    } else {
        LEAT_TRY(leat_feed_digest(loader->feed, step - 1, batch, checkpoint.chain, error));
    }
    leat_buffer_add(&checkpoint.settings, loader->settings.data, loader->settings.size);
    describe(loader, &checkpoint.info);
    LEAT_TRY(leat_store_make_folder(folder, error));
    LEAT_TRY(leat_checkpoint_write(folder, &checkpoint, error));
    if (loader->options.keep != 0) {
        status = leat_checkpoint_prune(folder, loader->options.keep, error);
    }
done:
    leat_checkpoint_deinit(&checkpoint);
    return status;
}

/* All ranks save one step, of which every batch before is done. */
static leat_status check_save(leat_loader *loader, uint64_t step, leat_error *error)
{
    size_t size = (size_t)loader->wire->size;
    uint8_t mine[8], *all = leat_alloc(size, sizeof mine);
    leat_put_u64(mine, step);
    leat_status status = leat_feed_gather(loader->feed, mine, all, sizeof mine, error);
    for (size_t r = 0; r < size && status == LEAT_OK; r++) {
        if (leat_get_u64(all + 8 * r) != step) {
            LEAT_FAIL(error, LEAT_INVALID, "ranks save different steps");
            leat_error_found(error, "step %llu on rank %zu",
                             (unsigned long long)leat_get_u64(all + 8 * r), r);
            leat_error_wanted(error, "step %llu as on rank %d", (unsigned long long)step,
                              loader->wire->rank);
            status = error->status;
        }
    }
    leat_free(all);
    return status;
}

leat_status leat_loader_save(leat_loader *loader, const char *folder, uint64_t step,
                             leat_error *error)
{
    leat_status status = check_save(loader, step, error);
    if (status == LEAT_OK && step > leat_feed_step_next(loader->feed)) {
        status = LEAT_FAIL(
            error, LEAT_INVALID,
            "step %llu cannot be saved before its batches are done; the next step is %llu",
            (unsigned long long)step, (unsigned long long)leat_feed_step_next(loader->feed));
    }
    if (status == LEAT_OK) {
        status = leat_feed_flush(loader->feed, step, error);
    }
    if (status == LEAT_OK && loader->wire->rank == 0) {
        status = write_checkpoint(loader, folder, step, error);
    }
    status = leat_feed_agree(loader->feed, status, error);
    /* A save that failed takes nothing from the run: the older checkpoints are whole, and the trainer may go on. */
    return status;
}
