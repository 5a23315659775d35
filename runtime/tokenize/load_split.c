/* The part "pre_tokenizer" of a tokenizer.json. */
#include "tokenize/model.h"

static leat_split *split_new(leat_load *load)
{
    leat_tokenizer *tokenizer = load->tokenizer;
    return tokenizer->split_count < LEAT_SPLITS_MAX ? &tokenizer->splits[tokenizer->split_count++]
                                                    : NULL;
}

static leat_status too_many(leat_load *load)
{
    leat_load_damaged(load, "pre_tokenizer", "at most 8 splits");
    load->error->status = LEAT_INVALID;
    return LEAT_INVALID;
}

static leat_status load_byte_level(leat_load *load, leat_json_value json)
{
    bool bad = false;
    bool use_regex = leat_load_bool(json, "use_regex", true, &bad);
    bool prefix = leat_load_bool(json, "add_prefix_space", true, &bad);
    if (bad) {
        return leat_load_damaged(load, "pre_tokenizer ByteLevel", "true or false");
    }
    load->tokenizer->model.byte_level = true;
    if (prefix) {
        return leat_load_unsupported(
            load, "pre_tokenizer ByteLevel",
            (leat_bytes){(const uint8_t *)"add_prefix_space", strlen("add_prefix_space")});
    }
    if (!use_regex) {
        return LEAT_OK;
    }
    leat_split *split = split_new(load);
    if (split == NULL) {
        return too_many(load);
    }
    leat_split_gpt2(split);
    return LEAT_OK;
}

static leat_status load_pattern(leat_load *load, leat_json_value json)
{
    bool bad = false;
    leat_bytes pattern, behavior;
    bool invert = leat_load_bool(json, "invert", false, &bad);
    if (bad || !leat_json_get_text(leat_json_member(json, "behavior"), &behavior)) {
        return leat_load_damaged(load, "pre_tokenizer Split", "a behavior");
    }
    leat_json_value given = leat_json_member(json, "pattern");
    if (!leat_json_get_text(leat_json_member(given, "Regex"), &pattern)) {
        if (leat_json_get_text(leat_json_member(given, "String"), &pattern)) {
            return leat_load_unsupported(load, "pre_tokenizer Split with the text", pattern);
        }
        return leat_load_damaged(load, "pre_tokenizer Split", "a pattern");
    }
    /* The known patterns match every text without gaps: what is isolated and what is removed between is the same. */
    bool isolated = leat_text_is(behavior, "Isolated");
    if (!isolated && !(leat_text_is(behavior, "Removed") && invert)) {
        return leat_load_unsupported(load, "pre_tokenizer Split with the behavior", behavior);
    }
    leat_split *split = split_new(load);
    if (split == NULL) {
        return too_many(load);
    }
    if (!leat_split_find(split, pattern)) {
        return leat_load_unsupported(load, "pre_tokenizer Split with the pattern", pattern);
    }
    return LEAT_OK;
}

static leat_status load_one(leat_load *load, leat_json_value json)
{
    leat_bytes type;
    if (!leat_json_get_text(leat_json_member(json, "type"), &type)) {
        return leat_load_damaged(load, "pre_tokenizer", "an object with a type");
    }
    if (leat_text_is(type, "ByteLevel")) {
        return load_byte_level(load, json);
    }
    if (leat_text_is(type, "Split")) {
        return load_pattern(load, json);
    }
    return leat_load_unsupported(load, "pre_tokenizer", type);
}

leat_status leat_load_split(leat_load *load, leat_json_value json)
{
    leat_bytes type;
    leat_json_type kind = leat_json_type_of(json);
    if (kind == LEAT_JSON_NONE || kind == LEAT_JSON_NULL) {
        return LEAT_OK;
    }
    if (!leat_json_get_text(leat_json_member(json, "type"), &type) ||
        !leat_text_is(type, "Sequence")) {
        return load_one(load, json);
    }
    leat_json_value parts = leat_json_member(json, "pretokenizers");
    if (leat_json_type_of(parts) != LEAT_JSON_ARRAY) {
        return leat_load_damaged(load, "pre_tokenizer Sequence", "a list \"pretokenizers\"");
    }
    leat_json_value part = leat_json_first(parts, NULL);
    for (; leat_json_type_of(part) != LEAT_JSON_NONE; part = leat_json_after(part, NULL)) {
        leat_status status = load_one(load, part);
        if (status != LEAT_OK) {
            return status;
        }
    }
    return LEAT_OK;
}
