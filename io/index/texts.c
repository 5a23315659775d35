/* The texts of documents.  Places near each other are read in one go; every record is decoded again by the strict reader and
 * has to give the length that the index holds. */
#include "base/arith.h"
#include "base/memory.h"
#include "io/index/corpus_inside.h"
#include <inttypes.h>
#include <stdio.h>

enum {
    GAP_BYTES = 64 << 10,  /* reading this much for nothing is cheaper than another read */
    GROUP_BYTES = 4 << 20, /* of one read; a larger record is read alone */
    KEPT_BYTES = 64 << 20, /* buffers beyond it are given back when the next call needs less */
};

static const uint8_t empty[1];

static void shrink(leat_buffer *buffer)
{
    if (buffer->capacity > KEPT_BYTES) {
        leat_buffer_deinit(buffer);
    }
}

static leat_status changed(const leat_corpus_part *part, const leat_place *place, const char *found,
                           leat_error *error)
{
    const char *path = part->shards[place->shard].path;
    LEAT_FAIL(error, LEAT_CORRUPT, "%s changed since it was indexed", path);
    leat_error_where(error, "%s, byte %" PRIu64 " (record %" PRIu64 ")", path, place->offset,
                     place->record);
    leat_error_found(error, "%s", found);
    leat_error_wanted(error, "a record of %" PRIu64 " bytes with text up to byte %" PRIu64,
                      place->bytes, place->text_end);
    leat_error_hint(error, "bring the file back as it was, or start a new run on the new one");
    return error->status;
}

/* Places from `first` on that one read serves; *bytes is what to read, from the first one's offset. */
static size_t group(const leat_place *places, size_t count, uint64_t *bytes)
{
    uint64_t begin = places[0].offset, end = begin + places[0].bytes;
    size_t taken = 1;
    for (; taken < count; taken++) {
        const leat_place *next = &places[taken];
        uint64_t next_end = next->offset + next->bytes;
        if (next->bad) {
            continue; /* nothing to read for it */
        }
        if (next->shard != places[0].shard || next->offset < begin ||
            next->offset > end + GAP_BYTES || leat_max_u64(end, next_end) - begin > GROUP_BYTES) {
            if (next->shard != places[0].shard || next->offset != places[0].offset ||
                next_end > end) { /* a part of the same large record stays */
                break;
            }
        }
        end = leat_max_u64(end, next_end);
    }
    *bytes = end - begin;
    return taken;
}

static bool is_whole_known(const leat_corpus_reader *reader, uint32_t dataset,
                           const leat_place *place)
{
    return reader->whole_known && reader->whole_dataset == dataset &&
           reader->whole_shard == place->shard && reader->whole_record == place->record;
}

/* The decoded text of a record of which `data` are the bytes; parts of one record share one decoding. */
static leat_status decode(leat_corpus_reader *reader, uint32_t dataset, const leat_place *place,
                          const uint8_t *data, leat_bytes *text, leat_error *error)
{
    leat_corpus_part *part = &reader->corpus->datasets[dataset];
    leat_jsonl *jsonl = reader->jsonl[dataset];
    if (place->parts > 1 && is_whole_known(reader, dataset, place)) {
        *text = (leat_bytes){reader->whole.data, reader->whole.size};
        return LEAT_OK;
    }
    if (!leat_jsonl_decode(jsonl, data, (size_t)place->bytes, text)) {
        size_t at;
        const char *fault = leat_jsonl_fault(jsonl, &at);
        return changed(part, place, fault, error);
    }
    if (place->parts > 1) {
        shrink(&reader->whole);
        leat_buffer_clear(&reader->whole);
        leat_buffer_add(&reader->whole, text->data, text->size);
        reader->whole_dataset = dataset;
        reader->whole_shard = place->shard;
        reader->whole_record = place->record;
        reader->whole_known = true;
        text->data = reader->whole.data;
    }
    return LEAT_OK;
}

/* A part has to lie in the text, on sequences of UTF-8, and the last one has to end it. */
static bool fits(const leat_place *place, leat_bytes text)
{
    uint64_t begin = place->text_begin, end = place->text_end;
    bool last = place->part + 1 == place->parts;
    return end <= text.size && begin <= end && (last ? end == text.size : end < text.size) &&
           (begin == text.size || (text.data[begin] & 0xc0) != 0x80) &&
           (end == text.size || (text.data[end] & 0xc0) != 0x80);
}

static leat_status take(leat_corpus_reader *reader, uint32_t dataset, const leat_place *place,
                        const uint8_t *data, leat_text *out, leat_error *error)
{
    leat_bytes text = {0};
    leat_status status = decode(reader, dataset, place, data, &text, error);
    if (status != LEAT_OK) {
        return status;
    }
    if (!fits(place, text)) {
        char found[80];
        snprintf(found, sizeof found, "a text of %zu bytes", text.size);
        return changed(&reader->corpus->datasets[dataset], place, found, error);
    }
    size_t bytes = (size_t)(place->text_end - place->text_begin);
    uint8_t *to = reader->text.data + reader->text.size; /* reserved by the caller */
    if (bytes != 0) {
        memcpy(to, text.data + place->text_begin, bytes);
        *out = (leat_text){to, bytes, false};
        reader->text.size += bytes;
    }
    return LEAT_OK;
}

