#include "job/manifest.h"
#include "base/json_out.h"
#include "base/memory.h"
#include <inttypes.h>
#include <stdio.h>

static char *take(leat_buffer *buffer)
{
    char *text = leat_strndup((const char *)buffer->data, buffer->size);
    leat_buffer_clear(buffer);
    return text;
}

static void dataset_make(leat_manifest_dataset *out, const leat_job *job,
                         const leat_job_identity *identity, size_t number)
{
    const leat_job_shard *shards = identity->shards[number];
    out->name = leat_strdup(job->datasets[number].name);
    out->weight = identity->weights[number];
    out->documents = identity->documents[number];
    out->text_bytes = identity->text_bytes[number];
    out->shard_count = identity->shard_counts[number];
    out->shards = leat_alloc(out->shard_count, sizeof *out->shards);
    for (size_t i = 0; i < out->shard_count; i++) {
        out->shards[i].name = leat_strdup(shards[i].name);
        out->shards[i].records = shards[i].records;
        memcpy(out->shards[i].content_hash, shards[i].content_hash, 16);
    }
    leat_job_shards_digest(shards, out->shard_count, out->fingerprint);
}

leat_manifest *leat_manifest_make(const leat_job *job, const leat_job_identity *identity)
{
    leat_manifest *manifest = leat_alloc(1, sizeof *manifest);
    leat_buffer json = {0};
    manifest->job_path = leat_strdup(job->path);
    leat_job_canonical(job, &json);
    manifest->job = take(&json);
    leat_job_order_settings(job, identity, &json, manifest->digest);
    manifest->settings = take(&json);
    leat_job_limits(job, &json);
    manifest->limits = take(&json);
    leat_buffer_deinit(&json);
    if (identity->tokenizer_sha256 != NULL) {
        manifest->has_tokenizer = true;
        memcpy(manifest->tokenizer_sha256, identity->tokenizer_sha256, 32);
    }
    manifest->dataset_count = job->dataset_count;
    manifest->datasets = leat_alloc(job->dataset_count, sizeof *manifest->datasets);
    for (size_t i = 0; i < job->dataset_count; i++) {
        dataset_make(&manifest->datasets[i], job, identity, i);
    }
    return manifest;
}

static void texts_free(char **texts, size_t count)
{
    for (size_t i = 0; texts != NULL && i < count; i++) {
        leat_free(texts[i]);
    }
    leat_free(texts);
}

static void dataset_free(leat_manifest_dataset *dataset)
{
    for (size_t i = 0; dataset->shards != NULL && i < dataset->shard_count; i++) {
        leat_free(dataset->shards[i].name);
    }
    leat_free(dataset->shards);
    leat_free(dataset->name);
}

void leat_manifest_close(leat_manifest *manifest)
{
    if (manifest == NULL) {
        return;
    }
    for (size_t i = 0; manifest->datasets != NULL && i < manifest->dataset_count; i++) {
        dataset_free(&manifest->datasets[i]);
    }
    for (size_t i = 0; i < manifest->version_count; i++) {
        leat_free(manifest->versions[i].name);
        leat_free(manifest->versions[i].value);
    }
    for (size_t i = 0; i < manifest->restart_count; i++) {
        texts_free(manifest->restarts[i].hosts, manifest->restarts[i].host_count);
    }
    for (size_t i = 0; i < manifest->fork_count; i++) {
        leat_free(manifest->forks[i].parent);
        texts_free(manifest->forks[i].differences, manifest->forks[i].difference_count);
        texts_free(manifest->forks[i].restarted, manifest->forks[i].restarted_count);
    }
    leat_free(manifest->datasets);
    leat_free(manifest->versions);
    leat_free(manifest->restarts);
    leat_free(manifest->forks);
    leat_free(manifest->job_path);
    leat_free(manifest->job);
    leat_free(manifest->settings);
    leat_free(manifest->limits);
    leat_free(manifest);
}

void leat_manifest_set_version(leat_manifest *manifest, const char *name, const char *value)
{
    for (size_t i = 0; i < manifest->version_count; i++) {
        if (strcmp(manifest->versions[i].name, name) == 0) {
            leat_free(manifest->versions[i].value);
            manifest->versions[i].value = leat_strdup(value);
            return;
        }
    }
    LEAT_GROW(manifest->versions, manifest->version_capacity, manifest->version_count + 1);
    manifest->versions[manifest->version_count++] =
        (leat_manifest_version){leat_strdup(name), leat_strdup(value)};
}

