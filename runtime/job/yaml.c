#include "job/yaml.h"
#include "base/memory.h"
#include "base/utf8.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

typedef struct level {
    size_t node;
    char *key; /* a key that waits for its value */
    uint32_t key_line;
} level;

typedef struct builder {
    leat_yaml *yaml;
    uint32_t origin;
    level levels[LEAT_YAML_DEPTH];
    size_t depth;
    size_t root;
    leat_error *error;
} builder;

static leat_status fail_line(const builder *b, uint64_t line, const char *text)
{
    LEAT_FAIL(b->error, LEAT_INVALID, "%s", text);
    if (b->origin == 0) {
        leat_error_where(b->error, "%s:%" PRIu64, b->yaml->origins[0], line);
    } else {
        leat_error_where(b->error, "%s", b->yaml->origins[b->origin]);
    }
    return LEAT_INVALID;
}

/* What YAML does not allow beyond ASCII: U+0080 … U+009F but U+0085, and U+FFFE, U+FFFF. */
static bool is_unprintable(const uint8_t *at, size_t length)
{
    return (length == 2 && at[0] == 0xc2 && at[1] < 0xa0 && at[1] != 0x85) ||
           (length == 3 && at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe);
}

/* Bytes are checked here and not left to libyaml, because its messages for them name no line. */
static leat_status check_bytes(const builder *b, leat_bytes text)
{
    uint64_t line = 1;
    for (size_t at = 0; at < text.size;) {
        uint8_t c = text.data[at];
        size_t length = leat_utf8_length(text.data + at, text.size - at, NULL);
        bool control = (c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7f ||
                       (length > 1 && is_unprintable(text.data + at, length));
        if (length == 0 || control) {
            fail_line(b, line,
                      length == 0 ? "the file is not valid UTF-8"
                                  : "the file holds a control character");
            leat_error_found(b->error, "byte 0x%02x at byte %zu", c, at);
            leat_error_wanted(b->error, "UTF-8 text");
            leat_error_hint(b->error, length == 0 ? "save the file as UTF-8"
                                                  : "is this a binary file? remove that byte");
            return LEAT_INVALID;
        }
        line += c == '\n';
        at += length;
    }
    return LEAT_OK;
}

static size_t node_new(leat_yaml *yaml, leat_yaml_kind kind, uint32_t line, uint32_t origin)
{
    LEAT_GROW(yaml->nodes, yaml->node_capacity, yaml->node_count + 1);
    yaml->nodes[yaml->node_count] = (leat_yaml_node){.kind = kind,
                                                     .line = line,
                                                     .origin = origin,
                                                     .first = LEAT_YAML_NONE,
                                                     .last = LEAT_YAML_NONE,
                                                     .after = LEAT_YAML_NONE};
    return yaml->node_count++;
}

static void append(leat_yaml *yaml, size_t parent, size_t child)
{
    leat_yaml_node *into = &yaml->nodes[parent];
    if (into->last == LEAT_YAML_NONE) {
        into->first = child;
    } else {
        yaml->nodes[into->last].after = child;
    }
    into->last = child;
    into->count++;
}

/* Hangs a finished scalar or an opening collection into the place that waits for it. */
static leat_status place(builder *b, size_t node)
{
    if (b->depth == 0) {
        b->root = node;
        return LEAT_OK;
    }
    level *top = &b->levels[b->depth - 1];
    leat_yaml_node *item = &b->yaml->nodes[node];
    if (b->yaml->nodes[top->node].kind == LEAT_YAML_MAP) {
        if (top->key == NULL) {
            if (item->kind != LEAT_YAML_SCALAR) {
                fail_line(b, item->line, "a list or a mapping cannot be a key");
                leat_error_wanted(b->error, "a key of plain text");
                return LEAT_INVALID;
            }
            top->key = item->text;
            top->key_line = item->line;
            item->text = NULL;
            b->yaml->node_count--;
            return LEAT_OK;
        }
        item->key = top->key;
        item->line = top->key_line;
        top->key = NULL;
    }
    append(b->yaml, top->node, node);
    return LEAT_OK;
}

typedef struct named {
    const char *key;
    size_t node;
} named;

static int by_key(const void *left, const void *right)
{
    const named *a = left, *c = right;
    int order = strcmp(a->key, c->key);
    return order != 0 ? order : (a->node > c->node) - (a->node < c->node);
}

static leat_status check_duplicates(builder *b, size_t map)
{
    const leat_yaml *yaml = b->yaml;
    size_t count = yaml->nodes[map].count, found = 0;
    if (count < 2) {
        return LEAT_OK;
    }
    named *keys = leat_alloc(count, sizeof *keys);
    for (size_t n = yaml->nodes[map].first; n != LEAT_YAML_NONE; n = yaml->nodes[n].after) {
        keys[found++] = (named){yaml->nodes[n].key, n};
    }
    qsort(keys, count, sizeof *keys, by_key);
    leat_status status = LEAT_OK;
    for (size_t i = 1; i < count && status == LEAT_OK; i++) {
        if (strcmp(keys[i].key, keys[i - 1].key) == 0) {
            char quoted[96];
            leat_yaml_quote(keys[i].key, quoted);
            status = fail_line(b, yaml->nodes[keys[i].node].line, "a key is given twice");
            leat_error_found(b->error, "%s, first on line %" PRIu32, quoted,
                             yaml->nodes[keys[i - 1].node].line);
            leat_error_wanted(b->error, "each key once");
            leat_error_hint(b->error, "remove one of the two lines");
        }
    }
    leat_free(keys);
    return status;
}

static leat_status refuse_marks(const builder *b, const yaml_event_t *event, const void *anchor,
                                const void *tag)
{
    if (anchor == NULL && tag == NULL) {
        return LEAT_OK;
    }
    char quoted[96];
    leat_yaml_quote(anchor != NULL ? anchor : tag, quoted);
    fail_line(b, event->start_mark.line + 1,
              event->type == YAML_ALIAS_EVENT ? "aliases are not allowed"
              : anchor != NULL                ? "anchors are not allowed"
                                              : "tags are not allowed");
    leat_error_found(b->error, "%s %s",
                     event->type == YAML_ALIAS_EVENT ? "the alias"
                     : anchor != NULL                ? "the anchor"
                                                     : "the tag",
                     quoted);
    leat_error_wanted(b->error, "every value written out where it is used");
    leat_error_hint(b->error, "a text that begins with *, & or ! needs quotes");
    return LEAT_INVALID;
}

static leat_status on_scalar(builder *b, const yaml_event_t *event)
{
    uint32_t line = (uint32_t)(event->start_mark.line + 1);
    leat_status status = refuse_marks(b, event, event->data.scalar.anchor, event->data.scalar.tag);
    if (status != LEAT_OK) {
        return status;
    }
    const char *value = (const char *)event->data.scalar.value;
    if (memchr(value, 0, event->data.scalar.length) != NULL) {
        fail_line(b, line, "a text holds a NUL character");
        leat_error_wanted(b->error, "a text without \\0");
        return LEAT_INVALID;
    }
    size_t node = node_new(b->yaml, LEAT_YAML_SCALAR, line, b->origin);
    b->yaml->nodes[node].text = leat_strndup(value, event->data.scalar.length);
    b->yaml->nodes[node].plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    return place(b, node);
}

static leat_status on_open(builder *b, const yaml_event_t *event)
{
    bool map = event->type == YAML_MAPPING_START_EVENT;
    uint32_t line = (uint32_t)(event->start_mark.line + 1);
    leat_status status = refuse_marks(
        b, event, map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor,
        map ? event->data.mapping_start.tag : event->data.sequence_start.tag);
    if (status != LEAT_OK) {
        return status;
    }
    if (b->depth == LEAT_YAML_DEPTH) {
        fail_line(b, line, "lists and mappings are nested too deeply");
        leat_error_wanted(b->error, "at most %d levels", LEAT_YAML_DEPTH);
        return LEAT_INVALID;
    }
    size_t node = node_new(b->yaml, map ? LEAT_YAML_MAP : LEAT_YAML_LIST, line, b->origin);
    status = place(b, node);
    if (status == LEAT_OK) {
        b->levels[b->depth++] = (level){node, NULL, 0};
    }
    return status;
}

static leat_status on_event(builder *b, const yaml_event_t *event, unsigned *documents)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (++*documents > 1) {
            fail_line(b, event->start_mark.line + 1, "there is more than one YAML document");
            leat_error_found(b->error, "a second document after ---");
            leat_error_wanted(b->error, "one document");
            leat_error_hint(b->error, "one job file describes one job: remove the rest");
            return LEAT_INVALID;
        }
        return LEAT_OK;
    case YAML_ALIAS_EVENT:
        return refuse_marks(b, event, event->data.alias.anchor, NULL);
    case YAML_SCALAR_EVENT:
        return on_scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return on_open(b, event);
    case YAML_MAPPING_END_EVENT:
        b->depth--;
        return check_duplicates(b, b->levels[b->depth].node);
    case YAML_SEQUENCE_END_EVENT:
        b->depth--;
        return LEAT_OK;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
    return LEAT_OK;
}

