/* Canonical form, order-defining settings, their digest, and what two jobs may differ in. */
#include "job/job.h"
#include "base/memory.h"
#include "check.h"

static const char full[] = "seed: 7\nsequence_length: 8\nbatch_size: [{from_step: 0, batch_size: "
                           "4}, {from_step: 10, batch_size: 8}]\n"
                           "packing: best_fit\npack_window: 16\npiece: 5\ntokenizer: {file: "
                           "t.json, bos: null, eos: \"<|e|>\"}\n"
                           "index_dir: \"a \\\"b\\\"\"\nthreads: 2\n"
                           "datasets:\n"
                           "- {name: docs, weight: 0.7, files: \"docs/*.jsonl\", holdout: 0.001}\n"
                           "- {name: code, weight: 0.3, files: [a, b], epochs: 2, shuffle: {unit: "
                           "none, piece_window: 1}, eos_id: 0}\n"
                           "mixture_stages:\n"
                           "- {from_row: 20, weights: {docs: 0.5, code: 0.5}}\n"
                           "- {from_step: 12, weights: {code: 1}}\n";

static leat_job *must_open(const char *text, const char *const *sets, size_t count)
{
    leat_job *job = NULL;
    leat_error error;
    leat_status status = leat_job_open(&job, (leat_bytes){(const uint8_t *)text, strlen(text)},
                                       "job.yaml", sets, count, &error);
    if (!CHECK_OK(status, &error)) {
        exit(1);
    }
    return job;
}

static const uint8_t tokenizer_digest[32] = {1, 2, 3};
static const uint8_t hash_a[16] = {0xaa}, hash_b[16] = {0xbb};
static const leat_job_shard docs_shards[] = {{"a.jsonl", 5, hash_a}, {"b.jsonl", 6, hash_b}};
static const leat_job_shard code_shards[] = {{"a", 1, hash_b}};
static const leat_job_shard *const shards[] = {docs_shards, code_shards};
static const size_t shard_counts[] = {2, 1};
static const uint64_t documents[] = {11, 1}, text_bytes[] = {1000, 100};

static void settings_of(const leat_job *job, leat_buffer *json, uint8_t digest[32])
{
    uint64_t weights[2];
    leat_error error;
    CHECK_OK(leat_job_weights(job, SIZE_MAX, text_bytes, weights, &error), &error);
    const leat_job_identity identity = {.tokenizer_sha256 = tokenizer_digest,
                                        .has_eos = true,
                                        .eos = 2,
                                        .weights = weights,
                                        .shards = shards,
                                        .shard_counts = shard_counts,
                                        .documents = documents,
                                        .text_bytes = text_bytes};
    leat_job_order_settings(job, &identity, json, digest);
}

static void test_canonical(void)
{
    static const char *const texts[] = {
        full, "seed: 1\ndatasets: [{name: docs, files: a}]\n",
        "seed: 1\npasses: 3\ndatasets: [{name: docs, files: a}]\n",
        "seed: 1\npacking: single\nrecord_bytes_max: 5\nbad_records: replace\ncollectives: "
        "nccl\ntokens: own\nread_cache: 9\n"
        "tokenizer: {file: bytes, bos: 256, eos: 257}\ndatasets: [{name: "
        "\"\\u0041\\U0001f600\\t\", files: a, weight: bytes, "
        "dtype: uint16, tokens: t, offsets: o, mask: m, format: hdf5, add_special: true, use: "
        "holdout, holdout: 1}]\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        leat_buffer first = {0}, second = {0};
        leat_job *job = must_open(texts[i], NULL, 0);
        leat_job_canonical(job, &first);
        leat_job_close(job);
        job = must_open(leat_buffer_text(&first), NULL, 0);
        leat_job_canonical(job, &second);
        leat_job_close(job);
        CHECK_TEXT("canonical form is read as itself", leat_buffer_text(&second),
                   leat_buffer_text(&first));
        leat_buffer_deinit(&first);
        leat_buffer_deinit(&second);
    }
}

