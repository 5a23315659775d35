/* A job in canonical form, and its order-defining settings with their digest.  Key order is that of the schema table. */
#include "base/json_out.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "job/read.h"
#include <inttypes.h>
#include <stdio.h>

/* The shortest decimal of so many millionths. */
static void decimal(uint64_t millionths, char out[32])
{
    int length =
        snprintf(out, 32, "%" PRIu64 ".%06" PRIu64, millionths / 1000000, millionths % 1000000);
    while (out[length - 1] == '0') {
        out[--length] = '\0';
    }
    if (out[length - 1] == '.') {
        out[length - 1] = '\0';
    }
}

static void put_decimal(leat_json_out *out, uint64_t millionths)
{
    char text[32];
    decimal(millionths, text);
    leat_json_raw(out, text);
}

static void put_token(leat_json_out *out, const leat_token_name *token)
{
    if (token->kind == LEAT_TOKEN_NONE) {
        leat_json_null(out);
    } else if (token->kind == LEAT_TOKEN_ID) {
        leat_json_u64(out, token->id);
    } else {
        leat_json_text(out, token->text);
    }
}

static void put_number(leat_json_out *out, const leat_job_key *key, uint64_t value)
{
    if (value == 0 && key->min > 0) {
        leat_json_null(out); /* the default that somebody else chooses */
    } else {
        leat_json_u64(out, value);
    }
}

static void put_choice(leat_json_out *out, const leat_job_key *key, size_t index)
{
    char name[32];
    bool known = leat_job_choice(key->choices, index, name);
    LEAT_ASSERT(known);
    leat_json_text(out, name);
}

static void put_text(leat_json_out *out, const char *text)
{
    if (text == NULL) {
        leat_json_null(out);
    } else {
        leat_json_text(out, text);
    }
}

static void put_sizes(leat_json_out *out, const leat_job *job)
{
    leat_json_array(out);
    for (size_t i = 0; i < job->batch_size_count; i++) {
        leat_json_object(out);
        leat_json_key_u64(out, "from_step", job->batch_sizes[i].from_step);
        leat_json_key_u64(out, "batch_size", job->batch_sizes[i].rows);
        leat_json_object_end(out);
    }
    leat_json_array_end(out);
}

static void put_stages(leat_json_out *out, const leat_job *job)
{
    leat_json_array(out);
    for (size_t i = 0; i < job->stage_count; i++) {
        const leat_job_stage *stage = &job->stages[i];
        leat_json_object(out);
        leat_json_key_u64(out, stage->by_step ? "from_step" : "from_row", stage->from);
        leat_json_key(out, "weights");
        leat_json_object(out);
        for (size_t w = 0; w < stage->weight_count; w++) {
            leat_json_key(out, job->datasets[stage->weights[w].dataset].name);
            put_decimal(out, stage->weights[w].millionths);
        }
        leat_json_object_end(out);
        leat_json_object_end(out);
    }
    leat_json_array_end(out);
}

static void put_level(leat_json_out *out, const leat_job *job, const char *level, const void *base);

static void put_datasets(leat_json_out *out, const leat_job *job)
{
    leat_json_array(out);
    for (size_t i = 0; i < job->dataset_count; i++) {
        leat_json_object(out);
        put_level(out, job, "datasets[].", &job->datasets[i]);
        leat_json_object_end(out);
    }
    leat_json_array_end(out);
}

static void put_weight(leat_json_out *out, const leat_job_dataset *dataset)
{
    if (dataset->weight_kind == LEAT_WEIGHT_NUMBER) {
        put_decimal(out, dataset->weight_millionths);
    } else {
        put_text(out, dataset->weight_kind == LEAT_WEIGHT_BYTES ? "bytes" : NULL);
    }
}

static void put_files(leat_json_out *out, const leat_job_dataset *dataset)
{
    leat_json_array(out);
    for (size_t i = 0; i < dataset->file_count; i++) {
        leat_json_text(out, dataset->files[i]);
    }
    leat_json_array_end(out);
}

static void put_u32(leat_json_out *out, const leat_job_key *key, const void *base, const void *at)
{
    bool eos_id = strcmp(key->path, "datasets[].eos_id") == 0;
    if (eos_id && !((const leat_job_dataset *)base)->has_eos_id) {
        leat_json_null(out);
    } else {
        put_number(out, key, *(const uint32_t *)at);
    }
}

