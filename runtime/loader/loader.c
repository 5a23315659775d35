/* loader.c: the public API joined together. */
#include "loader/loader.h"
#include "base/arith.h"
#include "base/json_out.h"
#include "base/memory.h"
#include <sched.h>

enum { JOB_BYTES_MAX = 64 << 20 };
static const uint64_t TOKENIZER_BYTES_MAX = (uint64_t)1 << 30;

static void say(void *context, leat_log_level level, const char *line)
{
    const leat_loader *loader = context;
    if (loader->options.log != NULL) {
        loader->options.log(loader->options.log_context, level == LEAT_LOG_WARNING, line);
    }
}

/* Rank 0's file reaches all ranks, so that they cannot see different ones. */
static leat_status share_file(leat_loader *loader, const char *path, const char *text,
                              uint64_t bytes_max, leat_buffer *out, leat_error *error)
{
    leat_buffer mine = {0};
    uint8_t *data = NULL;
    uint64_t size = 0;
    leat_status status = LEAT_OK;
    if (loader->wire->rank == 0 && text != NULL) {
        leat_buffer_add_text(&mine, text);
    } else if (loader->wire->rank == 0) {
        status = leat_store_read_whole(leat_store_posix(), path, bytes_max, &mine, error);
        if (status == LEAT_NOT_FOUND) {
            error->status = status = LEAT_INVALID;
        }
    }
    status = leat_agree(loader->wire, status, error);
    if (status == LEAT_OK) {
        status = leat_wire_broadcast(loader->wire, 0, mine.data, mine.size, &data, &size, error);
    }
    if (status == LEAT_OK) {
        leat_buffer_add(out, data, (size_t)size);
    }
    leat_free(data);
    leat_buffer_deinit(&mine);
    return status;
}

static leat_status open_job_file(leat_loader *loader, const char *job_path, leat_error *error)
{
    leat_buffer text = {0};
    leat_status status =
        share_file(loader, job_path, loader->options.job_text, JOB_BYTES_MAX, &text, error);
    if (status == LEAT_OK) {
        status = leat_job_open(&loader->job, (leat_bytes){text.data, text.size}, job_path,
                               loader->options.set, loader->options.set_count, error);
        status = leat_agree(loader->wire, status, error);
    }
    leat_buffer_deinit(&text);
    return status;
}

static leat_status resolve(const leat_loader *loader, const leat_token_name *name, const char *key,
                           bool *has, uint32_t *id, leat_error *error)
{
    *has = name->kind != LEAT_TOKEN_NONE;
    *id = name->id;
    if (loader->tokenizer == NULL) {
        return LEAT_OK;
    }
    if (name->kind == LEAT_TOKEN_TEXT && !leat_tokenizer_id(loader->tokenizer, name->text, id)) {
        LEAT_FAIL(error, LEAT_INVALID, "the tokenizer has no token \"%s\"", name->text);
        leat_error_where(error, "%s: tokenizer.%s", loader->job->path, key);
        leat_error_found(error, "\"%s\"", name->text);
        leat_error_wanted(error, "the text or the id of a token of %s", loader->job->tokenizer);
        return error->status;
    }
    if (name->kind == LEAT_TOKEN_ID && name->id >= leat_tokenizer_vocabulary(loader->tokenizer)) {
        LEAT_FAIL(error, LEAT_INVALID, "the tokenizer has no id %u", name->id);
        leat_error_where(error, "%s: tokenizer.%s", loader->job->path, key);
        leat_error_wanted(error, "an id below %u", leat_tokenizer_vocabulary(loader->tokenizer));
        return error->status;
    }
    return LEAT_OK;
}

