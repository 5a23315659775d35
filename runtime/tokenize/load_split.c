/* The part "pre_tokenizer" of a tokenizer.json. */
#include "tokenize/model.h"

static leat_bytes text_of(const char *text)
{
    return (leat_bytes){(const uint8_t *)text, strlen(text)};
}

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
    if (load->tokenizer->model.byte_level) {
        return leat_load_unsupported(load, "pre_tokenizer", text_of("a second ByteLevel"));
    }
    load->tokenizer->model.byte_level = true;
    if (!use_regex && !prefix) {
        return LEAT_OK;
    }
    leat_split *split = split_new(load);
    if (split == NULL) {
        return too_many(load);
    }
    if (use_regex) {
        leat_split_gpt2(split);
    } else {
        leat_split_whole(split);
    }
    split->prefix = prefix;
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
    leat_split *split = split_new(load);
    if (split == NULL) {
        return too_many(load);
    }
    if (!leat_split_find(split, pattern, load->tokenizer->model.byte_level)) {
        return leat_load_unsupported(load, "pre_tokenizer Split with the pattern", pattern);
    }
    /* Where the pattern leaves no gaps, removing what is between its matches removes nothing. */
    bool isolated = leat_text_is(behavior, "Isolated");
    bool no_gaps = leat_text_is(behavior, "Removed") && invert && split->match == NULL;
    if (!isolated && !no_gaps) {
        return leat_load_unsupported(load, "pre_tokenizer Split with the behavior", behavior);
    }
    return LEAT_OK;
}

static leat_status load_digits(leat_load *load, leat_json_value json)
{
    bool bad = false;
    bool individual = leat_load_bool(json, "individual_digits", false, &bad);
    leat_split *split = split_new(load);
    if (bad || split == NULL) {
        return bad ? leat_load_damaged(load, "pre_tokenizer Digits", "true or false")
                   : too_many(load);
    }
    leat_split_digits(split, individual, load->tokenizer->model.byte_level);
    return LEAT_OK;
}

static leat_status load_punctuation(leat_load *load, leat_json_value json)
{
    leat_bytes behavior = text_of("Isolated");
    leat_json_value given = leat_json_member(json, "behavior");
    if (leat_json_type_of(given) != LEAT_JSON_NONE && !leat_json_get_text(given, &behavior)) {
        return leat_load_damaged(load, "pre_tokenizer Punctuation", "a behavior");
    }
    bool individual = leat_text_is(behavior, "Isolated");
    if (!individual && !leat_text_is(behavior, "Contiguous")) {
        return leat_load_unsupported(load, "pre_tokenizer Punctuation with the behavior", behavior);
    }
    if (load->tokenizer->model.byte_level) {
        return leat_load_unsupported(load, "pre_tokenizer",
                                     text_of("Punctuation behind ByteLevel"));
    }
    leat_split *split = split_new(load);
    if (split == NULL) {
        return too_many(load);
    }
    leat_split_punctuation(split, individual);
    return LEAT_OK;
}

/* The old form has add_prefix_space, the new one prepend_scheme. */
static leat_status load_scheme(leat_load *load, leat_json_value json)
{
    static const char *const schemes[] = {"never", "first", "always"};
    leat_tokenizer *tokenizer = load->tokenizer;
    bool bad = false;
    bool prefix = leat_load_bool(json, "add_prefix_space", true, &bad);
    leat_bytes scheme = text_of(prefix ? "always" : "never");
    leat_json_value given = leat_json_member(json, "prepend_scheme");
    if (bad ||
        (leat_json_type_of(given) != LEAT_JSON_NONE && !leat_json_get_text(given, &scheme))) {
        return leat_load_damaged(load, "pre_tokenizer Metaspace", "a prepend_scheme");
    }
    for (size_t i = 0; i < 3; i++) {
        if (leat_text_is(scheme, schemes[i])) {
            tokenizer->metaspace = (leat_metaspace)(LEAT_METASPACE_NEVER + i);
            return LEAT_OK;
        }
    }
    return leat_load_unsupported(load, "pre_tokenizer Metaspace with the prepend_scheme", scheme);
}

static leat_status load_metaspace(leat_load *load, leat_json_value json)
{
    leat_tokenizer *tokenizer = load->tokenizer;
    leat_bytes mark = text_of("▁");
    bool bad = false;
    bool cut = leat_load_bool(json, "split", true, &bad);
    leat_json_value given = leat_json_member(json, "replacement");
    if (bad || (leat_json_type_of(given) != LEAT_JSON_NONE && !leat_json_get_text(given, &mark))) {
        return leat_load_damaged(load, "pre_tokenizer Metaspace", "a replacement and flags");
    }
    if (!leat_text_is(mark, "▁")) {
        return leat_load_unsupported(load, "pre_tokenizer Metaspace with the replacement", mark);
    }
    if (tokenizer->split_count != 0 || tokenizer->metaspace != LEAT_METASPACE_NONE ||
        tokenizer->model.byte_level) {
        return leat_load_unsupported(load, "pre_tokenizer",
                                     text_of("Metaspace behind another pre-tokenizer"));
    }
    leat_status status = load_scheme(load, json);
    if (status == LEAT_OK && cut) {
        leat_split_metaspace(split_new(load));
    }
    return status;
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
    if (leat_text_is(type, "Digits")) {
        return load_digits(load, json);
    }
    if (leat_text_is(type, "Punctuation")) {
        return load_punctuation(load, json);
    }
    if (leat_text_is(type, "Metaspace")) {
        return load_metaspace(load, json);
    }
    return leat_load_unsupported(load, "pre_tokenizer", type);
}

leat_status leat_load_split(leat_load *load, leat_json_value json)
{
    return leat_load_sequence(load, json, "pre_tokenizer", "pretokenizers", load_one);
}
