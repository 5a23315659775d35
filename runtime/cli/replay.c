/* leat replay DIR --steps A..B: computes those batches again and compares them with the log. */
#include "base/memory.h"
#include "cli/audit_print.h"
#include <stdlib.h>

leat_status leat_cli_range(leat_cli *cli, const char *command, const char *text, uint64_t *first,
                           uint64_t *end)
{
    char *rest = NULL;
    *first = strtoull(text, &rest, 10);
    if (rest == text || strncmp(rest, "..", 2) != 0) {
        return leat_cli_usage(cli, command, "--steps takes A..B, not \"%s\"", text);
    }
    const char *second = rest + 2;
    *end = strtoull(second, &rest, 10);
    if (rest == second || *rest != '\0' || *end <= *first) {
        return leat_cli_usage(cli, command, "--steps takes A..B with A < B, not \"%s\"", text);
    }
    return LEAT_OK;
}

static leat_status run(leat_cli *cli, int argc, char **argv)
{
    static const struct option options[] = {{"steps", required_argument, NULL, 's'},
                                            {NULL, 0, NULL, 0}};
    uint64_t first = 0, end = 0, different = 0, log_first, log_end;
    for (int option; (option = getopt_long(argc, argv, ":", options, NULL)) != -1;) {
        leat_status status = option == 's' ? leat_cli_range(cli, "replay", optarg, &first, &end)
                                           : leat_cli_unknown(cli, "replay", argv);
        if (status != LEAT_OK) {
            return status;
        }
    }
    if (optind + 1 != argc) {
        return leat_cli_usage(cli, "replay", "wants one run folder");
    }
    char *log = leat_format("%s/batches.jsonl", argv[optind]);
    leat_loader *loader = NULL;
    leat_status status = leat_audit_log_range(log, &log_first, &log_end, &cli->error);
    if (status == LEAT_OK) {
        first = end == 0 ? log_first : first;
        end = end == 0 ? log_end : end;
        status = leat_cli_check_logged(cli, "replay", argv[optind], first, end);
    }
    if (status == LEAT_OK) {
        leat_options open = {.log = leat_cli_log, .log_context = cli};
        status = leat_audit_open(&loader, cli->wire, argv[optind], first, end, &open, &cli->error);
    }
    if (status == LEAT_OK) {
        status = leat_cli_replay_log(cli, loader, log, first, end, &different);
    }
    if (status == LEAT_OK && leat_cli_root(cli)) {
        if (cli->json) {
            printf("{\"first\":%llu,\"end\":%llu,\"equal\":%s,\"different\":%lld}\n",
                   (unsigned long long)first, (unsigned long long)end,
                   different == end ? "true" : "false",
                   different == end ? -1LL : (long long)different);
        } else if (different == end) {
            printf("steps %llu to %llu: every batch equals the log\n", (unsigned long long)first,
                   (unsigned long long)end);
        } else {
            printf("step %llu differs from the log\n", (unsigned long long)different);
        }
    }
    cli->exit_code = status == LEAT_OK && different != end ? LEAT_EXIT_DIFFERS : LEAT_EXIT_OK;
    leat_loader_close(loader);
    leat_free(log);
    return status;
}

const leat_command leat_command_replay = {
    "replay",
    "leat replay DIR [--steps A..B]",
    "Compute logged batches again and compare them",
    "Works on any number of ranks, from the nearest checkpoint or cursor.  B is not included; "
    "default: the whole log.\n"
    "Exit code 1 where a batch differs.\n",
    true,
    run};
