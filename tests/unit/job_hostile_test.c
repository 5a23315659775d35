/* --set, and job files that mean harm: huge, deep, cut, changed. */
#include "job/job.h"
#include "base/memory.h"
#include "check.h"

static leat_status open_job(leat_job **job, const char *text, const char *const *sets, size_t count,
                            leat_error *error)
{
    return leat_job_open(job, (leat_bytes){(const uint8_t *)text, strlen(text)}, "dir/job.yaml",
                         sets, count, error);
}

static leat_job *must_open(const char *label, const char *text, const char *const *sets,
                           size_t count)
{
    leat_job *job = NULL;
    leat_error error;
    leat_status status = open_job(&job, text, sets, count, &error);
    if (!CHECK_OK(status, &error)) {
        printf("in %s\n", label);
        exit(1);
    }
    return job;
}

static void test_overrides(void)
{
    static const char *const sets[] = {"seed=8",
                                       "tokenizer.eos=<|endoftext|>",
                                       "datasets.a.b.weight=0.5",
                                       "datasets.a.b.shuffle.unit=none",
                                       "datasets.a=b.weight=1.5",
                                       "batch_size=[{from_step: 0, batch_size: 3}]",
                                       "seed=9",
                                       "tokenizer.bos=null",
                                       "read_cache=1",
                                       "index_dir='a=b'"};
    leat_job *job = must_open("overrides",
                              "seed: 1\ntokenizer: {file: bytes, bos: 256}\nread_cache: 5\n"
                              "datasets:\n- {name: a.b, files: x}\n- {name: a=b, files: x}\n- "
                              "{name: a, files: x, weight: 2}\n",
                              sets, sizeof sets / sizeof *sets);
    CHECK_U64("seed", job->seed, 9);
    CHECK_TEXT("eos", job->eos.text, "<|endoftext|>");
    CHECK(job->bos.kind == LEAT_TOKEN_NONE);
    CHECK_TEXT("file stays", job->tokenizer, "bytes");
    CHECK_U64("weight", job->datasets[0].weight_millionths, 500000);
    CHECK_U64("weight", job->datasets[1].weight_millionths, 1500000);
    CHECK(job->datasets[0].unit == LEAT_UNIT_NONE && job->datasets[0].buffer == 0);
    CHECK_U64("batch", job->batch_sizes[0].rows, 3);
    CHECK_TEXT("quotes", job->index_dir, "a=b");
    leat_job_close(job);
    static const char *const whole[] = {"datasets=[{name: n, files: f}]", "passes=3"};
    job = must_open("whole list", "seed: 1\n", whole, 2);
    CHECK_TEXT("name", job->datasets[0].name, "n");
    CHECK(job->datasets[0].epochs == 3 && job->drop_exhausted && job->passes == 3);
    leat_job_close(job);
}

static void test_hostile(void)
{
    leat_buffer text = {0};
    leat_error error;
    leat_job *job;
    leat_buffer_add(&text, "seed: 1\n\0", 9);
    CHECK_U64("NUL byte",
              leat_job_open(&job, (leat_bytes){text.data, text.size}, "j", NULL, 0, &error),
              LEAT_INVALID);
    CHECK_TEXT("where", error.where, "j:2");
    leat_buffer_clear(&text);
    for (int i = 0; i < 1000000; i++) {
        leat_buffer_add_text(&text, "[");
    }
    CHECK_U64("brackets",
              leat_job_open(&job, (leat_bytes){text.data, text.size}, "j", NULL, 0, &error),
              LEAT_INVALID);
    leat_buffer_clear(&text);
    leat_buffer_add_text(&text, "seed: 1\ndatasets:\n");
    for (int i = 0; i < 100000; i++) {
        leat_buffer_add_format(&text, "- {name: d%d, files: \"d%d/*\", weight: 0.5}\n", i, i);
    }
    leat_buffer_add_text(&text, "mixture_stages: [{from_row: 5, weights: {d99999: 1, d5: 0.1}}]\n");
    leat_status status =
        leat_job_open(&job, (leat_bytes){text.data, text.size}, "j", NULL, 0, &error);
    if (CHECK_OK(status, &error)) {
        CHECK_U64("datasets", job->dataset_count, 100000);
        CHECK_U64("line", job->datasets[99999].line, 100002);
        CHECK_U64("stage", job->stages[0].weights[1].dataset, 99999);
        leat_job_close(job);
    }
    leat_buffer_deinit(&text);
}

