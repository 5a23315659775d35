/* leat plan JOB: a dry run: which documents are in which step, without writing anything. */
#include "audit/tally.h"
#include "base/memory.h"
#include "cli/audit_print.h"
#include "plan/spec.h"
#include <stdio.h>

enum { SETS_MAX = 64, STEPS_DEFAULT = 10 };

typedef unsigned long long number;

typedef struct dry_run {
    leat_cli *cli;
    leat_loader *loader;
    const char *job, *set[SETS_MAX];
    uint64_t first, end, ranks; /* ranks 0: not asked for */
    bool documents;
    leat_tally step, slice, total;
    leat_options open;
} dry_run;

static leat_status take_options(leat_cli *cli, dry_run *plan, int argc, char **argv)
{
    static const struct option options[] = {{"steps", required_argument, NULL, 'n'},
                                            {"ranks", required_argument, NULL, 'r'},
                                            {"documents", no_argument, NULL, 'd'},
                                            {"set", required_argument, NULL, 's'},
                                            {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(argc, argv, ":", options, NULL)) != -1;) {
        leat_status status = LEAT_OK;
        if (option == 'n') {
            status = leat_cli_range(cli, "plan", optarg, &plan->first, &plan->end);
        } else if (option == 'r') {
            status = leat_cli_number(cli, "plan", "--ranks", optarg, &plan->ranks);
            if (status == LEAT_OK && plan->ranks == 0) {
                status = leat_cli_usage(cli, "plan", "--ranks takes a number from 1 on");
            }
        } else if (option == 'd') {
            plan->documents = true;
        } else if (option == 's' && plan->open.set_count < SETS_MAX) {
            plan->set[plan->open.set_count++] = optarg;
        } else {
            status = leat_cli_unknown(cli, "plan", argv);
        }
        if (status != LEAT_OK) {
            return status;
        }
    }
    if (optind + 1 != argc) {
        return leat_cli_usage(cli, "plan", "wants one job file");
    }
    plan->job = argv[optind];
    return LEAT_OK;
}

static void print_shares(const dry_run *plan, const leat_tally *tally, bool epochs)
{
    for (uint32_t d = 0; d < tally->datasets; d++) {
        const leat_tally_dataset *of = &tally->items[d];
        uint64_t share = tally->tokens == 0 ? 0 : (of->tokens * 100000 / tally->tokens + 5) / 10;
        printf("%s %s %llu.%02llu %%", d == 0 ? "" : ",", leat_loader_dataset_name(plan->loader, d),
               (number)(share / 100), (number)(share % 100));
        if (epochs && of->documents != 0) {
            printf(of->epoch_first == of->epoch_last ? " (%llu documents, epoch %llu)"
                                                     : " (%llu documents, epochs %llu to %llu)",
                   (number)of->documents, (number)of->epoch_first, (number)of->epoch_last);
        }
    }
    putchar('\n');
}

static void json_tally(const dry_run *plan, const leat_tally *tally, leat_json_out *out)
{
    leat_json_key_u64(out, "tokens", tally->tokens);
    leat_json_key(out, "by_dataset");
    leat_json_array(out);
    for (uint32_t d = 0; d < tally->datasets; d++) {
        const leat_tally_dataset *of = &tally->items[d];
        leat_json_object(out);
        leat_json_key_text(out, "name", leat_loader_dataset_name(plan->loader, d));
        leat_json_key_u64(out, "tokens", of->tokens);
        leat_json_key_u64(out, "documents", of->documents);
        if (of->documents != 0) {
            leat_json_key_u64(out, "epoch_first", of->epoch_first);
            leat_json_key_u64(out, "epoch_last", of->epoch_last);
        }
        leat_json_object_end(out);
    }
    leat_json_array_end(out);
}

static leat_status json_segments(dry_run *plan, const leat_batch *batch, leat_json_out *out)
{
    leat_status status = LEAT_OK;
    uint64_t at = batch->segment_first;
    leat_json_key(out, "segments");
    leat_json_array(out);
    for (uint64_t row = 0; row < batch->rows; row++) {
        for (; at < batch->row_segments[row] && status == LEAT_OK; at++) {
            leat_json_object(out);
            leat_json_key_u64(out, "row", row);
            status =
                leat_cli_segment_json(plan->loader, &batch->segments[at], out, &plan->cli->error);
            leat_json_object_end(out);
        }
    }
    leat_json_array_end(out);
    return status;
}

static leat_status step_json(dry_run *plan, const leat_batch *batch)
{
    leat_buffer buffer = {0};
    leat_json_out out = {&buffer, false};
    leat_status status = LEAT_OK;
    leat_json_object(&out);
    leat_json_key_u64(&out, "step", batch->step);
    leat_json_key_u64(&out, "rows", batch->global_rows);
    json_tally(plan, &plan->step, &out);
    if (plan->ranks != 0) {
        leat_json_key(&out, "ranks");
        leat_json_array(&out);
        for (uint64_t r = 0; r < plan->ranks; r++) {
            uint64_t first, end;
            leat_plan_slice(batch->rows, r, plan->ranks, &first, &end);
            leat_tally_take(&plan->slice, batch, first, end);
            leat_json_object(&out);
            leat_json_key_u64(&out, "first_row", first);
            leat_json_key_u64(&out, "end_row", end);
            json_tally(plan, &plan->slice, &out);
            leat_json_object_end(&out);
        }
        leat_json_array_end(&out);
    }
    if (plan->documents) {
        status = json_segments(plan, batch, &out);
    }
    leat_json_object_end(&out);
    if (status == LEAT_OK) {
        printf("%s\n", leat_buffer_text(&buffer));
    }
    leat_buffer_deinit(&buffer);
    return status;
}

