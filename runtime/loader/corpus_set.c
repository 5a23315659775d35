/* corpus_set.c: from globs to an open corpus.  Rank 0 expands the globs, so that all ranks see one list; the shards' side-cars
 * are checked and built by all ranks, each its share; about 100 bytes a shard are gathered. */
#include "base/arith.h"
#include "base/memory.h"
#include "loader/loader.h"
#include <stdlib.h>

void leat_shards_deinit(leat_shards *shards)
{
    for (size_t d = 0; d < shards->datasets; d++) {
        leat_path_list_deinit(&shards->lists[d]);
        leat_free(shards->summaries[d]);
        leat_free(shards->ends[d]);
    }
    leat_free(shards->lists);
    leat_free(shards->summaries);
    leat_free(shards->ends);
    leat_free(shards->documents);
    leat_free(shards->records);
    leat_free(shards->text_bytes);
    *shards = (leat_shards){0};
}

static void init(leat_shards *shards, size_t datasets)
{
    shards->datasets = datasets;
    shards->lists = leat_alloc(datasets, sizeof *shards->lists);
    shards->summaries = leat_alloc(datasets, sizeof *shards->summaries);
    shards->ends = leat_alloc(datasets, sizeof *shards->ends);
    shards->documents = leat_alloc(datasets, sizeof(uint64_t));
    shards->records = leat_alloc(datasets, sizeof(uint64_t));
    shards->text_bytes = leat_alloc(datasets, sizeof(uint64_t));
}

/* A file matched twice in one dataset is an error (docs/plan.md, section 3). */
static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static leat_status check_twice(const leat_job *job, size_t d, const leat_path_list *list,
                               leat_error *error)
{
    char **sorted = leat_alloc(list->count, sizeof *sorted);
    memcpy(sorted, list->paths, list->count * sizeof *sorted);
    qsort(sorted, list->count, sizeof *sorted, by_text);
    leat_status status = LEAT_OK;
    for (size_t i = 1; i < list->count && status == LEAT_OK; i++) {
        if (strcmp(sorted[i], sorted[i - 1]) == 0) {
            status = LEAT_FAIL(error, LEAT_INVALID, "dataset %s has the file %s twice",
                               job->datasets[d].name, sorted[i]);
            leat_error_where(error, "%s:%u: datasets.%s.files", job->path, job->datasets[d].line,
                             job->datasets[d].name);
            leat_error_hint(error, "make its globs match every file once");
        }
    }
    leat_free(sorted);
    return status;
}

static leat_status expand(const leat_job *job, leat_shards *shards, leat_error *error)
{
    for (size_t d = 0; d < job->dataset_count; d++) {
        for (size_t i = 0; i < job->datasets[d].file_count; i++) {
            leat_status status =
                leat_glob(job->folder, job->datasets[d].files[i], &shards->lists[d], error);
            if (status != LEAT_OK) {
                if (error->where[0] == '\0') {
                    leat_error_where(error, "%s:%u: datasets.%s.files", job->path,
                                     job->datasets[d].line, job->datasets[d].name);
                }
                return status;
            }
        }
        leat_status status = check_twice(job, d, &shards->lists[d], error);
        if (status != LEAT_OK) {
            return status;
        }
    }
    return LEAT_OK;
}

/* Paths and the lengths of their names, dataset by dataset. */
static void lists_encode(const leat_shards *shards, leat_buffer *out)
{
    for (size_t d = 0; d < shards->datasets; d++) {
        leat_buffer_add_u64(out, shards->lists[d].count);
        for (size_t i = 0; i < shards->lists[d].count; i++) {
            const char *path = shards->lists[d].paths[i], *name = shards->lists[d].names[i];
            leat_buffer_add_u32(out, leat_u32(strlen(path)));
            leat_buffer_add_u32(out, leat_u32(strlen(name)));
            leat_buffer_add_text(out, path);
        }
    }
}

static void lists_decode(leat_shards *shards, const uint8_t *data, uint64_t size)
{
    leat_reader reader = {data, (size_t)size, 0, false};
    for (size_t d = 0; d < shards->datasets; d++) {
        leat_path_list *list = &shards->lists[d];
        size_t count = (size_t)leat_reader_u64(&reader);
        list->paths = leat_alloc(count, sizeof *list->paths);
        list->names = leat_alloc(count, sizeof *list->names);
        list->capacity = count;
        for (; list->count < count; list->count++) {
            size_t path = leat_reader_u32(&reader), name = leat_reader_u32(&reader);
            const uint8_t *at = leat_reader_take(&reader, path);
            LEAT_ASSERT(at != NULL && name <= path);
            list->paths[list->count] = leat_strndup((const char *)at, path);
            list->names[list->count] = list->paths[list->count] + (path - name);
        }
    }
}

