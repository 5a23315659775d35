/* A corpus: its shards, their files, and the repair of damaged indexes. */
#include "io/index/corpus.h"
#include "base/arith.h"
#include "base/memory.h"
#include "io/index/build.h"
#include "io/index/corpus_inside.h"
#include <inttypes.h>

static leat_status check_dataset(const leat_corpus_dataset *given, leat_corpus_part *part,
                                 leat_error *error)
{
    uint64_t total = 0;
    size_t token_shards = 0;
    for (size_t i = 0; i < given->shard_count; i++) {
        part->first[i] = total;
        if (!leat_add_u64(total, given->summaries[i].documents, &total) || total >> 62 != 0) {
            return LEAT_FAIL(error, LEAT_LIMIT, "dataset %s has 2^62 documents or more",
                             given->name);
        }
        token_shards += given->summaries[i].token_width != 0;
    }
    part->first[given->shard_count] = total;
    part->tokens = token_shards != 0;
    if (token_shards != 0 && token_shards != given->shard_count) {
        LEAT_FAIL(error, LEAT_INVALID, "dataset %s mixes text and token files", given->name);
        leat_error_found(error, "%zu token files of %zu files", token_shards, given->shard_count);
        leat_error_hint(error, "make two datasets of it");
        return error->status;
    }
    return LEAT_OK;
}

static leat_status open_dataset(const leat_corpus_dataset *given, leat_corpus_part *part,
                                leat_error *error)
{
    leat_status status = leat_record_rules_check(&given->rules, &part->rules, error);
    if (status != LEAT_OK) {
        part->rules = (leat_record_rules){0};
        return status;
    }
    part->rules.format = part->rules.format != NULL ? leat_strdup(part->rules.format) : NULL;
    part->rules.text = leat_strdup(part->rules.text);
    part->rules.dtype = part->rules.dtype != NULL ? leat_strdup(part->rules.dtype) : NULL;
    part->name = leat_strdup(given->name);
    part->shards = leat_alloc(given->shard_count, sizeof *part->shards);
    part->first = leat_alloc(given->shard_count + 1, sizeof *part->first);
    part->shard_count = given->shard_count;
    for (size_t i = 0; i < given->shard_count; i++) {
        part->shards[i].path = leat_strdup(given->paths[i]);
        part->shards[i].summary = given->summaries[i];
    }
    return check_dataset(given, part, error);
}

static void close_dataset(leat_corpus_part *part)
{
    for (size_t i = 0; i < part->shard_count; i++) {
        leat_free(part->shards[i].path);
    }
    char *format = NULL, *text = NULL, *dtype = NULL; /* our own copies behind const pointers */
    memcpy(&dtype, &part->rules.dtype, sizeof dtype);
    leat_free(dtype);
    memcpy(&format, &part->rules.format, sizeof format);
    memcpy(&text, &part->rules.text, sizeof text);
    leat_free(format);
    leat_free(text);
    leat_free(part->shards);
    leat_free(part->first);
    leat_free(part->name);
}

leat_status leat_corpus_open(leat_corpus **out, const leat_corpus_dataset *datasets, size_t count,
                             const leat_corpus_options *options, leat_error *error)
{
    leat_corpus *corpus = leat_alloc(1, sizeof *corpus);
    leat_status status = LEAT_OK;
    uint64_t key = 0;
    *out = NULL;
    corpus->store = options->store;
    corpus->index_folder =
        options->index_folder != NULL ? leat_strdup(options->index_folder) : NULL;
    corpus->files = leat_files_open(options->store, options->files_max);
    LEAT_ASSERT(pthread_mutex_init(&corpus->repair_lock, NULL) == 0);
    corpus->datasets = leat_alloc(count, sizeof *corpus->datasets);
    for (size_t i = 0; i < count && status == LEAT_OK; i++) {
        corpus->dataset_count = i + 1;
        corpus->datasets[i].key = key;
        status = open_dataset(&datasets[i], &corpus->datasets[i], error);
        key += datasets[i].shard_count;
    }
    if (status != LEAT_OK) {
        leat_corpus_close(corpus);
        corpus = NULL;
    }
    *out = corpus;
    return status;
}

void leat_corpus_close(leat_corpus *corpus)
{
    if (corpus == NULL) {
        return;
    }
    for (size_t i = 0; i < corpus->dataset_count; i++) {
        close_dataset(&corpus->datasets[i]);
    }
    leat_files_close(corpus->files);
    pthread_mutex_destroy(&corpus->repair_lock);
    leat_free(corpus->datasets);
    leat_free(corpus->index_folder);
    leat_free(corpus);
}

bool leat_corpus_is_tokens(const leat_corpus *corpus, uint32_t dataset)
{
    return corpus->datasets[dataset].tokens;
}

uint64_t leat_corpus_bytes_read(const leat_corpus *corpus)
{
    return atomic_load_explicit(&corpus->bytes_read, memory_order_relaxed);
}

static leat_status check_data(void *context, leat_file *file, leat_error *error)
{
    const leat_corpus_shard *shard = context;
    if (file->size != shard->summary.file_bytes) {
        LEAT_FAIL(error, LEAT_CORRUPT, "%s changed since it was indexed", file->path);
        leat_error_where(error, "%s", file->path);
        leat_error_found(error, "%" PRIu64 " bytes", file->size);
        leat_error_wanted(error, "%" PRIu64 " bytes", shard->summary.file_bytes);
        leat_error_hint(error, "bring the file back as it was, or start a new run on the new one");
        return error->status;
    }
    return LEAT_OK;
}

