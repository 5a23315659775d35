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

/* true: a piece can never hold an unk, and no merge takes a byte token, so that each stays what it is. */
static bool bytes_stand_alone(const leat_model *model)
{
    bool alone = model->byte_fallback;
    uint8_t *is_byte = leat_alloc(model->pieces.id_count, 1);
    for (size_t byte = 0; alone && byte < 256; byte++) {
        alone = model->byte_ids[byte] != LEAT_NO_ID;
        if (alone) {
            is_byte[model->byte_ids[byte]] = 1;
        }
    }
    for (size_t i = 0; alone && i <= model->merges.slot_mask; i++) {
        uint64_t pair = model->merges.slots[i].pair;
        alone = pair == UINT64_MAX || !(is_byte[pair >> 32] || is_byte[(uint32_t)pair]);
    }
    leat_free(is_byte);
    return alone;
}

void leat_model_pairs(const leat_model *model, leat_pairs *pairs)
{
    leat_pairs_init(pairs, model->merges.count);
    pairs->all_known = bytes_stand_alone(model);
    for (size_t rank = 0; rank < model->merges.count; rank++) {
        leat_pairs_add(pairs, leat_vocabulary_token(&model->pieces, model->merges.into[rank]));
    }
    for (uint32_t id = 0; id < model->pieces.id_count; id++) {
        leat_bytes token = leat_vocabulary_token(&model->pieces, id);
        bool single = token.size != 0 && leat_utf8_size(token.data[0]) == token.size;
        if (single || model->ignore_merges) {
            leat_pairs_add(pairs, token);
        }
    }
    leat_pairs_finish(pairs);
}
