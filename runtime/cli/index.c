/* leat index JOB: builds the side-car indexes. */
#include "cli/cli.h"
#include "loader/loader.h"
#include <stdio.h>

static void progress(void *context, const char *doing, uint64_t done, uint64_t total)
{
    leat_cli_progress(context, "%s: %llu of %llu", doing, (unsigned long long)done,
                      (unsigned long long)total);
}

static void print(const leat_loader *loader, bool json)
{
    for (size_t d = 0; d < loader->job->dataset_count; d++) {
        unsigned long long built = 0;
        for (size_t i = 0; i < loader->shards.lists[d].count; i++) {
            built += loader->shards.summaries[d][i].built;
        }
        printf(json ? "{\"dataset\":\"%s\",\"shards\":%zu,\"built\":%llu,\"records\":%llu,"
                      "\"documents\":%llu,\"text_bytes\":%llu}\n"
                    : "%s: %zu shards (%llu indexed now), %llu records, %llu documents, %llu bytes "
                      "of text\n",
               loader->job->datasets[d].name, loader->shards.lists[d].count, built,
               (unsigned long long)loader->shards.records[d],
               (unsigned long long)loader->shards.documents[d],
               (unsigned long long)loader->shards.text_bytes[d]);
    }
}

static leat_status run(leat_cli *cli, int argc, char **argv)
{
    static const struct option options[] = {{"set", required_argument, NULL, 's'},
                                            {NULL, 0, NULL, 0}};
    const char *set[64];
    leat_options open = {.set = set, .log = leat_cli_log, .log_context = cli};
    open.progress_line = progress;
    open.progress_context = cli;
    for (int option; (option = getopt_long(argc, argv, ":", options, NULL)) != -1;) {
        if (option != 's' || open.set_count == 64) {
            return leat_cli_unknown(cli, "index", argv);
        }
        set[open.set_count++] = optarg;
    }
    if (optind + 1 != argc) {
        return leat_cli_usage(cli, "index", "wants one job file");
    }
    leat_loader *loader = NULL;
    leat_status status = leat_loader_open_job(&loader, cli->wire, argv[optind], &open, &cli->error);
    leat_cli_progress(cli, NULL);
    if (status == LEAT_OK && leat_cli_root(cli)) {
        print(loader, cli->json);
    }
    leat_loader_close(loader);
    return status;
}

const leat_command leat_command_index = {
    "index",
    "leat index JOB [--set KEY=VALUE]…",
    "Build the side-car indexes of a job's data",
    "Under mpirun the ranks share the work, shard by shard; a killed build goes on where it was.\n"
    "  --set KEY=VALUE  override a key of the job file\n",
    true,
    run};
