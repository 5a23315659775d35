/* The part "model" of a tokenizer.json: vocabulary and merges of a byte-pair encoding. */
#include "base/memory.h"
#include "base/utf8.h"
#include "tokenize/model.h"
#include "tokenize/unicode.h"
#include <inttypes.h>
#include <stdio.h>

/* The bytes of a token of the byte-level alphabet, appended; false where a character is not of it. */
static bool bytes_of(leat_bytes token, leat_buffer *out)
{
    for (size_t at = 0; at < token.size; at += leat_utf8_size(token.data[at])) {
        int byte = leat_byte_of_point(leat_utf8_at(token.data + at));
        if (byte < 0) {
            return false;
        }
        leat_buffer_add_u8(out, (uint8_t)byte);
    }
    return true;
}

static leat_status bad_token(leat_load *load, leat_bytes token, const char *wanted)
{
    int shown = token.size < 100 ? (int)token.size : 100;
    LEAT_FAIL(load->error, LEAT_CORRUPT, "the vocabulary of %s is damaged", load->name);
    leat_error_where(load->error, "model.vocab, token \"%.*s\"", shown, (const char *)token.data);
    leat_error_wanted(load->error, "%s", wanted);
    return LEAT_CORRUPT;
}

static leat_status load_vocabulary(leat_load *load, leat_json_value vocab)
{
    leat_model *model = &load->tokenizer->model;
    leat_buffer bytes = {0};
    leat_status status = LEAT_OK;
    leat_bytes token;
    if (leat_json_type_of(vocab) != LEAT_JSON_OBJECT) {
        return leat_load_damaged(load, "model.vocab", "an object of token texts and ids");
    }
    leat_json_value item = leat_json_first(vocab, &token);
    for (; leat_json_type_of(item) != LEAT_JSON_NONE; item = leat_json_after(item, &token)) {
        uint64_t id;
        if (!leat_json_get_u64(item, &id) || id >= LEAT_TOKEN_IDS_MAX) {
            status = bad_token(load, token, "an id from 0 to 8388607");
            break;
        }
        if (!leat_vocabulary_add(&model->texts, token, (uint32_t)id)) {
            status = bad_token(load, token, "each token and each id once");
            break;
        }
        leat_buffer_clear(&bytes);
        leat_bytes piece = token;
        if (model->byte_level) {
            if (!bytes_of(token, &bytes)) {
                continue; /* no text can give it */
            }
            piece = (leat_bytes){bytes.data, bytes.size};
        }
        if (!leat_vocabulary_add(&model->pieces, piece, (uint32_t)id)) {
            status = bad_token(load, token, "each token once");
            break;
        }
    }
    leat_buffer_deinit(&bytes);
    return status;
}

static void find_byte_ids(leat_model *model)
{
    for (size_t byte = 0; byte < 256; byte++) {
        uint8_t value = (uint8_t)byte;
        char name[8];
        uint32_t id;
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)byte);
        leat_bytes token =
            model->byte_level ? (leat_bytes){&value, 1} : (leat_bytes){(const uint8_t *)name, 6};
        model->byte_ids[byte] = leat_vocabulary_find(&model->pieces, token, &id) ? id : LEAT_NO_ID;
    }
}

static leat_status bad_merge(leat_load *load, size_t index, leat_bytes found, const char *wanted)
{
    int shown = found.size < 100 ? (int)found.size : 100;
    LEAT_FAIL(load->error, LEAT_CORRUPT, "the merges of %s are damaged", load->name);
    leat_error_where(load->error, "model.merges, number %zu", index);
    if (found.size != 0) {
        leat_error_found(load->error, "\"%.*s\"", shown, (const char *)found.data);
    }
    leat_error_wanted(load->error, "%s", wanted);
    return LEAT_CORRUPT;
}

/* A merge is "left right" or ["left", "right"]. */
static bool merge_parts(leat_json_value merge, leat_bytes parts[2])
{
    leat_bytes text;
    if (leat_json_get_text(merge, &text)) {
        const uint8_t *space = text.size != 0 ? memchr(text.data, ' ', text.size) : NULL;
        if (space == NULL) {
            return false;
        }
        size_t left = (size_t)(space - text.data);
        parts[0] = (leat_bytes){text.data, left};
        parts[1] = (leat_bytes){space + 1, text.size - left - 1};
        return parts[1].size == 0 || memchr(parts[1].data, ' ', parts[1].size) == NULL;
    }
    leat_json_value left = leat_json_first(merge, NULL);
    return leat_json_type_of(merge) == LEAT_JSON_ARRAY && leat_json_count(merge) == 2 &&
           leat_json_get_text(left, &parts[0]) &&
           leat_json_get_text(leat_json_after(left, NULL), &parts[1]);
}