static leat_status step_text(dry_run *plan, const leat_batch *batch)
{
    leat_status status = LEAT_OK;
    printf("step %llu: %llu rows, %llu tokens:", (number)batch->step, (number)batch->rows,
           (number)plan->step.tokens);
    print_shares(plan, &plan->step, true);
    for (uint64_t r = 0; r < plan->ranks; r++) {
        uint64_t first, end;
        leat_plan_slice(batch->rows, r, plan->ranks, &first, &end);
        leat_tally_take(&plan->slice, batch, first, end);
        if (first == end) {
            printf("  rank %llu: no rows\n", (number)r);
            continue;
        }
        printf("  rank %llu: rows %llu to %llu, %llu tokens:", (number)r, (number)first,
               (number)(end - 1), (number)plan->slice.tokens);
        print_shares(plan, &plan->slice, false);
    }
    uint64_t at = batch->segment_first;
    for (uint64_t row = 0; plan->documents && row < batch->rows; row++) {
        for (; at < batch->row_segments[row] && status == LEAT_OK; at++) {
            printf("  row %llu: ", (number)row);
            status = leat_cli_segment_line(plan->loader, &batch->segments[at], stdout,
                                           &plan->cli->error);
        }
    }
    return status;
}

/* A rank without rows in a whole batch would be refused by the run, so it is refused here. */
static leat_status check_ranks(dry_run *plan)
{
    const leat_plan_spec *spec = &plan->loader->spec;
    uint64_t least = UINT64_MAX;
    for (uint64_t i = 0; i < spec->batch_size_count; i++) {
        least = spec->batch_sizes[i].rows < least ? spec->batch_sizes[i].rows : least;
    }
    if (plan->ranks <= least) {
        return LEAT_OK;
    }
    LEAT_FAIL(&plan->cli->error, LEAT_INVALID, "more ranks than the smallest batch has rows");
    leat_error_where(&plan->cli->error, "%s: batch_size", plan->job);
    leat_error_found(&plan->cli->error, "--ranks %llu", (number)plan->ranks);
    leat_error_wanted(&plan->cli->error, "at most %llu ranks", (number)least);
    return LEAT_INVALID;
}

static leat_status drive(dry_run *plan)
{
    leat_batch batch;
    leat_status status = LEAT_OK;
    uint64_t steps = 0;
    while (status == LEAT_OK) {
        status = leat_loader_next(plan->loader, &batch, &plan->cli->error);
        if (status != LEAT_OK || batch.end) {
            break;
        }
        if (batch.step < plan->first) {
            leat_cli_progress(plan->cli, "on the way: step %llu of %llu", (number)batch.step,
                              (number)plan->first);
        } else {
            leat_cli_progress(plan->cli, NULL);
            leat_tally_take(&plan->step, &batch, 0, batch.rows);
            leat_tally_add(&plan->total, &plan->step);
            status = plan->cli->json ? step_json(plan, &batch) : step_text(plan, &batch);
            steps++;
        }
        leat_loader_done(plan->loader, &batch);
    }
    leat_cli_progress(plan->cli, NULL);
    if (status != LEAT_OK || plan->cli->json) {
        return status;
    }
    if (leat_loader_step(plan->loader) < plan->end) {
        leat_loader_figures figures = leat_loader_measure(plan->loader);
        printf("the plan ends before step %llu (%llu rows that fill no batch and %llu tokens that "
               "fill no row are dropped)\n",
               (number)leat_loader_step(plan->loader), (number)figures.dropped_rows,
               (number)figures.dropped_tokens);
    }
    if (steps > 1) {
        printf("all %llu steps: %llu tokens:", (number)steps, (number)plan->total.tokens);
        print_shares(plan, &plan->total, false);
    }
    return LEAT_OK;
}

static leat_status run(leat_cli *cli, int argc, char **argv)
{
    dry_run plan = {.cli = cli, .end = STEPS_DEFAULT};
    leat_status status = take_options(cli, &plan, argc, argv);
    if (status != LEAT_OK) {
        return status;
    }
    plan.open.set = plan.set;
    plan.open.log = leat_cli_log;
    plan.open.log_context = cli;
    plan.open.steps = plan.end;
    plan.open.replay = true;
    status = leat_loader_open(&plan.loader, cli->wire, plan.job, &plan.open, &cli->error);
    if (status == LEAT_OK) {
        size_t datasets = leat_loader_datasets(plan.loader);
        leat_tally_init(&plan.step, datasets);
        leat_tally_init(&plan.slice, datasets);
        leat_tally_init(&plan.total, datasets);
        status = check_ranks(&plan);
        status = status == LEAT_OK ? drive(&plan) : status;
    }
    leat_tally_deinit(&plan.step);
    leat_tally_deinit(&plan.slice);
    leat_tally_deinit(&plan.total);
    leat_loader_abandon(plan.loader);
    return status;
}

const leat_command leat_command_plan = {
    "plan",
    "leat plan JOB [--steps A..B] [--ranks W] [--documents] [--set KEY=VALUE]…",
    "Say which documents are in which step, without a run",
    "A line a step: rows, tokens, mixture, documents and epochs of each dataset.  Nothing is "
    "written.\n"
    "  --steps A..B     these steps, B not included (default 0..10); the ones before A are "
    "computed, too\n"
    "  --ranks W        also the slice of each of W ranks\n"
    "  --documents      also every run of tokens in every row: dataset, file, record, bytes\n"
    "  --set KEY=VALUE  override a key of the job file\n",
    false,
    run};
