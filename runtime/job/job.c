#include "job/job.h"
#include "base/arith.h"
#include "base/memory.h"
#include "job/read.h"
#include <inttypes.h>

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return leat_strdup(".");
    }
    return slash == path ? leat_strdup("/") : leat_strndup(path, (size_t)(slash - path));
}

static leat_status read_all(leat_job_reader *reader, leat_bytes text, const char *path,
                            const char *const *overrides, size_t override_count)
{
    leat_status status = LEAT_OK;
    LEAT_TRY(leat_yaml_add(&reader->yaml, text, path[0] != '\0' ? path : "(job text)",
                           &reader->root, reader->error));
    if (reader->root == LEAT_YAML_NONE) {
        LEAT_FAIL(reader->error, LEAT_INVALID, "the job file is empty");
        leat_error_where(reader->error, "%s:1", reader->yaml.origins[0]);
        leat_error_found(reader->error, "%zu bytes without a value", text.size);
        leat_error_wanted(reader->error, "a mapping of keys to values");
        leat_error_hint(reader->error, "leat init CORPUS writes a job file to begin with");
        return LEAT_INVALID;
    }
    if (reader->yaml.nodes[reader->root].kind != LEAT_YAML_MAP) {
        leat_job_fail_at(reader, reader->root, "", "(top)", "the job file is no mapping");
        leat_error_wanted(reader->error, "a mapping of keys to values");
        leat_error_hint(reader->error, "is this a job file? leat init CORPUS writes one");
        return LEAT_INVALID;
    }
    for (size_t i = 0; i < override_count; i++) {
        LEAT_TRY(leat_job_override(reader, overrides[i]));
    }
    LEAT_TRY(leat_job_read(reader));
    LEAT_TRY(leat_job_check(reader));
done:
    return status;
}

leat_status leat_job_open(leat_job **out, leat_bytes text, const char *path,
                          const char *const *overrides, size_t override_count, leat_error *error)
{
    *out = NULL;
    leat_job *job = leat_alloc(1, sizeof *job);
    job->path = leat_strdup(path);
    job->folder = folder_of(path);
    leat_job_reader reader = {.job = job, .error = error};
    leat_status status = read_all(&reader, text, path, overrides, override_count);
    leat_yaml_deinit(&reader.yaml);
    leat_free(reader.raw_stages);
    leat_free(reader.by_name);
    if (status != LEAT_OK) {
        leat_job_close(job);
        return status;
    }
    *out = job;
    return LEAT_OK;
}

static void dataset_close(leat_job_dataset *dataset)
{
    for (size_t i = 0; i < dataset->file_count; i++) {
        leat_free(dataset->files[i]);
    }
    leat_free(dataset->files);
    leat_free(dataset->name);
    leat_free(dataset->format);
    leat_free(dataset->text);
    leat_free(dataset->tokens);
    leat_free(dataset->offsets);
    leat_free(dataset->dtype);
    leat_free(dataset->mask);
}

void leat_job_close(leat_job *job)
{
    if (job == NULL) {
        return;
    }
    for (size_t i = 0; job->datasets != NULL && i < job->dataset_count; i++) {
        dataset_close(&job->datasets[i]);
    }
    for (size_t i = 0; job->stages != NULL && i < job->stage_count; i++) {
        leat_free(job->stages[i].weights);
    }
    leat_free(job->datasets);
    leat_free(job->stages);
    leat_free(job->batch_sizes);
    leat_free(job->path);
    leat_free(job->folder);
    leat_free(job->tokenizer);
    leat_free(job->bos.text);
    leat_free(job->eos.text);
    leat_free(job->index_dir);
    leat_free(job);
}

char *leat_job_path(const leat_job *job, const char *path)
{
    if (path[0] == '/' || strcmp(job->folder, ".") == 0) {
        return leat_strdup(path);
    }
    bool slash = job->folder[strlen(job->folder) - 1] == '/';
    return leat_format("%s%s%s", job->folder, slash ? "" : "/", path);
}

