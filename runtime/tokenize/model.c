#include "tokenize/model.h"
#include "base/memory.h"
#include "tokenize/unicode.h"

/* The bytes that stand for themselves in the byte-level alphabet; the others follow from U+0100 in their order. */
static bool stands_for_itself(uint32_t byte)
{
    return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) ||
           (byte >= 0xae && byte <= 0xff);
}

uint32_t leat_point_of_byte(uint8_t byte)
{
    if (stands_for_itself(byte)) {
        return byte;
    }
    uint32_t before = 0;
    for (uint32_t i = 0; i < byte; i++) {
        before += stands_for_itself(i) ? 0 : 1;
    }
    return 0x100 + before;
}

int leat_byte_of_point(uint32_t code_point)
{
    if (code_point < 0x100) {
        return stands_for_itself(code_point) ? (int)code_point : -1;
    }
    if (code_point < 0x100 + 33) {
        return (int)(code_point - 0x100); /* 00 to 20 are the first of the others */
    }
    if (code_point < 0x100 + 67) {
        return (int)(0x7f + code_point - (0x100 + 33));
    }
    return code_point == 0x100 + 67 ? 0xad : -1;
}

/* The byte tokens of a character, where all of them exist; gives their number. */
static size_t byte_symbols(const leat_model *model, leat_bytes character, uint32_t *ids)
{
    if (!model->byte_fallback || model->byte_level) {
        return 0;
    }
    for (size_t i = 0; i < character.size; i++) {
        ids[i] = model->byte_ids[character.data[i]];
        if (ids[i] == LEAT_NO_ID) {
            return 0;
        }
    }
    return character.size;
}

/* As in the reference, an unk waits for the next character that is known, so that others can be fused with it, and byte
 * tokens go past it. */
size_t leat_model_symbols(const leat_model *model, leat_bytes piece, uint32_t *ids)
{
    size_t count = 0;
    bool waiting = false;
    for (size_t at = 0, size; at < piece.size; at += size) {
        size = model->byte_level ? 1 : leat_utf8_size(piece.data[at]);
        leat_bytes character = {piece.data + at, size};
        uint32_t id = LEAT_NO_ID;
        if (model->byte_level) {
            id = model->byte_ids[piece.data[at]];
        } else if (!leat_vocabulary_find(&model->pieces, character, &id)) {
            id = LEAT_NO_ID;
        }
        if (id != LEAT_NO_ID) {
            if (waiting) {
                ids[count++] = model->unk;
                waiting = false;
            }
            ids[count++] = id;
            continue;
        }
        size_t bytes = byte_symbols(model, character, ids + count);
        count += bytes;
        if (bytes == 0 && model->unk != LEAT_NO_ID) {
            if (waiting && !model->fuse_unk) {
                ids[count++] = model->unk;
            }
            waiting = true;
        }
    }
    if (waiting) {
        ids[count++] = model->unk;
    }
    return count;
}

void leat_model_finish(leat_model *model)
{
    size_t count = model->pieces.id_count, capacity = 0;
    uint32_t *ids = NULL;
    leat_merge_scratch scratch = {0};
    model->whole = leat_alloc(count, 1);
    for (uint32_t id = 0; id < count; id++) {
        if (!leat_vocabulary_has(&model->pieces, id)) {
            continue;
        }
        leat_bytes token = leat_vocabulary_token(&model->pieces, id);
        if (model->ignore_merges) {
            model->whole[id] = 1;
            continue;
        }
        LEAT_GROW(ids, capacity, token.size + 1);
        size_t symbols = leat_model_symbols(model, token, ids);
        model->whole[id] = leat_merge(&model->merges, &scratch, ids, symbols) == 1 && ids[0] == id;
    }
    leat_free(ids);
    leat_merge_scratch_deinit(&scratch);
}

/* The place in a token where a cut before ▁, or around a line feed, would fall; false where none does. */
static bool is_cut(leat_bytes token, bool lines)
{
    static const uint8_t mark[3] = {0xe2, 0x96, 0x81};
    bool feed = false, other = false, plain = false;
    for (size_t at = 0; at < token.size; at += leat_utf8_size(token.data[at])) {
        if (token.size - at >= 3 && memcmp(token.data + at, mark, 3) == 0) {
            if (plain) {
                return true;
            }
            other = true;
            continue;
        }
        plain = true;
        feed = feed || token.data[at] == '\n';
        other = other || token.data[at] != '\n';
    }
    return lines && feed && other;
}

bool leat_model_runs(const leat_model *model, bool lines)
{
    static const uint8_t mark[3] = {0xe2, 0x96, 0x81};
    uint32_t id;
    if (model->byte_level || !leat_vocabulary_find(&model->pieces, (leat_bytes){mark, 3}, &id) ||
        (lines &&
         !leat_vocabulary_find(&model->pieces, (leat_bytes){(const uint8_t *)"\n", 1}, &id))) {
        return false;
    }
    for (size_t rank = 0; rank < model->merges.count; rank++) {
        if (is_cut(leat_vocabulary_token(&model->pieces, model->merges.into[rank]), lines)) {
            return false;
        }
    }
    for (uint32_t other = 0; model->ignore_merges && other < model->pieces.id_count; other++) {
        if (is_cut(leat_vocabulary_token(&model->pieces, other), lines)) {
            return false;
        }
    }
    return true;
}
