/* From the tree to the values: one walk over the schema table. */
#include "job/read.h"
#include "base/memory.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static leat_status read_map(leat_job_reader *reader, size_t node, const char *level,
                            const char *place, void *base);

static leat_status unknown_key(const leat_job_reader *reader, size_t node, const char *level,
                               const char *place)
{
    char quoted[96], where[256];
    bool elsewhere;
    const char *key = reader->yaml.nodes[node].key;
    leat_yaml_quote(key, quoted);
    leat_yaml_where(&reader->yaml, node, where);
    LEAT_FAIL(reader->error, LEAT_INVALID, "%.200s%.96s: an unknown key", place, key);
    leat_error_where(reader->error, "%s, key %.200s%.96s", where, place, key);
    leat_error_found(reader->error, "the key %s", quoted);
    const leat_job_key *near = leat_job_key_nearest(level, key, &elsewhere);
    leat_error_wanted(reader->error, "a key that leat knows");
    if (near != NULL && elsewhere) {
        leat_error_hint(reader->error, "did you mean %s?", near->path);
    } else if (near != NULL) {
        const char *dot = strrchr(near->path, '.');
        leat_error_hint(reader->error, "did you mean %s?", dot != NULL ? dot + 1 : near->path);
    } else {
        leat_error_hint(reader->error, "docs/job-file.md lists every key");
    }
    return LEAT_INVALID;
}

static void set_default(const leat_job_key *key, void *at)
{
    switch (key->type) {
    case LEAT_KEY_U64:
        *(uint64_t *)at = key->initial;
        break;
    case LEAT_KEY_U32:
    case LEAT_KEY_FRACTION:
        *(uint32_t *)at = (uint32_t)key->initial;
        break;
    case LEAT_KEY_BOOL:
    case LEAT_KEY_FLAG_CHOICE:
        *(bool *)at = key->initial != 0;
        break;
    case LEAT_KEY_CHOICE:
        *(int *)at = (int)key->initial;
        break;
    case LEAT_KEY_TEXT:
        if (strcmp(key->default_text, "null") != 0) {
            *(char **)at = leat_strdup(key->default_text);
        }
        break;
    case LEAT_KEY_SIZES:
        *(leat_plan_batch_size **)at = leat_alloc(1, sizeof(leat_plan_batch_size));
        (*(leat_plan_batch_size **)at)->rows = key->initial;
        break;
    case LEAT_KEY_TEXT_CHOICE:
    case LEAT_KEY_TOKEN:
    case LEAT_KEY_WEIGHT:
    case LEAT_KEY_TEXTS:
    case LEAT_KEY_WEIGHTS:
    case LEAT_KEY_MAP:
    case LEAT_KEY_DATASETS:
    case LEAT_KEY_STAGES:
        break; /* zero bytes are the default */
    }
}

static leat_status fail_list(const leat_job_reader *reader, size_t node, const leat_job_key *key,
                             const char *place, const char *what)
{
    char wanted[192];
    const char *dot = strrchr(key->path, '.');
    leat_job_fail_at(reader, node, place, dot != NULL ? dot + 1 : key->path, "%s", what);
    leat_job_key_wanted(key, wanted);
    leat_error_wanted(reader->error, "%s", wanted);
    return LEAT_INVALID;
}

static leat_status read_texts(leat_job_reader *reader, size_t node, const char *place,
                              leat_job_dataset *dataset)
{
    const leat_job_key *key = leat_job_key_find("datasets[].", "files");
    const leat_job_key text_key = {"datasets[].files", LEAT_KEY_TEXT, .min = key->min,
                                   .max = key->max};
    const leat_yaml_node *item = &reader->yaml.nodes[node];
    bool list = item->kind == LEAT_YAML_LIST;
    if (item->kind == LEAT_YAML_MAP || (list && item->count == 0)) {
        return fail_list(reader, node, key, place,
                         list ? "an empty list" : "a value of the wrong type");
    }
    dataset->files = leat_alloc(list ? item->count : 1, sizeof *dataset->files);
    leat_status status = LEAT_OK;
    for (size_t at = list ? item->first : node; at != LEAT_YAML_NONE && status == LEAT_OK;
         at = list ? reader->yaml.nodes[at].after : LEAT_YAML_NONE) {
        status = leat_job_read_scalar(reader, at, &text_key, place,
                                      &dataset->files[dataset->file_count]);
        dataset->file_count += status == LEAT_OK;
    }
    return status;
}