static void test_golden(void)
{
    leat_buffer json = {0};
    uint8_t digest[32];
    char hex[65];
    leat_job *job = must_open(full, NULL, 0);
    settings_of(job, &json, digest);
    leat_hex(digest, 32, hex);
    CHECK_TEXT(
        "settings", leat_buffer_text(&json),
        "{\"plan_version\":1,\"seed\":7,\"sequence_length\":8,\"packing\":\"best_fit\",\"pack_"
        "window"
        "\":16,\"piece\":5,\"long_documents\":\"split\",\"part_bytes\":262144,\"record_bytes_max\":"
        "1"
        "073741824,\"mix_by\":\"tokens\",\"on_exhausted\":\"stop\",\"bad_records\":\"fail\",\"pad_"
        "id\":"
        "0,\"tokenizer\":{\"sha256\":\"0102030000000000000000000000000000000000000000000000000"
        "000000000\",\"bos\":null,\"eos\":2},\"mixture_stages\":[{\"from_row\":20,\"weights\":{"
        "\"docs"
        "\":1,\"code\":1}},{\"from_row\":56,\"weights\":{\"code\":1}}],\"datasets\":[{\"name\":"
        "\"docs\","
        "\"weight\":7,\"text\":\"text\",\"add_special\":false,\"mask\":null,\"holdout\":\"0.001\","
        "\"use\""
        ":\"train\",\"shuffle\":{\"unit\":\"block\",\"block\":256,\"buffer\":16384,\"piece_"
        "window\":256"
        ",\"window_tokens\":1048576},\"shards\":\"3470cd03c0df9e745d25fb82cdf9c34ad0672cbb7373"
        "80efb1705196fcb7b3cc\"},{\"name\":\"code\",\"weight\":3,\"text\":\"text\",\"add_special\":"
        "fal"
        "se,\"mask\":null,\"holdout\":\"0\",\"use\":\"train\",\"shuffle\":{\"unit\":\"none\","
        "\"block\":256,"
        "\"buffer\":0,\"piece_window\":1,\"window_tokens\":1048576},\"shards\":\"e57257d12a0f31e7f"
        "3f1a4a794cad3758c5aed368f37b4d4b02b0c88203608f0\"}]}");
    CHECK_TEXT("digest", hex, "033efeb392d9f1bc6acf91b03edc2be28b896ceaa101833e7f8e7283f712bf34");
    leat_buffer_deinit(&json);
    leat_job_close(job);
}

static void test_golden_job(void)
{
    leat_buffer json = {0};
    leat_job *job = must_open(full, NULL, 0);
    leat_job_canonical(job, &json);
    CHECK_TEXT(
        "canonical", leat_buffer_text(&json),
        "{\"seed\":7,\"sequence_length\":8,\"batch_size\":[{\"from_step\":0,\"batch_size\":4},{"
        "\"fro"
        "m_step\":10,\"batch_size\":8}],\"packing\":\"best_fit\",\"pack_window\":16,\"piece\":5,"
        "\"lon"
        "g_documents\":\"split\",\"part_bytes\":262144,\"mix_by\":\"tokens\",\"on_exhausted\":"
        "\"stop\""
        ",\"passes\":null,\"drop_last\":true,\"bad_records\":\"fail\",\"pad_id\":0,\"tokenizer\":{"
        "\"fi"
        "le\":\"t.json\",\"bos\":null,\"eos\":\"<|e|>\"},\"index_dir\":\"a "
        "\\\"b\\\"\",\"collectives\":\"auto"
        "\",\"tokens\":\"auto\",\"record_bytes_max\":1073741824,\"read_cache\":null,\"threads\":2,"
        "\"l"
        "ook_ahead\":null,\"peer_timeout\":300,\"mask_boundaries\":false,\"datasets\":[{\"name\":\""
        "docs\",\"weight\":0.7,\"files\":[\"docs/"
        "*.jsonl\"],\"format\":null,\"text\":\"text\",\"epochs\""
        ":0,\"holdout\":0.001,\"use\":\"train\",\"shuffle\":{\"unit\":\"block\",\"block\":256,"
        "\"buffer\":"
        "16384,\"piece_window\":256,\"window_tokens\":1048576},\"add_special\":false,\"tokens\":n"
        "ull,\"offsets\":null,\"dtype\":null,\"eos_id\":null,\"mask\":null},{\"name\":\"code\","
        "\"weigh"
        "t\":0.3,\"files\":[\"a\",\"b\"],\"format\":null,\"text\":\"text\",\"epochs\":2,"
        "\"holdout\":0,\"use"
        "\":\"train\",\"shuffle\":{\"unit\":\"none\",\"block\":256,\"buffer\":0,\"piece_window\":1,"
        "\"wind"
        "ow_tokens\":1048576},\"add_special\":false,\"tokens\":null,\"offsets\":null,\"dtype\":nul"
        "l,\"eos_id\":0,\"mask\":null}],\"mixture_stages\":[{\"from_row\":20,\"weights\":{\"docs\":"
        "0."
        "5,\"code\":0.5}},{\"from_step\":12,\"weights\":{\"code\":1}}]}");
    leat_buffer_clear(&json);
    leat_job_limits(job, &json);
    CHECK_TEXT("limits", leat_buffer_text(&json),
               "{\"passes\":null,\"epochs\":{\"docs\":0,\"code\":2},\"batch_size\":[{\"from_step\":"
               "0,\"batch_size\":4},"
               "{\"from_step\":10,\"batch_size\":8}]}");
    leat_buffer_deinit(&json);
    leat_job_close(job);
}

