/* The part "normalizer" of a tokenizer.json. */
#include "base/memory.h"
#include "tokenize/model.h"

static leat_normal_step *step_new(leat_normalizer *normalizer, leat_normal_kind kind)
{
    LEAT_GROW(normalizer->steps, normalizer->capacity, normalizer->count + 1);
    leat_normal_step *step = &normalizer->steps[normalizer->count++];
    *step = (leat_normal_step){.kind = kind};
    return step;
}

static leat_status load_replace(leat_load *load, leat_json_value json)
{
    leat_bytes from, to;
    leat_json_value pattern = leat_json_member(json, "pattern");
    if (!leat_json_get_text(leat_json_member(json, "content"), &to)) {
        return leat_load_damaged(load, "normalizer Replace", "a content");
    }
    if (leat_json_get_text(leat_json_member(pattern, "Regex"), &from)) {
        return leat_load_unsupported(load, "normalizer Replace with the regular expression", from);
    }
    if (!leat_json_get_text(leat_json_member(pattern, "String"), &from) || from.size == 0) {
        return leat_load_damaged(load, "normalizer Replace", "a pattern {\"String\": \"…\"}");
    }
    leat_normal_step *step = step_new(&load->tokenizer->normalizer, LEAT_NORMAL_REPLACE);
    leat_buffer_add(&step->from, from.data, from.size);
    leat_buffer_add(&step->to, to.data, to.size);
    return LEAT_OK;
}

static leat_status load_other(leat_load *load, leat_json_value json, leat_bytes type)
{
    bool bad = false;
    leat_bytes text;
    leat_normalizer *normalizer = &load->tokenizer->normalizer;
    if (leat_text_is(type, "Prepend")) {
        if (!leat_json_get_text(leat_json_member(json, "prepend"), &text)) {
            return leat_load_damaged(load, "normalizer Prepend", "a text \"prepend\"");
        }
        leat_buffer_add(&step_new(normalizer, LEAT_NORMAL_PREPEND)->to, text.data, text.size);
        return LEAT_OK;
    }
    if (leat_text_is(type, "Replace")) {
        return load_replace(load, json);
    }
    if (leat_text_is(type, "Strip")) {
        leat_normal_step *step = step_new(normalizer, LEAT_NORMAL_STRIP);
        step->left = leat_load_bool(json, "strip_left", true, &bad);
        step->right = leat_load_bool(json, "strip_right", true, &bad);
        return bad ? leat_load_damaged(load, "normalizer Strip", "true or false") : LEAT_OK;
    }
    return leat_load_unsupported(load, "normalizer", type);
}

static leat_status load_one(leat_load *load, leat_json_value json)
{
    static const char *const simple[] = {"NFC", "NFD", "NFKC", "NFKD", "Lowercase"};
    leat_bytes type;
    if (!leat_json_get_text(leat_json_member(json, "type"), &type)) {
        return leat_load_damaged(load, "normalizer", "an object with a type");
    }
    for (size_t i = 0; i < sizeof simple / sizeof *simple; i++) {
        if (leat_text_is(type, simple[i])) {
            step_new(&load->tokenizer->normalizer, (leat_normal_kind)i);
            return LEAT_OK;
        }
    }
    return load_other(load, json, type);
}

leat_status leat_load_normalizer(leat_load *load, leat_json_value json)
{
    return leat_load_sequence(load, json, "normalizer", "normalizers", load_one);
}
