/* resume.c: the state to go on from.  Rank 0 reads it, every rank gets the same bytes and compares them with its own job. */
#include "base/arith.h"
#include "base/memory.h"
#include "loader/loader.h"
#include "plan/cursor.h"

/* The newest cursor at or before step K: a checkpoint, or a record of cursors.bin.  The chain at K is in the log. */
static leat_status find_step(leat_loader *loader, leat_checkpoint *out, leat_error *error)
{
    const char *folder = loader->options.resume;
    uint64_t step = loader->options.step, cursor_step = 0;
    leat_buffer cursor = {0};
    uint8_t chain[32], batch[32];
    uint64_t rows;
    leat_status status = leat_checkpoint_newest(folder, step, out, &loader->log, error);
    bool have = status == LEAT_OK;
    /* Damaged checkpoints were told to the log; cursors.bin and the manifest do without them. */
    if (status != LEAT_OK && status != LEAT_NOT_FOUND && status != LEAT_CORRUPT) {
        goto done;
    }
    status = leat_cursors_find(folder, step, &cursor_step, chain, &cursor, error);
    if (status == LEAT_OK && (!have || cursor_step > out->step)) {
        out->step = cursor_step;
        memcpy(out->chain, chain, sizeof chain);
        leat_buffer_clear(&out->cursor);
        leat_buffer_add(&out->cursor, cursor.data, cursor.size);
    } else if (status != LEAT_OK && status != LEAT_NOT_FOUND) {
        goto done;
    }
    if (!have) {
        /* The first steps of a run without a checkpoint: the manifest has the settings. */
        leat_manifest *manifest = NULL;
        LEAT_TRY(leat_loader_read_manifest(folder, &manifest, error));
        leat_buffer_add_text(&out->settings, manifest->settings);
        leat_buffer_add_text(&out->info, manifest->limits);
        leat_manifest_close(manifest);
    }
    status = LEAT_OK;
    if (step > 0) {
        char *log = leat_format("%s/batches.jsonl", folder);
        status = leat_batch_log_find(log, step - 1, batch, out->chain, &rows, error);
        leat_free(log);
        if (status == LEAT_NOT_FOUND) {
            leat_error_hint(error, "--step takes a step that %s/batches.jsonl has reached", folder);
        }
    } else {
        memset(out->chain, 0, sizeof out->chain);
    }
done:
    leat_buffer_deinit(&cursor);
    return status;
}

/* On rank 0.  An empty cursor: the beginning. */
static leat_status find(leat_loader *loader, leat_checkpoint *out, leat_error *error)
{
    const leat_options *options = &loader->options;
    if (options->resume_from != NULL) {
        return leat_checkpoint_read(options->resume_from, out, error);
    }
    if (options->resume != NULL && options->at_step) {
        return find_step(loader, out, error);
    }
    if (options->resume != NULL) {
        leat_status status =
            leat_checkpoint_newest(options->resume, UINT64_MAX, out, &loader->log, error);
        if (status == LEAT_NOT_FOUND) {
            leat_log_say(&loader->log, LEAT_LOG_INFO,
                         "%s has no checkpoint yet: the run begins at step 0", options->resume);
            return LEAT_OK;
        }
        return status;
    }
    if (options->state != NULL) {
        leat_cursor_info info;
        leat_buffer_add(&out->cursor, options->state, options->state_bytes);
        leat_status status =
            leat_cursor_inspect((leat_bytes){options->state, options->state_bytes}, &info, error);
        out->step = status == LEAT_OK ? info.step : 0;
        return status;
    }
    return LEAT_OK;
}

static void add_sized(leat_buffer *out, const leat_buffer *part)
{
    leat_buffer_add_u64(out, part->size);
    leat_buffer_add(out, part->data, part->size);
}

static void take_sized(leat_reader *reader, leat_buffer *out)
{
    size_t size = (size_t)leat_reader_u64(reader);
    const uint8_t *at = leat_reader_take(reader, size);
    leat_buffer_clear(out);
    if (at != NULL) {
        leat_buffer_add(out, at, size);
    }
}