static leat_status open_tokenizer(leat_loader *loader, leat_error *error)
{
    const leat_job *job = loader->job;
    leat_status status = LEAT_OK;
    if (job->tokenizer == NULL) {
        /* token data alone: bos and eos are ids then; a text dataset is refused when the corpus is known */
    } else if (strcmp(job->tokenizer, "bytes") == 0) {
        loader->tokenizer = leat_tokenizer_open_bytes();
    } else {
        leat_buffer file = {0};
        char *path = leat_job_path(job, job->tokenizer);
        status = share_file(loader, path, NULL, TOKENIZER_BYTES_MAX, &file, error);
        if (status == LEAT_OK) {
            status =
                leat_agree(loader->wire,
                           leat_tokenizer_open(&loader->tokenizer,
                                               (leat_bytes){file.data, file.size}, path, error),
                           error);
        }
        leat_buffer_deinit(&file);
        leat_free(path);
    }
    if (status == LEAT_OK) {
        status = resolve(loader, &job->bos, "bos", &loader->has_bos, &loader->bos, error);
    }
    if (status == LEAT_OK) {
        status = resolve(loader, &job->eos, "eos", &loader->has_eos, &loader->eos, error);
    }
    return status;
}

/* Several loaders on one wire (training, evaluation) must not meet each other's messages. */
static leat_status open_wire(leat_loader *loader, leat_wire *wire, leat_error *error)
{
    if (wire->ops->dup != NULL) {
        leat_status status = wire->ops->dup(wire, &loader->wire, error);
        if (status == LEAT_OK) {
            loader->wire->timeout_ns = wire->timeout_ns;
        }
        return status;
    }
    if (wire->in_use) {
        LEAT_FAIL(error, LEAT_INVALID, "a wire of the kind %s carries one loader at a time",
                  wire->ops->name);
        leat_error_hint(error, "open another wire for the second loader, or close the first");
        return error->status;
    }
    wire->in_use = true;
    loader->wire = loader->given = wire;
    return LEAT_OK;
}

leat_status leat_loader_open_job(leat_loader **out, leat_wire *wire, const char *job_path,
                                 const leat_options *options, leat_error *error)
{
    *out = NULL;
    leat_status status;
    leat_loader *loader = leat_alloc(1, sizeof *loader);
    loader->options = *options;
    loader->log = (leat_log){say, loader};
    LEAT_TRY(open_wire(loader, wire, error));
    LEAT_TRY(open_job_file(loader, job_path, error));
    loader->wire->timeout_ns = loader->job->peer_timeout_s * 1000000000u;
    LEAT_TRY(open_tokenizer(loader, error));
    LEAT_TRY(leat_loader_open_corpus(loader, error));
    LEAT_TRY(leat_agree(loader->wire, leat_loader_open_spec(loader, error), error));
    *out = loader;
done:
    if (status != LEAT_OK) {
        loader->failed = true;
        leat_loader_close(loader);
    }
    return status;
}

static void stop_from_folder(void *context)
{
    leat_loader_stop(context);
}

static leat_status on_step(void *context, const leat_feed_step *step, leat_error *error)
{
    leat_loader *loader = context;
    return loader->folder == NULL ? LEAT_OK
                                  : leat_run_folder_step(loader->folder, step, loader->feed, error);
}

static leat_status open_folder(leat_loader *loader, leat_error *error)
{
    const leat_options *options = &loader->options;
    leat_status status = LEAT_OK;
    if (loader->wire->rank == 0 && options->run_folder != NULL && !options->replay) {
        status = leat_run_folder_open(
            &loader->folder,
            &(leat_run_folder_options){options->run_folder, loader->job->path, loader->first_step,
                                       &loader->log, stop_from_folder, loader},
            error);
    }
    return leat_agree(loader->wire, status, error);
}

/* Cores in the caller's mask less two for the trainer and the loader thread, at least one. */
static uint32_t worker_count(const leat_loader *loader)
{
    cpu_set_t mask;
    if (loader->options.inline_work) {
        return 0;
    }
    if (loader->job->threads != 0) {
        return loader->job->threads;
    }
    int cores = sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 1;
    if (cores == 1 && loader->wire->rank == 0) {
        leat_log_say(
            &loader->log, LEAT_LOG_WARNING,
            "this rank is bound to one core: give it more (mpirun --bind-to none, srun -c)");
    }
    return cores > 3 ? (uint32_t)cores - 2 : 1;
}

