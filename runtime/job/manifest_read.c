/* Reads a manifest.  Everything in it is checked: another program, or a crash, may have written it. */
#include "base/json.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "job/manifest.h"
#include <inttypes.h>

typedef struct source {
    const char *path;
    leat_bytes text;
    leat_error *error;
} source;

static leat_status damaged(const source *from, const char *key, const char *wanted)
{
    LEAT_FAIL(from->error, LEAT_CORRUPT, "the manifest is damaged");
    leat_error_where(from->error, "%.200s, key %.80s", from->path, key);
    leat_error_found(from->error, "another value, or none");
    leat_error_wanted(from->error, "%s", wanted);
    leat_error_hint(from->error, "restore the file from a copy, or resume from a checkpoint into a "
                                 "new folder with --resume-from");
    return LEAT_CORRUPT;
}

static leat_status read_text(const source *from, leat_json_value value, const char *key, char **out)
{
    leat_bytes text;
    if (!leat_json_get_text(value, &text) || memchr(text.data, 0, text.size) != NULL) {
        return damaged(from, key, "a text");
    }
    *out = leat_strndup((const char *)text.data, text.size);
    return LEAT_OK;
}

static leat_status read_u64(const source *from, leat_json_value value, const char *key,
                            uint64_t *out)
{
    return leat_json_get_u64(value, out) ? LEAT_OK : damaged(from, key, "a whole number");
}

static leat_status read_hex(const source *from, leat_json_value value, const char *key,
                            uint8_t *out, size_t bytes)
{
    char digits[65];
    leat_bytes text;
    if (!leat_json_get_text(value, &text) || text.size != 2 * bytes || text.size >= sizeof digits) {
        return damaged(from, key, "hexadecimal digits");
    }
    memcpy(digits, text.data, text.size);
    digits[text.size] = '\0';
    return leat_unhex(digits, out, bytes) ? LEAT_OK : damaged(from, key, "hexadecimal digits");
}

static leat_status read_texts(const source *from, leat_json_value list, const char *key,
                              char ***out, size_t *count)
{
    if (leat_json_type_of(list) != LEAT_JSON_ARRAY) {
        return damaged(from, key, "a list of texts");
    }
    *out = leat_alloc(leat_json_count(list), sizeof **out);
    for (leat_json_value at = leat_json_first(list, NULL); leat_json_type_of(at) != LEAT_JSON_NONE;
         at = leat_json_after(at, NULL)) {
        leat_status status = read_text(from, at, key, &(*out)[*count]);
        if (status != LEAT_OK) {
            return status;
        }
        ++*count;
    }
    return LEAT_OK;
}

/* End of the string that begins at `at`; the text is valid JSON. */
static size_t skip_text(leat_bytes text, size_t at)
{
    for (at++; at < text.size && text.data[at] != '"'; at++) {
        at += text.data[at] == '\\';
    }
    return at + 1;
}

/* The very bytes of a member of the top object, which a digest covers.  false: it is not there. */
static bool raw_member(leat_bytes text, const char *key, leat_bytes *out)
{
    size_t depth = 0, key_bytes = strlen(key), begin = 0;
    bool wanted = false;
    for (size_t at = 0; at < text.size;) {
        uint8_t c = text.data[at];
        if (c == '"') {
            size_t end = skip_text(text, at);
            if (depth == 1 && begin == 0 && end < text.size && text.data[end] == ':' &&
                end - at == key_bytes + 2 && memcmp(text.data + at + 1, key, key_bytes) == 0) {
                wanted = true;
                begin = end + 1;
                end++;
            }
            at = end;
            continue;
        }
        bool closes = c == '}' || c == ']';
        if (wanted && depth == 1 && (c == ',' || closes)) {
            *out = (leat_bytes){text.data + begin, at - begin};
            return true;
        }
        depth += c == '{' || c == '[';
        depth -= closes && depth > 0;
        at++;
    }
    return false;
}

static leat_status read_raw(const source *from, const char *key, char **out)
{
    leat_bytes raw;
    if (!raw_member(from->text, key, &raw) || raw.size < 2 || raw.data[0] != '{') {
        return damaged(from, key, "a mapping");
    }
    *out = leat_strndup((const char *)raw.data, raw.size);
    return LEAT_OK;
}