static char **texts_copy(const char *const *texts, size_t count)
{
    char **copy = leat_alloc(count, sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        copy[i] = leat_strdup(texts[i]);
    }
    return copy;
}

void leat_manifest_add_restart(leat_manifest *manifest, uint64_t step, uint64_t ranks,
                               const char *const *hosts, size_t host_count)
{
    LEAT_GROW(manifest->restarts, manifest->restart_capacity, manifest->restart_count + 1);
    manifest->restarts[manifest->restart_count++] =
        (leat_manifest_restart){step, ranks, texts_copy(hosts, host_count), host_count};
}

void leat_manifest_add_fork(leat_manifest *manifest, const leat_manifest_fork *fork)
{
    LEAT_GROW(manifest->forks, manifest->fork_capacity, manifest->fork_count + 1);
    manifest->forks[manifest->fork_count++] = (leat_manifest_fork){
        .parent = leat_strdup(fork->parent),
        .step = fork->step,
        .differences = texts_copy((const char *const *)fork->differences, fork->difference_count),
        .restarted = texts_copy((const char *const *)fork->restarted, fork->restarted_count),
        .difference_count = fork->difference_count,
        .restarted_count = fork->restarted_count};
}

static void put_texts(leat_json_out *out, const char *key, char *const *texts, size_t count)
{
    leat_json_key(out, key);
    leat_json_array(out);
    for (size_t i = 0; i < count; i++) {
        leat_json_text(out, texts[i]);
    }
    leat_json_array_end(out);
}

static void put_dataset(leat_json_out *out, const leat_manifest_dataset *dataset)
{
    leat_json_object(out);
    leat_json_key_text(out, "name", dataset->name);
    leat_json_key_u64(out, "weight", dataset->weight);
    leat_json_key_u64(out, "documents", dataset->documents);
    leat_json_key_u64(out, "text_bytes", dataset->text_bytes);
    leat_json_key_hex(out, "fingerprint", dataset->fingerprint, 32);
    leat_json_key(out, "shards");
    leat_json_array(out);
    for (size_t i = 0; i < dataset->shard_count; i++) {
        leat_json_array(out);
        leat_json_text(out, dataset->shards[i].name);
        leat_json_u64(out, dataset->shards[i].records);
        leat_json_hex(out, dataset->shards[i].content_hash, 16);
        leat_json_array_end(out);
    }
    leat_json_array_end(out);
    leat_json_object_end(out);
}

static void put_history(leat_json_out *out, const leat_manifest *manifest)
{
    leat_json_key(out, "restarts");
    leat_json_array(out);
    for (size_t i = 0; i < manifest->restart_count; i++) {
        const leat_manifest_restart *restart = &manifest->restarts[i];
        leat_json_object(out);
        leat_json_key_u64(out, "step", restart->step);
        leat_json_key_u64(out, "ranks", restart->ranks);
        put_texts(out, "hosts", restart->hosts, restart->host_count);
        leat_json_object_end(out);
    }
    leat_json_array_end(out);
    leat_json_key(out, "forks");
    leat_json_array(out);
    for (size_t i = 0; i < manifest->fork_count; i++) {
        const leat_manifest_fork *fork = &manifest->forks[i];
        leat_json_object(out);
        leat_json_key_text(out, "parent", fork->parent);
        leat_json_key_u64(out, "step", fork->step);
        put_texts(out, "differences", fork->differences, fork->difference_count);
        put_texts(out, "restarted", fork->restarted, fork->restarted_count);
        leat_json_object_end(out);
    }
    leat_json_array_end(out);
}