leat_status leat_corpus_acquire_data(leat_corpus *corpus, uint32_t dataset, size_t shard,
                                     leat_file **out, leat_error *error)
{
    leat_corpus_part *part = &corpus->datasets[dataset];
    return leat_files_acquire(corpus->files, 2 * (part->key + shard), part->shards[shard].path,
                              check_data, &part->shards[shard], out, error);
}

static bool same_content(const leat_shard_summary *a, const leat_shard_summary *b)
{
    return a->file_bytes == b->file_bytes && a->documents == b->documents &&
           a->records == b->records && a->token_width == b->token_width &&
           memcmp(a->content_hash, b->content_hash, sizeof a->content_hash) == 0;
}

typedef struct index_check {
    const leat_corpus_part *part;
    const leat_corpus_shard *shard;
    bool damaged; /* an answer beside the status: a rebuild can help */
} index_check;

static leat_status check_index(void *context, leat_file *file, leat_error *error)
{
    index_check *c = context;
    leat_sidecar_header header;
    uint8_t identity[16];
    const char *why;
    leat_status status = leat_sidecar_read_header(file, &header, &why, error);
    if (status != LEAT_OK) {
        return status;
    }
    leat_record_rules_identity(&c->part->rules, identity);
    if (why == NULL && memcmp(identity, header.rules, sizeof identity) != 0) {
        why = "it was made by other rules";
    }
    if (why != NULL) {
        c->damaged = true;
        LEAT_FAIL(error, LEAT_CORRUPT, "the index of %s is damaged: %s", c->shard->path, why);
        leat_error_where(error, "%s", file->path);
        leat_error_hint(error, "remove it and build it anew: leat index JOB");
        return error->status;
    }
    if (!same_content(&header.summary, &c->shard->summary)) {
        LEAT_FAIL(error, LEAT_CORRUPT, "the index of %s is not the one this run began with",
                  c->shard->path);
        leat_error_where(error, "%s", file->path);
        leat_error_found(error, "%" PRIu64 " documents of %" PRIu64 " bytes",
                         header.summary.documents, header.summary.file_bytes);
        leat_error_wanted(error, "%" PRIu64 " documents of %" PRIu64 " bytes",
                          c->shard->summary.documents, c->shard->summary.file_bytes);
        leat_error_hint(error, "the data file was changed and indexed anew; start a new run on it");
        return error->status;
    }
    return LEAT_OK;
}

leat_status leat_corpus_acquire_index(leat_corpus *corpus, uint32_t dataset, size_t shard,
                                      leat_file **out, leat_error *error)
{
    leat_corpus_part *part = &corpus->datasets[dataset];
    leat_corpus_shard *of = &part->shards[shard];
    *out = leat_files_use(corpus->files, 2 * (part->key + shard) + 1);
    if (*out != NULL) {
        return LEAT_OK;
    }
    char *path = leat_sidecar_path(of->path, &part->rules, corpus->index_folder);
    leat_status status;
    for (int attempt = 0;; attempt++) {
        index_check check = {part, of, false};
        unsigned seen = leat_corpus_repairs(corpus, dataset, shard);
        status = leat_files_acquire(corpus->files, 2 * (part->key + shard) + 1, path, check_index,
                                    &check, out, error);
        if (attempt != 0 || !(check.damaged || status == LEAT_NOT_FOUND)) {
            break;
        }
        leat_error kept = *error;
        if (leat_corpus_repair(corpus, dataset, shard, seen, error) != LEAT_OK) {
            *error = kept; /* the first fault is the cause */
            break;
        }
    }
    leat_free(path);
    return status;
}

leat_status leat_corpus_repair(leat_corpus *corpus, uint32_t dataset, size_t shard, unsigned seen,
                               leat_error *error)
{
    leat_corpus_part *part = &corpus->datasets[dataset];
    leat_corpus_shard *of = &part->shards[shard];
    leat_index_options options = {
        .store = corpus->store, .index_folder = corpus->index_folder, .rebuild = true};
    leat_shard_summary built;
    leat_status status = LEAT_OK;
    pthread_mutex_lock(&corpus->repair_lock);
    unsigned repairs = leat_corpus_repairs(corpus, dataset, shard);
    if (repairs != seen) {
        status = LEAT_OK;
    } else if (repairs != 0 || corpus->store->create == NULL) {
        LEAT_FAIL(error, LEAT_CORRUPT, "the index of %s is damaged", of->path);
        leat_error_hint(error, "remove it and build it anew: leat index JOB");
        status = error->status;
    } else {
        status = leat_shard_index(of->path, &part->rules, &options, &built, error);
        leat_files_forget(corpus->files, 2 * (part->key + shard) + 1);
        /* Last: who sees the new number opens the new file.  Pairs with the load in leat_corpus_repairs. */
        atomic_store_explicit(&of->repairs, repairs + 1, memory_order_release);
    }
    pthread_mutex_unlock(&corpus->repair_lock);
    return status;
}
