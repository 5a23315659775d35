#include "audit/compare.h"
#include "base/arith.h"
#include "base/json.h"
#include "base/memory.h"

/* The parsed texts of one manifest. */
typedef struct side {
    const leat_manifest *manifest;
    const char *name;
    leat_json *parsers[3];
    leat_json_value settings, limits, job;
} side;

static leat_bytes text_of(const char *text)
{
    return (leat_bytes){(const uint8_t *)text, strlen(text)};
}

static leat_status open_side(side *of, const leat_manifest *manifest, const char *name,
                             leat_error *error)
{
    const char *texts[3] = {manifest->settings, manifest->limits, manifest->job};
    leat_json_value *roots[3] = {&of->settings, &of->limits, &of->job};
    leat_status status = LEAT_OK;
    of->manifest = manifest;
    of->name = name;
    for (int i = 0; i < 3; i++) {
        of->parsers[i] = leat_json_open();
        if (status == LEAT_OK) {
            status = leat_json_parse(of->parsers[i], text_of(texts[i]), name, roots[i], error);
        }
    }
    return status;
}

static void close_side(side *of)
{
    for (int i = 0; i < 3; i++) {
        leat_json_close(of->parsers[i]);
    }
}

/* Equal in everything; depth is bounded by the texts, which are ours. */
static bool same(leat_json_value a, leat_json_value b)
{
    leat_json_type type = leat_json_type_of(a);
    leat_bytes text_a = {0}, text_b = {0};
    int64_t signed_a = 0, signed_b = 0;
    uint64_t number_a = 0, number_b = 0;
    if (type != leat_json_type_of(b)) {
        return false;
    }
    if (type == LEAT_JSON_TEXT) {
        return leat_json_get_text(a, &text_a) && leat_json_get_text(b, &text_b) &&
               text_a.size == text_b.size && memcmp(text_a.data, text_b.data, text_a.size) == 0;
    }
    if (type == LEAT_JSON_INTEGER) {
        bool wide_a = leat_json_get_u64(a, &number_a), wide_b = leat_json_get_u64(b, &number_b);
        (void)(leat_json_get_i64(a, &signed_a) && leat_json_get_i64(b, &signed_b));
        return wide_a == wide_b && (wide_a ? number_a == number_b : signed_a == signed_b);
    }
    if (type != LEAT_JSON_ARRAY && type != LEAT_JSON_OBJECT) {
        return true;
    }
    leat_bytes key_a = {0}, key_b = {0};
    leat_json_value at_a = leat_json_first(a, &key_a), at_b = leat_json_first(b, &key_b);
    while (leat_json_type_of(at_a) != LEAT_JSON_NONE && leat_json_type_of(at_b) != LEAT_JSON_NONE) {
        bool keys = type == LEAT_JSON_ARRAY ||
                    (key_a.size == key_b.size && memcmp(key_a.data, key_b.data, key_a.size) == 0);
        if (!keys || !same(at_a, at_b)) {
            return false;
        }
        at_a = leat_json_after(at_a, &key_a);
        at_b = leat_json_after(at_b, &key_b);
    }
    return leat_json_type_of(at_a) == leat_json_type_of(at_b);
}

static bool same_members(leat_json_value a, leat_json_value b, const char *const *keys)
{
    for (; *keys != NULL; keys++) {
        if (!same(leat_json_member(a, *keys), leat_json_member(b, *keys))) {
            return false;
        }
    }
    return true;
}

static leat_json_value dataset_of(const side *of, const char *name)
{
    leat_bytes text;
    leat_json_value at = leat_json_first(leat_json_member(of->settings, "datasets"), NULL);
    for (; leat_json_type_of(at) != LEAT_JSON_NONE; at = leat_json_after(at, NULL)) {
        if (leat_json_get_text(leat_json_member(at, "name"), &text) && text.size == strlen(name) &&
            memcmp(text.data, name, text.size) == 0) {
            break;
        }
    }
    return at;
}

