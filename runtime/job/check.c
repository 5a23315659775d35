/* What no key decides alone: defaults that follow from others, names, stages, limits. */
#include "job/read.h"
#include "base/arith.h"
#include "base/memory.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int by_name(const void *left, const void *right, void *context)
{
    const leat_job_dataset *datasets = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order = strcmp(datasets[a].name, datasets[b].name);
    return order != 0 ? order : (a > b) - (a < b);
}

/* The node of a top-level key; the root where it was left out. */
static size_t node_of(const leat_job_reader *reader, const char *key)
{
    size_t node = leat_yaml_member(&reader->yaml, reader->root, key);
    return node != LEAT_YAML_NONE ? node : reader->root;
}

static size_t dataset_node(const leat_job_reader *reader, size_t number)
{
    size_t at = reader->yaml.nodes[node_of(reader, "datasets")].first;
    while (number-- > 0) {
        at = reader->yaml.nodes[at].after;
    }
    return at;
}

/* A key of dataset `number`; the dataset itself where it was left out. */
static size_t dataset_key_node(const leat_job_reader *reader, size_t number, const char *key)
{
    size_t dataset = dataset_node(reader, number);
    size_t node = leat_yaml_member(&reader->yaml, dataset, key);
    return node != LEAT_YAML_NONE ? node : dataset;
}

leat_status leat_job_sort_names(leat_job_reader *reader)
{
    leat_job *job = reader->job;
    reader->by_name = leat_alloc(job->dataset_count, sizeof *reader->by_name);
    for (size_t i = 0; i < job->dataset_count; i++) {
        reader->by_name[i] = (uint32_t)i;
    }
    qsort_r(reader->by_name, job->dataset_count, sizeof *reader->by_name, by_name, job->datasets);
    for (size_t i = 1; i < job->dataset_count; i++) {
        uint32_t a = reader->by_name[i - 1], b = reader->by_name[i];
        if (strcmp(job->datasets[a].name, job->datasets[b].name) == 0) {
            char place[32];
            snprintf(place, sizeof place, "datasets[%" PRIu32 "].", b);
            leat_job_fail_at(reader, dataset_key_node(reader, b, "name"), place, "name",
                             "two datasets have one name");
            leat_error_wanted(reader->error,
                              "a name that no other dataset has (datasets[%" PRIu32
                              "] on line %" PRIu32 " has it)",
                              a, job->datasets[a].line);
            leat_error_hint(reader->error, "rename one, or put all their files into one dataset");
            return LEAT_INVALID;
        }
    }
    return LEAT_OK;
}