static void put_value(leat_json_out *out, const leat_job *job, const leat_job_key *key,
                      const void *base)
{
    const void *at = (const char *)base + key->offset;
    char level[64];
    switch (key->type) {
    case LEAT_KEY_U64:
        put_number(out, key, *(const uint64_t *)at);
        return;
    case LEAT_KEY_U32:
        put_u32(out, key, base, at);
        return;
    case LEAT_KEY_BOOL:
        leat_json_bool(out, *(const bool *)at);
        return;
    case LEAT_KEY_FLAG_CHOICE:
        put_choice(out, key, *(const bool *)at ? 1 : 0);
        return;
    case LEAT_KEY_CHOICE:
        put_choice(out, key, (size_t) * (const int *)at);
        return;
    case LEAT_KEY_TEXT:
    case LEAT_KEY_TEXT_CHOICE:
        put_text(out, *(char *const *)at);
        return;
    case LEAT_KEY_TOKEN:
        put_token(out, at);
        return;
    case LEAT_KEY_FRACTION:
        put_decimal(out, *(const uint32_t *)at);
        return;
    case LEAT_KEY_WEIGHT:
        put_weight(out, base);
        return;
    case LEAT_KEY_TEXTS:
        put_files(out, base);
        return;
    case LEAT_KEY_SIZES:
        put_sizes(out, job);
        return;
    case LEAT_KEY_MAP:
        snprintf(level, sizeof level, "%s.", key->path);
        leat_json_object(out);
        put_level(out, job, level, base);
        leat_json_object_end(out);
        return;
    case LEAT_KEY_DATASETS:
        put_datasets(out, job);
        return;
    case LEAT_KEY_STAGES:
        put_stages(out, job);
        return;
    case LEAT_KEY_WEIGHTS:
        break;
    }
    LEAT_ASSERT(false); /* a key that the job does not keep */
}

/* Every key of the level.  Its depth is that of the schema table. */
static void put_level(leat_json_out *out, const leat_job *job, const char *level, const void *base)
{
    size_t length = strlen(level);
    for (size_t i = 0; i < leat_job_key_count; i++) {
        if (leat_job_key_is_at(&leat_job_keys[i], level)) {
            leat_json_key(out, leat_job_keys[i].path + length);
            put_value(out, job, &leat_job_keys[i], base);
        }
    }
}

void leat_job_canonical(const leat_job *job, leat_buffer *json)
{
    leat_json_out out = {json, false};
    leat_json_object(&out);
    put_level(&out, job, "", job);
    leat_json_object_end(&out);
}

void leat_job_limits(const leat_job *job, leat_buffer *json)
{
    leat_json_out out = {json, false};
    leat_json_object(&out);
    leat_json_key(&out, "passes");
    put_number(&out, leat_job_key_find("", "passes"), job->passes);
    leat_json_key(&out, "epochs");
    leat_json_object(&out);
    for (size_t i = 0; i < job->dataset_count; i++) {
        leat_json_key_u64(&out, job->datasets[i].name, job->datasets[i].epochs);
    }
    leat_json_object_end(&out);
    leat_json_key(&out, "batch_size");
    put_sizes(&out, job);
    leat_json_object_end(&out);
}

void leat_job_shards_digest(const leat_job_shard *shards, size_t count, uint8_t digest[32])
{
    static const char magic[] = "leat-shards-1"; /* its NUL is hashed too */
    uint8_t field[8];
    leat_sha256 *hash = leat_sha256_open();
    leat_sha256_begin(hash);
    leat_sha256_add(hash, magic, sizeof magic);
    leat_put_u64(field, count);
    leat_sha256_add(hash, field, 8);
    for (size_t i = 0; i < count; i++) {
        size_t bytes = strlen(shards[i].name);
        leat_put_u64(field, bytes);
        leat_sha256_add(hash, field, 8);
        leat_sha256_add(hash, shards[i].name, bytes);
        leat_put_u64(field, shards[i].records);
        leat_sha256_add(hash, field, 8);
        leat_sha256_add(hash, shards[i].content_hash, 16);
    }
    leat_sha256_end(hash, digest);
    leat_sha256_close(hash);
}

