/* Making a side-car: the scan's records become entries, block by block, straight into a temporary file. */
#include "io/index/build.h"
#include "base/arith.h"
#include "base/memory.h"
#include "io/index/parts.h"
#include <inttypes.h>

typedef struct builder {
    const leat_record_rules *rules;
    leat_store *store;
    leat_writer *writer;
    leat_shard_summary summary;
    uint8_t block[LEAT_SIDECAR_BLOCK];
    uint64_t block_number; /* of the block being filled; the header is 0 */
    size_t slot;
    leat_part_entry *parts;
    size_t part_count, part_capacity;
    size_t *ends; /* of the parts of one record */
    size_t end_capacity;
} builder;

static leat_status write_block(builder *b, leat_error *error)
{
    leat_block_seal(b->block, b->block_number);
    leat_bytes content = {b->block, sizeof b->block};
    b->slot = 0;
    return b->store->write(b->writer, b->block_number++ * LEAT_SIDECAR_BLOCK, content, error);
}

static leat_status add_entry(builder *b, const leat_entry *entry, leat_error *error)
{
    if (b->slot == 0) {
        leat_block_begin(b->block, entry->record);
    }
    leat_block_put(b->block, b->slot++, entry);
    b->summary.documents++;
    return b->slot == LEAT_SIDECAR_ENTRIES ? write_block(b, error) : LEAT_OK;
}

/* The entries of a record that is cut: ends[i] is where part i ends. */
static leat_status add_parts(builder *b, const leat_record *record, const size_t *ends,
                             size_t count, leat_error *error)
{
    leat_part_entry part = {.offset = record->offset,
                            .bytes = record->bytes,
                            .record = b->summary.records,
                            .parts = leat_u32(count)};
    leat_status status = LEAT_OK;
    for (size_t i = 0; i < count && status == LEAT_OK; i++) {
        leat_entry entry = {
            .kind = LEAT_ENTRY_PART, .record = b->summary.records, .offset = b->part_count};
        part.part = (uint32_t)i;
        part.end = ends[i];
        LEAT_GROW(b->parts, b->part_capacity, b->part_count + 1);
        b->parts[b->part_count++] = part;
        part.begin = part.end;
        status = add_entry(b, &entry, error);
    }
    return status;
}

static leat_status add_text(builder *b, const leat_record *record, leat_error *error)
{
    size_t count = 0, end = 0, size = record->text.size;
    b->summary.text_bytes += size;
    if (b->rules->part_bytes == 0 || size <= b->rules->part_bytes) {
        leat_entry entry = {.kind = LEAT_ENTRY_WHOLE,
                            .record = b->summary.records,
                            .offset = record->offset,
                            .bytes = record->bytes,
                            .content = size};
        return add_entry(b, &entry, error);
    }
    while (end < size) {
        end = leat_part_end(record->text.data, size, end, b->rules->part_bytes);
        LEAT_GROW(b->ends, b->end_capacity, count + 1);
        b->ends[count++] = end;
    }
    return add_parts(b, record, b->ends, count, error);
}

/* A run of tokens: one document, or cut after every part_bytes / 4 tokens. */
static leat_status add_tokens(builder *b, const leat_record *record, leat_error *error)
{
    uint64_t most = b->rules->part_bytes / 4, tokens = record->tokens;
    size_t count = 0;
    b->summary.text_bytes += 4 * tokens;
    if (most == 0 || tokens <= most) {
        leat_entry entry = {.kind = LEAT_ENTRY_TOKENS,
                            .record = b->summary.records,
                            .offset = record->offset,
                            .content = tokens};
        return add_entry(b, &entry, error);
    }
    for (uint64_t end = 0; end < tokens; count++) {
        end = leat_min_u64(tokens - end, most) + end;
        LEAT_GROW(b->ends, b->end_capacity, count + 1);
        b->ends[count] = (size_t)end;
    }
    return add_parts(b, record, b->ends, count, error);
}

