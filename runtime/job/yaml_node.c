/* What is done with a YAML tree once it is there. */
#include "job/yaml.h"
#include "base/memory.h"
#include <inttypes.h>
#include <stdio.h>

static bool is_one_of(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* Numbers of YAML 1.1 and 1.2, so that nothing which another reader takes for a number is text here. */
static bool is_number(const char *text)
{
    static const char *const words[] = {".inf", ".Inf", ".INF", "-.inf", "+.inf", ".nan", ".NaN"};
    if (is_one_of(text, words, sizeof words / sizeof *words)) {
        return true;
    }
    const char *at = text + (*text == '-' || *text == '+');
    if (at[0] == '0' && (at[1] == 'x' || at[1] == 'o' || at[1] == 'b')) {
        return at[2] != '\0' && strspn(at + 2, "0123456789abcdefABCDEF_") == strlen(at + 2);
    }
    size_t before = strspn(at, "0123456789_"), after = 0;
    if (before > 0 && at[0] == '_') {
        return false;
    }
    at += before;
    if (*at == '.') {
        after = strspn(at + 1, "0123456789_");
        at += 1 + after;
    }
    if (before + after == 0) {
        return false;
    }
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '-' || *at == '+';
        if (digits(at) == 0) {
            return false;
        }
        at += digits(at);
    }
    return *at == '\0';
}

leat_yaml_type leat_yaml_type_of(const leat_yaml *yaml, size_t node)
{
    static const char *const nulls[] = {"", "null", "Null", "NULL", "~"};
    static const char *const bools[] = {"true", "false", "True", "False", "TRUE", "FALSE",
                                        "yes",  "no",    "Yes",  "No",    "on",   "off"};
    const leat_yaml_node *item = &yaml->nodes[node];
    if (item->kind == LEAT_YAML_LIST) {
        return LEAT_YAML_TYPE_LIST;
    }
    if (item->kind == LEAT_YAML_MAP) {
        return LEAT_YAML_TYPE_MAP;
    }
    if (!item->plain) {
        return LEAT_YAML_TYPE_TEXT;
    }
    if (is_one_of(item->text, nulls, sizeof nulls / sizeof *nulls)) {
        return LEAT_YAML_TYPE_NULL;
    }
    if (is_one_of(item->text, bools, sizeof bools / sizeof *bools)) {
        return LEAT_YAML_TYPE_BOOL;
    }
    if (item->text[digits(item->text)] == '\0') {
        return LEAT_YAML_TYPE_INTEGER;
    }
    return is_number(item->text) ? LEAT_YAML_TYPE_NUMBER : LEAT_YAML_TYPE_TEXT;
}

size_t leat_yaml_member(const leat_yaml *yaml, size_t map, const char *key)
{
    size_t node = yaml->nodes[map].kind == LEAT_YAML_MAP ? yaml->nodes[map].first : LEAT_YAML_NONE;
    while (node != LEAT_YAML_NONE && strcmp(yaml->nodes[node].key, key) != 0) {
        node = yaml->nodes[node].after;
    }
    return node;
}

void leat_yaml_put(leat_yaml *yaml, size_t map, const char *key, size_t value)
{
    leat_yaml_node *into = &yaml->nodes[map];
    size_t before = LEAT_YAML_NONE, node = into->first;
    while (node != LEAT_YAML_NONE && strcmp(yaml->nodes[node].key, key) != 0) {
        before = node;
        node = yaml->nodes[node].after;
    }
    yaml->nodes[value].key = leat_strdup(key);
    yaml->nodes[value].after = node == LEAT_YAML_NONE ? LEAT_YAML_NONE : yaml->nodes[node].after;
    if (before == LEAT_YAML_NONE) {
        into->first = value;
    } else {
        yaml->nodes[before].after = value;
    }
    if (node == LEAT_YAML_NONE) {
        into->count++;
    }
    if (node == into->last) {
        into->last = value;
    }
}

static size_t node_make(leat_yaml *yaml, leat_yaml_kind kind, uint32_t line, uint32_t origin)
{
    LEAT_GROW(yaml->nodes, yaml->node_capacity, yaml->node_count + 1);
    yaml->nodes[yaml->node_count] = (leat_yaml_node){.kind = kind,
                                                     .plain = true,
                                                     .line = line,
                                                     .origin = origin,
                                                     .first = LEAT_YAML_NONE,
                                                     .last = LEAT_YAML_NONE,
                                                     .after = LEAT_YAML_NONE};
    return yaml->node_count++;
}

size_t leat_yaml_map(leat_yaml *yaml, size_t like)
{
    return node_make(yaml, LEAT_YAML_MAP, yaml->nodes[like].line, yaml->nodes[like].origin);
}

size_t leat_yaml_null(leat_yaml *yaml)
{
    size_t node = node_make(yaml, LEAT_YAML_SCALAR, 1, (uint32_t)(yaml->origin_count - 1));
    yaml->nodes[node].text = leat_strdup("");
    return node;
}

void leat_yaml_where(const leat_yaml *yaml, size_t node, char out[256])
{
    const leat_yaml_node *item = &yaml->nodes[node];
    if (item->origin == 0) {
        snprintf(out, 256, "%s:%" PRIu32, yaml->origins[0], item->line);
    } else {
        snprintf(out, 256, "%s", yaml->origins[item->origin]);
    }
}

void leat_yaml_quote(const char *text, char out[96])
{
    size_t used = 0;
    out[used++] = '"';
    for (const char *at = text; *at != '\0'; at++) {
        unsigned char c = (unsigned char)*at;
        if (used > 80 && (c & 0xc0) != 0x80) {
            memcpy(out + used, "…", 3);
            used += 3;
            break;
        }
        if (c < 0x20 || c == 0x7f) {
            used += (size_t)snprintf(out + used, 96 - used, "\\x%02x", c);
        } else {
            out[used++] = (char)c;
        }
    }
    out[used++] = '"';
    out[used] = '\0';
}

void leat_yaml_describe(const leat_yaml *yaml, size_t node, char out[128])
{
    const leat_yaml_node *item = &yaml->nodes[node];
    char quoted[96];
    switch (leat_yaml_type_of(yaml, node)) {
    case LEAT_YAML_TYPE_NULL:
        snprintf(out, 128, "nothing (null)");
        return;
    case LEAT_YAML_TYPE_BOOL:
    case LEAT_YAML_TYPE_INTEGER:
    case LEAT_YAML_TYPE_NUMBER:
        snprintf(out, 128, "%.80s", item->text);
        return;
    case LEAT_YAML_TYPE_TEXT:
        leat_yaml_quote(item->text, quoted);
        snprintf(out, 128, "the text %s", quoted);
        return;
    case LEAT_YAML_TYPE_LIST:
        snprintf(out, 128, "a list of %zu", item->count);
        return;
    case LEAT_YAML_TYPE_MAP:
        snprintf(out, 128, "a mapping");
        return;
    }
}