static leat_status share_lists(leat_loader *loader, leat_error *error)
{
    leat_shards *shards = &loader->shards;
    bool root = loader->wire->rank == 0;
    leat_status status = root ? expand(loader->job, shards, error) : LEAT_OK;
    status = leat_agree(loader->wire, status, error);
    if (status != LEAT_OK) {
        return status;
    }
    leat_buffer mine = {0};
    uint8_t *data = NULL;
    uint64_t size = 0;
    if (root) {
        lists_encode(shards, &mine);
    }
    status = leat_wire_broadcast(loader->wire, 0, mine.data, mine.size, &data, &size, error);
    if (status == LEAT_OK && !root) {
        lists_decode(shards, data, size);
    }
    leat_free(data);
    leat_buffer_deinit(&mine);
    for (size_t d = 0; d < shards->datasets; d++) {
        shards->count += shards->lists[d].count;
        shards->summaries[d] = leat_alloc(shards->lists[d].count, sizeof **shards->summaries);
        shards->ends[d] = leat_alloc(shards->lists[d].count, sizeof **shards->ends);
    }
    return status;
}

leat_record_rules leat_loader_record_rules(const leat_job *job, size_t d)
{
    return (leat_record_rules){
        .format = job->datasets[d].format,
        .text = job->datasets[d].text,
        .part_bytes = job->part_bytes,
        .record_bytes_max = job->record_bytes_max,
        .replace_bad_utf8 = job->bad_records == LEAT_BAD_REPLACE,
        .dtype = job->datasets[d].dtype,
        .has_eos_id = job->datasets[d].has_eos_id,
        .eos_id = job->datasets[d].eos_id,
    };
}

static leat_status index_one(leat_loader *loader, size_t d, size_t i, leat_error *error)
{
    const leat_job *job = loader->job;
    leat_record_rules rules = leat_loader_record_rules(job, d);
    char *folder = job->index_dir != NULL ? leat_job_path(job, job->index_dir) : NULL;
    leat_index_options options = {
        .store = leat_store_posix(), .index_folder = folder, .log = &loader->log};
    leat_shard_summary *summary = &loader->shards.summaries[d][i];
    const char *path = loader->shards.lists[d].paths[i];
    leat_status status = leat_shard_index(path, &rules, &options, summary, error);
    if (status == LEAT_OK && summary->bad_records != 0 && job->bad_records != LEAT_BAD_SKIP &&
        !loader->options.look) {
        leat_buffer lines = {0};
        status = leat_shard_explain_bad(path, &rules, leat_store_posix(), 1, &lines, error);
        if (status == LEAT_OK) {
            const char *first = leat_buffer_text(&lines);
            status = LEAT_FAIL(error, LEAT_CORRUPT, "bad record: %.*s", (int)strcspn(first, "\n"),
                               first);
            leat_error_where(error, "%s:%llu", path, (unsigned long long)summary->first_bad_line);
            leat_error_found(error, "%llu bad records in this file",
                             (unsigned long long)summary->bad_records);
            leat_error_wanted(error, "strict JSON and UTF-8 with the key \"%s\" as a string",
                              rules.text);
            leat_error_hint(error,
                            "mend the file, or set bad_records: skip (leat check lists them all)");
        }
        leat_buffer_deinit(&lines);
    }
    leat_free(folder);
    return status;
}

/* Shard number s (of all) belongs to rank s mod W. */
static leat_status index_share(leat_loader *loader, leat_error *error)
{
    size_t s = 0, rank = (size_t)loader->wire->rank, size = (size_t)loader->wire->size;
    for (size_t d = 0; d < loader->shards.datasets; d++) {
        for (size_t i = 0; i < loader->shards.lists[d].count; i++, s++) {
            if (loader->options.progress_line != NULL && rank == 0) {
                loader->options.progress_line(loader->options.progress_context, "indexing shards",
                                              s, loader->shards.count);
            }
            if (s % size == rank) {
                leat_status status = index_one(loader, d, i, error);
                if (status != LEAT_OK) {
                    return status;
                }
            }
        }
    }
    return LEAT_OK;
}

