/* Layout of a side-car, version 1.  All numbers are little-endian.
 *
 *     block 0         the header (below)
 *     blocks 1 …      255 entries of 16 bytes each, one a document, the last block filled up with zeros
 *     blocks behind   the parts table: 85 entries of 48 bytes each
 *
 * A block has 4096 bytes: u64 XXH3-64 of its bytes 8 … 4095 exclusive-or its number times 0x9e3779b97f4a7c15; u64 record
 * number of the block's first entry (0 in the parts table); the entries.
 * An entry: u64 = offset | kind << 48 | (record - the block's first record) << 56; u64 = WHOLE: record bytes | text bytes << 32;
 * BAD: record bytes; TOKENS: tokens; PART: 0, and the offset is a number in the parts table.
 * A parts entry: u64 offset, bytes, begin, end, record; u32 part, parts.
 * Header: "LEATIDX\0" | u32 version | u32 4096 | 16 B rules identity | u64 ×3 XXH3-64 of the windows | 96 B summary |
 * u64 parts entries | u64 bytes of the file | u32 format | zeros | u64 XXH3-64 of all before it. */
#include "io/index/sidecar.h"
#include "base/memory.h"
#include "base/xxh3.h"
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum { VERSION = 1, HEADER_SUM_AT = LEAT_SIDECAR_BLOCK - 8, ENTRIES_AT = 16 };
/* Three times a record (what replacing invalid UTF-8 can make of it) still fits in 32 bits. */
#define RECORD_BYTES_MAX ((uint64_t)1 << 30)
static const char magic[8] = "LEATIDX";

leat_status leat_record_rules_check(const leat_record_rules *rules, leat_record_rules *out,
                                    leat_error *error)
{
    *out = *rules;
    out->text = rules->text != NULL ? rules->text : "text";
    out->record_bytes_max =
        rules->record_bytes_max != 0 ? rules->record_bytes_max : RECORD_BYTES_MAX;
    if (out->record_bytes_max > RECORD_BYTES_MAX) {
        LEAT_FAIL(error, LEAT_INVALID, "record_bytes_max is too large");
        leat_error_found(error, "%" PRIu64, out->record_bytes_max);
        leat_error_wanted(error, "at most %" PRIu64, RECORD_BYTES_MAX);
        return error->status;
    }
    if (out->part_bytes != 0 && out->part_bytes < 64) {
        LEAT_FAIL(error, LEAT_INVALID, "part_bytes is too small");
        leat_error_found(error, "%" PRIu64, out->part_bytes);
        leat_error_wanted(error, "0 (never cut) or at least 64");
        return error->status;
    }
    return LEAT_OK;
}

void leat_record_rules_identity(const leat_record_rules *rules, uint8_t out[16])
{
    leat_buffer text = {0};
    leat_buffer_add_text(&text, "leat-records-1");
    leat_buffer_add_u8(&text, 0);
    leat_buffer_add_text(&text, rules->format != NULL ? rules->format : "");
    leat_buffer_add_u8(&text, 0);
    leat_buffer_add_text(&text, rules->text);
    leat_buffer_add_u8(&text, 0);
    leat_buffer_add_u64(&text, rules->part_bytes);
    leat_buffer_add_u64(&text, rules->record_bytes_max);
    leat_buffer_add_u8(&text, rules->replace_bad_utf8);
    leat_buffer_add_text(&text, rules->dtype != NULL ? rules->dtype : "");
    leat_buffer_add_u8(&text, rules->has_eos_id);
    leat_buffer_add_u32(&text, rules->has_eos_id ? rules->eos_id : 0);
    leat_xxh3 *hash = leat_xxh3_open();
    leat_xxh3_add(hash, text.data, text.size);
    leat_xxh3_end(hash, out);
    leat_xxh3_close(hash);
    leat_buffer_deinit(&text);
}

static char *absolute_path(const char *path)
{
    char resolved_bytes[PATH_MAX], folder_bytes[PATH_MAX];
    const char *resolved = realpath(path, resolved_bytes), *folder = NULL;
    if (resolved == NULL && path[0] != '/') {
        folder = getcwd(folder_bytes, sizeof folder_bytes);
    }
    return folder != NULL ? leat_format("%s/%s", folder, path)
                          : leat_strdup(resolved != NULL ? resolved : path);
}