static leat_status read_shards(const source *from, leat_json_value list,
                               leat_manifest_dataset *dataset)
{
    leat_status status = LEAT_OK;
    if (leat_json_type_of(list) != LEAT_JSON_ARRAY) {
        return damaged(from, "datasets[].shards", "a list of shards");
    }
    dataset->shards = leat_alloc(leat_json_count(list), sizeof *dataset->shards);
    for (leat_json_value at = leat_json_first(list, NULL); leat_json_type_of(at) != LEAT_JSON_NONE;
         at = leat_json_after(at, NULL)) {
        leat_manifest_shard *shard = &dataset->shards[dataset->shard_count++];
        leat_json_value name = leat_json_first(at, NULL), records = leat_json_after(name, NULL);
        LEAT_TRY(read_text(from, name, "datasets[].shards[].name", &shard->name));
        LEAT_TRY(read_u64(from, records, "datasets[].shards[].records", &shard->records));
        LEAT_TRY(read_hex(from, leat_json_after(records, NULL), "datasets[].shards[].hash",
                          shard->content_hash, 16));
    }
done:
    return status;
}

/* The fingerprint is computed again: it stands for the shards in the digest of the plan. */
static leat_status check_fingerprint(const source *from, const leat_manifest_dataset *dataset)
{
    uint8_t digest[32];
    leat_job_shard *shards = leat_alloc(dataset->shard_count, sizeof *shards);
    for (size_t i = 0; i < dataset->shard_count; i++) {
        shards[i] = (leat_job_shard){dataset->shards[i].name, dataset->shards[i].records,
                                     dataset->shards[i].content_hash};
    }
    leat_job_shards_digest(shards, dataset->shard_count, digest);
    leat_free(shards);
    return memcmp(digest, dataset->fingerprint, 32) == 0
               ? LEAT_OK
               : damaged(from, "datasets[].fingerprint", "the digest of the shards listed with it");
}

static leat_status read_datasets(const source *from, leat_json_value list, leat_manifest *into)
{
    leat_status status = LEAT_OK;
    if (leat_json_type_of(list) != LEAT_JSON_ARRAY || leat_json_count(list) == 0) {
        return damaged(from, "datasets", "a list of datasets");
    }
    into->datasets = leat_alloc(leat_json_count(list), sizeof *into->datasets);
    for (leat_json_value at = leat_json_first(list, NULL); leat_json_type_of(at) != LEAT_JSON_NONE;
         at = leat_json_after(at, NULL)) {
        leat_manifest_dataset *dataset = &into->datasets[into->dataset_count++];
        LEAT_TRY(read_text(from, leat_json_member(at, "name"), "datasets[].name", &dataset->name));
        LEAT_TRY(
            read_u64(from, leat_json_member(at, "weight"), "datasets[].weight", &dataset->weight));
        LEAT_TRY(read_u64(from, leat_json_member(at, "documents"), "datasets[].documents",
                          &dataset->documents));
        LEAT_TRY(read_u64(from, leat_json_member(at, "text_bytes"), "datasets[].text_bytes",
                          &dataset->text_bytes));
        LEAT_TRY(read_hex(from, leat_json_member(at, "fingerprint"), "datasets[].fingerprint",
                          dataset->fingerprint, 32));
        LEAT_TRY(read_shards(from, leat_json_member(at, "shards"), dataset));
        LEAT_TRY(check_fingerprint(from, dataset));
    }
done:
    return status;
}

static leat_status read_versions(const source *from, leat_json_value map, leat_manifest *into)
{
    leat_bytes key;
    if (leat_json_type_of(map) != LEAT_JSON_OBJECT) {
        return damaged(from, "versions", "a mapping");
    }
    for (leat_json_value at = leat_json_first(map, &key); leat_json_type_of(at) != LEAT_JSON_NONE;
         at = leat_json_after(at, &key)) {
        char *value = NULL;
        leat_status status = read_text(from, at, "versions", &value);
        if (status != LEAT_OK) {
            return status;
        }
        char *name = leat_strndup((const char *)key.data, key.size);
        leat_manifest_set_version(into, name, value);
        leat_free(name);
        leat_free(value);
    }
    return LEAT_OK;
}

static leat_status read_restarts(const source *from, leat_json_value list, leat_manifest *into)
{
    leat_status status = LEAT_OK;
    if (leat_json_type_of(list) != LEAT_JSON_ARRAY) {
        return damaged(from, "restarts", "a list");
    }
    for (leat_json_value at = leat_json_first(list, NULL); leat_json_type_of(at) != LEAT_JSON_NONE;
         at = leat_json_after(at, NULL)) {
        leat_manifest_add_restart(into, 0, 0, NULL, 0);
        leat_manifest_restart *restart = &into->restarts[into->restart_count - 1];
        LEAT_TRY(read_u64(from, leat_json_member(at, "step"), "restarts[].step", &restart->step));
        LEAT_TRY(
            read_u64(from, leat_json_member(at, "ranks"), "restarts[].ranks", &restart->ranks));
        leat_free(restart->hosts);
        restart->hosts = NULL;
        LEAT_TRY(read_texts(from, leat_json_member(at, "hosts"), "restarts[].hosts",
                            &restart->hosts, &restart->host_count));
    }
done:
    return status;
}

