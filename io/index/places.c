/* Where documents are: 16 bytes each, through a small cache of index blocks that every reader has for itself. */
#include "base/memory.h"
#include "io/index/corpus_inside.h"
#include <inttypes.h>

leat_corpus_reader *leat_corpus_reader_open(leat_corpus *corpus)
{
    leat_corpus_reader *reader = leat_alloc(1, sizeof *reader);
    reader->corpus = corpus;
    reader->blocks = leat_alloc(LEAT_CACHE_BLOCKS, sizeof *reader->blocks);
    reader->jsonl = leat_alloc(corpus->dataset_count, sizeof(leat_jsonl *));
    for (size_t i = 0; i < LEAT_CACHE_BLOCKS; i++) {
        reader->ids[i].shard = UINT64_MAX;
    }
    return reader;
}

void leat_corpus_reader_close(leat_corpus_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    for (size_t i = 0; i < reader->corpus->dataset_count; i++) {
        leat_jsonl_close(reader->jsonl[i]);
    }
    leat_buffer_deinit(&reader->raw);
    leat_buffer_deinit(&reader->text);
    leat_buffer_deinit(&reader->whole);
    leat_free(reader->jsonl);
    leat_free(reader->blocks);
    leat_free(reader);
}

/* The shard that holds a document: the last one asked for, or by bisection. */
static size_t shard_of(leat_corpus_reader *reader, uint32_t dataset, uint64_t document)
{
    const leat_corpus_part *part = &reader->corpus->datasets[dataset];
    const uint64_t *first = part->first;
    size_t low = reader->shard, high = part->shard_count;
    if (reader->shard_dataset == dataset && low < high && first[low] <= document &&
        document < first[low + 1]) {
        return low;
    }
    for (low = 0; high - low > 1;) {
        size_t middle = low + (high - low) / 2;
        if (first[middle] <= document) {
            low = middle;
        } else {
            high = middle;
        }
    }
    reader->shard = low;
    reader->shard_dataset = dataset;
    return low;
}

static size_t slot_of(uint64_t shard, uint64_t number)
{
    return (size_t)(number + shard * 17) % LEAT_CACHE_BLOCKS;
}

static leat_status read_blocks(leat_corpus_reader *reader, uint32_t dataset, size_t shard,
                               uint64_t number, size_t count, bool *whole, leat_error *error)
{
    leat_corpus_part *part = &reader->corpus->datasets[dataset];
    size_t slot = slot_of(part->key + shard, number);
    leat_file *file;
    leat_status status = leat_corpus_acquire_index(reader->corpus, dataset, shard, &file, error);
    if (status != LEAT_OK) {
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        reader->ids[slot + i].shard = UINT64_MAX;
    }
    *whole = true;
    if ((number + count) * LEAT_SIDECAR_BLOCK > file->size) {
        *whole = false; /* a number in the parts table that the table does not have */
    } else {
        status = file->store->read(file, number * LEAT_SIDECAR_BLOCK, reader->blocks[slot],
                                   count * LEAT_SIDECAR_BLOCK, error);
    }
    for (size_t i = 0; i < count && *whole && status == LEAT_OK; i++) {
        *whole = leat_block_is_whole(reader->blocks[slot + i], number + i);
        if (*whole) {
            reader->ids[slot + i] = (leat_block_id){part->key + shard, number + i};
        }
    }
    leat_files_release(reader->corpus->files, file);
    return status;
}

/* Block `number` of a shard's index; `ahead` blocks behind it will be wanted next. */
static leat_status block(leat_corpus_reader *reader, uint32_t dataset, size_t shard,
                         uint64_t number, uint64_t ahead, const uint8_t **out, leat_error *error)
{
    uint64_t key = reader->corpus->datasets[dataset].key + shard;
    size_t slot = slot_of(key, number);
    leat_status status = LEAT_OK;
    *out = reader->blocks[slot];
    if (reader->ids[slot].shard == key && reader->ids[slot].number == number) {
        return LEAT_OK;
    }
    size_t count = ahead < LEAT_CACHE_RUN - 1 ? (size_t)ahead + 1 : LEAT_CACHE_RUN;
    count = count < LEAT_CACHE_BLOCKS - slot ? count : LEAT_CACHE_BLOCKS - slot;
    for (int attempt = 0; status == LEAT_OK; attempt++) {
        bool whole = false;
        unsigned seen = leat_corpus_repairs(reader->corpus, dataset, shard);
        status = read_blocks(reader, dataset, shard, number, count, &whole, error);
        if (status != LEAT_OK || whole) {
            break;
        }
        if (attempt != 0) {
            LEAT_FAIL(error, LEAT_CORRUPT, "the index of %s is damaged in block %" PRIu64,
                      reader->corpus->datasets[dataset].shards[shard].path, number);
            leat_error_hint(error, "remove it and build it anew: leat index JOB");
            return error->status;
        }
        status = leat_corpus_repair(reader->corpus, dataset, shard, seen, error);
    }
    return status;
}