typedef struct difference {
    const char *set, *text; /* text NULL: the order is kept */
    uint64_t row;
} difference;

static const difference differences[] = {
    {"seed=8", "seed differs: 8 in ours.yaml, 7 in runs/a", UINT64_MAX},
    {"sequence_length=9", "sequence_length differs: 9 in ours.yaml, 8 in runs/a", UINT64_MAX},
    {"packing=concat", "packing differs: \"concat\" in ours.yaml, \"best_fit\" in runs/a",
     UINT64_MAX},
    {"pack_window=17", "pack_window differs: 17 in ours.yaml, 16 in runs/a", UINT64_MAX},
    {"piece=4", "piece differs: 4 in ours.yaml, 5 in runs/a", UINT64_MAX},
    {"long_documents=truncate", "long_documents differs: ", UINT64_MAX},
    {"part_bytes=0", "part_bytes differs: 0 in ours.yaml, 262144 in runs/a", UINT64_MAX},
    {"record_bytes_max=1", "record_bytes_max differs: ", UINT64_MAX},
    {"mix_by=documents", "mix_by differs: ", UINT64_MAX},
    {"on_exhausted=drop", "on_exhausted differs: ", UINT64_MAX},
    {"bad_records=skip", "bad_records differs: ", UINT64_MAX},
    {"pad_id=1", "pad_id differs: ", UINT64_MAX},
    {"datasets.docs.weight=0.6", "datasets.docs.weight differs: 2 in ours.yaml, 7 in runs/a",
     UINT64_MAX},
    {"datasets.docs.name=dics", NULL, 0}, /* its stage no longer finds it: refused at open */
    {"datasets.docs.text=body",
     "datasets.docs.text differs: \"body\" in ours.yaml, \"text\" in runs/a", UINT64_MAX},
    {"datasets.docs.tokens=body",
     "datasets.docs.tokens differs: \"body\" in ours.yaml, nothing in runs/a", UINT64_MAX},
    {"datasets.docs.add_special=true", "datasets.docs.add_special differs: true in", UINT64_MAX},
    {"datasets.docs.mask=m", "datasets.docs.mask differs: \"m\" in ours.yaml, null in runs/a",
     UINT64_MAX},
    {"datasets.docs.holdout=0.002", "datasets.docs.holdout differs: \"0.002\" in", UINT64_MAX},
    {"datasets.docs.use=holdout", "datasets.docs.use differs: ", UINT64_MAX},
    {"datasets.code.shuffle.unit=document", "datasets.code.shuffle.unit differs: \"document\" in",
     UINT64_MAX},
    {"datasets.code.shuffle.buffer=5", "datasets.code.shuffle.buffer differs: 5 in", UINT64_MAX},
    {"datasets.code.shuffle.block=5", "datasets.code.shuffle.block differs: 5 in", UINT64_MAX},
    {"datasets.code.shuffle.piece_window=5", "datasets.code.shuffle.piece_window differs: 5 in",
     UINT64_MAX},
    {"datasets.code.shuffle.window_tokens=5", "datasets.code.shuffle.window_tokens differs: 5 in",
     UINT64_MAX},
    {"mixture_stages=[]",
     "mixture_stages[0] differs: nothing in ours.yaml, a mapping of 2 in runs/a", UINT64_MAX},
    {"mixture_stages=[]", "mixture_stages[0] differs: nothing", 21},
    {"mixture_stages=[]", NULL, 20},
    {"mixture_stages=[{from_row: 20, weights: {docs: 1, code: 1}}]", NULL, 56},
    {"mixture_stages=[{from_row: 20, weights: {docs: 1, code: 1}}]",
     "mixture_stages[1] differs: nothing", 57},
    {"mixture_stages=[{from_row: 20, weights: {docs: 1, code: 2}}]",
     "mixture_stages[0].weights.code differs: 2 in ours.yaml, 1 in", 56},
    {"mixture_stages=[{from_row: 20, weights: {docs: 1, code: 1}},{from_step: 12, weights: {code: "
     "0.5, docs: 0}}]",
     NULL, UINT64_MAX},
    {"mixture_stages=[{from_row: 20, weights: {docs: 1, code: 1}},{from_row: 30, weights: {code: "
     "1}}]",
     "mixture_stages[1].from_row differs: 30 in ours.yaml, 56 in", 57},
    {"mixture_stages=[{from_row: 20, weights: {docs: 1, code: 1}},{from_row: 56, weights: {code: "
     "1}}]",
     NULL, UINT64_MAX},
    /* not order-defining */
    {"threads=1", NULL, UINT64_MAX},
    {"look_ahead=1", NULL, UINT64_MAX},
    {"tokens=own", NULL, UINT64_MAX},
    {"collectives=mpi", NULL, UINT64_MAX},
    {"drop_last=false", NULL, UINT64_MAX},
    {"index_dir=x", NULL, UINT64_MAX},
    {"read_cache=4", NULL, UINT64_MAX},
    {"peer_timeout=4", NULL, UINT64_MAX},
    {"mask_boundaries=true", NULL, UINT64_MAX},
    {"tokenizer.file=elsewhere.json", NULL, UINT64_MAX},
    {"datasets.code.files=c", NULL, UINT64_MAX},
    {"datasets.code.epochs=3", NULL, UINT64_MAX},
    {"datasets.code.format=jsonl", NULL, UINT64_MAX},
    {"batch_size=[{from_step: 0, batch_size: 2},{from_step: 10, batch_size: 18}]", NULL,
     UINT64_MAX}, /* row 56 again */
};

