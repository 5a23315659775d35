/* leat report DIR… -o FILE.html: runs on one page. */
#include "audit/report.h"
#include "cli/cli.h"
#include "io/store/store.h"
#include <stdio.h>
#include <sys/stat.h>

enum { RUNS_MAX = 256 };

static leat_status check_folders(leat_cli *cli, int count, char **folders)
{
    for (int i = 0; i < count; i++) {
        struct stat status;
        if (stat(folders[i], &status) != 0 || !S_ISDIR(status.st_mode)) {
            LEAT_FAIL(&cli->error, LEAT_NOT_FOUND, "%s is no run folder", folders[i]);
            leat_error_hint(&cli->error, "give the folders that were given to leat run --out");
            return LEAT_NOT_FOUND;
        }
    }
    return LEAT_OK;
}

static leat_status run(leat_cli *cli, int argc, char **argv)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {NULL, 0, NULL, 0}};
    const char *path = NULL;
    for (int option; (option = getopt_long(argc, argv, ":o:", options, NULL)) != -1;) {
        if (option != 'o') {
            return leat_cli_unknown(cli, "report", argv);
        }
        path = optarg;
    }
    int count = argc - optind;
    if (path == NULL || count < 1 || count > RUNS_MAX) {
        return leat_cli_usage(cli, "report", "wants 1 to %d run folders and -o FILE.html",
                              RUNS_MAX);
    }
    leat_status status = check_folders(cli, count, argv + optind);
    if (status != LEAT_OK) {
        return status;
    }
    leat_report report;
    leat_buffer html = {0};
    leat_report_read(&report, (const char *const *)(argv + optind), (size_t)count);
    leat_report_page(&report, &html);
    status = leat_store_posix()->write_whole(leat_store_posix(), path,
                                             (leat_bytes){html.data, html.size}, &cli->error);
    size_t faults = 0;
    for (size_t i = 0; i < report.count; i++) {
        faults += report.runs[i].faults.size != 0;
    }
    if (status == LEAT_OK && cli->json) {
        printf("{\"runs\":%zu,\"runs_with_faults\":%zu,\"bytes\":%zu}\n", report.count, faults,
               html.size);
    } else if (status == LEAT_OK) {
        printf("%s: runs: %zu, with something missing or damaged: %zu\n", path, report.count,
               faults);
    }
    leat_report_deinit(&report);
    leat_buffer_deinit(&html);
    return status;
}

const leat_command leat_command_report = {
    "report",
    "leat report DIR… -o FILE.html",
    "Show runs on one page",
    "Writes one self-contained page: are the batches equal to those of the first DIR, step by "
    "step; mixture against\n"
    "target; waits and throughput; starts with their rank counts.  Missing or damaged files are "
    "named on the page.\n"
    "  -o, --output FILE  the page\n",
    false,
    run};
