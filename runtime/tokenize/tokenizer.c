#include "tokenize/tokenizer.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "tokenize/model.h"
#include <stdio.h>

static const char byte_name[] = "leat-byte-tokenizer-1";
enum { BYTE_BOS = 256, BYTE_EOS = 257, BYTE_COUNT = 258 };

void leat_tokens_deinit(leat_tokens *tokens)
{
    leat_free(tokens->ids);
    *tokens = (leat_tokens){0};
}

leat_status leat_load_unsupported(leat_load *load, const char *part, leat_bytes what)
{
    int shown = what.size < 120 ? (int)what.size : 120;
    LEAT_FAIL(load->error, LEAT_INVALID, "%s uses what leat does not support: %s", load->name,
              part);
    leat_error_where(load->error, "%s", load->name);
    leat_error_found(load->error, "%s \"%.*s\"", part, shown, (const char *)what.data);
    leat_error_wanted(load->error, "%s",
                      "a byte-pair encoding with one of the pre-tokenizers leat knows");
    leat_error_hint(load->error, "%s", "tokenize the data beforehand and give token files");
    return LEAT_INVALID;
}

leat_status leat_load_damaged(leat_load *load, const char *part, const char *wanted)
{
    LEAT_FAIL(load->error, LEAT_CORRUPT, "%s is no whole tokenizer file: %s", load->name, part);
    leat_error_where(load->error, "%s", part);
    leat_error_wanted(load->error, "%s", wanted);
    leat_error_hint(load->error, "%s", "fetch the file again");
    return LEAT_CORRUPT;
}

bool leat_text_is(leat_bytes text, const char *wanted)
{
    return text.size == strlen(wanted) && memcmp(text.data, wanted, text.size) == 0;
}

bool leat_load_bool(leat_json_value object, const char *key, bool otherwise, bool *bad)
{
    leat_json_value value = leat_json_member(object, key);
    leat_json_type type = leat_json_type_of(value);
    bool result = otherwise;
    if (type != LEAT_JSON_NONE && type != LEAT_JSON_NULL && !leat_json_get_bool(value, &result)) {
        *bad = true;
    }
    return result;
}

/* A .tiktoken file is lines of base64 and numbers; no line of it begins with a brace. */
static bool looks_like_json(leat_bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i++) {
        uint8_t byte = bytes.data[i];
        if (byte != ' ' && byte != '\t' && byte != '\r' && byte != '\n') {
            return byte == '{';
        }
    }
    return false;
}

static leat_status load_json(leat_load *load, leat_bytes bytes)
{
    leat_status status = LEAT_OK;
    leat_json *json = leat_json_open();
    leat_json_value root;
    LEAT_TRY(leat_json_parse(json, bytes, load->name, &root, load->error));
    /* The pre-tokenizer says whether tokens are of the byte-level alphabet; added tokens need the normalizer. */
    LEAT_TRY(leat_load_split(load, leat_json_member(root, "pre_tokenizer")));
    LEAT_TRY(leat_load_model(load, leat_json_member(root, "model")));
    LEAT_TRY(leat_load_normalizer(load, leat_json_member(root, "normalizer")));
    LEAT_TRY(leat_load_added(load, leat_json_member(root, "added_tokens")));
    LEAT_TRY(leat_load_post(load, leat_json_member(root, "post_processor")));
done:
    leat_json_close(json);
    return status;
}

static uint32_t count_ids(const leat_tokenizer *tokenizer)
{
    size_t count = tokenizer->model.texts.id_count;
    for (size_t i = 0; i < tokenizer->added.count; i++) {
        size_t id = tokenizer->added.items[i].id;
        count = id >= count ? id + 1 : count;
    }
    return (uint32_t)count;
}

leat_status leat_tokenizer_open(leat_tokenizer **out, leat_bytes bytes, const char *name,
                                leat_error *error)
{
    *out = NULL;
    leat_tokenizer *tokenizer = leat_alloc(1, sizeof *tokenizer);
    leat_load load = {tokenizer, name, error};
    leat_matcher_init(&tokenizer->raw);
    leat_matcher_init(&tokenizer->normalized);
    leat_sha256_of(bytes.data, bytes.size, tokenizer->sha256);
    leat_status status =
        looks_like_json(bytes) ? load_json(&load, bytes) : leat_load_tiktoken(&load, bytes);
    if (status != LEAT_OK) {
        leat_tokenizer_close(tokenizer);
        return status;
    }
    leat_model_finish(&tokenizer->model);
    if (tokenizer->split_count == 0 && !tokenizer->model.byte_level) {
        leat_model_pairs(&tokenizer->model, &tokenizer->pairs);
        leat_split_pairs(&tokenizer->splits[tokenizer->split_count++], &tokenizer->pairs);
    }
    tokenizer->vocabulary = count_ids(tokenizer);
    *out = tokenizer;
    return LEAT_OK;
}