static void test_compare(void)
{
    leat_buffer theirs = {0};
    uint8_t their_digest[32], digest[32];
    leat_job *job = must_open(full, NULL, 0);
    settings_of(job, &theirs, their_digest);
    leat_job_close(job);
    for (size_t i = 0; i < sizeof differences / sizeof *differences; i++) {
        const difference *d = &differences[i];
        leat_buffer ours = {0};
        leat_error error;
        leat_status status =
            leat_job_open(&job, (leat_bytes){(const uint8_t *)full, sizeof full - 1}, "job.yaml",
                          &d->set, 1, &error);
        if (status != LEAT_OK) {
            CHECK_U64(d->set, d->row, 0);
            continue;
        }
        settings_of(job, &ours, digest);
        status = leat_job_compare_settings_at((leat_bytes){ours.data, ours.size}, "ours.yaml",
                                              (leat_bytes){theirs.data, theirs.size}, "runs/a",
                                              d->row, &error);
        CHECK_U64(d->set, status, d->text != NULL ? LEAT_MISMATCH : LEAT_OK);
        if (d->text != NULL && status != LEAT_OK) {
            CHECK_HAS(d->set, error.text, d->text);
            CHECK_HAS(d->set, error.where, "ours.yaml and runs/a");
        }
        if (d->row == UINT64_MAX) {
            CHECK_U64(d->set, memcmp(digest, their_digest, 32) == 0, d->text == NULL);
        }
        leat_buffer_deinit(&ours);
        leat_job_close(job);
    }
    leat_error error;
    leat_status status =
        leat_job_compare_settings((leat_bytes){(const uint8_t *)"{", 1}, "x",
                                  (leat_bytes){theirs.data, theirs.size}, "y", &error);
    CHECK_U64("damaged", status, LEAT_CORRUPT);
    leat_buffer_deinit(&theirs);
}