/* One read: places that lie together, and what will be read after them (bytes 0: nothing that is known). */
typedef struct read_plan {
    size_t count;
    uint64_t bytes, next_offset, next_bytes;
} read_plan;

static leat_status read_raw(leat_corpus_reader *reader, uint32_t dataset, const leat_place *first,
                            const read_plan *plan, leat_error *error)
{
    leat_file *file;
    size_t bytes = (size_t)plan->bytes;
    leat_status status =
        leat_corpus_acquire_data(reader->corpus, dataset, first->shard, &file, error);
    if (status != LEAT_OK) {
        return status;
    }
    leat_buffer_clear(&reader->raw);
    uint8_t *raw = leat_buffer_extend(&reader->raw, bytes + LEAT_JSONL_PADDING);
    memset(raw + bytes, 0, LEAT_JSONL_PADDING);
    status = file->store->read(file, first->offset, raw, bytes, error);
    if (plan->next_bytes != 0 && file->store->advise != NULL) {
        file->store->advise(file, plan->next_offset, plan->next_bytes); /* while this is decoded */
    }
    leat_files_release(reader->corpus->files, file);
    atomic_fetch_add_explicit(&reader->corpus->bytes_read, bytes, memory_order_relaxed);
    return status;
}

static leat_status read_group(leat_corpus_reader *reader, uint32_t dataset,
                              const leat_place *places, const read_plan *plan, leat_text *out,
                              leat_error *error)
{
    bool needed = false;
    size_t count = plan->count;
    for (size_t i = 0; i < count && !needed; i++) {
        needed = !places[i].bad &&
                 (places[i].parts == 1 || !is_whole_known(reader, dataset, &places[i]));
    }
    leat_status status = needed ? read_raw(reader, dataset, places, plan, error) : LEAT_OK;
    for (size_t i = 0; i < count && status == LEAT_OK; i++) {
        const uint8_t *data =
            needed ? reader->raw.data + (places[i].offset - places[0].offset) : NULL;
        if (!places[i].bad) {
            status = take(reader, dataset, &places[i], data, &out[i], error);
        }
    }
    return status;
}

/* Room for all texts of a call at once, so that the views stay. */
static leat_status reserve(leat_corpus_reader *reader, uint32_t dataset, const leat_place *places,
                           size_t count, leat_text *out, leat_error *error)
{
    const leat_corpus_part *part = &reader->corpus->datasets[dataset];
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        bool good = places[i].shard < part->shard_count &&
                    places[i].text_begin <= places[i].text_end &&
                    leat_add_u64(total, places[i].text_end - places[i].text_begin, &total);
        if (!good || total > SIZE_MAX / 4) {
            return LEAT_FAIL(error, LEAT_INVALID, "a place that is none");
        }
        out[i] = (leat_text){empty, 0, places[i].bad};
    }
    shrink(&reader->raw);
    shrink(&reader->text);
    leat_buffer_clear(&reader->text);
    leat_buffer_extend(&reader->text, (size_t)total);
    leat_buffer_clear(&reader->text);
    return LEAT_OK;
}

/* What to read for the places from `at` on: a group, or a bad place for which there is nothing to read. */
static read_plan next_read(const leat_place *places, size_t at, size_t count)
{
    read_plan plan = {.count = 1};
    if (at < count && !places[at].bad) {
        plan.count = group(places + at, count - at, &plan.bytes);
    }
    return plan;
}

leat_status leat_corpus_read_texts(leat_corpus_reader *reader, uint32_t dataset,
                                   const leat_place *places, size_t count, leat_text *out,
                                   leat_error *error)
{
    LEAT_ASSERT(dataset < reader->corpus->dataset_count &&
                !reader->corpus->datasets[dataset].tokens);
    leat_status status = reserve(reader, dataset, places, count, out, error);
    if (status == LEAT_OK && reader->jsonl[dataset] == NULL) {
        status = leat_jsonl_open(&reader->jsonl[dataset], &reader->corpus->datasets[dataset].rules,
                                 error);
    }
    read_plan now = next_read(places, 0, count);
    for (size_t at = 0; at < count && status == LEAT_OK;) {
        size_t behind = at + now.count;
        read_plan next = next_read(places, behind, count);
        if (!places[at].bad) {
            bool near = next.bytes != 0 && places[behind].shard == places[at].shard;
            now.next_offset = near ? places[behind].offset : 0;
            now.next_bytes = near ? next.bytes : 0;
            status = read_group(reader, dataset, places + at, &now, out + at, error);
        }
        at = behind;
        now = next;
    }
    return status;
}