static void settings_tokenizer(leat_json_out *out, const leat_job_identity *identity)
{
    leat_json_key(out, "tokenizer");
    leat_json_object(out);
    leat_json_key(out, "sha256");
    if (identity->tokenizer_sha256 != NULL) {
        leat_json_hex(out, identity->tokenizer_sha256, 32);
    } else {
        leat_json_null(out);
    }
    leat_json_key(out, "bos");
    if (identity->has_bos) {
        leat_json_u64(out, identity->bos);
    } else {
        leat_json_null(out);
    }
    leat_json_key(out, "eos");
    if (identity->has_eos) {
        leat_json_u64(out, identity->eos);
    } else {
        leat_json_null(out);
    }
    leat_json_object_end(out);
}

static void settings_stages(leat_json_out *out, const leat_job *job)
{
    uint64_t *weights = leat_alloc(job->dataset_count, sizeof *weights);
    leat_json_key(out, "mixture_stages");
    leat_json_array(out);
    for (size_t i = 0; i < job->stage_count; i++) {
        leat_error error;
        leat_status status = leat_job_weights(job, i, NULL, weights, &error);
        (void)status; /* weights beyond the limit were refused when the job was opened for a run */
        leat_json_object(out);
        leat_json_key_u64(out, "from_row", leat_job_stage_row(job, i));
        leat_json_key(out, "weights");
        leat_json_object(out);
        for (size_t w = 0; w < job->stages[i].weight_count; w++) {
            uint32_t dataset = job->stages[i].weights[w].dataset;
            if (weights[dataset] != 0) {
                leat_json_key_u64(out, job->datasets[dataset].name, weights[dataset]);
            }
        }
        leat_json_object_end(out);
        leat_json_object_end(out);
    }
    leat_json_array_end(out);
    leat_free(weights);
}

static void settings_dataset(leat_json_out *out, const leat_job *job,
                             const leat_job_identity *identity, size_t number)
{
    const leat_job_dataset *dataset = &job->datasets[number];
    uint8_t digest[32];
    char holdout[32];
    decimal(dataset->holdout_millionths, holdout);
    leat_job_shards_digest(identity->shards[number], identity->shard_counts[number], digest);
    leat_json_object(out);
    leat_json_key_text(out, "name", dataset->name);
    leat_json_key_u64(out, "weight", identity->weights[number]);
    leat_json_key_text(out, dataset->tokens != NULL ? "tokens" : "text",
                       dataset->tokens != NULL ? dataset->tokens : dataset->text);
    leat_json_key_bool(out, "add_special", dataset->add_special);
    leat_json_key_text(out, "mask", dataset->mask);
    leat_json_key_text(out, "holdout", holdout); /* a text, so that no reader makes a float of it */
    leat_json_key_text(out, "use", dataset->use_holdout ? "holdout" : "train");
    leat_json_key(out, "shuffle");
    leat_json_object(out);
    put_level(out, job, "datasets[].shuffle.", dataset);
    leat_json_object_end(out);
    leat_json_key_hex(out, "shards", digest, sizeof digest);
    leat_json_object_end(out);
}

void leat_job_order_settings(const leat_job *job, const leat_job_identity *identity,
                             leat_buffer *json, uint8_t digest[32])
{
    static const char *const plain[] = {
        "seed",   "sequence_length", "packing",     "pack_window",
        "piece",  "long_documents",  "part_bytes",  "record_bytes_max",
        "mix_by", "on_exhausted",    "bad_records", "pad_id"};
    size_t start = json->size;
    leat_json_out out = {json, false};
    leat_json_object(&out);
    leat_json_key_u64(&out, "plan_version", LEAT_PLAN_VERSION);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        leat_json_key(&out, plain[i]);
        put_value(&out, job, leat_job_key_find("", plain[i]), job);
    }
    settings_tokenizer(&out, identity);
    settings_stages(&out, job);
    leat_json_key(&out, "datasets");
    leat_json_array(&out);
    for (size_t i = 0; i < job->dataset_count; i++) {
        settings_dataset(&out, job, identity, i);
    }
    leat_json_array_end(&out);
    leat_json_object_end(&out);
    leat_sha256_of(json->data + start, json->size - start, digest);
}