char *leat_sidecar_path(const char *data_path, const leat_record_rules *rules,
                        const char *index_folder)
{
    uint8_t identity[16];
    char rules_hex[17], *out;
    const char *slash = strrchr(data_path, '/');
    const char *name = slash != NULL ? slash + 1 : data_path;
    leat_record_rules_identity(rules, identity);
    leat_hex(identity, 8, rules_hex);
    if (index_folder == NULL && strlen(name) <= 200) {
        return leat_format("%.*s.%s.%s.leatidx", (int)(name - data_path), data_path, name,
                           rules_hex);
    }
    char *whole = absolute_path(data_path), path_hex[17];
    uint8_t path_hash[8];
    leat_put_u64(path_hash, leat_xxh3_64(whole, strlen(whole)));
    leat_hex(path_hash, 8, path_hex);
    if (index_folder == NULL) { /* a name so long that ours would be refused */
        out = leat_format("%.*s.%.180s.%s.%s.leatidx", (int)(name - data_path), data_path, name,
                          path_hex, rules_hex);
    } else {
        out = leat_format("%s/%s-%.180s.%s.leatidx", index_folder, path_hex, name, rules_hex);
    }
    leat_free(whole);
    return out;
}

void leat_shard_summary_encode(const leat_shard_summary *summary,
                               uint8_t out[LEAT_SHARD_SUMMARY_BYTES])
{
    memset(out, 0, LEAT_SHARD_SUMMARY_BYTES);
    leat_put_u64(out, summary->file_bytes);
    leat_put_u64(out + 8, summary->modified_ns);
    leat_put_u64(out + 16, summary->records);
    leat_put_u64(out + 24, summary->documents);
    leat_put_u64(out + 32, summary->bad_records);
    leat_put_u64(out + 40, summary->text_bytes);
    memcpy(out + 48, summary->content_hash, 16);
    leat_put_u64(out + 64, summary->first_bad_record);
    leat_put_u64(out + 72, summary->first_bad_line);
    leat_put_u32(out + 80, summary->token_width);
    leat_put_u32(out + 84, summary->built);
}

void leat_shard_summary_decode(leat_shard_summary *summary,
                               const uint8_t in[LEAT_SHARD_SUMMARY_BYTES])
{
    *summary = (leat_shard_summary){.file_bytes = leat_get_u64(in),
                                    .modified_ns = leat_get_u64(in + 8),
                                    .records = leat_get_u64(in + 16),
                                    .documents = leat_get_u64(in + 24),
                                    .bad_records = leat_get_u64(in + 32),
                                    .text_bytes = leat_get_u64(in + 40),
                                    .first_bad_record = leat_get_u64(in + 64),
                                    .first_bad_line = leat_get_u64(in + 72),
                                    .token_width = leat_get_u32(in + 80),
                                    .built = leat_get_u32(in + 84)};
    memcpy(summary->content_hash, in + 48, 16);
}

uint64_t leat_sidecar_entry_blocks(uint64_t documents)
{
    return documents / LEAT_SIDECAR_ENTRIES + (documents % LEAT_SIDECAR_ENTRIES != 0);
}

uint64_t leat_sidecar_bytes(uint64_t documents, uint64_t parts)
{
    uint64_t blocks = parts / LEAT_SIDECAR_PARTS + (parts % LEAT_SIDECAR_PARTS != 0);
    return (1 + leat_sidecar_entry_blocks(documents) + blocks) * LEAT_SIDECAR_BLOCK;
}

void leat_sidecar_header_encode(const leat_sidecar_header *header, uint8_t out[LEAT_SIDECAR_BLOCK])
{
    leat_shard_summary summary = header->summary;
    summary.built = 0; /* a matter of one call, not of the shard */
    memset(out, 0, LEAT_SIDECAR_BLOCK);
    memcpy(out, magic, 8);
    leat_put_u32(out + 8, VERSION);
    leat_put_u32(out + 12, LEAT_SIDECAR_BLOCK);
    memcpy(out + 16, header->rules, 16);
    for (size_t i = 0; i < 3; i++) {
        leat_put_u64(out + 32 + 8 * i, header->windows[i]);
    }
    leat_shard_summary_encode(&summary, out + 56);
    leat_put_u64(out + 152, header->parts);
    leat_put_u64(out + 160, leat_sidecar_bytes(summary.documents, header->parts));
    leat_put_u32(out + 168, header->format);
    leat_put_u64(out + HEADER_SUM_AT, leat_xxh3_64(out, HEADER_SUM_AT));
}