void leat_manifest_write(const leat_manifest *manifest, leat_buffer *json)
{
    leat_json_out out = {json, false};
    leat_json_object(&out);
    leat_json_key_u64(&out, "manifest_version", LEAT_MANIFEST_VERSION);
    leat_json_key_u64(&out, "plan_version", LEAT_PLAN_VERSION);
    leat_json_key_text(&out, "job_path", manifest->job_path);
    leat_json_key_hex(&out, "plan_digest", manifest->digest, 32);
    leat_json_key(&out, "tokenizer_sha256");
    if (manifest->has_tokenizer) {
        leat_json_hex(&out, manifest->tokenizer_sha256, 32);
    } else {
        leat_json_null(&out);
    }
    leat_json_key(&out, "job");
    leat_json_raw(&out, manifest->job);
    leat_json_key(&out, "settings");
    leat_json_raw(&out, manifest->settings);
    leat_json_key(&out, "limits");
    leat_json_raw(&out, manifest->limits);
    leat_json_key(&out, "datasets");
    leat_json_array(&out);
    for (size_t i = 0; i < manifest->dataset_count; i++) {
        put_dataset(&out, &manifest->datasets[i]);
    }
    leat_json_array_end(&out);
    leat_json_key(&out, "versions");
    leat_json_object(&out);
    for (size_t i = 0; i < manifest->version_count; i++) {
        leat_json_key_text(&out, manifest->versions[i].name, manifest->versions[i].value);
    }
    leat_json_object_end(&out);
    put_history(&out, manifest);
    leat_json_object_end(&out);
    leat_buffer_add_u8(json, '\n');
}

static void hash_text(const leat_manifest_shard *shard, char out[80])
{
    char hex[33];
    leat_hex(shard->content_hash, 16, hex);
    snprintf(out, 80, "%" PRIu64 " records, hash %s", shard->records, hex);
}

static leat_status shard_differs(const leat_manifest_dataset *dataset,
                                 const leat_manifest_shard *ours, const leat_manifest_shard *theirs,
                                 const char *their_name, leat_error *error)
{
    char our_text[80] = "no file", their_text[80] = "no file";
    const char *name = ours != NULL ? ours->name : theirs->name;
    const char *what = "has another content";
    if (ours == NULL) {
        what = "is missing";
    } else if (theirs == NULL) {
        what = "is new";
    } else if (strcmp(ours->name, theirs->name) != 0) {
        what = "stands where another file was";
    }
    if (ours != NULL) {
        hash_text(ours, our_text);
    }
    if (theirs != NULL) {
        hash_text(theirs, their_text);
    }
    LEAT_FAIL(error, LEAT_MISMATCH, "dataset %.100s: the file %.200s %s", dataset->name, name,
              what);
    leat_error_where(error, "dataset %.60s, file %.200s", dataset->name, name);
    leat_error_found(error, "%s", our_text);
    if (theirs != NULL && strcmp(theirs->name, name) != 0) {
        leat_error_wanted(error, "%.80s with %s", theirs->name, their_text);
    } else {
        leat_error_wanted(error, "%s, as in %.80s", their_text, their_name);
    }
    leat_error_hint(error,
                    "put the files back as they were to go on, or begin a new run folder from "
                    "here with --fork");
    return LEAT_MISMATCH;
}

leat_status leat_manifest_compare_shards(const leat_manifest *ours, const char *our_name,
                                         const leat_manifest *theirs, const char *their_name,
                                         leat_error *error)
{
    for (size_t d = 0; d < ours->dataset_count || d < theirs->dataset_count; d++) {
        const char *a_name = d < ours->dataset_count ? ours->datasets[d].name : "nothing";
        const char *b_name = d < theirs->dataset_count ? theirs->datasets[d].name : "nothing";
        if (d >= ours->dataset_count || d >= theirs->dataset_count || strcmp(a_name, b_name) != 0) {
            LEAT_FAIL(error, LEAT_MISMATCH, "the datasets are not the same ones");
            leat_error_where(error, "dataset number %zu", d);
            leat_error_found(error, "%.80s in %.80s", a_name, our_name);
            leat_error_wanted(error, "%.80s as in %.80s", b_name, their_name);
            return LEAT_MISMATCH;
        }
        const leat_manifest_dataset *a = &ours->datasets[d], *b = &theirs->datasets[d];
        for (size_t i = 0; i < a->shard_count || i < b->shard_count; i++) {
            const leat_manifest_shard *mine = i < a->shard_count ? &a->shards[i] : NULL;
            const leat_manifest_shard *other = i < b->shard_count ? &b->shards[i] : NULL;
            if (mine == NULL || other == NULL || strcmp(mine->name, other->name) != 0 ||
                mine->records != other->records ||
                memcmp(mine->content_hash, other->content_hash, 16) != 0) {
                return shard_differs(a, mine, other, their_name, error);
            }
        }
    }
    return LEAT_OK;
}