leat_tokenizer *leat_tokenizer_open_bytes(void)
{
    leat_tokenizer *tokenizer = leat_alloc(1, sizeof *tokenizer);
    tokenizer->bytes = true;
    tokenizer->vocabulary = BYTE_COUNT;
    leat_sha256_of(byte_name, strlen(byte_name), tokenizer->sha256);
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint8_t value = (uint8_t)byte;
        bool added = leat_vocabulary_add(&tokenizer->model.pieces, (leat_bytes){&value, 1}, byte);
        LEAT_ASSERT(added);
    }
    return tokenizer;
}

void leat_tokenizer_close(leat_tokenizer *tokenizer)
{
    if (tokenizer == NULL) {
        return;
    }
    leat_vocabulary_deinit(&tokenizer->model.texts);
    leat_vocabulary_deinit(&tokenizer->model.pieces);
    leat_merges_deinit(&tokenizer->model.merges);
    leat_free(tokenizer->model.whole);
    leat_added_list_deinit(&tokenizer->added);
    leat_vocabulary_deinit(&tokenizer->added_texts);
    leat_matcher_deinit(&tokenizer->raw);
    leat_matcher_deinit(&tokenizer->normalized);
    leat_normalizer_deinit(&tokenizer->normalizer);
    leat_pairs_deinit(&tokenizer->pairs);
    leat_free(tokenizer->before.ids);
    leat_free(tokenizer->after.ids);
    leat_free(tokenizer);
}

void leat_tokenizer_sha256(const leat_tokenizer *tokenizer, uint8_t out[32])
{
    memcpy(out, tokenizer->sha256, 32);
}

uint32_t leat_tokenizer_vocabulary(const leat_tokenizer *tokenizer)
{
    return tokenizer->vocabulary;
}

bool leat_tokenizer_id(const leat_tokenizer *tokenizer, const char *text, uint32_t *id)
{
    if (tokenizer->bytes) {
        *id = strcmp(text, "<|bos|>") == 0 ? BYTE_BOS : BYTE_EOS;
        return *id == BYTE_BOS || strcmp(text, "<|eos|>") == 0;
    }
    leat_bytes wanted = {(const uint8_t *)text, strlen(text)};
    if (leat_vocabulary_find(&tokenizer->added_texts, wanted, id)) {
        *id = tokenizer->added.items[*id].id;
        return true;
    }
    return leat_vocabulary_find(&tokenizer->model.texts, wanted, id);
}

leat_bytes leat_tokenizer_token(const leat_tokenizer *tokenizer, uint32_t id)
{
    for (size_t i = 0; i < tokenizer->added.count; i++) {
        if (tokenizer->added.items[i].id == id) {
            return leat_added_content(&tokenizer->added, i);
        }
    }
    if (leat_vocabulary_has(&tokenizer->model.pieces, id)) {
        return leat_vocabulary_token(&tokenizer->model.pieces, id);
    }
    return leat_vocabulary_token(&tokenizer->model.texts, id);
}

leat_status leat_load_sequence(leat_load *load, leat_json_value json, const char *part,
                               const char *list,
                               leat_status (*one)(leat_load *load, leat_json_value json))
{
    leat_bytes type;
    leat_json_type kind = leat_json_type_of(json);
    if (kind == LEAT_JSON_NONE || kind == LEAT_JSON_NULL) {
        return LEAT_OK;
    }
    if (!leat_json_get_text(leat_json_member(json, "type"), &type) ||
        !leat_text_is(type, "Sequence")) {
        return one(load, json);
    }
    leat_json_value items = leat_json_member(json, list);
    if (leat_json_type_of(items) != LEAT_JSON_ARRAY) {
        char what[64], wanted[64];
        snprintf(what, sizeof what, "%s Sequence", part);
        snprintf(wanted, sizeof wanted, "a list \"%s\"", list);
        return leat_load_damaged(load, what, wanted);
    }
    leat_status status = LEAT_OK;
    for (leat_json_value item = leat_json_first(items, NULL);
         leat_json_type_of(item) != LEAT_JSON_NONE && status == LEAT_OK;
         item = leat_json_after(item, NULL)) {
        status = one(load, item);
    }
    return status;
}