uint64_t leat_job_stage_row(const leat_job *job, size_t stage)
{
    uint64_t from = job->stages[stage].from, row = 0;
    if (!job->stages[stage].by_step) {
        return from;
    }
    for (size_t i = 0; i < job->batch_size_count && job->batch_sizes[i].from_step < from; i++) {
        uint64_t end = i + 1 < job->batch_size_count
                           ? leat_min_u64(job->batch_sizes[i + 1].from_step, from)
                           : from;
        uint64_t rows;
        if (!leat_mul_u64(end - job->batch_sizes[i].from_step, job->batch_sizes[i].rows, &rows) ||
            !leat_add_u64(row, rows, &row)) {
            return UINT64_MAX;
        }
    }
    return row;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static leat_status check_sum(const leat_job *job, size_t stage, const uint64_t *weights,
                             leat_error *error)
{
    uint64_t sum = 0, product = 0;
    bool fits = true;
    for (size_t d = 0; d < job->dataset_count && fits; d++) {
        fits = leat_add_u64(sum, weights[d], &sum);
    }
    fits = fits && leat_mul_u64(sum, job->piece, &product) &&
           leat_mul_u64(product, job->dataset_count, &product) && product < (uint64_t)1 << 61;
    if (fits) {
        return LEAT_OK;
    }
    LEAT_FAIL(error, LEAT_INVALID, "the weights are too large or too fine");
    if (stage == SIZE_MAX) {
        leat_error_where(error, "%s, key datasets", job->path);
    } else {
        leat_error_where(error, "%s, key mixture_stages[%zu].weights", job->path, stage);
    }
    leat_error_found(error,
                     "integer weights with the sum %" PRIu64 ", piece %" PRIu64 ", %zu datasets",
                     sum, job->piece, job->dataset_count);
    leat_error_wanted(error, "sum * piece * number of datasets below 2^61");
    leat_error_hint(error, "write the weights with fewer digits, or make piece smaller");
    return LEAT_INVALID;
}

/* Sizes shifted until their sum is below 2^30, each at least 1. */
static void weights_by_bytes(const leat_job *job, const uint64_t *text_bytes, uint64_t *weights)
{
    __extension__ typedef unsigned __int128 wide;
    for (unsigned shift = 0; shift < 64; shift++) {
        wide sum = 0;
        for (size_t d = 0; d < job->dataset_count; d++) {
            weights[d] = leat_max_u64(text_bytes[d] >> shift, 1);
            sum += text_bytes[d] >> shift;
        }
        if (sum < (uint64_t)1 << 30) {
            return;
        }
    }
}

leat_status leat_job_weights(const leat_job *job, size_t stage, const uint64_t *text_bytes,
                             uint64_t *weights, leat_error *error)
{
    if (stage == SIZE_MAX && job->datasets[0].weight_kind != LEAT_WEIGHT_NUMBER) {
        LEAT_ASSERT(text_bytes != NULL);
        weights_by_bytes(job, text_bytes, weights);
        return check_sum(job, stage, weights, error);
    }
    memset(weights, 0, job->dataset_count * sizeof *weights);
    if (stage == SIZE_MAX) {
        for (size_t d = 0; d < job->dataset_count; d++) {
            weights[d] = job->datasets[d].weight_millionths;
        }
    } else {
        const leat_job_stage *from = &job->stages[stage];
        for (size_t i = 0; i < from->weight_count; i++) {
            weights[from->weights[i].dataset] = from->weights[i].millionths;
        }
    }
    uint64_t divisor = 0;
    for (size_t d = 0; d < job->dataset_count; d++) {
        divisor = common_divisor(divisor, weights[d]);
    }
    for (size_t d = 0; d < job->dataset_count; d++) {
        weights[d] /= divisor;
    }
    return check_sum(job, stage, weights, error);
}