/* The fields of a place that is one of several parts of its record. */
static leat_status place_part(leat_corpus_reader *reader, uint32_t dataset, size_t shard,
                              uint64_t number, leat_place *out, leat_error *error)
{
    const leat_corpus_part *part = &reader->corpus->datasets[dataset];
    uint64_t blocks = leat_sidecar_entry_blocks(part->shards[shard].summary.documents);
    const uint8_t *at;
    leat_part_entry found;
    leat_status status =
        block(reader, dataset, shard, 1 + blocks + number / LEAT_SIDECAR_PARTS, 0, &at, error);
    if (status != LEAT_OK) {
        return status;
    }
    leat_block_get_part(at, number % LEAT_SIDECAR_PARTS, &found);
    out->part = found.part;
    out->parts = found.parts;
    out->record = found.record;
    out->offset = found.offset;
    out->bytes = found.bytes;
    out->text_begin = found.begin;
    out->text_end = found.end;
    out->tokens = part->tokens ? found.end - found.begin : 0;
    return LEAT_OK;
}

/* A checksum vouches for what was written, not for the file it describes: no number may point outside. */
static leat_status check_place(const leat_corpus_part *part, const leat_place *place,
                               leat_entry_kind kind, leat_error *error)
{
    uint64_t file_bytes = part->shards[place->shard].summary.file_bytes;
    uint32_t width = part->shards[place->shard].summary.token_width;
    /* Text is at most three times its record: what U+FFFD for each of its bytes would make of it. */
    uint64_t content_max = part->tokens ? place->bytes / width : 3 * place->bytes;
    bool fits = place->offset <= file_bytes && place->bytes <= file_bytes - place->offset &&
                place->text_begin <= place->text_end && place->text_end <= content_max &&
                place->part < place->parts && kind < LEAT_ENTRY_KINDS &&
                (kind != LEAT_ENTRY_TOKENS || part->tokens) &&
                (kind != LEAT_ENTRY_WHOLE || !part->tokens);
    if (fits) {
        return LEAT_OK;
    }
    LEAT_FAIL(error, LEAT_CORRUPT, "the index of %s contradicts itself",
              part->shards[place->shard].path);
    leat_error_found(error, "document %" PRIu64 " at byte %" PRIu64, place->document,
                     place->offset);
    leat_error_hint(error, "remove it and build it anew: leat index JOB");
    return error->status;
}

/* One place; `run` more documents that follow it in the dataset are wanted as well. */
static leat_status place(leat_corpus_reader *reader, uint32_t dataset, uint64_t document,
                         uint64_t run, leat_place *out, leat_error *error)
{
    const leat_corpus_part *part = &reader->corpus->datasets[dataset];
    size_t shard = shard_of(reader, dataset, document);
    uint64_t within = document - part->first[shard];
    uint64_t last = part->first[shard + 1] - 1 - part->first[shard];
    uint64_t number = within / LEAT_SIDECAR_ENTRIES;
    last = last - within < run ? last : within + run;
    const uint8_t *at;
    leat_entry entry;
    leat_status status =
        block(reader, dataset, shard, 1 + number, last / LEAT_SIDECAR_ENTRIES - number, &at, error);
    if (status != LEAT_OK) {
        return status;
    }
    leat_block_get(at, within % LEAT_SIDECAR_ENTRIES, &entry);
    *out = (leat_place){.shard = (uint32_t)shard,
                        .parts = 1,
                        .bad = entry.kind == LEAT_ENTRY_BAD,
                        .document = document,
                        .record = entry.record,
                        .offset = entry.offset,
                        .bytes = entry.bytes,
                        .text_end = entry.content};
    if (entry.kind == LEAT_ENTRY_PART) {
        status = place_part(reader, dataset, shard, entry.offset, out, error);
    } else if (entry.kind == LEAT_ENTRY_TOKENS) {
        uint32_t width = part->shards[shard].summary.token_width;
        out->tokens = entry.content;
        out->bytes = entry.content <= part->shards[shard].summary.file_bytes ? entry.content * width
                                                                             : UINT64_MAX;
    }
    return status == LEAT_OK ? check_place(part, out, entry.kind, error) : status;
}

leat_status leat_corpus_places(leat_corpus_reader *reader, uint32_t dataset,
                               const uint64_t *documents, size_t count, leat_place *out,
                               leat_error *error)
{
    LEAT_ASSERT(dataset < reader->corpus->dataset_count);
    const leat_corpus_part *part = &reader->corpus->datasets[dataset];
    uint64_t total = part->first[part->shard_count];
    size_t run_end = 0; /* documents from here to there follow each other */
    for (size_t i = 0; i < count; i++) {
        if (documents[i] >= total) {
            LEAT_FAIL(error, LEAT_INVALID, "dataset %s has no document %" PRIu64, part->name,
                      documents[i]);
            leat_error_wanted(error, "a number below %" PRIu64, total);
            return error->status;
        }
        if (i >= run_end) {
            for (run_end = i + 1;
                 run_end < count && documents[run_end] == documents[run_end - 1] + 1; run_end++) {
            }
        }
        leat_status status = place(reader, dataset, documents[i], run_end - i - 1, &out[i], error);
        if (status != LEAT_OK) {
            return status;
        }
    }
    return LEAT_OK;
}
