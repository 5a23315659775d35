/* The tokens of documents, widened to 32 bits. */
#include "base/memory.h"
#include "io/index/corpus_inside.h"
#include <inttypes.h>

enum { BLOCK_TOKENS = 1 << 18 };

/* false: a token that the index did not find there. */
static bool widen(uint32_t width, const uint8_t *from, size_t count, uint32_t *out)
{
    uint64_t tops = 0;
    for (size_t i = 0; i < count; i++) {
        if (width == 2) {
            out[i] = leat_get_u16(from + 2 * i);
        } else if (width == 4) {
            out[i] = leat_get_u32(from + 4 * i);
        } else if (width == 1) {
            out[i] = from[i];
        } else {
            uint64_t token = leat_get_u64(from + 8 * i);
            tops |= token >> 32;
            out[i] = (uint32_t)token;
        }
    }
    return tops == 0;
}

leat_status leat_corpus_read_tokens(leat_corpus_reader *reader, uint32_t dataset,
                                    const leat_place *place, uint64_t start, uint64_t count,
                                    uint32_t *out, leat_error *error)
{
    const leat_corpus_part *part = &reader->corpus->datasets[dataset];
    LEAT_ASSERT(dataset < reader->corpus->dataset_count && part->tokens &&
                place->shard < part->shard_count);
    const leat_corpus_shard *shard = &part->shards[place->shard];
    uint32_t width = shard->summary.token_width;
    uint64_t at = place->offset + (place->text_begin + start) * width;
    leat_file *file;
    if (start > place->tokens || count > place->tokens - start) {
        LEAT_FAIL(error, LEAT_INVALID, "a document of %s has no such tokens", part->name);
        leat_error_found(error, "%" PRIu64 " tokens from %" PRIu64, count, start);
        leat_error_wanted(error, "tokens below %" PRIu64, place->tokens);
        return error->status;
    }
    leat_status status =
        leat_corpus_acquire_data(reader->corpus, dataset, place->shard, &file, error);
    if (status != LEAT_OK) {
        return status;
    }
    while (count != 0 && status == LEAT_OK) {
        size_t now = count < BLOCK_TOKENS ? (size_t)count : BLOCK_TOKENS;
        leat_buffer_clear(&reader->raw);
        uint8_t *raw = leat_buffer_extend(&reader->raw, now * width);
        status = file->store->read(file, at, raw, now * width, error);
        if (status == LEAT_OK && !widen(width, raw, now, out)) {
            LEAT_FAIL(error, LEAT_CORRUPT, "%s changed since it was indexed", shard->path);
            leat_error_where(error, "%s, byte %" PRIu64, shard->path, at);
            leat_error_found(error, "a token beyond 32 bits");
            status = error->status;
        }
        atomic_fetch_add_explicit(&reader->corpus->bytes_read, now * width, memory_order_relaxed);
        at += now * width;
        out += now;
        count -= now;
    }
    leat_files_release(reader->corpus->files, file);
    return status;
}
