/* leat verify: are the batches of two runs equal over their common steps?  Reads the logs only, by bisection of the chain. */
#include "base/memory.h"
#include "cli/audit_print.h"
#include <sys/stat.h>

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static char *log_of(const char *path)
{
    return is_folder(path) ? leat_format("%s/batches.jsonl", path) : leat_strdup(path);
}

/* The first token that differs; `known` false: the rows that both batches have are equal. */
typedef struct place {
    uint64_t row;
    uint32_t token;
    bool known;
} place;

static const leat_batch_segment *segment_at(const leat_batch *batch, place where)
{
    uint64_t at = where.row == 0 ? batch->segment_first : batch->row_segments[where.row - 1];
    while (at + 1 < batch->row_segments[where.row] &&
           batch->segments[at].row_start + batch->segments[at].length <= where.token) {
        at++;
    }
    return &batch->segments[at];
}

static leat_status sides_json(leat_cli *cli, const char *const *folders,
                              leat_loader *const *loaders, const leat_batch *batches, place where,
                              leat_json_out *out)
{
    leat_status status = LEAT_OK;
    leat_json_key_u64(out, "row", where.row);
    leat_json_key_u64(out, "token", where.token);
    leat_json_key(out, "sides");
    leat_json_array(out);
    for (int i = 0; i < 2 && where.known && status == LEAT_OK; i++) {
        leat_json_object(out);
        leat_json_key_text(out, "run", folders[i]);
        status =
            leat_cli_segment_json(loaders[i], segment_at(&batches[i], where), out, &cli->error);
        leat_json_object_end(out);
    }
    leat_json_array_end(out);
    return status;
}

static leat_status sides_text(leat_cli *cli, const char *const *folders,
                              leat_loader *const *loaders, const leat_batch *batches, place where)
{
    leat_status status = LEAT_OK;
    if (!where.known) {
        printf("  the rows computed again are equal: one of the logs is not of its manifest\n");
        return LEAT_OK;
    }
    printf("  first difference: row %llu, token %u\n", (unsigned long long)where.row, where.token);
    for (int i = 0; i < 2 && status == LEAT_OK; i++) {
        printf("  in %s: ", folders[i]);
        status =
            leat_cli_segment_line(loaders[i], segment_at(&batches[i], where), stdout, &cli->error);
    }
    return status;
}

/* The rows of the first different step on both sides, where both folders can compute it again. */
static leat_status show_difference(leat_cli *cli, const char *a, const char *b, uint64_t step,
                                   leat_json_out *out)
{
    const char *folders[2] = {a, b};
    leat_loader *loaders[2] = {NULL, NULL};
    leat_batch batches[2];
    leat_status status = LEAT_OK;
    for (int i = 0; i < 2 && status == LEAT_OK; i++) {
        leat_options open = {.log = leat_cli_log, .log_context = cli};
        status =
            leat_audit_open(&loaders[i], cli->wire, folders[i], step, step + 1, &open, &cli->error);
        status =
            status == LEAT_OK ? leat_loader_next(loaders[i], &batches[i], &cli->error) : status;
    }
    if (status == LEAT_OK && !batches[0].end && !batches[1].end &&
        batches[0].row_tokens == batches[1].row_tokens) {
        uint64_t rows = batches[0].rows < batches[1].rows ? batches[0].rows : batches[1].rows,
                 row = 0;
        uint32_t width = batches[0].row_tokens, token = 0;
        while (row < rows && memcmp(batches[0].tokens + row * width,
                                    batches[1].tokens + row * width, width * 4u) == 0) {
            row++;
        }
        while (row < rows && token + 1 < width &&
               batches[0].tokens[row * width + token] == batches[1].tokens[row * width + token]) {
            token++;
        }
        place at = {row, token, row < rows};
        status = cli->json ? sides_json(cli, folders, loaders, batches, at, out)
                           : sides_text(cli, folders, loaders, batches, at);
    }
    leat_loader_abandon(loaders[0]);
    leat_loader_abandon(loaders[1]);
    return status;
}

/* What is not known takes nothing from the verdict: the corpus of a run may be gone. */
static void tell_why(leat_cli *cli, const char *a, const char *b, uint64_t step, leat_json_out *out)
{
    leat_error cause;
    if (!is_folder(a) || !is_folder(b)) {
        return;
    }
    if (leat_audit_cause(a, b, &cause) != LEAT_OK) {
        leat_json_key_text(out, "cause", cause.text);
        leat_json_key_text(out, "found", cause.found);
        leat_json_key_text(out, "wanted", cause.wanted);
        if (!cli->json) {
            printf("  cause: %s\n", cause.text);
        }
    }
    if (show_difference(cli, a, b, step, out) != LEAT_OK) {
        leat_json_key_text(out, "rows_unknown", cli->error.text);
        if (!cli->json) {
            printf("  the rows cannot be computed again: %s\n", cli->error.text);
        }
    }
}