static void compare_files(leat_compare_dataset *out, const leat_manifest_dataset *a,
                          const leat_manifest_dataset *b)
{
    bool names = true;
    out->files_a = a->shard_count;
    out->files_b = b->shard_count;
    for (size_t i = 0; i < a->shard_count || i < b->shard_count; i++) {
        bool in_a = i < a->shard_count, in_b = i < b->shard_count;
        bool equal = in_a && in_b && a->shards[i].records == b->shards[i].records &&
                     memcmp(a->shards[i].content_hash, b->shards[i].content_hash, 16) == 0;
        out->files_same += equal;
        names = names && in_a && in_b && strcmp(a->shards[i].name, b->shards[i].name) == 0;
        if (!equal && out->file_a == NULL && out->file_b == NULL) {
            out->file_a = in_a ? a->shards[i].name : NULL;
            out->file_b = in_b ? b->shards[i].name : NULL;
        }
    }
    out->renamed = !names && out->files_same == out->files_a && out->files_a == out->files_b;
}

static void compare_dataset(leat_compare_dataset *out, const side *a, const side *b,
                            const leat_manifest_dataset *in_a, const leat_manifest_dataset *in_b)
{
    static const char *const cut[] = {"part_bytes", "record_bytes_max", "bad_records", NULL};
    static const char *const field[] = {"text", "tokens", NULL};
    static const char *const set_apart[] = {"holdout", "use", NULL};
    static const char *const order[] = {"unit", "block", "buffer", NULL};
    static const char *const ids[] = {"tokenizer", NULL};
    static const char *const around[] = {"add_special", "mask", NULL};
    static const char *const pieces[] = {"piece", "long_documents", NULL};
    static const char *const windows[] = {"piece_window", "window_tokens", NULL};
    static const char *const seed[] = {"seed", "plan_version", NULL};
    leat_json_value mine = dataset_of(a, out->name), theirs = dataset_of(b, out->name);
    leat_json_value shuffle = leat_json_member(mine, "shuffle"),
                    their_shuffle = leat_json_member(theirs, "shuffle");
    compare_files(out, in_a, in_b);
    out->documents = out->files_same == out->files_a && out->files_a == out->files_b &&
                     same_members(a->settings, b->settings, cut) &&
                     same_members(mine, theirs, field);
    out->order = out->documents && same_members(a->settings, b->settings, seed) &&
                 same_members(mine, theirs, set_apart) &&
                 same_members(shuffle, their_shuffle, order);
    out->tokens = out->order && same_members(a->settings, b->settings, ids) &&
                  same_members(mine, theirs, around);
    out->pieces = out->tokens && same_members(a->settings, b->settings, pieces) &&
                  same_members(shuffle, their_shuffle, windows);
}

static const leat_manifest_dataset *find(const leat_manifest *in, const char *name)
{
    for (size_t d = 0; d < in->dataset_count; d++) {
        if (strcmp(in->datasets[d].name, name) == 0) {
            return &in->datasets[d];
        }
    }
    return NULL;
}

static void compare_datasets(leat_compare *out, const side *a, const side *b)
{
    const side *sides[2] = {a, b};
    for (int s = 0; s < 2; s++) {
        for (size_t d = 0; d < sides[s]->manifest->dataset_count; d++) {
            const char *name = sides[s]->manifest->datasets[d].name;
            const leat_manifest_dataset *in_a = find(a->manifest, name),
                                        *in_b = find(b->manifest, name);
            if (s == 1 && in_a != NULL) {
                continue;
            }
            LEAT_GROW(out->datasets, out->capacity, out->count + 1);
            leat_compare_dataset *item = &out->datasets[out->count++];
            *item = (leat_compare_dataset){.name = name};
            if (in_a != NULL && in_b != NULL) {
                compare_dataset(item, a, b, in_a, in_b);
            } else {
                item->where = in_a != NULL ? LEAT_COMPARE_ONLY_A : LEAT_COMPARE_ONLY_B;
            }
        }
    }
}