static leat_status fail_syntax(const builder *b, const yaml_parser_t *parser)
{
    if (parser->error == YAML_MEMORY_ERROR) {
        return LEAT_FAIL(b->error, LEAT_LIMIT, "not enough memory to read %s",
                         b->yaml->origins[b->origin]);
    }
    fail_line(b, parser->problem_mark.line + 1, "this is not valid YAML");
    leat_error_found(b->error, "%s (column %zu)",
                     parser->problem != NULL ? parser->problem : "a syntax error",
                     parser->problem_mark.column + 1);
    leat_error_wanted(b->error, "YAML or JSON");
    leat_error_hint(b->error, "look at the indentation, and at brackets and quotes that are not "
                              "closed; texts with special characters need quotes");
    return LEAT_INVALID;
}

static unsigned hex4(const uint8_t *at)
{
    unsigned value = 0;
    for (int i = 0; i < 4; i++) {
        unsigned c = at[i], digit = c - '0';
        if (digit > 9) {
            digit = (c | 32u) - 'a' + 10;
            if (digit < 10 || digit > 15) {
                return 0;
            }
        }
        value = value * 16 + digit;
    }
    return value;
}

/* JSON writes characters above U+FFFF as two escapes; YAML does not know that, so pairs become one \U escape. */
static void join_surrogates(leat_bytes text, leat_buffer *out)
{
    for (size_t at = 0; at < text.size;) {
        const uint8_t *p = text.data + at;
        if (p[0] == '\\' && text.size - at >= 12 && p[1] == 'u' && p[6] == '\\' && p[7] == 'u') {
            unsigned high = hex4(p + 2), low = hex4(p + 8);
            if (high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
                leat_buffer_add_format(out, "\\U%08x",
                                       0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
                at += 12;
                continue;
            }
        }
        size_t bytes = p[0] == '\\' && text.size - at > 1 ? 2 : 1;
        leat_buffer_add(out, p, bytes);
        at += bytes;
    }
}

static leat_status parse(builder *b, leat_bytes text)
{
    yaml_parser_t parser;
    if (yaml_parser_initialize(&parser) == 0) {
        return LEAT_FAIL(b->error, LEAT_LIMIT, "not enough memory for a YAML parser");
    }
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, text.data, text.size);
    leat_status status = LEAT_OK;
    unsigned documents = 0;
    for (bool more = true; more && status == LEAT_OK;) {
        yaml_event_t event;
        if (yaml_parser_parse(&parser, &event) == 0) {
            status = fail_syntax(b, &parser);
            break;
        }
        status = on_event(b, &event, &documents);
        more = event.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    for (size_t i = 0; i < LEAT_YAML_DEPTH; i++) {
        leat_free(b->levels[i].key);
    }
    return status;
}

leat_status leat_yaml_add(leat_yaml *yaml, leat_bytes text, const char *name, size_t *root,
                          leat_error *error)
{
    *root = LEAT_YAML_NONE;
    LEAT_GROW(yaml->origins, yaml->origin_capacity, yaml->origin_count + 1);
    yaml->origins[yaml->origin_count] = leat_strdup(name);
    builder b = {.yaml = yaml,
                 .origin = (uint32_t)yaml->origin_count++,
                 .root = LEAT_YAML_NONE,
                 .error = error};
    if (text.size > LEAT_YAML_BYTES_MAX) {
        LEAT_FAIL(error, LEAT_LIMIT, "%s is too large", name);
        leat_error_found(error, "%zu bytes", text.size);
        leat_error_wanted(error, "at most %zu bytes", LEAT_YAML_BYTES_MAX);
        return LEAT_LIMIT;
    }
    leat_status status = check_bytes(&b, text);
    if (status != LEAT_OK) {
        return status;
    }
    if (text.size >= 3 && memcmp(text.data, "\xef\xbb\xbf", 3) == 0) {
        text.data += 3;
        text.size -= 3;
    }
    size_t start = 0;
    while (start < text.size && strchr(" \t\r\n", text.data[start]) != NULL) {
        start++;
    }
    leat_buffer joined = {0};
    if (start < text.size && (text.data[start] == '{' || text.data[start] == '"')) {
        join_surrogates(text, &joined);
        text = (leat_bytes){joined.data, joined.size};
    }
    status = parse(&b, text);
    leat_buffer_deinit(&joined);
    if (status == LEAT_OK) {
        *root = b.root;
    }
    return status;
}

void leat_yaml_deinit(leat_yaml *yaml)
{
    for (size_t i = 0; i < yaml->node_count; i++) {
        leat_free(yaml->nodes[i].text);
        leat_free(yaml->nodes[i].key);
    }
    for (size_t i = 0; i < yaml->origin_count; i++) {
        leat_free(yaml->origins[i]);
    }
    leat_free(yaml->nodes);
    leat_free(yaml->origins);
    *yaml = (leat_yaml){0};
}
