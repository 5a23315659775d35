/* leat compare A B: what differs between the data of two experiments, and what that changes. */
#include "audit/compare.h"
#include "base/json_out.h"
#include "cli/cli.h"
#include "collectives/wire.h"
#include "loader/loader.h"
#include <stdio.h>
#include <sys/stat.h>

typedef unsigned long long number;

typedef struct experiment {
    const char *name;
    leat_manifest *read; /* of a run folder */
    leat_loader *loader; /* of a job file */
} experiment;

static void progress(void *context, const char *doing, uint64_t done, uint64_t total)
{
    leat_cli_progress(context, "%s: %llu of %llu", doing, (number)done, (number)total);
}

/* A run folder has its manifest; a job file is opened, its data indexed where that was not done yet. */
static leat_status open_one(leat_cli *cli, experiment *of)
{
    struct stat info;
    if (stat(of->name, &info) == 0 && S_ISDIR(info.st_mode)) {
        leat_status status = leat_loader_read_manifest(of->name, &of->read, &cli->error);
        if (status == LEAT_NOT_FOUND) {
            leat_error_hint(&cli->error, "a run folder has a manifest.json (leat run JOB --out DIR "
                                         "makes one); or name a job file");
        }
        return leat_agree(cli->wire, status, &cli->error);
    }
    leat_options open = {.look = true,
                         .log = leat_cli_log,
                         .log_context = cli,
                         .progress_line = progress,
                         .progress_context = cli};
    return leat_loader_open_job(&of->loader, cli->wire, of->name, &open, &cli->error);
}

static const leat_manifest *manifest_of(const experiment *of)
{
    return of->read != NULL ? of->read : of->loader->manifest;
}

static const char *words_of(const leat_compare_dataset *item)
{
    if (item->where != LEAT_COMPARE_IN_BOTH) {
        return "";
    }
    if (!item->documents) {
        return item->files_same == item->files_a && item->files_a == item->files_b
                   ? "the same files, read as other documents"
                   : "other files";
    }
    if (!item->order) {
        return "the same documents in another order";
    }
    if (!item->tokens) {
        return "the same documents in the same order, other tokens";
    }
    return item->pieces ? "the same documents in the same order, the same tokens"
                        : "the same documents in the same order, cut into other pieces";
}

static void print_text(const leat_compare *compare, const experiment *sides)
{
    for (size_t d = 0; d < compare->count; d++) {
        const leat_compare_dataset *item = &compare->datasets[d];
        if (item->where != LEAT_COMPARE_IN_BOTH) {
            printf("%s: only in %s\n", item->name,
                   sides[item->where == LEAT_COMPARE_ONLY_A ? 0 : 1].name);
            continue;
        }
        printf("%s: %s", item->name, words_of(item));
        if (item->files_same != item->files_a || item->files_a != item->files_b) {
            printf(" (%llu and %llu, %llu of them equal and at the same place; the first other "
                   "ones: %s and %s)",
                   (number)item->files_a, (number)item->files_b, (number)item->files_same,
                   item->file_a != NULL ? item->file_a : "none",
                   item->file_b != NULL ? item->file_b : "none");
        }
        printf("%s\n", item->renamed ? " (the files have other names)" : "");
    }
    printf("mixture: %s\nrows: %s\nbatch sizes: %s\n", compare->mixture ? "the same" : "another",
           compare->rows ? "the same length and packing" : "another length or packing",
           compare->batches ? "the same" : "others");
    if (!compare->equal) {
        printf("differences:\n");
        const char *at = (const char *)compare->lines.data;
        size_t left = compare->lines.size;
        while (left != 0) {
            const char *end = memchr(at, '\n', left);
            size_t length = end != NULL ? (size_t)(end - at) : left;
            printf("  %.*s\n", (int)length, at);
            length += end != NULL;
            at += length;
            left -= length;
        }
    }
    printf("%s\n", leat_compare_verdict(compare));
}