static void test_identity(void)
{
    leat_buffer a = {0}, b = {0};
    uint8_t digest_a[32], digest_b[32];
    leat_job_shard changed[] = {docs_shards[0], docs_shards[1]};
    leat_job_shards_digest(docs_shards, 2, digest_a);
    leat_job_shards_digest(docs_shards, 1, digest_b);
    CHECK(memcmp(digest_a, digest_b, 32) != 0);
    changed[1].records++;
    leat_job_shards_digest(changed, 2, digest_b);
    CHECK(memcmp(digest_a, digest_b, 32) != 0);
    changed[1] = docs_shards[1];
    changed[0].name = "c";
    leat_job_shards_digest(changed, 2, digest_b);
    CHECK(memcmp(digest_a, digest_b, 32) != 0);
    changed[0] = docs_shards[0];
    changed[0].content_hash = hash_b;
    leat_job_shards_digest(changed, 2, digest_b);
    CHECK(memcmp(digest_a, digest_b, 32) != 0);

    leat_job *job = must_open(full, NULL, 0);
    static const uint64_t weights[] = {7, 3};
    leat_job_identity identity = {.tokenizer_sha256 = tokenizer_digest,
                                  .has_eos = true,
                                  .eos = 2,
                                  .weights = weights,
                                  .shards = shards,
                                  .shard_counts = shard_counts};
    leat_job_order_settings(job, &identity, &a, digest_a);
    identity.eos = 3;
    leat_job_order_settings(job, &identity, &b, digest_b);
    leat_error error;
    CHECK_U64("eos",
              leat_job_compare_settings((leat_bytes){a.data, a.size}, "a",
                                        (leat_bytes){b.data, b.size}, "b", &error),
              LEAT_MISMATCH);
    CHECK_TEXT("eos", error.text, "tokenizer.eos differs: 2 in a, 3 in b");
    leat_buffer_deinit(&a);
    leat_buffer_deinit(&b);
    leat_job_close(job);
}

typedef struct limit_case {
    const char *ours, *theirs; /* --set */
    uint64_t step;
    bool ended;
    const char *text; /* NULL: allowed */
} limit_case;

static const limit_case limits[] = {
    {"seed=7", "seed=7", 100, true, NULL},
    {"datasets.code.epochs=3", "datasets.code.epochs=2", 5, false, NULL},
    {"datasets.code.epochs=3", "datasets.code.epochs=2", 5, true,
     "datasets.code.epochs differs: 3 in a, 2 in b"},
    {"datasets.code.epochs=1", "datasets.code.epochs=2", 5, false,
     "datasets.code.epochs differs: 1 in a, 2 in b"},
    {"datasets.code.epochs=0", "datasets.code.epochs=2", 5, false, NULL},
    {"datasets.code.epochs=2", "datasets.code.epochs=0", 5, false,
     "datasets.code.epochs differs: 2 in a, 0 in b"},
    {"batch_size=4", "batch_size=4", 5, false, NULL},
    {"batch_size=4", "batch_size=8", 0, false, NULL},
    {"batch_size=4", "batch_size=8", 1, false, "batch_size at step 0 differs: 4 in a, 8 in b"},
    {"batch_size=[{from_step: 0, batch_size: 4},{from_step: 5, batch_size: 9}]", "batch_size=4", 5,
     false, NULL},
    {"batch_size=[{from_step: 0, batch_size: 4},{from_step: 5, batch_size: 9}]", "batch_size=4", 6,
     false, "batch_size at step 5 differs: 9 in a, 4 in b"},
    {"batch_size=[{from_step: 0, batch_size: 4},{from_step: 5, batch_size: 4}]", "batch_size=4",
     1000, false, NULL},
    {"batch_size=4",
     "batch_size=[{from_step: 0, batch_size: 4},{from_step: 5, batch_size: 4},{from_step: 7, "
     "batch_size: 1}]",
     7, false, NULL},
    {"batch_size=4",
     "batch_size=[{from_step: 0, batch_size: 4},{from_step: 5, batch_size: 4},{from_step: 7, "
     "batch_size: 1}]",
     8, false, "batch_size at step 7 differs: 4 in a, 1 in b"},
};

