/* A manifest is read as it was written; a damaged one is refused; the first file that differs is named. */
#include "job/manifest.h"
#include "base/memory.h"
#include "check.h"

static const char text[] = "seed: 7\ntokenizer: {file: t.json}\ndatasets:\n- {name: docs, files: "
                           "\"d/*\"}\n- {name: code, files: c}\n";
static const uint8_t tokenizer_digest[32] = {1, 2, 3};
static const uint8_t hashes[4][16] = {{0xaa}, {0xbb}, {0xcc}, {0xdd}};
static const leat_job_shard docs_shards[] = {{"a \"b\\,}.jsonl", 5, hashes[0]},
                                             {"b.jsonl", 6, hashes[1]}};
static const leat_job_shard code_shards[] = {{"c", 1, hashes[2]}};
static const size_t shard_counts[] = {2, 1};
static const uint64_t weights[] = {10, 1}, documents[] = {11, 1}, text_bytes[] = {1000, 100};

static leat_manifest *make(const leat_job_shard *docs, size_t docs_count)
{
    leat_job *job = NULL;
    leat_error error;
    const leat_job_shard *const shards[] = {docs, code_shards};
    const size_t counts[] = {docs_count, 1};
    leat_status status = leat_job_open(&job, (leat_bytes){(const uint8_t *)text, sizeof text - 1},
                                       "job.yaml", NULL, 0, &error);
    if (!CHECK_OK(status, &error)) {
        exit(1);
    }
    const leat_job_identity identity = {.tokenizer_sha256 = tokenizer_digest,
                                        .weights = weights,
                                        .shards = shards,
                                        .shard_counts = counts,
                                        .documents = documents,
                                        .text_bytes = text_bytes};
    leat_manifest *manifest = leat_manifest_make(job, &identity);
    leat_job_close(job);
    return manifest;
}

static leat_manifest *make_full(void)
{
    static char one[] = "seed differs", two[] = "docs", parent[] = "runs/a";
    static char *differences[] = {one}, *restarted[] = {two};
    static const char *const hosts[] = {"node1", "", "node\"2"};
    leat_manifest *manifest = make(docs_shards, shard_counts[0]);
    leat_manifest_set_version(manifest, "leat", "0.0.9");
    leat_manifest_set_version(manifest, "mpi", "Open MPI 4.1");
    leat_manifest_set_version(manifest, "leat", "0.1.0");
    leat_manifest_add_restart(manifest, 0, 16, hosts, 3);
    leat_manifest_add_restart(manifest, 150, 5, NULL, 0);
    leat_manifest_add_fork(manifest,
                           &(leat_manifest_fork){parent, 100, differences, restarted, 1, 1});
    return manifest;
}

static void test_round_trip(void)
{
    leat_buffer first = {0}, second = {0};
    leat_error error;
    leat_manifest *manifest = make_full(), *read = NULL;
    leat_manifest_write(manifest, &first);
    leat_status status =
        leat_manifest_read(&read, (leat_bytes){first.data, first.size}, "m.json", &error);
    if (CHECK_OK(status, &error)) {
        leat_manifest_write(read, &second);
        CHECK_TEXT("read as written", leat_buffer_text(&second), leat_buffer_text(&first));
        CHECK_TEXT("job", read->job, manifest->job);
        CHECK_TEXT("settings", read->settings, manifest->settings);
        CHECK_TEXT("limits", read->limits, manifest->limits);
        CHECK_U64("weight", read->datasets[0].weight, 10);
        CHECK_U64("restarts", read->restart_count, 2);
        CHECK_TEXT("host", read->restarts[0].hosts[2], "node\"2");
        CHECK_U64("ranks", read->restarts[1].ranks, 5);
        CHECK_TEXT("version", read->versions[0].value, "0.1.0");
        CHECK_TEXT("fork", read->forks[0].differences[0], "seed differs");
        CHECK_OK(leat_manifest_compare_shards(manifest, "a", read, "b", &error), &error);
    }
    leat_manifest_close(read);
    leat_manifest_close(manifest);
    leat_buffer_deinit(&first);
    leat_buffer_deinit(&second);
}

typedef struct edit {
    const char *label, *from, *to, *where;
    leat_status status;
} edit;

