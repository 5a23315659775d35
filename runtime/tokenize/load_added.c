/* The part "added_tokens" of a tokenizer.json. */
#include "base/memory.h"
#include "tokenize/model.h"
#include <inttypes.h>

/* The id that the reference gives to a token it adds: the file's number has no say in it. */
static uint32_t id_of(const leat_tokenizer *tokenizer, leat_bytes content)
{
    uint32_t id;
    if (leat_vocabulary_find(&tokenizer->added_texts, content, &id)) {
        return tokenizer->added.items[id].id;
    }
    return leat_vocabulary_find(&tokenizer->model.texts, content, &id) ? id : tokenizer->next_id;
}

static leat_status load_token(leat_load *load, leat_json_value json, size_t index)
{
    leat_tokenizer *tokenizer = load->tokenizer;
    leat_added added = {0};
    leat_bytes content;
    uint64_t id;
    bool bad = false;
    added.single_word = leat_load_bool(json, "single_word", false, &bad);
    added.lstrip = leat_load_bool(json, "lstrip", false, &bad);
    added.rstrip = leat_load_bool(json, "rstrip", false, &bad);
    added.special = leat_load_bool(json, "special", false, &bad);
    added.normalized = leat_load_bool(json, "normalized", !added.special, &bad);
    if (bad || !leat_json_get_text(leat_json_member(json, "content"), &content) ||
        !leat_json_get_u64(leat_json_member(json, "id"), &id) || id >= LEAT_TOKEN_IDS_MAX) {
        leat_status status =
            leat_load_damaged(load, "added_tokens", "content, id below 8388608 and flags");
        leat_error_where(load->error, "added_tokens, number %zu", index);
        return status;
    }
    if (content.size == 0) {
        return LEAT_OK; /* the reference passes over it as well */
    }
    added.id = id_of(tokenizer, content);
    if (added.id != id) {
        LEAT_FAIL(load->error, LEAT_CORRUPT, "an added token of %s has an id that is not its own",
                  load->name);
        leat_error_where(load->error, "added_tokens, number %zu, \"%.*s\"", index,
                         content.size < 100 ? (int)content.size : 100, (const char *)content.data);
        leat_error_found(load->error, "%" PRIu64, id);
        leat_error_wanted(load->error, "%" PRIu32 ", which Hugging Face tokenizers gives it",
                          added.id);
        leat_error_hint(load->error, "%s", "load and save the file once with that library");
        return LEAT_CORRUPT;
    }
    /* A token given twice is added once, as in the reference. */
    if (leat_vocabulary_add(&tokenizer->added_texts, content, (uint32_t)tokenizer->added.count)) {
        leat_added_list_add(&tokenizer->added, added, content);
        tokenizer->next_id = added.id >= tokenizer->next_id ? added.id + 1 : tokenizer->next_id;
    }
    return LEAT_OK;
}

/* The reference's order: special tokens before others. */
static void build_matchers(leat_tokenizer *tokenizer)
{
    leat_normal_scratch scratch = {0};
    leat_added_list *list = &tokenizer->added;
    for (int special = 1; special >= 0; special--) {
        for (size_t i = 0; i < list->count; i++) {
            leat_bytes content = leat_added_content(list, i);
            if (list->items[i].special != (special == 1)) {
                continue;
            }
            if (!list->items[i].normalized) {
                leat_matcher_add(&tokenizer->raw, content, (uint32_t)i);
                continue;
            }
            content = leat_normalize(&tokenizer->normalizer, &scratch, content);
            if (content.size != 0) {
                leat_matcher_add(&tokenizer->normalized, content, (uint32_t)i);
            }
        }
    }
    leat_normal_scratch_deinit(&scratch);
}

leat_status leat_load_added(leat_load *load, leat_json_value json)
{
    leat_json_type type = leat_json_type_of(json);
    if (type == LEAT_JSON_NONE || type == LEAT_JSON_NULL) {
        return LEAT_OK;
    }
    if (type != LEAT_JSON_ARRAY) {
        return leat_load_damaged(load, "added_tokens", "a list");
    }
    load->tokenizer->next_id = (uint32_t)load->tokenizer->model.texts.used;
    leat_json_value item = leat_json_first(json, NULL);
    for (size_t i = 0; leat_json_type_of(item) != LEAT_JSON_NONE;
         i++, item = leat_json_after(item, NULL)) {
        leat_status status = load_token(load, item, i);
        if (status != LEAT_OK) {
            return status;
        }
    }
    build_matchers(load->tokenizer);
    return LEAT_OK;
}
