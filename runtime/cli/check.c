/* leat check JOB: what is worth knowing before GPUs are spent. */
#include "audit/check.h"
#include "audit/forecast.h"
#include "base/arith.h"
#include "base/memory.h"
#include "cli/check_print.h"
#include <stdio.h>
#include <stdlib.h>

static void progress(void *context, const char *doing, uint64_t done, uint64_t total)
{
    leat_cli_progress(context, "%s: %llu of %llu", doing, (unsigned long long)done,
                      (unsigned long long)total);
}

/* "1%", "0.05%": millionths. */
static leat_status take_sample(leat_cli *cli, const char *text, uint32_t *millionths)
{
    char *end = NULL;
    uint64_t whole = strtoull(text, &end, 10), part = 0, unit = 10000;
    bool right = text[0] >= '0' && text[0] <= '9' && whole <= 100;
    if (right && *end == '.') {
        for (end++; *end >= '0' && *end <= '9' && unit > 1; end++) {
            unit /= 10;
            part += (uint64_t)(*end - '0') * unit;
        }
    }
    uint64_t value = whole * 10000 + part;
    if (!right || strcmp(end, "%") != 0 || value == 0 || value > LEAT_SAMPLE_ALL) {
        return leat_cli_usage(cli, "check",
                              "--sample takes a percentage like 1%% or 0.05%% (at most four "
                              "decimals), not \"%s\"",
                              text);
    }
    *millionths = (uint32_t)value;
    return LEAT_OK;
}

enum { SETS_MAX = 64 };

typedef struct check_options {
    const char *job, *set[SETS_MAX];
    uint64_t steps, most;
    uint32_t sample;
    leat_options open;
} check_options;

static leat_status take_options(leat_cli *cli, check_options *check, int argc, char **argv)
{
    static const struct option options[] = {{"sample", required_argument, NULL, 'p'},
                                            {"steps", required_argument, NULL, 'n'},
                                            {"most", required_argument, NULL, 'm'},
                                            {"set", required_argument, NULL, 's'},
                                            {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(argc, argv, ":", options, NULL)) != -1;) {
        leat_status status = LEAT_OK;
        if (option == 'p') {
            status = take_sample(cli, optarg, &check->sample);
        } else if (option == 'n') {
            status = leat_cli_number(cli, "check", "--steps", optarg, &check->steps);
        } else if (option == 'm') {
            status = leat_cli_number(cli, "check", "--most", optarg, &check->most);
        } else if (option == 's' && check->open.set_count < SETS_MAX) {
            check->set[check->open.set_count++] = optarg;
        } else {
            status = leat_cli_unknown(cli, "check", argv);
        }
        if (status != LEAT_OK) {
            return status;
        }
    }
    if (optind + 1 != argc) {
        return leat_cli_usage(cli, "check", "wants one job file");
    }
    check->job = argv[optind];
    return LEAT_OK;
}

/* Everything that rank 0 finds out alone. */
static leat_status look(leat_cli *cli, const check_options *check, leat_check_report *report)
{
    leat_loader *loader = report->loader;
    const leat_plan_spec *spec = &loader->spec;
    leat_status status;
    LEAT_TRY(leat_check_bad(loader, check->most != 0 ? check->most : UINT64_MAX, &report->bad,
                            &report->bad_files, &report->listed, &report->lines, &cli->error));
    for (uint32_t d = 0; d < spec->dataset_count; d++) {
        LEAT_TRY(leat_check_read_order(loader, d, &report->reading[d], &cli->error));
    }
    leat_check_duplicates(loader, &report->duplicates);
    leat_check_near_empty(loader, &report->near_empty);
    leat_forecast_make(
        &report->forecast, spec, report->census,
        check->steps == 0
            ? LEAT_FORECAST_NO_END
            : leat_plan_step_first_row(spec->batch_sizes, spec->batch_size_count, check->steps));
done:
    return status;
}

static leat_status run(leat_cli *cli, int argc, char **argv)
{
    check_options check = {.most = 1000, .sample = LEAT_SAMPLE_ALL};
    leat_check_report report = {0};
    leat_status status;
    LEAT_TRY(take_options(cli, &check, argc, argv));
    check.open.set = check.set;
    check.open.log = leat_cli_log;
    check.open.log_context = cli;
    check.open.progress_line = progress;
    check.open.progress_context = cli;
    check.open.look = true;
    LEAT_TRY(leat_loader_open_job(&report.loader, cli->wire, check.job, &check.open, &cli->error));
    LEAT_TRY(leat_agree(cli->wire, leat_plan_spec_check(&report.loader->spec, &cli->error),
                        &cli->error));
    report.sample = check.sample;
    report.steps = check.steps;
    report.census = leat_alloc(report.loader->job->dataset_count, sizeof *report.census);
    report.reading = leat_alloc(report.loader->job->dataset_count, sizeof *report.reading);
    LEAT_TRY(leat_census_take(report.loader, check.sample, report.census, &cli->error));
    status = leat_cli_root(cli) ? look(cli, &check, &report) : LEAT_OK;
    LEAT_TRY(leat_agree(cli->wire, status, &cli->error));
    leat_cli_progress(cli, NULL);
    if (leat_cli_root(cli)) {
        (cli->json ? leat_check_print_json : leat_check_print_text)(&report, stdout);
        bool refused = report.forecast.empty != LEAT_FORECAST_NOBODY;
        cli->exit_code = report.bad != 0 || refused ? LEAT_EXIT_DIFFERS : LEAT_EXIT_OK;
    }
done:
    leat_cli_progress(cli, NULL);
    leat_check_shards_deinit(&report.duplicates);
    leat_check_shards_deinit(&report.near_empty);
    leat_forecast_deinit(&report.forecast);
    leat_buffer_deinit(&report.lines);
    leat_free(report.census);
    leat_free(report.reading);
    leat_loader_close(report.loader);
    return status;
}

const leat_command leat_command_check = {
    "check",
    "leat check JOB [--steps N] [--sample P%] [--most N] [--set KEY=VALUE]…",
    "Say what is in a job's data before GPUs are spent",
    "Bad records with file and line, documents and tokens, files that are empty or there twice, "
    "the mixture that can be kept\n"
    "and for how long, legal rank counts, memory, and how the order of the documents meets the "
    "files.  Under mpirun the ranks\n"
    "share the work.  Exit code 1: there are bad records, or a dataset without tokens.\n"
    "  --steps N        the run is to have N steps: epochs of each dataset until then\n"
    "  --sample P%      count the tokens of P percent of the documents, spread over all files, "
    "and scale up\n"
    "                   (all records are looked at for the index anyway)\n"
    "  --most N         list at most N bad records (default 1000; 0: all)\n"
    "  --set KEY=VALUE  override a key of the job file\n",
    true,
    run};