static leat_status on_record(void *context, const leat_record *record, leat_error *error)
{
    builder *b = context;
    leat_status status;
    if (record->fault != NULL) {
        leat_entry entry = {.kind = LEAT_ENTRY_BAD,
                            .record = b->summary.records,
                            .offset = record->offset,
                            .bytes = record->bytes};
        if (b->summary.bad_records++ == 0) {
            b->summary.first_bad_record = b->summary.records;
            b->summary.first_bad_line = record->line;
        }
        status = add_entry(b, &entry, error);
    } else if (b->summary.token_width != 0) {
        status = add_tokens(b, record, error);
    } else {
        status = add_text(b, record, error);
    }
    b->summary.records++;
    return status;
}

/* The parts table and then, over the place kept for it, the header. */
static leat_status write_rest(builder *b, const leat_sidecar_header *header, leat_error *error)
{
    leat_status status = b->slot != 0 ? write_block(b, error) : LEAT_OK;
    for (size_t i = 0; i < b->part_count && status == LEAT_OK; i++) {
        if (b->slot == 0) {
            leat_block_begin(b->block, 0);
        }
        leat_block_put_part(b->block, b->slot++, &b->parts[i]);
        if (b->slot == LEAT_SIDECAR_PARTS || i + 1 == b->part_count) {
            status = write_block(b, error);
        }
    }
    if (status == LEAT_OK) {
        leat_sidecar_header_encode(header, b->block);
        status = b->store->write(b->writer, 0, (leat_bytes){b->block, sizeof b->block}, error);
    }
    return status;
}

static leat_status no_writer(const char *path, leat_error *error)
{
    leat_error_wrap(error, "cannot write the index of a shard");
    leat_error_where(error, "%s", path);
    leat_error_hint(
        error, "set index_dir in the job file (or --set index_dir=FOLDER) to a folder that can "
               "be written to");
    return error->status;
}

/* A file that changed under the scan has no index: its entries would be of two files. */
static leat_status check_unchanged(leat_file *file, uint64_t modified_ns, leat_error *error)
{
    leat_file_stat now;
    leat_status status = file->store->stat(file->store, file->path, &now, error);
    if (status == LEAT_OK && (now.size != file->size || now.modified_ns != modified_ns)) {
        LEAT_FAIL(error, LEAT_IO, "%s changed while it was indexed", file->path);
        leat_error_found(error, "%" PRIu64 " bytes now", now.size);
        leat_error_wanted(error, "%" PRIu64 " bytes, as at the start", file->size);
        leat_error_hint(error, "wait until the file is complete, then try again");
        status = error->status;
    }
    return status;
}

static leat_status build(builder *b, leat_file *file, uint64_t modified_ns,
                         const leat_index_options *options, leat_sidecar_header *out,
                         leat_error *error)
{
    const leat_corpus_format *format;
    leat_status status = leat_format_of(&format, file, b->rules, error);
    leat_xxh3 *hash = leat_xxh3_open();
    leat_scan scan = {.file = file,
                      .rules = b->rules,
                      .hash = hash,
                      .record = on_record,
                      .record_context = b,
                      .token_width = &b->summary.token_width,
                      .progress = options->progress,
                      .progress_context = options->progress_context};
    if (status == LEAT_OK && file->size > LEAT_SIDECAR_OFFSET_MAX) {
        status = LEAT_FAIL(error, LEAT_LIMIT, "%s is larger than 2^48 bytes", file->path);
    }
    if (status == LEAT_OK) {
        out->format = format->number;
        status = format->scan(&scan, error);
    }
    if (status == LEAT_OK) {
        b->summary.file_bytes = file->size;
        b->summary.modified_ns = modified_ns;
        leat_xxh3_end(hash, b->summary.content_hash);
        out->summary = b->summary;
        out->parts = b->part_count;
        leat_record_rules_identity(b->rules, out->rules);
        status = leat_sidecar_windows(file, format, out->windows, error);
    }
    leat_xxh3_close(hash);
    return status;
}