static leat_status read_forks(const source *from, leat_json_value list, leat_manifest *into)
{
    leat_status status = LEAT_OK;
    if (leat_json_type_of(list) != LEAT_JSON_ARRAY) {
        return damaged(from, "forks", "a list");
    }
    for (leat_json_value at = leat_json_first(list, NULL); leat_json_type_of(at) != LEAT_JSON_NONE;
         at = leat_json_after(at, NULL)) {
        LEAT_GROW(into->forks, into->fork_capacity, into->fork_count + 1);
        leat_manifest_fork *fork = &into->forks[into->fork_count++];
        *fork = (leat_manifest_fork){0};
        LEAT_TRY(read_text(from, leat_json_member(at, "parent"), "forks[].parent", &fork->parent));
        LEAT_TRY(read_u64(from, leat_json_member(at, "step"), "forks[].step", &fork->step));
        LEAT_TRY(read_texts(from, leat_json_member(at, "differences"), "forks[].differences",
                            &fork->differences, &fork->difference_count));
        LEAT_TRY(read_texts(from, leat_json_member(at, "restarted"), "forks[].restarted",
                            &fork->restarted, &fork->restarted_count));
    }
done:
    return status;
}

static leat_status check_versions(const source *from, leat_json_value root)
{
    static const struct {
        const char *key;
        uint64_t ours;
    } versions[] = {{"manifest_version", LEAT_MANIFEST_VERSION},
                    {"plan_version", LEAT_PLAN_VERSION}};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        uint64_t found;
        leat_status status =
            read_u64(from, leat_json_member(root, versions[i].key), versions[i].key, &found);
        if (status != LEAT_OK) {
            return status;
        }
        if (found != versions[i].ours) {
            LEAT_FAIL(from->error, LEAT_MISMATCH, "the manifest is of another version of leat");
            leat_error_where(from->error, "%.200s, key %s", from->path, versions[i].key);
            leat_error_found(from->error, "%" PRIu64, found);
            leat_error_wanted(from->error, "%" PRIu64, versions[i].ours);
            leat_error_hint(from->error, "use the leat that wrote it");
            return LEAT_MISMATCH;
        }
    }
    return LEAT_OK;
}

static leat_status read_root(const source *from, leat_json_value root, leat_manifest *into)
{
    uint8_t digest[32];
    leat_status status = LEAT_OK;
    LEAT_TRY(check_versions(from, root));
    LEAT_TRY(read_text(from, leat_json_member(root, "job_path"), "job_path", &into->job_path));
    LEAT_TRY(
        read_hex(from, leat_json_member(root, "plan_digest"), "plan_digest", into->digest, 32));
    leat_json_value tokenizer = leat_json_member(root, "tokenizer_sha256");
    into->has_tokenizer = leat_json_type_of(tokenizer) != LEAT_JSON_NULL;
    if (into->has_tokenizer) {
        LEAT_TRY(read_hex(from, tokenizer, "tokenizer_sha256", into->tokenizer_sha256, 32));
    }
    LEAT_TRY(read_raw(from, "job", &into->job));
    LEAT_TRY(read_raw(from, "settings", &into->settings));
    LEAT_TRY(read_raw(from, "limits", &into->limits));
    leat_sha256_of(into->settings, strlen(into->settings), digest);
    if (memcmp(digest, into->digest, sizeof digest) != 0) {
        status = damaged(from, "settings", "the settings whose digest is plan_digest");
        goto done;
    }
    LEAT_TRY(read_datasets(from, leat_json_member(root, "datasets"), into));
    LEAT_TRY(read_versions(from, leat_json_member(root, "versions"), into));
    LEAT_TRY(read_restarts(from, leat_json_member(root, "restarts"), into));
    LEAT_TRY(read_forks(from, leat_json_member(root, "forks"), into));
done:
    return status;
}

leat_status leat_manifest_read(leat_manifest **out, leat_bytes text, const char *path,
                               leat_error *error)
{
    const source from = {path, text, error};
    leat_json *json = leat_json_open();
    leat_manifest *manifest = leat_alloc(1, sizeof *manifest);
    leat_json_value root;
    *out = NULL;
    leat_status status = leat_json_parse(json, text, path, &root, error);
    if (status == LEAT_OK) {
        status = read_root(&from, root, manifest);
    }
    leat_json_close(json);
    if (status != LEAT_OK) {
        leat_manifest_close(manifest);
        return status;
    }
    *out = manifest;
    return LEAT_OK;
}
