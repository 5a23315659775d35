/* One shard: is its side-car fresh, else make it; and what is wrong with its bad records. */
#include "base/memory.h"
#include "io/index/build.h"
#include <inttypes.h>

/* Side-cars up to this size have all their blocks checked when they are opened; of larger ones each block is checked when
 * it is read. */
enum { WHOLE_CHECK_BYTES = 1 << 20 };

static leat_status blocks_are_whole(leat_file *sidecar, const char **why, leat_error *error)
{
    uint8_t block[LEAT_SIDECAR_BLOCK];
    leat_status status = LEAT_OK;
    for (uint64_t i = 1; i < sidecar->size / sizeof block && status == LEAT_OK && *why == NULL;
         i++) {
        status = sidecar->store->read(sidecar, i * sizeof block, block, sizeof block, error);
        if (status == LEAT_OK && !leat_block_is_whole(block, i)) {
            *why = "the checksum of a block differs";
        }
    }
    return status;
}

/* *why says why the side-car cannot be used, NULL where it can. */
static leat_status check(leat_file *data, leat_file *sidecar, const leat_record_rules *rules,
                         leat_sidecar_header *header, const char **why, leat_error *error)
{
    uint8_t identity[16];
    uint64_t windows[3];
    leat_status status = leat_sidecar_read_header(sidecar, header, why, error);
    if (status != LEAT_OK || *why != NULL) {
        return status;
    }
    leat_record_rules_identity(rules, identity);
    if (memcmp(identity, header->rules, sizeof identity) != 0) {
        *why = "it was made by other rules";
    } else if (header->summary.file_bytes != data->size) {
        *why = "the data file has another size now";
    } else if (sidecar->size <= WHOLE_CHECK_BYTES) {
        status = blocks_are_whole(sidecar, why, error);
    }
    if (status == LEAT_OK && *why == NULL) {
        /* A changed time alone means nothing (a copy, a touch): the content decides. */
        const leat_corpus_format *format = leat_format_numbered(header->format);
        if (format == NULL) {
            *why = "it is of another version";
            return LEAT_OK;
        }
        status = leat_sidecar_windows(data, format, windows, error);
        if (status == LEAT_OK && memcmp(windows, header->windows, sizeof windows) != 0) {
            *why = "the data file has another content now";
        }
    }
    return status;
}

static leat_status open_fresh(leat_file *data, const char *path, const leat_record_rules *rules,
                              leat_store *store, leat_sidecar_header *header, const char **why,
                              leat_error *error)
{
    leat_file *sidecar;
    leat_status status = store->open(store, path, &sidecar, error);
    if (status == LEAT_NOT_FOUND) {
        *why = "there is none";
        return LEAT_OK;
    }
    if (status == LEAT_OK) {
        status = check(data, sidecar, rules, header, why, error);
        store->close(sidecar);
    }
    if (status != LEAT_OK && status != LEAT_NOT_FOUND) {
        leat_error_wrap(error, "the index %s", path);
    }
    return status;
}

static leat_status index_opened(leat_file *data, uint64_t modified_ns, const char *sidecar_path,
                                const leat_record_rules *rules, const leat_index_options *options,
                                leat_shard_summary *out, leat_error *error)
{
    leat_sidecar_header header = {0};
    const char *why = "a new one was asked for";
    leat_status status = LEAT_OK;
    if (!options->rebuild) {
        why = NULL;
        status = open_fresh(data, sidecar_path, rules, options->store, &header, &why, error);
    }
    if (status == LEAT_OK && why != NULL && options->readonly) {
        LEAT_FAIL(error, LEAT_NOT_FOUND, "%s has no index that can be used: %s", data->path, why);
        leat_error_where(error, "%s", sidecar_path);
        leat_error_hint(error, "build it with: leat index JOB");
        return error->status;
    }
    if (status == LEAT_OK && why != NULL) {
        leat_log_say(options->log, LEAT_LOG_INFO, "indexing %s (index: %s)", data->path, why);
        status =
            leat_sidecar_build(data, modified_ns, sidecar_path, rules, options, &header, error);
    }
    if (status == LEAT_OK) {
        *out = header.summary;
        out->modified_ns = modified_ns;
        out->built = why != NULL;
    }
    return status;
}

leat_status leat_shard_index(const char *path, const leat_record_rules *rules,
                             const leat_index_options *options, leat_shard_summary *out,
                             leat_error *error)
{
    leat_store *store = options->store;
    leat_record_rules checked;
    leat_file_stat stat;
    leat_file *data = NULL;
    char *sidecar_path = NULL;
    *out = (leat_shard_summary){0};
    leat_status status = leat_record_rules_check(rules, &checked, error);
    if (status != LEAT_OK) {
        return status;
    }
    /* The time is taken before the file is opened: a change in between makes the index stale, never wrong. */
    LEAT_TRY(store->stat(store, path, &stat, error));
    LEAT_TRY(store->open(store, path, &data, error));
    sidecar_path = leat_sidecar_path(path, &checked, options->index_folder);
    status = index_opened(data, stat.modified_ns, sidecar_path, &checked, options, out, error);
done:
    store->close(data);
    leat_free(sidecar_path);
    return status;
}

typedef struct explanation {
    const char *path;
    leat_buffer *out;
    size_t left;
} explanation;

static leat_status explain_record(void *context, const leat_record *record, leat_error *error)
{
    explanation *e = context;
    if (record->fault == NULL) {
        return LEAT_OK;
    }
    if (e->left == 0) {
        /* Not an error: it ends the scan, and the caller takes it so. */
        return LEAT_FAIL(error, LEAT_PEER, "enough");
    }
    e->left--;
    if (record->line != 0) {
        leat_buffer_add_format(e->out, "%s:%" PRIu64, e->path, record->line);
    } else {
        leat_buffer_add_format(e->out, "%s, byte %" PRIu64, e->path, record->offset);
    }
    leat_buffer_add_format(e->out, ": %s (byte %" PRIu64 ")\n", record->fault, record->fault_at);
    return LEAT_OK;
}

leat_status leat_shard_explain_bad(const char *path, const leat_record_rules *rules,
                                   leat_store *store, size_t most, leat_buffer *out,
                                   leat_error *error)
{
    explanation e = {path, out, most};
    leat_record_rules checked;
    const leat_corpus_format *format;
    leat_file *data = NULL;
    leat_status status = leat_record_rules_check(rules, &checked, error);
    if (status != LEAT_OK) {
        return status;
    }
    LEAT_TRY(store->open(store, path, &data, error));
    LEAT_TRY(leat_format_of(&format, data, &checked, error));
    leat_scan scan = {
        .file = data, .rules = &checked, .record = explain_record, .record_context = &e};
    status = format->scan(&scan, error);
    if (status == LEAT_PEER && e.left == 0) {
        leat_error_clear(error);
        status = LEAT_OK;
    }
done:
    store->close(data);
    return status;
}