static leat_status open_feed(leat_loader *loader, leat_error *error)
{
    const leat_job *job = loader->job;
    leat_feed_options options = {
        .wire = loader->wire,
        .spec = &loader->spec,
        .corpus = loader->corpus,
        .tokenizer = loader->tokenizer,
        .has_bos = loader->has_bos,
        .has_eos = loader->has_eos,
        .bos = loader->bos,
        .eos = loader->eos,
        .pad_id = job->pad_id,
        .vocabulary = loader->tokenizer != NULL ? leat_tokenizer_vocabulary(loader->tokenizer) : 0,
        .add_special = loader->add_special,
        .skip_bad = job->bad_records == LEAT_BAD_SKIP,
        .cursor = {loader->start.cursor.data, loader->start.cursor.size},
        .deliver_from = loader->first_step,
        .steps = loader->options.steps != 0 ? loader->options.steps : UINT64_MAX,
        .threads = worker_count(loader),
        .look_ahead = job->look_ahead,
        .progress = loader->options.progress,
        .slice = loader->slice,
        .slices = loader->slices,
        .slice_owner = loader->slice_owner,
        .rank_slices = loader->rank_slices,
        .exchange = job->tokens_way != LEAT_TOKENS_OWN,
        .token_bytes_max = job->read_cache,
        .timeout_ns = job->peer_timeout_s * 1000000000u,
        .log = &loader->log,
        .on_step = on_step,
        .context = loader,
    };
    memcpy(options.chain, loader->start.chain, sizeof options.chain);
    return leat_feed_open(&loader->feed, &options, error);
}

leat_status leat_loader_open(leat_loader **out, leat_wire *wire, const char *job_path,
                             const leat_options *options, leat_error *error)
{
    static const leat_options defaults;
    *out = NULL;
    leat_loader *loader = NULL;
    leat_status status =
        leat_loader_open_job(&loader, wire, job_path, options != NULL ? options : &defaults, error);
    if (status != LEAT_OK) {
        return status;
    }
    LEAT_TRY(leat_loader_check_collectives(loader, error));
    LEAT_TRY(leat_loader_open_slices(loader, error));
    LEAT_TRY(leat_loader_open_start(loader, error));
    LEAT_TRY(open_folder(loader, error));
    LEAT_TRY(leat_loader_open_manifest(loader, error));
    LEAT_TRY(open_feed(loader, error));
    if (loader->folder != NULL) {
        leat_run_folder_watch(loader->folder, loader->feed,
                              loader->manifest != NULL ? loader->manifest->restart_count : 1);
    }
    *out = loader;
done:
    if (status != LEAT_OK) {
        loader->failed = true;
        leat_loader_close(loader);
    }
    return status;
}

leat_status leat_loader_next(leat_loader *loader, leat_batch *batch, leat_error *error)
{
    leat_status status = leat_feed_next(loader->feed, batch, error);
    batch->mask_boundaries = loader->job->mask_boundaries;
    loader->failed = loader->failed || status != LEAT_OK;
    return status;
}

void leat_loader_done(leat_loader *loader, const leat_batch *batch)
{
    leat_feed_done(loader->feed, batch);
}

leat_status leat_loader_poll(leat_loader *loader, leat_error *error)
{
    leat_status status = leat_feed_poll(loader->feed, error);
    loader->failed = loader->failed || status != LEAT_OK;
    return status;
}

leat_status leat_loader_settle(leat_loader *loader, leat_error *error)
{
    return leat_feed_flush(loader->feed, leat_feed_step_next(loader->feed), error);
}