/* Cut and changed anywhere, a job file is read or refused, never worse. */
static void test_damage(void)
{
    static const char text[] =
        "seed: 1\nbatch_size: [{from_step: 0, batch_size: 2}]\ntokenizer: {file: bytes, eos: 257}\n"
        "datasets:\n- name: \"a\"\n  files: ['x', y]\n  weight: 0.5\n  shuffle: {unit: none}\n"
        "mixture_stages:\n- from_step: 3\n  weights: {a: 1.5}\n";
    uint64_t seed = 20240501, refused = 0;
    printf("seed %" PRIu64 "\n", seed);
    for (size_t i = 0; i < 20000; i++) {
        char copy[sizeof text];
        memcpy(copy, text, sizeof text);
        size_t size = sizeof text - 1;
        if (i < size) {
            size = i;
        } else {
            for (uint64_t n = check_random(&seed) % 4 + 1; n > 0; n--) {
                static const char marks[] = "{}[]:,-?&*!|>'\"%@`#\n\t 0.~";
                copy[check_random(&seed) % size] =
                    check_random(&seed) % 4 == 0 ? (char)check_random(&seed)
                                                 : marks[check_random(&seed) % (sizeof marks - 1)];
            }
        }
        leat_job *job;
        leat_error error;
        leat_status status =
            leat_job_open(&job, (leat_bytes){(const uint8_t *)copy, size}, "j", NULL, 0, &error);
        CHECK((status == LEAT_OK) == (job != NULL));
        if (status != LEAT_OK) {
            refused++;
            CHECK(error.status == status && error.text[0] != '\0' && error.where[0] != '\0');
        }
        leat_job_close(job);
    }
    CHECK(refused > 10000);
}

static const struct {
    const char *label, *unit, *before;
    size_t count;
} floods[] = {
    {"dashes", "- ", "", 1000000},
    {"questions", "? ", "", 1000000},
    {"quotes", "'", "", 1000000},
    {"braces", "{", "", 1000000},
    {"mappings", "a: ", "", 1000000},
    {"flow items", "a,", "[", 500000},
    {"empty pairs", ": ", "{", 1000000},
    {"words", "word\n ", "seed: ", 1000000},
    {"one key", "k", "", 1000000},
    {"equal keys", "a: 1\n", "", 300000},
    {"tag", "!", "", 1000000},
    {"anchor", "&a ", "", 100000},
    {"directives", "%TAG !a! b\n", "", 20000},
    {"documents", "---\n", "", 1000000},
    {"escapes", "\\x41", "seed: \"", 1000000},
    {"control U+0080", "\xc2\x80", "seed: 1\nx: ", 1},
    {"U+FFFE", "\xef\xbf\xbe", "seed: 1\nx: ", 1},
};

/* A million of anything is refused at once: nothing is quadratic. */
static void test_floods(void)
{
    for (size_t i = 0; i < sizeof floods / sizeof *floods; i++) {
        leat_buffer text = {0};
        leat_error error;
        leat_job *job;
        leat_buffer_add_text(&text, floods[i].before);
        for (size_t n = 0; n < floods[i].count; n++) {
            leat_buffer_add_text(&text, floods[i].unit);
        }
        leat_status status =
            leat_job_open(&job, (leat_bytes){text.data, text.size}, "j", NULL, 0, &error);
        CHECK_U64(floods[i].label, status, LEAT_INVALID);
        CHECK_HAS(floods[i].label, status != LEAT_OK ? error.where : "", "j:");
        leat_buffer_deinit(&text);
    }
}

int main(void)
{
    test_overrides();
    test_hostile();
    test_floods();
    test_damage();
    return check_done();
}
