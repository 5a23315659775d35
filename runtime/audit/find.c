/* find.c: from a record to the steps and rows it was in.  The order runs backwards, so a document's places in the stream are
 * computed; the run's cursors (every 100 steps) bracket the steps that can have drawn it, and those steps alone are computed
 * again. */
#include "audit/find.h"
#include "base/arith.h"
#include "base/memory.h"
#include "loader/loader.h"
#include "plan/cursor.h"
#include "plan/order.h"

enum { CURSOR_STEPS = 100 };

/* The shard whose path, or name below its glob, is `file` or ends with "/file". */
static bool matches(const char *path, const char *file)
{
    size_t a = strlen(path), b = strlen(file);
    return a >= b && strcmp(path + a - b, file) == 0 && (a == b || path[a - b - 1] == '/');
}

static leat_status find_shard(const leat_loader *loader, const char *file, uint32_t *dataset,
                              size_t *shard, leat_error *error)
{
    size_t found = 0;
    for (uint32_t d = 0; d < loader->job->dataset_count; d++) {
        for (size_t i = 0; i < loader->shards.lists[d].count; i++) {
            if (matches(loader->shards.lists[d].paths[i], file)) {
                *dataset = d;
                *shard = i;
                found++;
            }
        }
    }
    if (found == 1) {
        return LEAT_OK;
    }
    LEAT_FAIL(error, LEAT_INVALID,
              found == 0 ? "no shard of the job is called %s"
                         : "several shards of the job are called %s",
              file);
    leat_error_hint(error, "give its path as far as it is needed to tell it apart");
    return error->status;
}

/* First document of the shard with a record number ≥ `record`: record numbers ascend with documents. */
static leat_status first_document(leat_loader *loader, uint32_t dataset, size_t shard,
                                  uint64_t record, uint64_t *document, leat_error *error)
{
    const uint64_t *ends = loader->shards.ends[dataset];
    uint64_t low = shard == 0 ? 0 : ends[shard - 1], high = ends[shard];
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        leat_place place;
        leat_status status = leat_corpus_places(loader->reader, dataset, &middle, 1, &place, error);
        if (status != LEAT_OK) {
            return status;
        }
        if (place.record < record) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *document = low;
    return LEAT_OK;
}

/* Where the dataset's piece window begins in the cursor of the last recorded step ≤ step; the step itself. */
static leat_status recorded(const char *folder, uint32_t dataset, uint64_t step, uint64_t *at,
                            uint64_t *position, leat_error *error)
{
    leat_buffer cursor = {0};
    uint8_t chain[32];
    bool ended;
    *at = *position = 0;
    leat_status status = leat_cursors_find(folder, step, at, chain, &cursor, error);
    if (status == LEAT_OK) {
        status = leat_cursor_dataset((leat_bytes){cursor.data, cursor.size}, dataset, position,
                                     &ended, error);
    } else if (status == LEAT_NOT_FOUND) {
        *at = 0;
        status = LEAT_OK;
    }
    leat_buffer_deinit(&cursor);
    return status;
}