static leat_status load_merges(leat_load *load, leat_json_value merges)
{
    leat_model *model = &load->tokenizer->model;
    leat_buffer joined = {0};
    leat_status status = LEAT_OK;
    if (leat_json_type_of(merges) != LEAT_JSON_ARRAY) {
        return leat_load_damaged(load, "model.merges", "a list of pairs");
    }
    size_t count = leat_json_count(merges);
    leat_merges_init(&model->merges, count, count);
    leat_json_value item = leat_json_first(merges, NULL);
    for (size_t i = 0; leat_json_type_of(item) != LEAT_JSON_NONE;
         i++, item = leat_json_after(item, NULL)) {
        leat_bytes parts[2] = {{0}};
        uint32_t left, right, into;
        if (!merge_parts(item, parts)) {
            status = bad_merge(load, i, (leat_bytes){0}, "\"left right\" or [\"left\", \"right\"]");
            break;
        }
        leat_buffer_clear(&joined);
        leat_buffer_add(&joined, parts[0].data, parts[0].size);
        leat_buffer_add(&joined, parts[1].data, parts[1].size);
        leat_bytes whole = {joined.data, joined.size};
        if (!leat_vocabulary_find(&model->texts, parts[0], &left) ||
            !leat_vocabulary_find(&model->texts, parts[1], &right) ||
            !leat_vocabulary_find(&model->texts, whole, &into)) {
            status = bad_merge(load, i, whole, "left, right and what they make in the vocabulary");
            break;
        }
        leat_merges_add(&model->merges, left, right, into);
    }
    leat_buffer_deinit(&joined);
    return status;
}

/* What would change ids and is not done here. */
static leat_status refuse_options(leat_load *load, leat_json_value model)
{
    static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    leat_bytes text;
    for (size_t i = 0; i < 2; i++) {
        leat_json_value affix = leat_json_member(model, affixes[i]);
        if (leat_json_get_text(affix, &text) && text.size != 0) {
            return leat_load_unsupported(load, affixes[i], text);
        }
    }
    leat_json_value dropout = leat_json_member(model, "dropout");
    leat_json_type type = leat_json_type_of(dropout);
    uint64_t value;
    if (type != LEAT_JSON_NONE && type != LEAT_JSON_NULL &&
        !(leat_json_get_u64(dropout, &value) && value == 0)) {
        return leat_load_unsupported(load, "model", (leat_bytes){(const uint8_t *)"dropout", 7});
    }
    return LEAT_OK;
}

leat_status leat_load_model(leat_load *load, leat_json_value json)
{
    leat_model *model = &load->tokenizer->model;
    leat_bytes type = {(const uint8_t *)"BPE", 3}, unk;
    bool bad = false;
    if (leat_json_type_of(json) != LEAT_JSON_OBJECT) {
        return leat_load_damaged(load, "model", "an object");
    }
    leat_json_value kind = leat_json_member(json, "type");
    if (leat_json_type_of(kind) != LEAT_JSON_NONE && !leat_json_get_text(kind, &type)) {
        return leat_load_damaged(load, "model.type", "a text");
    }
    if (!leat_text_is(type, "BPE")) {
        return leat_load_unsupported(load, "model", type);
    }
    leat_status status = refuse_options(load, json);
    if (status != LEAT_OK) {
        return status;
    }
    model->byte_fallback = leat_load_bool(json, "byte_fallback", false, &bad);
    model->fuse_unk = leat_load_bool(json, "fuse_unk", false, &bad);
    model->ignore_merges = leat_load_bool(json, "ignore_merges", false, &bad);
    if (bad) {
        return leat_load_damaged(load, "model", "true or false for its options");
    }
    LEAT_TRY(load_vocabulary(load, leat_json_member(json, "vocab")));
    find_byte_ids(model);
    for (size_t byte = 0; model->byte_level && model->byte_fallback && byte < 256; byte++) {
        if (model->byte_ids[byte] == LEAT_NO_ID) {
            return leat_load_unsupported(
                load, "model", (leat_bytes){(const uint8_t *)"byte_fallback behind ByteLevel", 30});
        }
    }
    model->unk = LEAT_NO_ID;
    if (leat_json_get_text(leat_json_member(json, "unk_token"), &unk) &&
        !leat_vocabulary_find(&model->texts, unk, &model->unk)) {
        return leat_load_damaged(load, "model.unk_token", "a token of the vocabulary");
    }
    LEAT_TRY(load_merges(load, leat_json_member(json, "merges")));
done:
    return status;
}