leat_status leat_loader_state(leat_loader *loader, uint64_t step, void **bytes, size_t *count,
                              leat_error *error)
{
    leat_buffer cursor = {0};
    *bytes = NULL;
    *count = 0;
    leat_status status = leat_feed_cursor(loader->feed, step, &cursor, error);
    if (status == LEAT_OK) {
        *bytes = cursor.data;
        *count = cursor.size;
    }
    return status;
}

void leat_state_free(void *bytes)
{
    leat_free(bytes);
}

leat_status leat_loader_digest(leat_loader *loader, uint64_t step, uint8_t batch[32],
                               uint8_t chain[32], leat_error *error)
{
    return leat_feed_digest(loader->feed, step, batch, chain, error);
}

void leat_loader_stop(leat_loader *loader)
{
    if (loader->feed != NULL) {
        leat_feed_stop(loader->feed);
    }
}

bool leat_stop_requested(const leat_loader *loader)
{
    return leat_feed_stopped(loader->feed);
}

uint64_t leat_loader_step(const leat_loader *loader)
{
    return leat_feed_step_next(loader->feed);
}

size_t leat_loader_datasets(const leat_loader *loader)
{
    return loader->job->dataset_count;
}

const char *leat_loader_dataset_name(const leat_loader *loader, uint32_t dataset)
{
    return loader->job->datasets[dataset].name;
}

leat_loader_figures leat_loader_measure(const leat_loader *loader)
{
    return leat_feed_measure(loader->feed);
}

static void release(leat_loader *loader, bool gently)
{
    if (loader->feed != NULL && loader->folder != NULL && leat_feed_stopped(loader->feed)) {
        leat_run_folder_stopped(loader->folder);
    }
    if (loader->feed != NULL && loader->folder != NULL) {
        leat_run_folder_watch(loader->folder, NULL, 0);
    }
    leat_feed_close(loader->feed, gently);
    leat_error error;
    if (leat_run_folder_close(loader->folder, &error) != LEAT_OK) {
        leat_log_say(&loader->log, LEAT_LOG_WARNING, "%s", error.text);
    }
    leat_corpus_reader_close(loader->reader);
    leat_corpus_close(loader->corpus);
    leat_shards_deinit(&loader->shards);
    leat_tokenizer_close(loader->tokenizer);
    leat_checkpoint_deinit(&loader->start);
    leat_buffer_deinit(&loader->settings);
    leat_manifest_close(loader->manifest);
    for (size_t s = 0; loader->stage_weights != NULL && s < loader->job->stage_count; s++) {
        leat_free(loader->stage_weights[s]);
    }
    leat_free(loader->stage_weights);
    leat_free(loader->plan_stages);
    leat_free(loader->plan_datasets);
    leat_free(loader->weights);
    leat_free(loader->add_special);
    leat_free(loader->slice_owner);
    leat_free(loader->rank_slices);
    leat_job_close(loader->job);
    if (loader->given != NULL) {
        loader->given->in_use = false;
    } else {
        if (!gently && loader->wire != NULL) {
            loader->wire->ops->abandon(loader->wire);
        }
        leat_wire_close(loader->wire);
    }
    leat_free(loader);
}

leat_status leat_loader_rewind(leat_loader *loader, leat_error *error)
{
    /* The batches that were delivered are settled; then the feed begins again where it began. */
    leat_status status = leat_feed_flush(loader->feed, leat_feed_step_next(loader->feed), error);
    status = leat_feed_agree(loader->feed, status, error);
    if (status == LEAT_OK) {
        leat_feed_close(loader->feed, true);
        loader->feed = NULL;
        status = open_feed(loader, error);
    }
    loader->failed = loader->failed || status != LEAT_OK;
    return status;
}

void leat_loader_close(leat_loader *loader)
{
    if (loader != NULL) {
        release(loader, !loader->failed);
    }
}

void leat_loader_abandon(leat_loader *loader)
{
    if (loader != NULL) {
        release(loader, false);
    }
}
