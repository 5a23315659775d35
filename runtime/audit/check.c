#include "audit/check.h"
#include "base/arith.h"
#include "base/memory.h"
#include "plan/order.h"
#include <stdlib.h>

enum { LOOK_DOCUMENTS = 16384 };

void leat_check_shards_deinit(leat_check_shards *shards)
{
    leat_free(shards->items);
    *shards = (leat_check_shards){0};
}

static void add(leat_check_shards *list, leat_check_shard shard)
{
    LEAT_GROW(list->items, list->capacity, list->count + 1);
    list->items[list->count++] = shard;
}

const char *leat_check_shard_path(const leat_loader *loader, leat_check_shard shard)
{
    return loader->shards.lists[shard.dataset].paths[shard.shard];
}

static const leat_shard_summary *summary_of(const leat_loader *loader, leat_check_shard shard)
{
    return &loader->shards.summaries[shard.dataset][shard.shard];
}

bool leat_check_same_content(const leat_loader *loader, leat_check_shard a, leat_check_shard b)
{
    const leat_shard_summary *first = summary_of(loader, a), *second = summary_of(loader, b);
    return first->file_bytes == second->file_bytes &&
           memcmp(first->content_hash, second->content_hash, 16) == 0;
}

typedef struct hashed_shard {
    const uint8_t *hash;
    leat_check_shard shard;
} hashed_shard;

static int by_hash(const void *a, const void *b)
{
    const hashed_shard *first = a, *second = b;
    int order = memcmp(first->hash, second->hash, 16);
    if (order != 0) {
        return order;
    }
    if (first->shard.dataset != second->shard.dataset) {
        return first->shard.dataset < second->shard.dataset ? -1 : 1;
    }
    return first->shard.shard < second->shard.shard ? -1 : first->shard.shard > second->shard.shard;
}

void leat_check_duplicates(const leat_loader *loader, leat_check_shards *out)
{
    const leat_shards *shards = &loader->shards;
    hashed_shard *all = leat_alloc(shards->count + 1, sizeof *all);
    size_t count = 0;
    for (uint32_t d = 0; d < shards->datasets; d++) {
        for (size_t i = 0; i < shards->lists[d].count; i++) {
            if (shards->summaries[d][i].file_bytes != 0) {
                all[count++] = (hashed_shard){shards->summaries[d][i].content_hash, {d, i}};
            }
        }
    }
    qsort(all, count, sizeof *all, by_hash);
    for (size_t i = 0; i < count; i++) {
        bool before = i > 0 && memcmp(all[i].hash, all[i - 1].hash, 16) == 0;
        bool after = i + 1 < count && memcmp(all[i].hash, all[i + 1].hash, 16) == 0;
        if (before || after) {
            add(out, all[i].shard);
        }
    }
    leat_free(all);
}

void leat_check_near_empty(const leat_loader *loader, leat_check_shards *out)
{
    const leat_shards *shards = &loader->shards;
    for (uint32_t d = 0; d < shards->datasets; d++) {
        uint64_t mean = shards->text_bytes[d] / leat_max_u64(shards->lists[d].count, 1);
        for (size_t i = 0; i < shards->lists[d].count; i++) {
            uint64_t bytes = shards->summaries[d][i].text_bytes;
            if (bytes == 0 || bytes < mean / 100) {
                add(out, (leat_check_shard){d, i});
            }
        }
    }
}

leat_status leat_check_bad(const leat_loader *loader, uint64_t most, uint64_t *bad, uint64_t *files,
                           uint64_t *listed, leat_buffer *lines, leat_error *error)
{
    const leat_shards *shards = &loader->shards;
    leat_status status = LEAT_OK;
    *bad = *files = *listed = 0;
    for (size_t d = 0; d < shards->datasets; d++) {
        leat_record_rules rules = leat_loader_record_rules(loader->job, d);
        for (size_t i = 0; i < shards->lists[d].count && status == LEAT_OK; i++) {
            uint64_t here = shards->summaries[d][i].bad_records;
            uint64_t wanted = leat_min_u64(here, most - *listed);
            *bad += here;
            *files += here != 0;
            if (wanted != 0) {
                status = leat_shard_explain_bad(shards->lists[d].paths[i], &rules,
                                                leat_store_posix(), (size_t)wanted, lines, error);
                *listed += wanted;
            }
        }
    }
    return status;
}

static int by_number(const void *a, const void *b)
{
    uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return first < second ? -1 : first > second;
}

leat_status leat_check_read_order(leat_loader *loader, uint32_t dataset, leat_check_reading *out,
                                  leat_error *error)
{
    const leat_plan_dataset *spec = &loader->spec.datasets[dataset];
    size_t count = (size_t)leat_min_u64(spec->documents, LOOK_DOCUMENTS);
    *out = (leat_check_reading){0};
    if (count == 0) {
        return LEAT_OK;
    }
    uint64_t *documents = leat_alloc(count, sizeof *documents);
    leat_place *places = leat_alloc(count, sizeof *places);
    leat_order *order = leat_order_open(loader->spec.seed, spec);
    leat_order_documents(order, 0, documents, count);
    leat_order_close(order);
    qsort(documents, count, sizeof *documents, by_number);
    if (loader->reader == NULL) {
        loader->reader = leat_corpus_reader_open(loader->corpus);
    }
    leat_status status =
        leat_corpus_places(loader->reader, dataset, documents, count, places, error);
    for (size_t i = 0; i < count && status == LEAT_OK; i++) {
        bool same_file = i > 0 && places[i].shard == places[i - 1].shard;
        out->documents++;
        out->files += !same_file;
        out->runs += !same_file || documents[i] != documents[i - 1] + 1;
        out->bytes += places[i].part == 0 ? places[i].bytes : 0;
    }
    leat_free(places);
    leat_free(documents);
    return status;
}

/* As feed/feed.c sizes its ring; documents ahead are at most token_bytes_max, and seldom that many. */
uint64_t leat_check_memory(const leat_loader *loader, uint64_t ranks, uint32_t threads)
{
    enum { RING = 256 << 20, DOCUMENTS = 512 << 20, OF_A_THREAD = 48 << 20, REST = 64 << 20 };
    const leat_job *job = loader->job;
    uint64_t rows = 0, window = ranks <= 16 ? 4 : 8;
    for (size_t i = 0; i < job->batch_size_count; i++) {
        rows = leat_max_u64(rows, leat_div_ceil(job->batch_sizes[i].rows, ranks));
    }
    uint64_t slot = rows * loader->spec.row_tokens * sizeof(uint32_t);
    while (window > 1 && 3 * window * slot > RING) {
        window /= 2;
    }
    uint64_t slots = window * (job->look_ahead != 0 ? job->look_ahead : 3) + 1;
    uint64_t ahead = 0;
    for (size_t d = 0; d < loader->shards.datasets; d++) {
        ahead += 2 * loader->shards.text_bytes[d];
    }
    ahead = leat_min_u64(ahead, job->read_cache != 0 ? job->read_cache : DOCUMENTS);
    return slots * slot + ahead + (uint64_t)threads * OF_A_THREAD + REST;
}

void leat_check_ranks(const leat_plan_spec *spec, uint64_t *most, uint64_t *equal)
{
    *most = UINT64_MAX;
    *equal = 0;
    for (uint64_t i = 0; i < spec->batch_size_count; i++) {
        uint64_t a = spec->batch_sizes[i].rows, b = *equal;
        *most = leat_min_u64(*most, a);
        while (b != 0) {
            uint64_t rest = a % b;
            a = b;
            b = rest;
        }
        *equal = a;
    }
}