bool leat_sidecar_header_decode(leat_sidecar_header *header, const uint8_t in[LEAT_SIDECAR_BLOCK],
                                const char **why)
{
    if (memcmp(in, magic, 8) != 0) {
        *why = "it does not begin as an index does";
        return false;
    }
    if (leat_get_u32(in + 8) != VERSION || leat_get_u32(in + 12) != LEAT_SIDECAR_BLOCK) {
        *why = "it is of another version";
        return false;
    }
    if (leat_get_u64(in + HEADER_SUM_AT) != leat_xxh3_64(in, HEADER_SUM_AT)) {
        *why = "the checksum of its header differs";
        return false;
    }
    memcpy(header->rules, in + 16, 16);
    for (size_t i = 0; i < 3; i++) {
        header->windows[i] = leat_get_u64(in + 32 + 8 * i);
    }
    leat_shard_summary_decode(&header->summary, in + 56);
    header->parts = leat_get_u64(in + 152);
    header->format = leat_get_u32(in + 168);
    /* Bounds that keep all further arithmetic below 2^64. */
    uint64_t documents = header->summary.documents, records = header->summary.records;
    bool small = documents >> 56 == 0 && header->parts <= documents && records <= documents;
    if (!small || leat_get_u64(in + 160) != leat_sidecar_bytes(documents, header->parts)) {
        *why = "its numbers contradict each other";
        return false;
    }
    return true;
}

static uint64_t block_sum(const uint8_t *block, uint64_t number)
{
    return leat_xxh3_64(block + 8, LEAT_SIDECAR_BLOCK - 8) ^ number * 0x9e3779b97f4a7c15u;
}

void leat_block_begin(uint8_t block[LEAT_SIDECAR_BLOCK], uint64_t first_record)
{
    memset(block, 0, LEAT_SIDECAR_BLOCK);
    leat_put_u64(block + 8, first_record);
}

void leat_block_seal(uint8_t block[LEAT_SIDECAR_BLOCK], uint64_t number)
{
    leat_put_u64(block, block_sum(block, number));
}

bool leat_block_is_whole(const uint8_t block[LEAT_SIDECAR_BLOCK], uint64_t number)
{
    return leat_get_u64(block) == block_sum(block, number);
}

void leat_block_put(uint8_t block[LEAT_SIDECAR_BLOCK], size_t slot, const leat_entry *entry)
{
    uint64_t delta = entry->record - leat_get_u64(block + 8), second = 0;
    uint8_t *at = block + ENTRIES_AT + 16 * slot;
    LEAT_ASSERT(slot < LEAT_SIDECAR_ENTRIES && delta < 256 &&
                entry->offset <= LEAT_SIDECAR_OFFSET_MAX);
    if (entry->kind == LEAT_ENTRY_WHOLE) {
        LEAT_ASSERT(entry->bytes <= UINT32_MAX && entry->content <= UINT32_MAX);
        second = entry->bytes | entry->content << 32;
    } else if (entry->kind == LEAT_ENTRY_BAD) {
        second = entry->bytes;
    } else if (entry->kind == LEAT_ENTRY_TOKENS) {
        second = entry->content;
    }
    leat_put_u64(at, entry->offset | (uint64_t)entry->kind << 48 | delta << 56);
    leat_put_u64(at + 8, second);
}

void leat_block_get(const uint8_t block[LEAT_SIDECAR_BLOCK], size_t slot, leat_entry *entry)
{
    const uint8_t *at = block + ENTRIES_AT + 16 * slot;
    uint64_t first = leat_get_u64(at), second = leat_get_u64(at + 8);
    entry->kind = (leat_entry_kind)(first >> 48 & 0xff);
    entry->record = leat_get_u64(block + 8) + (first >> 56);
    entry->offset = first & LEAT_SIDECAR_OFFSET_MAX;
    bool whole = entry->kind == LEAT_ENTRY_WHOLE;
    entry->bytes = whole ? (uint32_t)second : entry->kind == LEAT_ENTRY_BAD ? second : 0;
    entry->content = whole ? second >> 32 : entry->kind == LEAT_ENTRY_TOKENS ? second : 0;
}

void leat_block_put_part(uint8_t block[LEAT_SIDECAR_BLOCK], size_t slot,
                         const leat_part_entry *part)
{
    uint8_t *at = block + ENTRIES_AT + 48 * slot;
    LEAT_ASSERT(slot < LEAT_SIDECAR_PARTS);
    leat_put_u64(at, part->offset);
    leat_put_u64(at + 8, part->bytes);
    leat_put_u64(at + 16, part->begin);
    leat_put_u64(at + 24, part->end);
    leat_put_u64(at + 32, part->record);
    leat_put_u32(at + 40, part->part);
    leat_put_u32(at + 44, part->parts);
}

void leat_block_get_part(const uint8_t block[LEAT_SIDECAR_BLOCK], size_t slot,
                         leat_part_entry *part)
{
    const uint8_t *at = block + ENTRIES_AT + 48 * slot;
    *part = (leat_part_entry){.offset = leat_get_u64(at),
                              .bytes = leat_get_u64(at + 8),
                              .begin = leat_get_u64(at + 16),
                              .end = leat_get_u64(at + 24),
                              .record = leat_get_u64(at + 32),
                              .part = leat_get_u32(at + 40),
                              .parts = leat_get_u32(at + 44)};
}