/* Ties go to the earlier dataset, so the order of the datasets is part of the mixture. */
static bool same_mixture(const side *a, const side *b)
{
    static const char *const rules[] = {"mix_by", "on_exhausted", "mixture_stages", NULL};
    static const char *const ends[] = {"epochs", "passes", NULL};
    const leat_manifest *mine = a->manifest, *theirs = b->manifest;
    bool equal = mine->dataset_count == theirs->dataset_count &&
                 same_members(a->settings, b->settings, rules) &&
                 same_members(a->limits, b->limits, ends);
    for (size_t d = 0; d < mine->dataset_count && equal; d++) {
        equal = strcmp(mine->datasets[d].name, theirs->datasets[d].name) == 0 &&
                mine->datasets[d].weight == theirs->datasets[d].weight;
    }
    return equal;
}

static leat_status list(leat_compare *out, const side *a, const side *b, leat_error *error)
{
    static const char *const last[] = {"drop_last", NULL};
    leat_status status =
        leat_job_list_differences(text_of(a->manifest->settings), a->name,
                                  text_of(b->manifest->settings), b->name, &out->lines, error);
    if (status == LEAT_OK) {
        status =
            leat_job_list_differences(text_of(a->manifest->limits), a->name,
                                      text_of(b->manifest->limits), b->name, &out->lines, error);
    }
    bool value = false;
    if (status == LEAT_OK && !same_members(a->job, b->job, last) &&
        leat_json_get_bool(leat_json_member(a->job, "drop_last"), &value)) {
        leat_buffer_add_format(&out->lines, "drop_last: %s in %s, %s in %s\n",
                               value ? "true" : "false", a->name, value ? "false" : "true",
                               b->name);
    }
    return status;
}

leat_status leat_compare_make(leat_compare *out, const leat_manifest *a, const char *name_a,
                              const leat_manifest *b, const char *name_b, leat_error *error)
{
    static const char *const rows[] = {"sequence_length", "packing", "pack_window", "pad_id", NULL};
    static const char *const batches[] = {"batch_size", NULL};
    side mine = {0}, theirs = {0};
    leat_status status;
    *out = (leat_compare){0};
    status = open_side(&mine, a, name_a, error);
    leat_status other = open_side(&theirs, b, name_b, error);
    LEAT_TRY(status == LEAT_OK ? other : status);
    LEAT_TRY(list(out, &mine, &theirs, error));
    compare_datasets(out, &mine, &theirs);
    out->mixture = same_mixture(&mine, &theirs);
    out->rows = same_members(mine.settings, theirs.settings, rows);
    out->batches = same_members(mine.limits, theirs.limits, batches);
    out->equal = out->lines.size == 0;
done:
    close_side(&mine);
    close_side(&theirs);
    return status;
}

void leat_compare_deinit(leat_compare *compare)
{
    leat_free(compare->datasets);
    leat_buffer_deinit(&compare->lines);
    *compare = (leat_compare){0};
}

const char *leat_compare_verdict(const leat_compare *compare)
{
    bool documents = true, order = true, tokens = true, pieces = true;
    for (size_t d = 0; d < compare->count; d++) {
        const leat_compare_dataset *item = &compare->datasets[d];
        bool both = item->where == LEAT_COMPARE_IN_BOTH;
        documents = documents && both && item->documents;
        order = order && both && item->order;
        tokens = tokens && both && item->tokens;
        pieces = pieces && both && item->pieces;
    }
    if (compare->equal) {
        return "the same batches, step by step";
    }
    if (!documents) {
        return "other data";
    }
    if (!order) {
        return "the same documents in another order";
    }
    if (!tokens) {
        return "the same documents in the same order, other tokens";
    }
    if (!pieces) {
        return "the same documents in the same order, cut into other pieces";
    }
    if (!compare->mixture) {
        return compare->rows ? "the same documents in the same order, other mixture"
                             : "the same documents in the same order, other mixture and other rows";
    }
    if (!compare->rows) {
        return "the same documents in the same order, other rows";
    }
    if (!compare->batches) {
        return "the same rows in the same order, other batch sizes";
    }
    return "the same documents in the same order; only names or the end of the run differ";
}
