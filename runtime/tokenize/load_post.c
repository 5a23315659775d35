/* The part "post_processor" of a tokenizer.json: the special tokens it puts around a single text. */
#include "base/memory.h"
#include "tokenize/model.h"

static bool add_id(leat_special_ids *list, leat_json_value json)
{
    uint64_t id;
    if (!leat_json_get_u64(json, &id) || id >= LEAT_TOKEN_IDS_MAX) {
        return false;
    }
    LEAT_GROW(list->ids, list->capacity, list->count + 1);
    list->ids[list->count++] = (uint32_t)id;
    return true;
}

/* The ids of a special token by its name, which the template's own table gives. */
static bool add_special(leat_special_ids *list, leat_json_value table, leat_json_value name)
{
    leat_bytes wanted, key;
    if (!leat_json_get_text(name, &wanted)) {
        return false;
    }
    leat_json_value entry = leat_json_first(table, &key);
    for (; leat_json_type_of(entry) != LEAT_JSON_NONE; entry = leat_json_after(entry, &key)) {
        if (key.size != wanted.size || memcmp(key.data, wanted.data, key.size) != 0) {
            continue;
        }
        leat_json_value id = leat_json_first(leat_json_member(entry, "ids"), NULL);
        for (; leat_json_type_of(id) != LEAT_JSON_NONE; id = leat_json_after(id, NULL)) {
            if (!add_id(list, id)) {
                return false;
            }
        }
        return true;
    }
    return false;
}

static leat_status load_template(leat_load *load, leat_json_value json)
{
    leat_tokenizer *tokenizer = load->tokenizer;
    leat_special_ids *list = &tokenizer->before;
    leat_json_value table = leat_json_member(json, "special_tokens");
    leat_json_value single = leat_json_member(json, "single");
    if (leat_json_type_of(single) != LEAT_JSON_ARRAY) {
        return leat_load_damaged(load, "post_processor TemplateProcessing", "a list \"single\"");
    }
    size_t texts = 0;
    leat_json_value part = leat_json_first(single, NULL);
    for (; leat_json_type_of(part) != LEAT_JSON_NONE; part = leat_json_after(part, NULL)) {
        leat_json_value special = leat_json_member(part, "SpecialToken");
        if (leat_json_type_of(leat_json_member(part, "Sequence")) == LEAT_JSON_OBJECT) {
            list = &tokenizer->after;
            texts++;
        } else if (!add_special(list, table, leat_json_member(special, "id"))) {
            return leat_load_damaged(load, "post_processor TemplateProcessing",
                                     "special tokens with their ids, and the sequence");
        }
    }
    if (texts != 1) {
        return leat_load_unsupported(
            load, "post_processor",
            (leat_bytes){(const uint8_t *)"a template without one text", 27});
    }
    return LEAT_OK;
}

/* "cls": ["<s>", 0], "sep": ["</s>", 2] */
static leat_status load_pair(leat_load *load, leat_json_value json)
{
    leat_tokenizer *tokenizer = load->tokenizer;
    leat_json_value cls = leat_json_first(leat_json_member(json, "cls"), NULL);
    leat_json_value sep = leat_json_first(leat_json_member(json, "sep"), NULL);
    if (!add_id(&tokenizer->before, leat_json_after(cls, NULL)) ||
        !add_id(&tokenizer->after, leat_json_after(sep, NULL))) {
        return leat_load_damaged(load, "post_processor", "cls and sep, each a text and an id");
    }
    return LEAT_OK;
}

static leat_status load_one(leat_load *load, leat_json_value json)
{
    leat_bytes type;
    if (!leat_json_get_text(leat_json_member(json, "type"), &type)) {
        return leat_load_damaged(load, "post_processor", "an object with a type");
    }
    if (leat_text_is(type, "ByteLevel")) {
        return LEAT_OK; /* moves offsets, adds nothing */
    }
    if (load->tokenizer->before.count != 0 || load->tokenizer->after.count != 0) {
        return leat_load_unsupported(load, "post_processor behind another one", type);
    }
    if (leat_text_is(type, "TemplateProcessing")) {
        return load_template(load, json);
    }
    if (leat_text_is(type, "RobertaProcessing") || leat_text_is(type, "BertProcessing")) {
        return load_pair(load, json);
    }
    return leat_load_unsupported(load, "post_processor", type);
}

leat_status leat_load_post(leat_load *load, leat_json_value json)
{
    return leat_load_sequence(load, json, "post_processor", "processors", load_one);
}