static leat_status read_sizes(leat_job_reader *reader, size_t node)
{
    leat_job *job = reader->job;
    const leat_job_key *key = leat_job_key_find("", "batch_size");
    const leat_yaml_node *item = &reader->yaml.nodes[node];
    if (item->kind == LEAT_YAML_MAP || (item->kind == LEAT_YAML_LIST && item->count == 0)) {
        return fail_list(reader, node, key, "",
                         item->kind == LEAT_YAML_MAP ? "a value of the wrong type"
                                                     : "an empty list");
    }
    if (item->kind == LEAT_YAML_SCALAR) {
        leat_job_key number = *leat_job_key_find("batch_size[].", "batch_size");
        number.path = "batch_size";
        job->batch_sizes = leat_alloc(1, sizeof *job->batch_sizes);
        job->batch_size_count = 1;
        return leat_job_read_scalar(reader, node, &number, "", &job->batch_sizes[0].rows);
    }
    job->batch_sizes = leat_alloc(item->count, sizeof *job->batch_sizes);
    for (size_t at = item->first; at != LEAT_YAML_NONE; at = reader->yaml.nodes[at].after) {
        char place[48];
        size_t i = job->batch_size_count++;
        snprintf(place, sizeof place, "batch_size[%zu].", i);
        leat_plan_batch_size *size = &job->batch_sizes[i];
        leat_status status = read_map(reader, at, "batch_size[].", place, size);
        if (status != LEAT_OK) {
            return status;
        }
        if (i == 0 ? size->from_step != 0 : size->from_step <= size[-1].from_step) {
            leat_job_fail_at(reader, leat_yaml_member(&reader->yaml, at, "from_step"), place,
                             "from_step", "batch sizes are not in ascending order from step 0");
            leat_error_wanted(reader->error, i == 0 ? "0" : "a step above %" PRIu64,
                              i == 0 ? 0 : size[-1].from_step);
            return LEAT_INVALID;
        }
    }
    return LEAT_OK;
}

static char *dataset_place(const leat_job_reader *reader, size_t node, size_t number)
{
    size_t name = leat_yaml_member(&reader->yaml, node, "name");
    if (name != LEAT_YAML_NONE && leat_yaml_type_of(&reader->yaml, name) == LEAT_YAML_TYPE_TEXT) {
        return leat_format("datasets.%s.", reader->yaml.nodes[name].text);
    }
    return leat_format("datasets[%zu].", number);
}

static leat_status read_datasets(leat_job_reader *reader, size_t node)
{
    leat_job *job = reader->job;
    const leat_job_key *key = leat_job_key_find("", "datasets");
    const leat_yaml_node *item = &reader->yaml.nodes[node];
    if (item->kind != LEAT_YAML_LIST || item->count == 0 || item->count > key->max) {
        fail_list(reader, node, key, "",
                  item->kind != LEAT_YAML_LIST ? "a value of the wrong type"
                  : item->count == 0           ? "an empty list"
                                               : "too many datasets");
        leat_error_hint(reader->error,
                        "a dataset is written as: - {name: docs, files: \"docs/*.jsonl\"}");
        return LEAT_INVALID;
    }
    job->datasets = leat_alloc(item->count, sizeof *job->datasets);
    job->dataset_count = item->count;
    size_t i = 0;
    for (size_t at = item->first; at != LEAT_YAML_NONE; at = reader->yaml.nodes[at].after, i++) {
        leat_job_dataset *dataset = &job->datasets[i];
        char *place = dataset_place(reader, at, i);
        leat_status status = read_map(reader, at, "datasets[].", place, dataset);
        leat_free(place);
        if (status != LEAT_OK) {
            return status;
        }
        size_t eos = leat_yaml_member(&reader->yaml, at, "eos_id");
        dataset->has_eos_id =
            eos != LEAT_YAML_NONE && leat_yaml_type_of(&reader->yaml, eos) != LEAT_YAML_TYPE_NULL;
        dataset->line = reader->yaml.nodes[at].line;
    }
    return LEAT_OK;
}

static leat_status read_stages(leat_job_reader *reader, size_t node)
{
    leat_job *job = reader->job;
    const leat_job_key *key = leat_job_key_find("", "mixture_stages");
    const leat_yaml_node *item = &reader->yaml.nodes[node];
    if (item->kind != LEAT_YAML_LIST || item->count > key->max) {
        return fail_list(reader, node, key, "", "a value of the wrong type");
    }
    reader->raw_stages = leat_alloc(item->count, sizeof *reader->raw_stages);
    job->stages = leat_alloc(item->count, sizeof *job->stages);
    job->stage_count = item->count;
    size_t i = 0;
    for (size_t at = item->first; at != LEAT_YAML_NONE; at = reader->yaml.nodes[at].after, i++) {
        char place[48];
        snprintf(place, sizeof place, "mixture_stages[%zu].", i);
        leat_job_raw_stage *raw = &reader->raw_stages[i];
        leat_status status = read_map(reader, at, "mixture_stages[].", place, raw);
        if (status != LEAT_OK) {
            return status;
        }
        bool row = raw->from_row != LEAT_KEY_DERIVED, step = raw->from_step != LEAT_KEY_DERIVED;
        if (row == step) {
            leat_job_fail_at(reader, at, place, "from_row", "a stage without one clear beginning");
            leat_error_found(reader->error,
                             row ? "from_row and from_step" : "neither from_row nor from_step");
            leat_error_wanted(reader->error, "one of from_row and from_step");
            return LEAT_INVALID;
        }
        job->stages[i].by_step = step;
        job->stages[i].from = step ? raw->from_step : raw->from_row;
    }
    return LEAT_OK;
}

