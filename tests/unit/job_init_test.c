/* The job file that leat init writes is read again, and docs/job-file.md says what the schema table says. */
#include "job/init.h"
#include "job/schema.h"
#include "check.h"

static void test_init(void)
{
    static const char *const docs_globs[] = {"docs/*.jsonl", "more \"docs\"\\/*.jsonl"};
    static const char *const odd_globs[] = {"*"};
    static const leat_job_found found[] = {{.name = "docs",
                                            .globs = docs_globs,
                                            .glob_count = 2,
                                            .format = "jsonl",
                                            .text = "body",
                                            .files = 12,
                                            .bytes = 1234567890},
                                           {.name = "true",
                                            .globs = odd_globs,
                                            .glob_count = 1,
                                            .is_tokens = true,
                                            .files = 1,
                                            .bytes = 999},
                                           {.name = "7: # \n\x7f\xc2\x85\xc3\xa9",
                                            .globs = odd_globs,
                                            .glob_count = 1,
                                            .files = 1,
                                            .bytes = UINT64_MAX}};
    leat_buffer text = {0};
    leat_error error;
    leat_job *job;
    leat_job_init_text(found, 3, &(leat_job_init_options){.seed = 42}, &text);
    leat_status status =
        leat_job_open(&job, (leat_bytes){text.data, text.size}, "job.yaml", NULL, 0, &error);
    if (CHECK_OK(status, &error)) {
        CHECK_U64("seed", job->seed, 42);
        CHECK_U64("datasets", job->dataset_count, 3);
        CHECK_TEXT("glob", job->datasets[0].files[1], docs_globs[1]);
        CHECK_TEXT("text", job->datasets[0].text, "body");
        CHECK_TEXT("format", job->datasets[0].format, "jsonl");
        CHECK_TEXT("name", job->datasets[1].name, "true");
        CHECK_TEXT("odd name", job->datasets[2].name, found[2].name);
        CHECK_TEXT("tokenizer", job->tokenizer, "bytes");
        CHECK_U64("eos", job->eos.id, 257);
        leat_job_close(job);
    }
    CHECK_HAS("size", leat_buffer_text(&text), "  # 12 files, 1.2 GB\n");
    CHECK_HAS("size", leat_buffer_text(&text), "  # 1 file, 999 bytes\n");
    leat_buffer_clear(&text);
    leat_job_init_text(found, 2, &(leat_job_init_options){.tokenizer = "t.json"}, &text);
    status = leat_job_open(&job, (leat_bytes){text.data, text.size}, "job.yaml", NULL, 0, &error);
    if (CHECK_OK(status, &error)) {
        CHECK_TEXT("tokenizer", job->tokenizer, "t.json");
        CHECK(job->eos.kind == LEAT_TOKEN_NONE);
        leat_job_close(job);
    }
    leat_buffer_clear(&text);
    leat_job_init_text(&found[1], 1, &(leat_job_init_options){0}, &text);
    status = leat_job_open(&job, (leat_bytes){text.data, text.size}, "job.yaml", NULL, 0, &error);
    if (CHECK_OK(status, &error)) {
        CHECK(job->tokenizer == NULL);
        leat_job_close(job);
    }
    leat_buffer_deinit(&text);
}

/* A default that the help says as a literal is the default in force. */
static void test_defaults_said(void)
{
    leat_buffer json = {0};
    leat_error error;
    static const char text[] = "seed: 1\nbatch_size: 1024\ndatasets: [{name: d, files: a}]\n";
    leat_job *job;
    leat_status status = leat_job_open(&job, (leat_bytes){(const uint8_t *)text, strlen(text)}, "j",
                                       NULL, 0, &error);
    if (!CHECK_OK(status, &error)) {
        return;
    }
    leat_job_canonical(job, &json);
    const char *all = leat_buffer_text(&json);
    size_t compared = 0;
    for (size_t i = 0; i < leat_job_key_count; i++) {
        const leat_job_key *key = &leat_job_keys[i];
        const char *dot = strrchr(key->path, '.'), *said = key->default_text;
        if (key->required || strpbrk(said, " (") != NULL ||
            strncmp(key->path, "mixture_stages[", 15) == 0 || key->type == LEAT_KEY_SIZES ||
            key->type == LEAT_KEY_MAP) {
            continue;
        }
        bool quoted = strspn(said, "0123456789") != strlen(said) && strcmp(said, "null") != 0 &&
                      strcmp(said, "true") != 0 && strcmp(said, "false") != 0 &&
                      strcmp(said, "[]") != 0;
        char want[128];
        snprintf(want, sizeof want, quoted ? "\"%s\":\"%s\"" : "\"%s\":%s",
                 dot != NULL ? dot + 1 : key->path, said);
        CHECK_HAS(key->path, all, want);
        compared++;
    }
    CHECK(compared > 30);
    leat_job_close(job);
    leat_buffer_deinit(&json);
}

static void test_help(void)
{
    leat_buffer text = {0};
    leat_job_help(&text);
    for (size_t i = 0; i < leat_job_key_count; i++) {
        CHECK_HAS("help", leat_buffer_text(&text), leat_job_keys[i].path);
    }
    leat_buffer_clear(&text);
    leat_job_help_markdown(&text);
    const char *folder = getenv("LEAT_SOURCE_DIR");
    char path[4096], *page = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/docs/job-file.md", folder != NULL ? folder : ".");
    FILE *file = fopen(path, "r");
    if (file == NULL || getdelim(&page, &size, '\0', file) < 0) {
        printf("cannot read %s\n", path);
        CHECK(file != NULL);
    } else if (strstr(page, leat_buffer_text(&text)) == NULL) {
        printf("the table in %s is not this one:\n%s", path, leat_buffer_text(&text));
        CHECK(false);
    }
    free(page);
    if (file != NULL) {
        fclose(file);
    }
    leat_buffer_deinit(&text);
}

int main(void)
{
    test_init();
    test_defaults_said();
    test_help();
    return check_done();
}