size_t leat_job_find_dataset(const leat_job_reader *reader, const char *name)
{
    size_t low = 0, high = reader->job->dataset_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(reader->job->datasets[reader->by_name[middle]].name, name);
        if (order == 0) {
            return reader->by_name[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return SIZE_MAX;
}

static leat_status unknown_stage_dataset(const leat_job_reader *reader, size_t node,
                                         const char *place)
{
    const leat_job *job = reader->job;
    const char *key = reader->yaml.nodes[node].key, *near = NULL;
    char quoted[96];
    size_t best = 4;
    for (size_t i = 0; i < job->dataset_count; i++) {
        size_t distance = leat_job_text_distance(key, job->datasets[i].name, 3);
        if (distance < best) {
            best = distance;
            near = job->datasets[i].name;
        }
    }
    leat_yaml_quote(key, quoted);
    leat_job_fail_at(reader, node, place, key, "no dataset has this name");
    leat_error_found(reader->error, "the name %s", quoted);
    leat_error_wanted(reader->error, "the name of a dataset of this job");
    if (near != NULL) {
        leat_error_hint(reader->error, "did you mean %.200s?", near);
    }
    return LEAT_INVALID;
}

static int by_dataset(const void *left, const void *right)
{
    const struct leat_job_stage_weight *a = left, *b = right;
    return (a->dataset > b->dataset) - (a->dataset < b->dataset);
}

static leat_status read_stage_weights(leat_job_reader *reader, size_t number)
{
    leat_job_stage *stage = &reader->job->stages[number];
    const leat_yaml_node *map = &reader->yaml.nodes[reader->raw_stages[number].weights];
    char place[64];
    snprintf(place, sizeof place, "mixture_stages[%zu].weights.", number);
    stage->weights = leat_alloc(map->count, sizeof *stage->weights);
    uint64_t most = 0;
    for (size_t at = map->first; at != LEAT_YAML_NONE; at = reader->yaml.nodes[at].after) {
        struct leat_job_stage_weight *weight = &stage->weights[stage->weight_count++];
        size_t dataset = leat_job_find_dataset(reader, reader->yaml.nodes[at].key);
        if (dataset == SIZE_MAX) {
            return unknown_stage_dataset(reader, at, place);
        }
        weight->dataset = (uint32_t)dataset;
        leat_status status = leat_job_read_decimal(reader, at, place, reader->yaml.nodes[at].key,
                                                   &weight->millionths);
        if (status != LEAT_OK) {
            return status;
        }
        most = leat_max_u64(most, weight->millionths);
    }
    if (most == 0) {
        snprintf(place, sizeof place, "mixture_stages[%zu].", number);
        leat_job_fail_at(reader, reader->raw_stages[number].weights, place, "weights",
                         "a stage without a weight above 0");
        leat_error_wanted(reader->error, "at least one dataset with a weight above 0");
        return LEAT_INVALID;
    }
    qsort(stage->weights, stage->weight_count, sizeof *stage->weights, by_dataset);
    return LEAT_OK;
}

static leat_status check_stages(leat_job_reader *reader)
{
    leat_job *job = reader->job;
    uint64_t before = 0;
    size_t at = job->stage_count > 0 ? reader->yaml.nodes[node_of(reader, "mixture_stages")].first
                                     : LEAT_YAML_NONE;
    for (size_t i = 0; i < job->stage_count; i++, at = reader->yaml.nodes[at].after) {
        char place[48];
        snprintf(place, sizeof place, "mixture_stages[%zu].", i);
        const char *name = job->stages[i].by_step ? "from_step" : "from_row";
        uint64_t row = leat_job_stage_row(job, i);
        if (row > LEAT_JOB_ROWS_MAX || (i > 0 && row <= before)) {
            leat_job_fail_at(reader, leat_yaml_member(&reader->yaml, at, name), place, name, "%s",
                             i > 0 && row <= before ? "stages are not in strictly ascending order"
                                                    : "a number out of range");
            leat_error_found(reader->error, "row %" PRIu64, row);
            leat_error_wanted(reader->error, "a row from %" PRIu64 " to %" PRIu64,
                              i > 0 ? before + 1 : 0, LEAT_JOB_ROWS_MAX);
            return LEAT_INVALID;
        }
        before = row;
        leat_status status = read_stage_weights(reader, i);
        if (status != LEAT_OK) {
            return status;
        }
    }
    return LEAT_OK;
}

static leat_status check_sizes(leat_job_reader *reader)
{
    leat_job *job = reader->job;
    uint64_t rows = job->sequence_length + 1, windows = 0;
    if (job->piece == 0) {
        job->piece = rows;
    }
    uint64_t most = job->packing == LEAT_PACKING_CONCAT ? LEAT_JOB_PIECE_MAX
                                                        : leat_min_u64(rows, LEAT_JOB_PIECE_MAX);
    if (job->piece > most) {
        size_t node = leat_yaml_member(&reader->yaml, reader->root, "piece");
        bool given =
            node != LEAT_YAML_NONE && leat_yaml_type_of(&reader->yaml, node) != LEAT_YAML_TYPE_NULL;
        leat_job_fail_at(reader, given ? node : node_of(reader, "sequence_length"), "", "piece",
                         "pieces are too long%s", given ? "" : " (sequence_length + 1 by default)");
        leat_error_found(reader->error, "%" PRIu64, job->piece);
        leat_error_wanted(reader->error, "at most %" PRIu64 "%s", most,
                          most == rows ? " (sequence_length + 1)" : "");
        leat_error_hint(reader->error, "set piece: %" PRIu64, most);
        return LEAT_INVALID;
    }
    if (job->part_bytes == LEAT_KEY_DERIVED) {
        job->part_bytes = leat_max_u64((uint64_t)1 << 18, 16 * rows);
    } else if (job->part_bytes != 0 && job->part_bytes < 64) {
        leat_job_fail_at(reader, node_of(reader, "part_bytes"), "", "part_bytes",
                         "parts are too short");
        leat_error_wanted(reader->error, "0 (never cut) or at least 64");
        return LEAT_INVALID;
    }
    if (job->packing == LEAT_PACKING_BEST_FIT &&
        (!leat_mul_u64(job->pack_window + 1, rows, &windows) || windows >= (uint64_t)1 << 31)) {
        leat_job_fail_at(reader, node_of(reader, "pack_window"), "", "pack_window",
                         "a packing window is too large");
        leat_error_found(reader->error, "(%" PRIu64 " + 1) * %" PRIu64 " tokens", job->pack_window,
                         rows);
        leat_error_wanted(reader->error, "(pack_window + 1) * (sequence_length + 1) below 2^31");
        leat_error_hint(reader->error, "lower pack_window");
        return LEAT_INVALID;
    }
    return LEAT_OK;
}

/* Either every dataset has a number, or none has. */
static leat_status check_weights(leat_job_reader *reader)
{
    leat_job *job = reader->job;
    size_t numbers = 0, without = job->dataset_count;
    for (size_t i = 0; i < job->dataset_count; i++) {
        if (job->datasets[i].weight_kind == LEAT_WEIGHT_NUMBER) {
            numbers++;
        } else if (without == job->dataset_count) {
            without = i;
        }
    }
    if (numbers == 0 || numbers == job->dataset_count) {
        return LEAT_OK;
    }
    const leat_job_dataset *dataset = &job->datasets[without];
    char *place = leat_format("datasets.%s.", dataset->name);
    leat_job_fail_at(reader, dataset_key_node(reader, without, "weight"), place, "weight",
                     "some datasets have a weight and this one has none");
    leat_free(place);
    leat_error_found(reader->error, "%zu of %zu datasets with a number, %s here", numbers,
                     job->dataset_count,
                     dataset->weight_kind == LEAT_WEIGHT_BYTES ? "bytes" : "no weight");
    leat_error_wanted(reader->error, "a number for every dataset, or for none (by size)");
    leat_error_hint(reader->error, "give this dataset a weight, or remove the other weights");
    return LEAT_INVALID;
}

static void derive(leat_job *job)
{
    for (size_t i = 0; i < job->dataset_count; i++) {
        leat_job_dataset *dataset = &job->datasets[i];
        if (dataset->buffer == LEAT_KEY_DERIVED) {
            bool units = dataset->unit == LEAT_UNIT_BLOCK || dataset->unit == LEAT_UNIT_SHARD;
            dataset->buffer = units ? 16384 : 0;
        }
        if (job->passes != 0) {
            dataset->epochs = job->passes;
        }
    }
    job->drop_exhausted = job->drop_exhausted || job->passes != 0;
}

/* `passes` sets these for everyone; a key that says otherwise would be passed over in silence. */
static leat_status check_passes(leat_job_reader *reader)
{
    leat_job *job = reader->job;
    if (job->passes == 0) {
        return LEAT_OK;
    }
    size_t node = leat_yaml_member(&reader->yaml, reader->root, "on_exhausted");
    if (node != LEAT_YAML_NONE && !job->drop_exhausted &&
        leat_yaml_type_of(&reader->yaml, node) != LEAT_YAML_TYPE_NULL) {
        leat_job_fail_at(reader, node, "", "on_exhausted", "passes and this key contradict");
        leat_error_wanted(reader->error, "drop, which passes means, or no passes");
        return LEAT_INVALID;
    }
    for (size_t i = 0; i < job->dataset_count; i++) {
        if (job->datasets[i].epochs != 0 && job->datasets[i].epochs != job->passes) {
            char *place = leat_format("datasets.%s.", job->datasets[i].name);
            leat_job_fail_at(reader, dataset_key_node(reader, i, "epochs"), place, "epochs",
                             "passes and this key contradict");
            leat_free(place);
            leat_error_wanted(reader->error, "%" PRIu64 ", which passes means, or no passes",
                              job->passes);
            return LEAT_INVALID;
        }
    }
    return LEAT_OK;
}

leat_status leat_job_check(leat_job_reader *reader)
{
    leat_status status = LEAT_OK;
    LEAT_TRY(leat_job_sort_names(reader));
    LEAT_TRY(check_sizes(reader));
    LEAT_TRY(check_weights(reader));
    LEAT_TRY(check_passes(reader));
    LEAT_TRY(check_stages(reader));
    derive(reader->job);
done:
    return status;
}