static leat_status read_value(leat_job_reader *reader, size_t node, const leat_job_key *key,
                              const char *place, void *base)
{
    void *at = (char *)base + key->offset;
    if (!key->required && leat_yaml_type_of(&reader->yaml, node) == LEAT_YAML_TYPE_NULL &&
        key->type != LEAT_KEY_MAP) {
        set_default(key, at);
        reader->job->batch_size_count += key->type == LEAT_KEY_SIZES;
        return LEAT_OK;
    }
    switch (key->type) {
    case LEAT_KEY_MAP: {
        char *inner = leat_format("%s%s.", place, reader->yaml.nodes[node].key);
        char level[64];
        snprintf(level, sizeof level, "%s.", key->path);
        leat_status status = read_map(reader, node, level, inner, base);
        leat_free(inner);
        return status;
    }
    case LEAT_KEY_TEXTS:
        return read_texts(reader, node, place, base);
    case LEAT_KEY_SIZES:
        return read_sizes(reader, node);
    case LEAT_KEY_DATASETS:
        return read_datasets(reader, node);
    case LEAT_KEY_STAGES:
        return read_stages(reader, node);
    case LEAT_KEY_WEIGHTS:
        *(size_t *)at = node;
        return reader->yaml.nodes[node].kind == LEAT_YAML_MAP
                   ? LEAT_OK
                   : fail_list(reader, node, key, place, "a value of the wrong type");
    case LEAT_KEY_U64:
    case LEAT_KEY_U32:
    case LEAT_KEY_BOOL:
    case LEAT_KEY_CHOICE:
    case LEAT_KEY_FLAG_CHOICE:
    case LEAT_KEY_TEXT:
    case LEAT_KEY_TEXT_CHOICE:
    case LEAT_KEY_TOKEN:
    case LEAT_KEY_FRACTION:
    case LEAT_KEY_WEIGHT:
        break;
    }
    return leat_job_read_scalar(reader, node, key, place, at);
}

static leat_status fill_missing(leat_job_reader *reader, size_t node, const leat_job_key *key,
                                const char *place, void *base)
{
    if (key->required) {
        char wanted[192];
        const char *dot = strrchr(key->path, '.');
        const char *name = dot != NULL ? dot + 1 : key->path;
        leat_job_fail_at(reader, node, place, name, "a key that has no default is missing");
        leat_error_found(reader->error, "no %s", name);
        leat_job_key_wanted(key, wanted);
        leat_error_wanted(reader->error, "%s: %s", name, wanted);
        leat_error_hint(reader->error, "%s", key->help);
        return LEAT_INVALID;
    }
    if (key->type == LEAT_KEY_MAP) {
        char level[64];
        snprintf(level, sizeof level, "%s.", key->path);
        return read_map(reader, LEAT_YAML_NONE, level, place, base);
    }
    set_default(key, (char *)base + key->offset);
    reader->job->batch_size_count += key->type == LEAT_KEY_SIZES;
    return LEAT_OK;
}

/* Reads a mapping (LEAT_YAML_NONE or null: one without keys) into `base`.  Depth is that of the schema, not of the file. */
static leat_status read_map(leat_job_reader *reader, size_t node, const char *level,
                            const char *place, void *base)
{
    bool seen[LEAT_JOB_KEYS_MAX] = {false};
    size_t at = LEAT_YAML_NONE;
    leat_status status = LEAT_OK;
    if (node != LEAT_YAML_NONE && leat_yaml_type_of(&reader->yaml, node) != LEAT_YAML_TYPE_NULL) {
        if (reader->yaml.nodes[node].kind != LEAT_YAML_MAP) {
            char name[256];
            snprintf(name, sizeof name, "%.*s", (int)(strlen(place) - (*place != '\0')), place);
            leat_job_fail_at(reader, node, "", *name != '\0' ? name : "(top)",
                             "a value of the wrong type");
            leat_error_wanted(reader->error, "a mapping of keys to values");
            leat_error_hint(reader->error, "write it as key: value");
            return LEAT_INVALID;
        }
        at = reader->yaml.nodes[node].first;
    }
    for (; at != LEAT_YAML_NONE; at = reader->yaml.nodes[at].after) {
        const leat_job_key *key = leat_job_key_find(level, reader->yaml.nodes[at].key);
        if (key == NULL) {
            return unknown_key(reader, at, level, place);
        }
        seen[key - leat_job_keys] = true;
        LEAT_TRY(read_value(reader, at, key, place, base));
    }
    for (size_t i = 0; i < leat_job_key_count; i++) {
        if (!seen[i] && leat_job_key_is_at(&leat_job_keys[i], level)) {
            LEAT_TRY(fill_missing(reader, node, &leat_job_keys[i], place, base));
        }
    }
done:
    return status;
}

leat_status leat_job_read(leat_job_reader *reader)
{
    return read_map(reader, reader->root, "", "", reader->job);
}
