/* Scalars of a job file: types, ranges, decimals.  Decimals are read as text, so that no rounding decides a batch. */
#include "base/arith.h"
#include "base/memory.h"
#include "job/read.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

leat_status leat_job_fail_at(const leat_job_reader *reader, size_t node, const char *place,
                             const char *name, const char *format, ...)
{
    char text[256], where[256], found[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    leat_yaml_where(&reader->yaml, node, where);
    leat_yaml_describe(&reader->yaml, node, found);
    LEAT_FAIL(reader->error, LEAT_INVALID, "%.200s%s: %s", place, name, text);
    leat_error_where(reader->error, "%s, key %.200s%s", where, place, name);
    leat_error_found(reader->error, "%s", found);
    return LEAT_INVALID;
}

static const char *key_name(const leat_job_key *key)
{
    const char *dot = strrchr(key->path, '.');
    return dot != NULL ? dot + 1 : key->path;
}

static leat_status fail_wanted(const leat_job_reader *reader, size_t node, const leat_job_key *key,
                               const char *place, const char *what)
{
    char wanted[192];
    leat_job_fail_at(reader, node, place, key_name(key), "%s", what);
    leat_job_key_wanted(key, wanted);
    leat_error_wanted(reader->error, "%s", wanted);
    return LEAT_INVALID;
}

static leat_status wrong_type(const leat_job_reader *reader, size_t node, const leat_job_key *key,
                              const char *place)
{
    const leat_yaml_node *item = &reader->yaml.nodes[node];
    leat_yaml_type type = leat_yaml_type_of(&reader->yaml, node);
    fail_wanted(reader, node, key, place, "a value of the wrong type");
    bool text_wanted = key->type == LEAT_KEY_TEXT || key->type == LEAT_KEY_TEXTS ||
                       key->type == LEAT_KEY_CHOICE || key->type == LEAT_KEY_FLAG_CHOICE ||
                       key->type == LEAT_KEY_TEXT_CHOICE;
    if (type == LEAT_YAML_TYPE_NULL && key->required) {
        leat_error_hint(reader->error, "this key has no default: give it a value");
    } else if (text_wanted && item->kind == LEAT_YAML_SCALAR) {
        leat_error_hint(reader->error, "put it in quotes where it is meant as text");
    } else if (type == LEAT_YAML_TYPE_TEXT && !item->plain && key->type != LEAT_KEY_TOKEN) {
        leat_error_hint(reader->error, "write it without the quotes");
    } else if (key->type == LEAT_KEY_BOOL) {
        leat_error_hint(reader->error, "write true or false");
    }
    return LEAT_INVALID;
}

static leat_status read_integer(const leat_job_reader *reader, size_t node, const leat_job_key *key,
                                const char *place, uint64_t *out)
{
    const char *text = reader->yaml.nodes[node].text;
    if (leat_yaml_type_of(&reader->yaml, node) != LEAT_YAML_TYPE_INTEGER) {
        wrong_type(reader, node, key, place);
        if (leat_yaml_type_of(&reader->yaml, node) == LEAT_YAML_TYPE_NUMBER) {
            leat_error_hint(reader->error, text[0] == '-' ? "negative numbers have no meaning here"
                                                          : "write plain digits: no sign, point, "
                                                            "exponent or _");
        }
        return LEAT_INVALID;
    }
    if (text[0] == '0' && text[1] != '\0') {
        fail_wanted(reader, node, key, place, "an integer with leading zeros");
        leat_error_hint(reader->error, "write %s", text + strspn(text, "0"));
        return LEAT_INVALID;
    }
    uint64_t value = 0;
    bool fits = true;
    for (const char *at = text; *at != '\0' && fits; at++) {
        fits =
            leat_mul_u64(value, 10, &value) && leat_add_u64(value, (uint64_t)(*at - '0'), &value);
    }
    if (!fits || value < key->min || value > key->max) {
        return fail_wanted(reader, node, key, place, "a number out of range");
    }
    *out = value;
    return LEAT_OK;
}

leat_status leat_job_read_decimal(const leat_job_reader *reader, size_t node, const char *place,
                                  const char *name, uint64_t *millionths)
{
    leat_yaml_type type = leat_yaml_type_of(&reader->yaml, node);
    const char *text = type <= LEAT_YAML_TYPE_TEXT ? reader->yaml.nodes[node].text : "";
    size_t whole = strspn(text, "0123456789");
    size_t fraction = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;
    bool plain = whole > 0 && (text[whole] == '\0' || (text[whole] == '.' && fraction > 0 &&
                                                       text[whole + 1 + fraction] == '\0'));
    const char *problem = NULL, *hint = "write it with digits and a point, like 0.25";
    if (type != LEAT_YAML_TYPE_INTEGER && type != LEAT_YAML_TYPE_NUMBER) {
        problem = "a value of the wrong type";
        hint = type == LEAT_YAML_TYPE_TEXT && !reader->yaml.nodes[node].plain
                   ? "write it without the quotes"
                   : hint;
    } else if (text[0] == '-') {
        problem = "a negative number";
    } else if (!plain) {
        problem = "a decimal that is not written with digits and a point alone";
    } else if (fraction > 6) {
        problem = "more than six digits after the point";
        hint = "round it to six digits after the point";
    } else if (whole > 12) {
        problem = "a number out of range";
        hint = "weights are relative: divide all of them by the same number";
    } else if (whole > 1 && text[0] == '0') {
        problem = "a number with leading zeros";
    }
    if (problem != NULL) {
        leat_job_fail_at(reader, node, place, name, "%s", problem);
        leat_error_wanted(reader->error, "a decimal with at most 6 digits after the point");
        leat_error_hint(reader->error, "%s", hint);
        return LEAT_INVALID;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < whole + 6; i++) {
        size_t at = i < whole ? i : i + 1;
        value = value * 10 + (i < whole + fraction ? (uint64_t)(text[at] - '0') : 0);
    }
    *millionths = value;
    return LEAT_OK;
}

static leat_status read_weight(const leat_job_reader *reader, size_t node, const leat_job_key *key,
                               const char *place, leat_job_dataset *dataset)
{
    uint64_t value;
    leat_yaml_type type = leat_yaml_type_of(&reader->yaml, node);
    if (type == LEAT_YAML_TYPE_TEXT && strcmp(reader->yaml.nodes[node].text, "bytes") == 0) {
        dataset->weight_kind = LEAT_WEIGHT_BYTES;
        return LEAT_OK;
    }
    leat_status status = leat_job_read_decimal(reader, node, place, "weight", &value);
    if (status == LEAT_OK && value == 0) {
        status = fail_wanted(reader, node, key, place, "a weight of zero");
        leat_error_hint(reader->error, "remove the dataset, or give it a weight above 0");
    } else if (status == LEAT_OK) {
        dataset->weight_kind = LEAT_WEIGHT_NUMBER;
        dataset->weight_millionths = value;
    } else {
        char wanted[192];
        leat_job_key_wanted(key, wanted);
        leat_error_wanted(reader->error, "%s", wanted);
    }
    return status;
}

static leat_status read_choice(const leat_job_reader *reader, size_t node, const leat_job_key *key,
                               const char *place, size_t *out)
{
    char name[32], nearest[32] = "";
    size_t best = 3;
    if (leat_yaml_type_of(&reader->yaml, node) != LEAT_YAML_TYPE_TEXT) {
        return wrong_type(reader, node, key, place);
    }
    const char *text = reader->yaml.nodes[node].text;
    for (size_t i = 0; leat_job_choice(key->choices, i, name); i++) {
        if (strcmp(name, text) == 0) {
            *out = i;
            return LEAT_OK;
        }
        size_t distance = leat_job_text_distance(text, name, 2);
        if (distance < best) {
            best = distance;
            memcpy(nearest, name, sizeof nearest);
        }
    }
    fail_wanted(reader, node, key, place, "not one of the choices");
    if (nearest[0] != '\0') {
        leat_error_hint(reader->error, "did you mean %s?", nearest);
    }
    return LEAT_INVALID;
}

static leat_status read_text(const leat_job_reader *reader, size_t node, const leat_job_key *key,
                             const char *place, char **out)
{
    if (leat_yaml_type_of(&reader->yaml, node) != LEAT_YAML_TYPE_TEXT) {
        return wrong_type(reader, node, key, place);
    }
    size_t bytes = strlen(reader->yaml.nodes[node].text);
    if (bytes < key->min || bytes > key->max) {
        return fail_wanted(reader, node, key, place,
                           bytes == 0 ? "an empty text" : "a text that is too long");
    }
    leat_free(*out);
    *out = leat_strdup(reader->yaml.nodes[node].text);
    return LEAT_OK;
}

static leat_status read_token(const leat_job_reader *reader, size_t node, const leat_job_key *key,
                              const char *place, leat_token_name *out)
{
    leat_yaml_type type = leat_yaml_type_of(&reader->yaml, node);
    if (type == LEAT_YAML_TYPE_TEXT && reader->yaml.nodes[node].text[0] != '\0') {
        out->kind = LEAT_TOKEN_TEXT;
        out->text = leat_strdup(reader->yaml.nodes[node].text);
        return LEAT_OK;
    }
    uint64_t id = 0;
    if (type != LEAT_YAML_TYPE_INTEGER) {
        return wrong_type(reader, node, key, place);
    }
    leat_status status = read_integer(reader, node, key, place, &id);
    if (status == LEAT_OK) {
        out->kind = LEAT_TOKEN_ID;
        out->id = (uint32_t)id;
    }
    return status;
}

static leat_status read_fraction(const leat_job_reader *reader, size_t node,
                                 const leat_job_key *key, const char *place, uint32_t *out)
{
    uint64_t value;
    leat_status status = leat_job_read_decimal(reader, node, place, key_name(key), &value);
    if (status == LEAT_OK && value > key->max) {
        status = fail_wanted(reader, node, key, place, "a number out of range");
    } else if (status == LEAT_OK) {
        *out = (uint32_t)value;
    }
    return status;
}

static leat_status read_bool(const leat_job_reader *reader, size_t node, const leat_job_key *key,
                             const char *place, bool *out)
{
    const char *text = reader->yaml.nodes[node].text;
    bool is_bool = leat_yaml_type_of(&reader->yaml, node) == LEAT_YAML_TYPE_BOOL;
    if (!is_bool || (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)) {
        return wrong_type(reader, node, key, place);
    }
    *out = text[0] == 't';
    return LEAT_OK;
}

static leat_status read_number(const leat_job_reader *reader, size_t node, const leat_job_key *key,
                               const char *place, void *at)
{
    uint64_t number = 0;
    size_t choice = 0;
    leat_status status;
    if (key->type == LEAT_KEY_U64 || key->type == LEAT_KEY_U32) {
        status = read_integer(reader, node, key, place, &number);
    } else {
        status = read_choice(reader, node, key, place, &choice);
    }
    if (status != LEAT_OK) {
        return status;
    }
    if (key->type == LEAT_KEY_U64) {
        *(uint64_t *)at = number;
    } else if (key->type == LEAT_KEY_U32) {
        *(uint32_t *)at = (uint32_t)number;
    } else if (key->type == LEAT_KEY_CHOICE) {
        *(int *)at = (int)choice;
    } else if (key->type == LEAT_KEY_FLAG_CHOICE) {
        *(bool *)at = choice == 1;
    } else {
        leat_free(*(char **)at);
        *(char **)at = leat_strdup(reader->yaml.nodes[node].text);
    }
    return LEAT_OK;
}

leat_status leat_job_read_scalar(const leat_job_reader *reader, size_t node,
                                 const leat_job_key *key, const char *place, void *at)
{
    switch (key->type) {
    case LEAT_KEY_U64:
    case LEAT_KEY_U32:
    case LEAT_KEY_CHOICE:
    case LEAT_KEY_FLAG_CHOICE:
    case LEAT_KEY_TEXT_CHOICE:
        return read_number(reader, node, key, place, at);
    case LEAT_KEY_BOOL:
        return read_bool(reader, node, key, place, at);
    case LEAT_KEY_TEXT:
        return read_text(reader, node, key, place, at);
    case LEAT_KEY_TOKEN:
        return read_token(reader, node, key, place, at);
    case LEAT_KEY_FRACTION:
        return read_fraction(reader, node, key, place, at);
    case LEAT_KEY_WEIGHT:
        return read_weight(
            reader, node, key, place,
            (leat_job_dataset *)((char *)at - offsetof(leat_job_dataset, weight_millionths)));
    case LEAT_KEY_TEXTS:
    case LEAT_KEY_SIZES:
    case LEAT_KEY_WEIGHTS:
    case LEAT_KEY_MAP:
    case LEAT_KEY_DATASETS:
    case LEAT_KEY_STAGES:
        break;
    }
    return wrong_type(reader, node, key, place);
}