/* Steps [*first, *end) can hold the document at stream position `place`. */
static leat_status bracket(const char *folder, uint32_t dataset, uint64_t place, uint64_t log_end,
                           uint64_t *first, uint64_t *end, leat_error *error)
{
    uint64_t low = 0, high = log_end / CURSOR_STEPS, at, position;
    while (low < high) { /* the last recorded step whose window begins at or before `place` */
        uint64_t middle = low + (high - low + 1) / 2;
        leat_status status =
            recorded(folder, dataset, middle * CURSOR_STEPS, &at, &position, error);
        if (status != LEAT_OK) {
            return status;
        }
        if (position <= place) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    leat_status status = recorded(folder, dataset, low * CURSOR_STEPS, &at, &position, error);
    *first = at;
    /* A window that begins before `place` may have been open at several records: the earliest of them counts. */
    for (uint64_t k = low; status == LEAT_OK && k > 0; k--) {
        uint64_t earlier_at, earlier;
        status = recorded(folder, dataset, (k - 1) * CURSOR_STEPS, &earlier_at, &earlier, error);
        if (status != LEAT_OK || earlier < position) {
            *first = status == LEAT_OK ? earlier_at : *first;
            break;
        }
        *first = earlier_at;
    }
    /* The rest of a piece can stand in the row after the window's last one. */
    *end = leat_min_u64(log_end, (low + 1) * CURSOR_STEPS + 2);
    return status;
}

static leat_status look_in(leat_wire *wire, const char *folder, const leat_audit_wish *wish,
                           uint64_t first, uint64_t end, leat_error *error)
{
    leat_loader *loader = NULL;
    leat_batch batch;
    leat_status status = leat_audit_open(&loader, wire, folder, first, end, &wish->options, error);
    while (status == LEAT_OK && (status = leat_loader_next(loader, &batch, error)) == LEAT_OK &&
           !batch.end) {
        uint64_t at = batch.segment_first;
        for (uint64_t row = 0; row < batch.rows && status == LEAT_OK; row++) {
            for (; at < batch.row_segments[row] && status == LEAT_OK; at++) {
                const leat_batch_segment *segment = &batch.segments[at];
                if (segment->dataset == wish->dataset && segment->document == wish->document &&
                    segment->epoch == wish->epoch) {
                    status = wish->found(wish->context, loader, batch.step, row, segment, error);
                }
            }
        }
        leat_loader_done(loader, &batch);
    }
    leat_loader_abandon(loader);
    return status;
}

static leat_status find_document(leat_loader *loader, leat_wire *wire, const char *folder,
                                 leat_audit_wish *wish, uint64_t log_end, leat_error *error)
{
    uint64_t documents = loader->shards.documents[wish->dataset], at, reached;
    leat_order *order = leat_order_open(loader->spec.seed, &loader->plan_datasets[wish->dataset]);
    leat_status status = recorded(folder, wish->dataset, log_end, &at, &reached, error);
    /* Behind the last record the run may have gone some windows further: one more epoch is looked at. */
    for (uint64_t e = 0; status == LEAT_OK && e <= reached / documents + 1; e++) {
        uint64_t place = e * documents + leat_order_place(order, e, wish->document), first, end;
        wish->epoch = e;
        status = bracket(folder, wish->dataset, place, log_end, &first, &end, error);
        if (status == LEAT_OK && first < end) {
            status = look_in(wire, folder, wish, first, end, error);
        }
    }
    leat_order_close(order);
    return status;
}

leat_status leat_audit_find(leat_wire *wire, const char *folder, const char *file, uint64_t record,
                            leat_audit_wish *wish, leat_error *error)
{
    leat_manifest *manifest = NULL;
    leat_loader *loader = NULL;
    uint64_t log_first = 0, log_end = 0, document = 0;
    size_t shard = 0;
    char *log = leat_format("%s/batches.jsonl", folder);
    leat_status status;
    LEAT_TRY(leat_loader_read_manifest(folder, &manifest, error));
    LEAT_TRY(leat_audit_log_range(log, &log_first, &log_end, error));
    leat_options options = wish->options;
    options.job_text = manifest->job;
    LEAT_TRY(leat_loader_open_job(&loader, wire, manifest->job_path, &options, error));
    loader->reader = leat_corpus_reader_open(loader->corpus);
    LEAT_TRY(find_shard(loader, file, &wish->dataset, &shard, error));
    LEAT_TRY(first_document(loader, wish->dataset, shard, record, &document, error));
    for (uint64_t parts = 1; parts > 0 && document < loader->shards.ends[wish->dataset][shard];
         document++, parts--) {
        leat_place place;
        LEAT_TRY(leat_corpus_places(loader->reader, wish->dataset, &document, 1, &place, error));
        if (place.record != record) {
            break;
        }
        parts = (uint64_t)place.parts - place.part;
        wish->document = document;
        wish->documents++;
        LEAT_TRY(find_document(loader, wire, folder, wish, log_end, error));
    }
    if (wish->documents == 0) {
        status = LEAT_FAIL(error, LEAT_INVALID, "%s has no record %llu", file,
                           (unsigned long long)record);
        leat_error_wanted(
            error, "a record below %llu (records count from 0, blank lines do not)",
            (unsigned long long)loader->shards.summaries[wish->dataset][shard].records);
    }
done:
    leat_loader_abandon(loader);
    leat_manifest_close(manifest);
    leat_free(log);
    return status;
}