static void json_dataset(const leat_compare_dataset *item, leat_json_out *out)
{
    static const char *const where[] = {"both", "first", "second"};
    leat_json_object(out);
    leat_json_key_text(out, "name", item->name);
    leat_json_key_text(out, "in", where[item->where]);
    if (item->where == LEAT_COMPARE_IN_BOTH) {
        leat_json_key_bool(out, "same_documents", item->documents);
        leat_json_key_bool(out, "same_order", item->order);
        leat_json_key_bool(out, "same_tokens", item->tokens);
        leat_json_key_bool(out, "same_pieces", item->pieces);
        leat_json_key(out, "files");
        leat_json_array(out);
        leat_json_u64(out, item->files_a);
        leat_json_u64(out, item->files_b);
        leat_json_array_end(out);
        leat_json_key_u64(out, "files_equal", item->files_same);
        leat_json_key_text(out, "first_file", item->file_a);
        leat_json_key_text(out, "second_file", item->file_b);
        leat_json_key_bool(out, "renamed", item->renamed);
    }
    leat_json_object_end(out);
}

static void print_json(const leat_compare *compare)
{
    leat_buffer buffer = {0};
    leat_json_out out = {&buffer, false};
    leat_json_object(&out);
    leat_json_key_bool(&out, "equal", compare->equal);
    leat_json_key_text(&out, "verdict", leat_compare_verdict(compare));
    leat_json_key_bool(&out, "same_mixture", compare->mixture);
    leat_json_key_bool(&out, "same_rows", compare->rows);
    leat_json_key_bool(&out, "same_batch_sizes", compare->batches);
    leat_json_key(&out, "datasets");
    leat_json_array(&out);
    for (size_t d = 0; d < compare->count; d++) {
        json_dataset(&compare->datasets[d], &out);
    }
    leat_json_array_end(&out);
    leat_json_key(&out, "differences");
    leat_json_array(&out);
    const char *at = (const char *)compare->lines.data, *end;
    for (size_t left = compare->lines.size; left != 0 && (end = memchr(at, '\n', left)) != NULL;) {
        leat_json_text_sized(&out, at, (size_t)(end - at));
        left -= (size_t)(end + 1 - at);
        at = end + 1;
    }
    leat_json_array_end(&out);
    leat_json_object_end(&out);
    printf("%s\n", leat_buffer_text(&buffer));
    leat_buffer_deinit(&buffer);
}

static leat_status run(leat_cli *cli, int argc, char **argv)
{
    static const struct option options[] = {{NULL, 0, NULL, 0}};
    experiment sides[2] = {{0}};
    leat_compare compare = {0};
    if (getopt_long(argc, argv, ":", options, NULL) != -1) {
        return leat_cli_unknown(cli, "compare", argv);
    }
    if (optind + 2 != argc) {
        return leat_cli_usage(cli, "compare", "wants two of run folders and job files");
    }
    leat_status status = LEAT_OK;
    for (int i = 0; i < 2 && status == LEAT_OK; i++) {
        sides[i].name = argv[optind + i];
        status = open_one(cli, &sides[i]);
    }
    leat_cli_progress(cli, NULL);
    if (status == LEAT_OK) {
        status = leat_compare_make(&compare, manifest_of(&sides[0]), sides[0].name,
                                   manifest_of(&sides[1]), sides[1].name, &cli->error);
    }
    if (status == LEAT_OK && leat_cli_root(cli)) {
        if (cli->json) {
            print_json(&compare);
        } else {
            print_text(&compare, sides);
        }
        cli->exit_code = compare.equal ? LEAT_EXIT_OK : LEAT_EXIT_DIFFERS;
    }
    leat_compare_deinit(&compare);
    for (int i = 0; i < 2; i++) {
        leat_manifest_close(sides[i].read);
        leat_loader_close(sides[i].loader);
    }
    return status;
}

const leat_command leat_command_compare = {
    "compare",
    "leat compare JOB_OR_DIR JOB_OR_DIR",
    "Say what differs between two experiments' data, and what that changes",
    "Each of the two is a job file, or the folder of a run.  For each dataset: are the documents "
    "the same, their order, their\n"
    "tokens; then mixture, rows and batch sizes, and every key that differs with both values.  "
    "Exit code 1: there is a\n"
    "difference.\n",
    true,
    run};