static leat_status gather_summaries(leat_loader *loader, leat_error *error)
{
    leat_shards *shards = &loader->shards;
    size_t size = (size_t)loader->wire->size, rank = (size_t)loader->wire->rank, s = 0;
    uint64_t *sizes = leat_alloc(size, sizeof *sizes), *offsets = leat_alloc(size, sizeof *offsets);
    uint8_t *all = leat_alloc(shards->count, LEAT_SHARD_SUMMARY_BYTES);
    for (size_t r = 0; r < size; r++) {
        sizes[r] = ((shards->count + size - 1 - r) / size) * LEAT_SHARD_SUMMARY_BYTES;
        offsets[r] = r == 0 ? 0 : offsets[r - 1] + sizes[r - 1];
    }
    uint8_t *mine = leat_alloc((size_t)sizes[rank] + 1, 1);
    for (size_t d = 0; d < shards->datasets; d++) {
        for (size_t i = 0; i < shards->lists[d].count; i++, s++) {
            if (s % size == rank) {
                leat_shard_summary_encode(&shards->summaries[d][i],
                                          mine + s / size * LEAT_SHARD_SUMMARY_BYTES);
            }
        }
    }
    leat_wire_group group = {0};
    leat_status status = loader->wire->ops->gather(loader->wire, &group, LEAT_CHANNEL_CALL, mine,
                                                   all, sizes, offsets, error);
    status = status == LEAT_OK ? leat_wire_wait(loader->wire, &group, error) : status;
    s = 0;
    for (size_t d = 0; d < shards->datasets && status == LEAT_OK; d++) {
        for (size_t i = 0; i < shards->lists[d].count; i++, s++) {
            leat_shard_summary_decode(&shards->summaries[d][i],
                                      all + offsets[s % size] +
                                          s / size * LEAT_SHARD_SUMMARY_BYTES);
        }
    }
    leat_free(mine);
    leat_free(all);
    leat_free(sizes);
    leat_free(offsets);
    return status;
}

static void add_up(leat_loader *loader)
{
    leat_shards *shards = &loader->shards;
    uint64_t bad = 0;
    for (size_t d = 0; d < shards->datasets; d++) {
        for (size_t i = 0; i < shards->lists[d].count; i++) {
            const leat_shard_summary *summary = &shards->summaries[d][i];
            shards->documents[d] += summary->documents;
            shards->records[d] += summary->records;
            shards->text_bytes[d] += summary->text_bytes;
            shards->ends[d][i] = shards->documents[d];
            bad += summary->bad_records;
        }
    }
    if (bad != 0 && loader->wire->rank == 0 && !loader->options.look) {
        leat_log_say(&loader->log, LEAT_LOG_WARNING,
                     "%llu bad records are skipped (leat check lists them)",
                     (unsigned long long)bad);
    }
}

static leat_status open_corpus(leat_loader *loader, leat_error *error)
{
    const leat_job *job = loader->job;
    leat_corpus_dataset *datasets = leat_alloc(job->dataset_count, sizeof *datasets);
    char *folder = job->index_dir != NULL ? leat_job_path(job, job->index_dir) : NULL;
    for (size_t d = 0; d < job->dataset_count; d++) {
        datasets[d] = (leat_corpus_dataset){
            .name = job->datasets[d].name,
            .rules = leat_loader_record_rules(job, d),
            .shard_count = loader->shards.lists[d].count,
            .paths = (const char *const *)loader->shards.lists[d].paths,
            .summaries = loader->shards.summaries[d],
        };
    }
    leat_corpus_options options = {.store = leat_store_posix(), .index_folder = folder};
    leat_status status =
        leat_corpus_open(&loader->corpus, datasets, job->dataset_count, &options, error);
    leat_free(datasets);
    leat_free(folder);
    return status;
}

static leat_status check_tokenizer(const leat_loader *loader, leat_error *error)
{
    const leat_job *job = loader->job;
    for (uint32_t d = 0; d < job->dataset_count && loader->tokenizer == NULL; d++) {
        if (!leat_corpus_is_tokens(loader->corpus, d)) {
            LEAT_FAIL(error, LEAT_INVALID, "dataset %s is text, and the job names no tokenizer",
                      job->datasets[d].name);
            leat_error_where(error, "%s: tokenizer", job->path);
            leat_error_wanted(error, "tokenizer: {file: tokenizer.json}, or {file: bytes}");
            return error->status;
        }
    }
    return LEAT_OK;
}

leat_status leat_loader_open_corpus(leat_loader *loader, leat_error *error)
{
    init(&loader->shards, loader->job->dataset_count);
    leat_status status = share_lists(loader, error);
    if (status != LEAT_OK) {
        return status;
    }
    status = leat_agree(loader->wire, index_share(loader, error), error);
    if (status != LEAT_OK) {
        return status;
    }
    status = gather_summaries(loader, error);
    if (status != LEAT_OK) {
        return status;
    }
    add_up(loader);
    status = open_corpus(loader, error);
    status = status == LEAT_OK ? check_tokenizer(loader, error) : status;
    return leat_agree(loader->wire, status, error);
}