static leat_status compare(leat_cli *cli, const char *a, const char *b)
{
    char *logs[2] = {log_of(a), log_of(b)};
    leat_log_comparison comparison;
    leat_status status = leat_audit_compare_logs(logs[0], logs[1], &comparison, &cli->error);
    if (status == LEAT_OK) {
        bool equal = comparison.different == comparison.end;
        leat_buffer buffer = {0};
        leat_json_out out = {&buffer, false};
        leat_json_object(&out);
        leat_json_key_bool(&out, "equal", equal);
        leat_json_key_u64(&out, "first", comparison.first);
        leat_json_key_u64(&out, "end", comparison.end);
        if (!cli->json) {
            printf(equal ? "equal: every batch of steps %llu to %llu\n"
                         : "different from step %llu on\n",
                   (unsigned long long)(equal ? comparison.first : comparison.different),
                   (unsigned long long)comparison.end);
        }
        if (!equal) {
            leat_json_key_u64(&out, "step", comparison.different);
            tell_why(cli, a, b, comparison.different, &out);
        }
        leat_json_object_end(&out);
        if (cli->json) {
            printf("%s\n", leat_buffer_text(&buffer));
        }
        cli->exit_code = equal ? LEAT_EXIT_OK : LEAT_EXIT_DIFFERS;
        leat_buffer_deinit(&buffer);
    }
    leat_free(logs[0]);
    leat_free(logs[1]);
    return status;
}

/* A log, published by somebody else, against a job file: everything is computed anew. */
static leat_status against_job(leat_cli *cli, const char *log, const char *job)
{
    uint64_t first = 0, end = 0, different = 0;
    leat_loader *loader = NULL;
    leat_status status = leat_audit_log_range(log, &first, &end, &cli->error);
    if (status == LEAT_OK) {
        leat_options open = {.log = leat_cli_log, .log_context = cli, .steps = end, .replay = true};
        status = leat_loader_open(&loader, cli->wire, job, &open, &cli->error);
    }
    if (status == LEAT_OK) {
        status = leat_cli_replay_log(cli, loader, log, 0, end, &different);
    }
    if (status == LEAT_OK && leat_cli_root(cli)) {
        if (cli->json) {
            printf("{\"equal\":%s,\"end\":%llu,\"step\":%llu}\n",
                   different == end ? "true" : "false", (unsigned long long)end,
                   (unsigned long long)different);
        } else if (different == end) {
            printf("equal: every batch of steps 0 to %llu\n", (unsigned long long)end);
        } else {
            printf("different from step %llu on\n", (unsigned long long)different);
        }
    }
    cli->exit_code = status == LEAT_OK && different != end ? LEAT_EXIT_DIFFERS : LEAT_EXIT_OK;
    leat_loader_close(loader);
    return status;
}

static leat_status run(leat_cli *cli, int argc, char **argv)
{
    static const struct option options[] = {{"export", required_argument, NULL, 'e'},
                                            {NULL, 0, NULL, 0}};
    const char *export_to = NULL;
    for (int option; (option = getopt_long(argc, argv, ":", options, NULL)) != -1;) {
        if (option != 'e') {
            return leat_cli_unknown(cli, "verify", argv);
        }
        export_to = optarg;
    }
    int count = argc - optind;
    if (export_to != NULL && count == 1) {
        char *log = log_of(argv[optind]);
        leat_buffer content = {0};
        leat_status status = leat_audit_export(log, export_to, &cli->error);
        leat_buffer_deinit(&content);
        leat_free(log);
        return status;
    }
    if (count != 2) {
        return leat_cli_usage(
            cli, "verify",
            "wants two run folders, or a log and a job file, or a run folder and --export");
    }
    bool log_and_job = !is_folder(argv[optind]) && !is_folder(argv[optind + 1]) &&
                       strstr(argv[optind + 1], ".jsonl") == NULL;
    if (log_and_job) {
        return against_job(cli, argv[optind], argv[optind + 1]);
    }
    return leat_cli_root(cli) ? compare(cli, argv[optind], argv[optind + 1]) : LEAT_OK;
}

const leat_command leat_command_verify = {
    "verify",
    "leat verify DIR_A DIR_B | leat verify DIR --export FILE | leat verify FILE JOB",
    "Are the batches of two runs equal over their common steps",
    "Compares the logs by bisection of the chain, in well under a second for a million steps.  "
    "Where batches differ, the first\n"
    "different step, row and token are computed again on both sides, and the cause is named from "
    "the manifests.\n"
    "FILE JOB computes all batches of a published log anew (under mpirun the ranks share the "
    "work).  Exit code 1: different.\n",
    true,
    run};
