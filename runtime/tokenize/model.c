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

/* The symbols of one character that is no token: its bytes, unk, or nothing, as the reference does. */
static size_t symbols_of_unknown(const leat_model *model, leat_bytes character, uint32_t *ids,
                                 bool *after_unk)
{
    bool all = model->byte_fallback;
    for (size_t i = 0; all && i < character.size; i++) {
        all = model->byte_ids[character.data[i]] != LEAT_NO_ID;
    }
    if (all) {
        for (size_t i = 0; i < character.size; i++) {
            ids[i] = model->byte_ids[character.data[i]];
        }
        *after_unk = false;
        return character.size;
    }
    if (model->unk == LEAT_NO_ID || (model->fuse_unk && *after_unk)) {
        return 0;
    }
    ids[0] = model->unk;
    *after_unk = true;
    return 1;
}

size_t leat_model_symbols(const leat_model *model, leat_bytes piece, uint32_t *ids)
{
    size_t count = 0;
    bool after_unk = false;
    for (size_t at = 0; at < piece.size;) {
        size_t size = model->byte_level ? 1 : leat_utf8_size(piece.data[at]);
        leat_bytes character = {piece.data + at, size};
        uint32_t id = LEAT_NO_ID;
        if (model->byte_level) {
            id = model->byte_ids[piece.data[at]];
        } else if (!leat_vocabulary_find(&model->pieces, character, &id)) {
            id = LEAT_NO_ID;
        }
        if (id != LEAT_NO_ID) {
            ids[count++] = id;
            after_unk = false;
        } else {
            count += symbols_of_unknown(model, character, ids + count, &after_unk);
        }
        at += size;
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