static leat_status broadcast(leat_loader *loader, leat_checkpoint *start, leat_error *error)
{
    leat_buffer mine = {0};
    uint8_t *data = NULL;
    uint64_t size = 0;
    if (loader->wire->rank == 0) {
        leat_buffer_add_u64(&mine, start->step);
        leat_buffer_add(&mine, start->chain, sizeof start->chain);
        add_sized(&mine, &start->cursor);
        add_sized(&mine, &start->settings);
        add_sized(&mine, &start->info);
    }
    leat_status status =
        leat_wire_broadcast(loader->wire, 0, mine.data, mine.size, &data, &size, error);
    if (status == LEAT_OK) {
        leat_reader reader = {data, (size_t)size, 0, false};
        start->step = leat_reader_u64(&reader);
        const uint8_t *chain = leat_reader_take(&reader, sizeof start->chain);
        LEAT_ASSERT(chain != NULL);
        memcpy(start->chain, chain, sizeof start->chain);
        take_sized(&reader, &start->cursor);
        take_sized(&reader, &start->settings);
        take_sized(&reader, &start->info);
        LEAT_ASSERT(!reader.failed);
    }
    leat_free(data);
    leat_buffer_deinit(&mine);
    return status;
}

/* The settings know that the shards of a dataset differ; the manifest knows which file. */
static void name_shard(const leat_loader *loader, leat_error *error)
{
    leat_manifest *old = NULL;
    leat_error named;
    if (loader->options.resume != NULL &&
        leat_loader_read_manifest(loader->options.resume, &old, &named) == LEAT_OK &&
        leat_manifest_compare_shards(loader->manifest, loader->job->path, old,
                                     loader->options.resume, &named) == LEAT_MISMATCH) {
        *error = named;
    }
    leat_manifest_close(old);
}

static leat_status compare(const leat_loader *loader, leat_error *error)
{
    const leat_checkpoint *start = &loader->start;
    leat_cursor_info info;
    if (start->cursor.size == 0) {
        return LEAT_OK;
    }
    leat_status status =
        leat_cursor_inspect((leat_bytes){start->cursor.data, start->cursor.size}, &info, error);
    if (status != LEAT_OK) {
        return status;
    }
    const char *theirs = loader->options.resume_from != NULL ? loader->options.resume_from
                         : loader->options.resume != NULL    ? loader->options.resume
                                                             : "the given state";
    if (start->settings.size == 0) {
        if (memcmp(info.digest, loader->spec.digest, sizeof info.digest) != 0) {
            LEAT_FAIL(error, LEAT_MISMATCH,
                      "%s belongs to another job, corpus or tokenizer than %s", theirs,
                      loader->job->path);
            leat_error_hint(error, "compare the job with the one that wrote it");
            return error->status;
        }
        return LEAT_OK;
    }
    status = leat_job_compare_settings_at(
        (leat_bytes){loader->settings.data, loader->settings.size}, loader->job->path,
        (leat_bytes){start->settings.data, start->settings.size}, theirs, info.first_row, error);
    if (status == LEAT_MISMATCH && strstr(error->text, "shards") != NULL) {
        name_shard(loader, error);
    }
    if (status == LEAT_OK && start->info.size != 0) {
        leat_buffer limits = {0};
        leat_job_limits(loader->job, &limits);
        status = leat_job_compare_limits((leat_bytes){limits.data, limits.size}, loader->job->path,
                                         (leat_bytes){start->info.data, start->info.size}, theirs,
                                         info.step, info.any_ended, error);
        leat_buffer_deinit(&limits);
    }
    return status;
}

leat_status leat_loader_open_start(leat_loader *loader, leat_error *error)
{
    leat_status status = loader->wire->rank == 0 ? find(loader, &loader->start, error) : LEAT_OK;
    status = leat_agree(loader->wire, status, error);
    status = status == LEAT_OK ? broadcast(loader, &loader->start, error) : status;
    if (status != LEAT_OK) {
        return status;
    }
    status = leat_agree(loader->wire, compare(loader, error), error);
    loader->first_step = loader->options.resume != NULL && loader->options.at_step
                             ? loader->options.step
                             : loader->start.step;
    return status;
}
