/* Text to ids: added tokens are cut out, what is between them is normalized, split into pieces, and each piece is looked up
 * or merged. */
#include "base/json_tape.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "tokenize/cache.h"
#include "tokenize/model.h"
#include <inttypes.h>

/* Pieces are taken in batches: all of a batch's cache lines are asked for before the first is read. */
enum { BATCH = 64, CACHE_BYTES = 16 << 20 };

/* Positions in a piece are 32 bits wide; Metaspace and prefixes make more bytes of it, but not more symbols. */
#define TEXT_MAX ((size_t)1 << 31)
#define METASPACE "\xe2\x96\x81"

struct leat_encoder {
    const leat_tokenizer *tokenizer;
    leat_cache cache;
    leat_merge_scratch merging;
    leat_normal_scratch normalizing;
    bool too_long;                /* a normalized text was: positions in a piece are 32 bits wide */
    leat_buffer prefixed, marked; /* texts with ByteLevel's space in front, with ▁ for spaces */
};

leat_encoder *leat_encoder_open(const leat_tokenizer *tokenizer, size_t cache_bytes)
{
    leat_encoder *encoder = leat_alloc(1, sizeof *encoder);
    encoder->tokenizer = tokenizer;
    if (!tokenizer->bytes) {
        leat_cache_init(&encoder->cache, cache_bytes != 0 ? cache_bytes : CACHE_BYTES);
    }
    return encoder;
}

void leat_encoder_close(leat_encoder *encoder)
{
    if (encoder == NULL) {
        return;
    }
    leat_cache_deinit(&encoder->cache);
    leat_merge_scratch_deinit(&encoder->merging);
    leat_normal_scratch_deinit(&encoder->normalizing);
    leat_buffer_deinit(&encoder->prefixed);
    leat_buffer_deinit(&encoder->marked);
    leat_free(encoder);
}

static inline void reserve(leat_tokens *out, size_t more)
{
    LEAT_GROW(out->ids, out->capacity, out->count + more);
}

static void emit(leat_tokens *out, uint32_t id)
{
    reserve(out, 1);
    out->ids[out->count++] = id;
}

/* The ids of a piece that no cache knows; gives their number.  `ids` has room for piece.size. */
static size_t compute(leat_encoder *encoder, leat_bytes piece, uint32_t *ids)
{
    const leat_model *model = &encoder->tokenizer->model;
    uint32_t id;
    if (leat_vocabulary_find(&model->pieces, piece, &id) && model->whole[id]) {
        ids[0] = id;
        return 1;
    }
    size_t count = leat_model_symbols(model, piece, ids);
    return leat_merge(&model->merges, &encoder->merging, ids, count);
}

/* `ids` has room for piece.size and for LEAT_CACHE_LARGE_IDS. */
static size_t look_up(leat_encoder *encoder, leat_bytes piece, uint32_t *ids)
{
    if (piece.size <= LEAT_CACHE_LARGE_BYTES) {
        const leat_cache_large *found = leat_cache_large_find(&encoder->cache, piece);
        if (found != NULL) {
            memcpy(ids, found->ids, sizeof found->ids);
            return found->count;
        }
    }
    size_t count = compute(encoder, piece, ids);
    leat_cache_keep(&encoder->cache, piece, ids, count);
    return count;
}

