/* identity.c: the plan's spec and the order-defining settings, from the job and the corpus' sizes. */
#include "base/memory.h"
#include "loader/loader.h"

static leat_status open_weights(leat_loader *loader, leat_error *error)
{
    const leat_job *job = loader->job;
    loader->weights = leat_alloc(job->dataset_count, sizeof *loader->weights);
    loader->stage_weights = leat_alloc(job->stage_count, sizeof *loader->stage_weights);
    loader->plan_stages = leat_alloc(job->stage_count, sizeof *loader->plan_stages);
    leat_status status =
        leat_job_weights(job, SIZE_MAX, loader->shards.text_bytes, loader->weights, error);
    for (size_t s = 0; s < job->stage_count && status == LEAT_OK; s++) {
        loader->stage_weights[s] = leat_alloc(job->dataset_count, sizeof **loader->stage_weights);
        status =
            leat_job_weights(job, s, loader->shards.text_bytes, loader->stage_weights[s], error);
        uint64_t from = job->stages[s].from;
        loader->plan_stages[s] = (leat_plan_stage){
            job->stages[s].by_step
                ? leat_plan_step_first_row(job->batch_sizes, job->batch_size_count, from)
                : from,
            loader->stage_weights[s]};
        if (status == LEAT_OK && s > 0 &&
            loader->plan_stages[s].from_row <= loader->plan_stages[s - 1].from_row) {
            status =
                LEAT_FAIL(error, LEAT_INVALID, "mixture_stages are not in ascending order of rows");
            leat_error_where(error, "%s: mixture_stages[%zu]", job->path, s);
            leat_error_found(error, "row %llu after row %llu",
                             (unsigned long long)loader->plan_stages[s].from_row,
                             (unsigned long long)loader->plan_stages[s - 1].from_row);
            leat_error_wanted(error, "a later row for every stage");
        }
    }
    return status;
}

static void open_datasets(leat_loader *loader)
{
    const leat_job *job = loader->job;
    loader->plan_datasets = leat_alloc(job->dataset_count, sizeof *loader->plan_datasets);
    loader->add_special = leat_alloc(job->dataset_count, sizeof *loader->add_special);
    for (size_t d = 0; d < job->dataset_count; d++) {
        const leat_job_dataset *from = &job->datasets[d];
        loader->add_special[d] = from->add_special;
        loader->plan_datasets[d] = (leat_plan_dataset){
            .name = from->name,
            .weight = loader->weights[d],
            .documents = loader->shards.documents[d],
            .epochs = from->epochs,
            .holdout_millionths = from->holdout_millionths,
            .use_holdout = from->use_holdout,
            .unit = from->unit,
            .block = from->block,
            .buffer = from->buffer,
            .piece_window = from->piece_window,
            .window_tokens = from->window_tokens,
            .shards = loader->shards.lists[d].count,
            .shard_ends = loader->shards.ends[d],
        };
    }
}

static void open_settings(leat_loader *loader)
{
    const leat_job *job = loader->job;
    leat_job_shard **shards = leat_alloc(job->dataset_count, sizeof *shards);
    size_t *counts = leat_alloc(job->dataset_count, sizeof *counts);
    for (size_t d = 0; d < job->dataset_count; d++) {
        counts[d] = loader->shards.lists[d].count;
        shards[d] = leat_alloc(counts[d], sizeof **shards);
        for (size_t i = 0; i < counts[d]; i++) {
            const leat_shard_summary *summary = &loader->shards.summaries[d][i];
            shards[d][i] = (leat_job_shard){loader->shards.lists[d].names[i], summary->records,
                                            summary->content_hash};
        }
    }
    uint8_t sha256[32] = {0};
    if (loader->tokenizer != NULL) {
        leat_tokenizer_sha256(loader->tokenizer, sha256);
    }
    leat_job_identity identity = {
        .tokenizer_sha256 = sha256,
        .has_bos = loader->has_bos,
        .has_eos = loader->has_eos,
        .bos = loader->bos,
        .eos = loader->eos,
        .weights = loader->weights,
        .shards = (const leat_job_shard *const *)shards,
        .shard_counts = counts,
        .documents = loader->shards.documents,
        .text_bytes = loader->shards.text_bytes,
    };
    leat_job_order_settings(job, &identity, &loader->settings, loader->spec.digest);
    loader->manifest = leat_manifest_make(job, &identity);
    for (size_t d = 0; d < job->dataset_count; d++) {
        leat_free(shards[d]);
    }
    leat_free(shards);
    leat_free(counts);
}

leat_status leat_loader_open_spec(leat_loader *loader, leat_error *error)
{
    const leat_job *job = loader->job;
    leat_status status = open_weights(loader, error);
    if (status != LEAT_OK) {
        return status;
    }
    open_datasets(loader);
    loader->spec = (leat_plan_spec){
        .seed = job->seed,
        .row_tokens = job->sequence_length + 1,
        .piece = job->piece,
        .packing = job->packing,
        .pack_window = job->pack_window,
        .truncate = job->truncate,
        .mix_by_documents = job->mix_by_documents,
        .drop_exhausted = job->drop_exhausted,
        .drop_last = job->drop_last,
        .dataset_count = job->dataset_count,
        .stage_count = job->stage_count,
        .batch_size_count = job->batch_size_count,
        .datasets = loader->plan_datasets,
        .stages = loader->plan_stages,
        .batch_sizes = job->batch_sizes,
    };
    open_settings(loader);
    return LEAT_OK;
}
