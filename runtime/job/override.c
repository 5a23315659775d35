/* --set key=value: the value is YAML; datasets are named, and their names may hold any character. */
#include "job/read.h"
#include "base/memory.h"
#include <stdio.h>

/* INVALID about the override as a whole. */
static leat_status fail_set(const leat_job_reader *reader, const char *override, const char *what)
{
    LEAT_FAIL(reader->error, LEAT_INVALID, "--set: %s", what);
    leat_error_where(reader->error, "--set %.200s", override);
    leat_error_found(reader->error, "%.160s", override);
    leat_error_wanted(reader->error, "key=value, like seed=8, tokenizer.eos=null or "
                                     "datasets.NAME.weight=0.5");
    return LEAT_INVALID;
}

/* The dataset whose name `text` begins with, before a '.'; the longest such name.  Its node, and the bytes of the name. */
static size_t find_dataset(const leat_job_reader *reader, const char *text, size_t *name_bytes)
{
    const leat_yaml *yaml = &reader->yaml;
    size_t list = leat_yaml_member(yaml, reader->root, "datasets"), best = LEAT_YAML_NONE;
    *name_bytes = 0;
    if (list == LEAT_YAML_NONE || yaml->nodes[list].kind != LEAT_YAML_LIST) {
        return LEAT_YAML_NONE;
    }
    for (size_t at = yaml->nodes[list].first; at != LEAT_YAML_NONE; at = yaml->nodes[at].after) {
        size_t name = leat_yaml_member(yaml, at, "name");
        if (name == LEAT_YAML_NONE || yaml->nodes[name].kind != LEAT_YAML_SCALAR) {
            continue;
        }
        size_t bytes = strlen(yaml->nodes[name].text);
        if (strncmp(text, yaml->nodes[name].text, bytes) == 0 && text[bytes] == '.' &&
            (best == LEAT_YAML_NONE || bytes > *name_bytes)) {
            best = at;
            *name_bytes = bytes;
        }
    }
    return best;
}

static leat_status unknown_dataset(const leat_job_reader *reader, const char *override)
{
    const leat_yaml *yaml = &reader->yaml;
    const char *name = override + strlen("datasets."), *near = NULL;
    char wanted[128];
    snprintf(wanted, sizeof wanted, "%.*s", (int)strcspn(name, ".="), name);
    fail_set(reader, override, "there is no dataset of that name");
    leat_error_found(reader->error, "%s", wanted);
    leat_error_wanted(reader->error,
                      "datasets.NAME.key=value with the NAME of a dataset of the job");
    size_t list = leat_yaml_member(yaml, reader->root, "datasets"), best = 4;
    size_t at = list != LEAT_YAML_NONE ? yaml->nodes[list].first : LEAT_YAML_NONE;
    for (; at != LEAT_YAML_NONE; at = yaml->nodes[at].after) {
        size_t node = leat_yaml_member(yaml, at, "name");
        if (node == LEAT_YAML_NONE || yaml->nodes[node].kind != LEAT_YAML_SCALAR) {
            continue;
        }
        size_t distance = leat_job_text_distance(wanted, yaml->nodes[node].text, 3);
        if (distance < best) {
            best = distance;
            near = yaml->nodes[node].text;
        }
    }
    if (near != NULL) {
        leat_error_hint(reader->error, "did you mean %.200s?", near);
    }
    return LEAT_INVALID;
}

/* Walks from `map` along `path` ("a.b.c" before '='), making mappings that are not there, and puts the value at its end. */
static leat_status put_at(leat_job_reader *reader, size_t map, const char *path, size_t value,
                          const char *override)
{
    leat_yaml *yaml = &reader->yaml;
    size_t length = strcspn(path, "=");
    while (true) {
        size_t part = strcspn(path, ".=");
        if (part == 0 || yaml->nodes[map].kind != LEAT_YAML_MAP) {
            return fail_set(reader, override,
                            part == 0 ? "a part of the key is empty"
                                      : "the key goes into something that holds no keys");
        }
        char *key = leat_strndup(path, part);
        if (part == length) {
            leat_yaml_put(yaml, map, key, value);
            leat_free(key);
            return LEAT_OK;
        }
        size_t inner = leat_yaml_member(yaml, map, key);
        if (inner == LEAT_YAML_NONE || leat_yaml_type_of(yaml, inner) == LEAT_YAML_TYPE_NULL) {
            inner = leat_yaml_map(yaml, value);
            leat_yaml_put(yaml, map, key, inner);
        }
        leat_free(key);
        map = inner;
        path += part + 1;
        length -= part + 1;
    }
}

leat_status leat_job_override(leat_job_reader *reader, const char *override)
{
    size_t map = reader->root, name_bytes = 0, value;
    const char *path = override;
    if (strncmp(override, "datasets.", 9) == 0) {
        map = find_dataset(reader, override + 9, &name_bytes);
        if (map == LEAT_YAML_NONE) {
            return unknown_dataset(reader, override);
        }
        path = override + 9 + name_bytes + 1;
    }
    const char *equals = strchr(path, '=');
    if (equals == NULL || equals == path) {
        return fail_set(reader, override, equals == NULL ? "there is no =" : "there is no key");
    }
    char *name = leat_format("--set %s", override);
    leat_bytes text = {(const uint8_t *)equals + 1, strlen(equals + 1)};
    leat_status status = leat_yaml_add(&reader->yaml, text, name, &value, reader->error);
    leat_free(name);
    if (status == LEAT_OK && value == LEAT_YAML_NONE) {
        value = leat_yaml_null(&reader->yaml); /* nothing after the = */
    }
    return status == LEAT_OK ? put_at(reader, map, path, value, override) : status;
}