/* Pieces [start, ends[0]), [ends[0], ends[1]) … of the text. */
static void encode_batch(leat_encoder *encoder, leat_bytes text, size_t start, const size_t *ends,
                         size_t count, leat_tokens *out)
{
    const uint8_t *limit = text.data + text.size;
    const leat_cache_small *buckets[BATCH];
    leat_cache_key keys[BATCH];
    reserve(out, ends[count - 1] - start + LEAT_CACHE_LARGE_IDS);
    for (size_t i = 0, at = start; i < count; at = ends[i++]) {
        size_t size = ends[i] - at;
        if (size <= LEAT_CACHE_SMALL_BYTES) {
            keys[i] = leat_cache_key_of(text.data + at, size, limit);
            buckets[i] = leat_cache_bucket(&encoder->cache, leat_cache_hash(keys[i]));
            __builtin_prefetch(buckets[i]);
        }
    }
    uint32_t *ids = out->ids + out->count;
    for (size_t i = 0, at = start; i < count; at = ends[i++]) {
        leat_bytes piece = {text.data + at, ends[i] - at};
        const leat_cache_small *found = NULL;
        if (piece.size <= LEAT_CACHE_SMALL_BYTES) {
            found = leat_cache_small_find(buckets[i], keys[i]);
        }
        if (found != NULL) {
            memcpy(ids, found->ids, sizeof found->ids);
            ids += found->count;
        } else {
            ids += look_up(encoder, piece, ids);
        }
    }
    out->count = (size_t)(ids - out->ids);
}

/* The splits from `level` on, each one on the pieces of the one before it. */
static void encode_level(leat_encoder *encoder, size_t level, leat_bytes text, leat_tokens *out)
{
    const leat_tokenizer *tokenizer = encoder->tokenizer;
    const leat_split *split = &tokenizer->splits[level];
    size_t ends[BATCH], at = 0;
    if (level == tokenizer->split_count) {
        ends[0] = text.size;
        encode_batch(encoder, text, 0, ends, 1, out);
        return;
    }
    if (split->prefix && text.data[0] != ' ') {
        leat_buffer_clear(&encoder->prefixed);
        leat_buffer_add_u8(&encoder->prefixed, ' ');
        leat_buffer_add(&encoder->prefixed, text.data, text.size);
        text = (leat_bytes){encoder->prefixed.data, encoder->prefixed.size};
    }
    while (at < text.size) {
        size_t count = split->fill(split, text, at, ends, BATCH);
        if (level + 1 == tokenizer->split_count) {
            encode_batch(encoder, text, at, ends, count, out);
        } else {
            for (size_t i = 0, from = at; i < count; from = ends[i++]) {
                encode_level(encoder, level + 1, (leat_bytes){text.data + from, ends[i] - from},
                             out);
            }
        }
        at = ends[count - 1];
    }
}

/* Metaspace writes ▁ for spaces, and one in front of a text that has none there. */
static leat_bytes mark_spaces(leat_encoder *encoder, leat_bytes text, bool first)
{
    leat_buffer *out = &encoder->marked;
    leat_metaspace scheme = encoder->tokenizer->metaspace;
    bool marked = text.data[0] == ' ' || (text.size >= 3 && memcmp(text.data, METASPACE, 3) == 0);
    leat_buffer_clear(out);
    if (!marked && (scheme == LEAT_METASPACE_ALWAYS || (scheme == LEAT_METASPACE_FIRST && first))) {
        leat_buffer_add_text(out, METASPACE);
    }
    for (size_t at = 0; at < text.size;) {
        const uint8_t *space = memchr(text.data + at, ' ', text.size - at);
        size_t end = space != NULL ? (size_t)(space - text.data) : text.size;
        leat_buffer_add(out, text.data + at, end - at);
        if (space != NULL) {
            leat_buffer_add_text(out, METASPACE);
        }
        at = end + (space != NULL ? 1 : 0);
    }
    return (leat_bytes){out->data, out->size};
}

/* A stretch without added tokens; `first`: it begins where the text does. */
static void encode_pieces(leat_encoder *encoder, leat_bytes text, bool first, leat_tokens *out)
{
    if (encoder->tokenizer->metaspace != LEAT_METASPACE_NONE) {
        text = mark_spaces(encoder, text, first);
    }
    encode_level(encoder, 0, text, out);
}