static const edit edits[] = {
    {"version", "\"manifest_version\":1", "\"manifest_version\":2", "m.json, key manifest_version",
     LEAT_MISMATCH},
    {"plan version", "\"plan_version\":1", "\"plan_version\":2", "m.json, key plan_version",
     LEAT_MISMATCH},
    {"no version", "\"manifest_version\":1", "\"other\":1", "m.json, key manifest_version",
     LEAT_CORRUPT},
    {"settings", "\"pad_id\":0,\"tokenizer\":{\"sha", "\"pad_id\":1,\"tokenizer\":{\"sha",
     "m.json, key settings", LEAT_CORRUPT},
    {"digest", "\"plan_digest\":\"", "\"plan_digest\":\"0", "m.json, key plan_digest",
     LEAT_CORRUPT},
    {"records", "\"b.jsonl\",6", "\"b.jsonl\",7", "m.json, key datasets[].fingerprint",
     LEAT_CORRUPT},
    {"records as text", "\"b.jsonl\",6", "\"b.jsonl\",\"6\"",
     "m.json, key datasets[].shards[].records", LEAT_CORRUPT},
    {"hash", "\"bb00", "\"zz00", "m.json, key datasets[].shards[].hash", LEAT_CORRUPT},
    {"NUL in a name", "\"b.jsonl\"", "\"b\\u0000\"", "m.json, key datasets[].shards[].name",
     LEAT_CORRUPT},
    {"weight", "\"weight\":10,\"documents\"", "\"weight\":-1,\"documents\"",
     "m.json, key datasets[].weight", LEAT_CORRUPT},
    {"job is no mapping", "\"job\":{", "\"job\":5,\"jab\":{", "m.json, key job", LEAT_CORRUPT},
    {"hosts", "\"hosts\":[\"node1\"", "\"hosts\":[1", "m.json, key restarts[].hosts", LEAT_CORRUPT},
    {"no forks", "\"forks\"", "\"farks\"", "m.json, key forks", LEAT_CORRUPT},
    {"versions", "\"mpi\":\"", "\"mpi\":7,\"x\":\"", "m.json, key versions", LEAT_CORRUPT},
};

static void test_damaged(void)
{
    leat_buffer good = {0}, bad = {0};
    leat_error error;
    leat_manifest *manifest = make_full(), *read;
    leat_manifest_write(manifest, &good);
    leat_manifest_close(manifest);
    const char *whole = leat_buffer_text(&good);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        const char *at = strstr(whole, edits[i].from);
        CHECK_HAS(edits[i].label, whole, edits[i].from);
        if (at == NULL) {
            continue;
        }
        leat_buffer_clear(&bad);
        leat_buffer_add(&bad, whole, (size_t)(at - whole));
        leat_buffer_add_text(&bad, edits[i].to);
        leat_buffer_add_text(&bad, at + strlen(edits[i].from));
        leat_status status =
            leat_manifest_read(&read, (leat_bytes){bad.data, bad.size}, "m.json", &error);
        CHECK_U64(edits[i].label, status, edits[i].status);
        CHECK_TEXT(edits[i].label, status != LEAT_OK ? error.where : "", edits[i].where);
        leat_manifest_close(read);
    }
    for (size_t size = 0; size + 1 < good.size; size++) {
        leat_status status =
            leat_manifest_read(&read, (leat_bytes){good.data, size}, "m.json", &error);
        CHECK(status == LEAT_CORRUPT && read == NULL);
    }
    uint64_t seed = 99;
    printf("seed %" PRIu64 "\n", seed);
    for (int i = 0; i < 5000; i++) {
        leat_buffer_clear(&bad);
        leat_buffer_add(&bad, good.data, good.size);
        bad.data[check_random(&seed) % bad.size] =
            (uint8_t) "\"{}[],:0a\\"[check_random(&seed) % 10];
        leat_status status =
            leat_manifest_read(&read, (leat_bytes){bad.data, bad.size}, "m.json", &error);
        CHECK((status == LEAT_OK) == (read != NULL));
        leat_manifest_close(read);
    }
    leat_buffer_deinit(&good);
    leat_buffer_deinit(&bad);
}

static void test_shards(void)
{
    const leat_job_shard changed[] = {docs_shards[0], {"b.jsonl", 6, hashes[3]}};
    const leat_job_shard records[] = {docs_shards[0], {"b.jsonl", 7, hashes[1]}};
    const leat_job_shard other[] = {{"aa", 5, hashes[0]}, docs_shards[1]};
    const leat_job_shard more[] = {docs_shards[0], docs_shards[1], {"c.jsonl", 1, hashes[3]}};
    const struct {
        const leat_job_shard *docs;
        size_t count;
        const char *text, *found, *wanted;
    } cases[] = {
        {changed, 2, "dataset docs: the file b.jsonl has another content",
         "6 records, hash dd000000000000000000000000000000",
         "6 records, hash bb000000000000000000000000000000, as in runs/a"},
        {records, 2, "dataset docs: the file b.jsonl has another content",
         "7 records, hash bb000000000000000000000000000000",
         "6 records, hash bb000000000000000000000000000000, as in runs/a"},
        {other, 2, "dataset docs: the file aa stands where another file was", "5 records, hash aa",
         "a \"b\\,}.jsonl with 5 records, hash aa"},
        {more, 3, "dataset docs: the file c.jsonl is new", "1 records, hash dd",
         "no file, as in runs/a"},
        {docs_shards, 1, "dataset docs: the file b.jsonl is missing", "no file",
         "6 records, hash bb"},
    };
    leat_manifest *theirs = make(docs_shards, 2);
    leat_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_manifest *ours = make(cases[i].docs, cases[i].count);
        leat_status status = leat_manifest_compare_shards(ours, "now", theirs, "runs/a", &error);
        CHECK_U64(cases[i].text, status, LEAT_MISMATCH);
        if (status != LEAT_OK) {
            CHECK_TEXT("text", error.text, cases[i].text);
            CHECK_HAS("found", error.found, cases[i].found);
            CHECK_HAS("wanted", error.wanted, cases[i].wanted);
        }
        leat_manifest_close(ours);
    }
    leat_manifest_close(theirs);
}

int main(void)
{
    test_round_trip();
    test_damaged();
    test_shards();
    return check_done();
}