static void test_limits(void)
{
    static const char small[] =
        "seed: 7\ndatasets: [{name: docs, files: a}, {name: code, files: b, epochs: 2}]\n";
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        leat_buffer a = {0}, b = {0};
        leat_error error;
        leat_job *job = must_open(small, &limits[i].ours, 1);
        leat_job_limits(job, &a);
        leat_job_close(job);
        job = must_open(small, &limits[i].theirs, 1);
        leat_job_limits(job, &b);
        leat_job_close(job);
        leat_status status =
            leat_job_compare_limits((leat_bytes){a.data, a.size}, "a", (leat_bytes){b.data, b.size},
                                    "b", limits[i].step, limits[i].ended, &error);
        CHECK_U64(limits[i].ours, status, limits[i].text != NULL ? LEAT_MISMATCH : LEAT_OK);
        if (status != LEAT_OK && limits[i].text != NULL) {
            CHECK_TEXT(limits[i].ours, error.text, limits[i].text);
        }
        leat_buffer_deinit(&a);
        leat_buffer_deinit(&b);
    }
    static const char bad_sizes[] =
        "{\"epochs\":{\"docs\":0,\"code\":2},\"batch_size\":[{\"from_step\":0,\"batch_size\":1024},"
        "{\"from_step\":0,\"batch_size\":1024},{\"from_step\":0,\"batch_size\":1024}]}";
    static const char *const damaged[] = {"{}", "[]", "{\"epochs\":{\"docs\":1}}", bad_sizes, "1"};
    leat_buffer a = {0};
    leat_job *job = must_open(small, NULL, 0);
    leat_job_limits(job, &a);
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        leat_error error;
        leat_status status = leat_job_compare_limits(
            (leat_bytes){a.data, a.size}, "a",
            (leat_bytes){(const uint8_t *)damaged[i], strlen(damaged[i])}, "b", 50, false, &error);
        CHECK_U64(damaged[i], status, LEAT_MISMATCH);
    }
    leat_buffer_deinit(&a);
    leat_job_close(job);
}

static void list(const char *a_text, const char *b_text, const char *want)
{
    leat_buffer a = {0}, b = {0}, lines = {0};
    leat_error error;
    leat_job *job = must_open(a_text, NULL, 0);
    leat_job_canonical(job, &a);
    leat_job_close(job);
    job = must_open(b_text, NULL, 0);
    leat_job_canonical(job, &b);
    leat_job_close(job);
    leat_status status = leat_job_list_differences(
        (leat_bytes){a.data, a.size}, "a", (leat_bytes){b.data, b.size}, "b", &lines, &error);
    CHECK_OK(status, &error);
    CHECK_TEXT("differences", leat_buffer_text(&lines), want);
    leat_buffer_deinit(&a);
    leat_buffer_deinit(&b);
    leat_buffer_deinit(&lines);
}

static void test_differences(void)
{
    list(full, full, "");
    list("seed: 1\ndatasets: [{name: x, files: a, weight: 0.7}]\n",
         "seed: 1\ndatasets: [{name: x, files: a, weight: 0.75}]\n",
         "datasets.x.weight: \"0.7\" in a, \"0.75\" in b\n");
    list("seed: 1\ndatasets: [{name: x, files: a}, {name: y, files: b, epochs: 2}]\n",
         "seed: 2\npacking: single\ndatasets: [{name: w, files: a}, {name: y, files: b, epochs: "
         "3}, {name: z, files: a}]\n",
         "seed: 1 in a, 2 in b\npacking: \"concat\" in a, \"single\" in b\n"
         "datasets.x: only in a\ndatasets.y.epochs: 2 in a, 3 in b\ndatasets.w: only in "
         "b\ndatasets.z: only in b\n");
    list("seed: 1\ndatasets: [{name: x, files: a}, {name: y, files: b}]\n",
         "seed: 1\ndatasets: [{name: y, files: b}, {name: x, files: a}]\n",
         "datasets: the same ones in another order\n");
}

int main(void)
{
    test_canonical();
    test_golden();
    test_golden_job();
    test_differences();
    test_compare();
    test_identity();
    test_limits();
    return check_done();
}