/* Text between the added tokens that stand in the text as it is: normalized, and cut at the others. */
static void encode_segment(leat_encoder *encoder, leat_bytes text, bool first, leat_tokens *out)
{
    const leat_tokenizer *tokenizer = encoder->tokenizer;
    size_t from = 0, at = 0;
    leat_match match;
    text = leat_normalize(&tokenizer->normalizer, &encoder->normalizing, text);
    if (text.size >= TEXT_MAX) {
        encoder->too_long = true;
        return;
    }
    while (leat_matcher_next(&tokenizer->normalized, text, at, &match)) {
        const leat_added *added = &tokenizer->added.items[match.item];
        at = match.end;
        if (!leat_added_accepts(added, text, from, &match)) {
            continue;
        }
        if (match.start > from) {
            encode_pieces(encoder, (leat_bytes){text.data + from, match.start - from},
                          first && from == 0, out);
        }
        emit(out, added->id);
        from = match.end;
    }
    if (from < text.size) {
        encode_pieces(encoder, (leat_bytes){text.data + from, text.size - from}, first && from == 0,
                      out);
    }
}

static void encode_text(leat_encoder *encoder, leat_bytes text, leat_tokens *out)
{
    const leat_tokenizer *tokenizer = encoder->tokenizer;
    size_t from = 0, at = 0;
    leat_match match;
    while (leat_matcher_next(&tokenizer->raw, text, at, &match)) {
        const leat_added *added = &tokenizer->added.items[match.item];
        at = match.end;
        if (!leat_added_accepts(added, text, from, &match)) {
            continue;
        }
        if (match.start > from) {
            encode_segment(encoder, (leat_bytes){text.data + from, match.start - from}, from == 0,
                           out);
        }
        emit(out, added->id);
        from = match.end;
    }
    if (from < text.size) {
        encode_segment(encoder, (leat_bytes){text.data + from, text.size - from}, from == 0, out);
    }
}

static leat_status fail_too_long(leat_error *error, size_t bytes)
{
    LEAT_FAIL(error, LEAT_LIMIT, "a text is too long to be tokenized at once");
    leat_error_found(error, "%zu bytes", bytes);
    leat_error_wanted(error, "less than 2 GiB, also after normalization");
    leat_error_hint(error, "set part_bytes, so that long records are cut into parts");
    return LEAT_LIMIT;
}

leat_status leat_encode(leat_encoder *encoder, leat_bytes text, leat_tokens *out, leat_error *error)
{
    if (text.size == 0) {
        return LEAT_OK;
    }
    if (text.size >= TEXT_MAX) {
        return fail_too_long(error, text.size);
    }
    if (!leat_json_simd_is_utf8(text.data, text.size)) {
        size_t fault = leat_utf8_fault(text.data, text.size);
        LEAT_FAIL(error, LEAT_CORRUPT, "the text is not valid UTF-8");
        leat_error_found(error, "byte 0x%02x at offset %zu", text.data[fault], fault);
        leat_error_wanted(error, "valid UTF-8");
        return LEAT_CORRUPT;
    }
    if (encoder->tokenizer->bytes) {
        reserve(out, text.size);
        for (size_t i = 0; i < text.size; i++) {
            out->ids[out->count++] = text.data[i];
        }
        return LEAT_OK;
    }
    size_t had = out->count;
    encoder->too_long = false;
    encode_text(encoder, text, out);
    if (encoder->too_long) {
        out->count = had;
        return fail_too_long(error, text.size);
    }
    return LEAT_OK;
}

leat_status leat_encode_special(leat_encoder *encoder, leat_bytes text, leat_tokens *out,
                                leat_error *error)
{
    const leat_tokenizer *tokenizer = encoder->tokenizer;
    size_t had = out->count;
    for (size_t i = 0; i < tokenizer->before.count; i++) {
        emit(out, tokenizer->before.ids[i]);
    }
    leat_status status = leat_encode(encoder, text, out, error);
    if (status != LEAT_OK) {
        out->count = had;
        return status;
    }
    for (size_t i = 0; i < tokenizer->after.count; i++) {
        emit(out, tokenizer->after.ids[i]);
    }
    return LEAT_OK;
}