leat_status leat_sidecar_build(leat_file *file, uint64_t modified_ns, const char *sidecar_path,
                               const leat_record_rules *rules, const leat_index_options *options,
                               leat_sidecar_header *out, leat_error *error)
{
    leat_store *store = options->store;
    builder *b = leat_alloc(1, sizeof *b);
    leat_status status = LEAT_OK;
    *out = (leat_sidecar_header){0};
    b->rules = rules;
    b->store = store;
    b->block_number = 1;
    if (options->index_folder != NULL) {
        status = leat_store_make_folder(options->index_folder, error);
    }
    /* Before the scan: who cannot write learns it at once. */
    if (status != LEAT_OK || (status = store->create(store, sidecar_path, &b->writer, error))) {
        status = no_writer(sidecar_path, error);
        goto done;
    }
    LEAT_TRY(build(b, file, modified_ns, options, out, error));
    LEAT_TRY(check_unchanged(file, modified_ns, error));
    LEAT_TRY(write_rest(b, out, error));
    leat_writer *writer = b->writer;
    b->writer = NULL;
    status = store->commit(writer, error);
done:
    if (b->writer != NULL) {
        store->discard(b->writer);
    }
    leat_free(b->parts);
    leat_free(b->ends);
    leat_free(b);
    return status;
}

/* The three windows of a file, one behind the other in `to`; their size each, which depends on the file's alone. */
static leat_status read_windows(leat_file *file, uint8_t *to, size_t *each, leat_error *error)
{
    size_t bytes = file->size < LEAT_SIDECAR_WINDOW ? (size_t)file->size : LEAT_SIDECAR_WINDOW;
    const uint64_t places[3] = {0, (file->size - bytes) / 2, file->size - bytes};
    leat_status status = LEAT_OK;
    *each = bytes;
    for (size_t i = 0; i < 3 && status == LEAT_OK; i++) {
        uint8_t *window = to + i * bytes;
        if (i != 0 && places[i] == places[i - 1]) {
            memcpy(window, window - bytes, bytes);
        } else {
            status = file->store->read(file, places[i], window, bytes, error);
        }
    }
    return status;
}

leat_status leat_sidecar_windows(leat_file *file, const leat_corpus_format *format, uint64_t out[3],
                                 leat_error *error)
{
    uint8_t *windows = leat_alloc(3, LEAT_SIDECAR_WINDOW);
    char *second = format->companion != NULL ? format->companion(file->path) : NULL;
    leat_file *companion = NULL;
    size_t each;
    leat_status status = read_windows(file, windows, &each, error);
    for (size_t i = 0; i < 3 && status == LEAT_OK; i++) {
        out[i] = leat_xxh3_64(windows + i * each, each);
    }
    if (status == LEAT_OK && second != NULL) {
        LEAT_TRY(file->store->open(file->store, second, &companion, error));
        LEAT_TRY(read_windows(companion, windows, &each, error));
        for (size_t i = 0; i < 3; i++) {
            out[i] = (out[i] ^ companion->size) * 0x9e3779b97f4a7c15u ^
                     leat_xxh3_64(windows + i * each, each);
        }
    }
done:
    file->store->close(companion);
    leat_free(second);
    leat_free(windows);
    return status;
}

leat_status leat_sidecar_read_header(leat_file *file, leat_sidecar_header *out, const char **why,
                                     leat_error *error)
{
    uint8_t block[LEAT_SIDECAR_BLOCK];
    *why = NULL;
    if (file->size < sizeof block) {
        *why = "it is cut";
        return LEAT_OK;
    }
    leat_status status = file->store->read(file, 0, block, sizeof block, error);
    if (status == LEAT_OK && leat_sidecar_header_decode(out, block, why) &&
        file->size != leat_sidecar_bytes(out->summary.documents, out->parts)) {
        *why = "its size is not what its header says";
    }
    return status;
}
