/* leat run JOB: the loader as a job would use it, without a trainer. */
#include "cli/cli.h"
#include "base/arith.h"
#include "base/clock.h"
#include "base/memory.h"
#include "cli/time_limit.h"
#include "collectives/wire.h"
#include <stdio.h>

enum { SETS_MAX = 256 };

typedef struct run_options {
    const char *job, *out;
    uint64_t checkpoint_every, step_time_ms;
    leat_time_limit limit;
    bool resume;
    leat_options open;
    const char *set[SETS_MAX];
} run_options;

static const char help[] =
    "Delivers, hashes, logs and saves; the batches do not depend on the number of ranks.\n"
    "  --out DIR             run folder: manifest, batches.jsonl, metrics, checkpoints\n"
    "  --steps N             end before step N (default: the plan's end)\n"
    "  --checkpoint-every K  save after every K steps; a last checkpoint is saved at the end "
    "anyway\n"
    "  --keep M              keep the newest M checkpoints\n"
    "  --resume              go on from DIR's newest whole checkpoint; begin anew where there is "
    "none\n"
    "  --step K              with --resume: go on at step K, any step logged in DIR\n"
    "  --resume-from FILE    go on from one checkpoint\n"
    "  --max-time S          save and stop after S seconds (exit code 75)\n"
    "  --max-time-margin S   in a Slurm job (SLURM_JOB_END_TIME): save and stop S seconds before "
    "its "
    "end;\n"
    "                        default 60, or half of what is left where that is less\n"
    "  --step-time MS        imitate a trainer that takes MS milliseconds a step, and report "
    "stalls\n"
    "  --set KEY=VALUE       override a key of the job file (tokenizer.eos=…, "
    "datasets.NAME.weight=…)\n"
    "  --caller              drive communication on the caller's thread, without a loader thread\n"
    "USR1, TERM, INT and `leat stop DIR` lead to one checkpoint at one agreed step and exit code "
    "75.\n";

enum {
    OUT = 256,
    STEPS,
    EVERY,
    KEEP,
    RESUME,
    STEP,
    RESUME_FROM,
    MAX_TIME,
    MARGIN,
    STEP_TIME,
    SET,
    CALLER
};

static const struct option long_options[] = {{"out", required_argument, NULL, OUT},
                                             {"steps", required_argument, NULL, STEPS},
                                             {"checkpoint-every", required_argument, NULL, EVERY},
                                             {"keep", required_argument, NULL, KEEP},
                                             {"resume", no_argument, NULL, RESUME},
                                             {"step", required_argument, NULL, STEP},
                                             {"resume-from", required_argument, NULL, RESUME_FROM},
                                             {"max-time", required_argument, NULL, MAX_TIME},
                                             {"max-time-margin", required_argument, NULL, MARGIN},
                                             {"step-time", required_argument, NULL, STEP_TIME},
                                             {"set", required_argument, NULL, SET},
                                             {"caller", no_argument, NULL, CALLER},
                                             {NULL, 0, NULL, 0}};

static leat_status take_number(leat_cli *cli, run_options *run, int option)
{
    const struct {
        int option;
        const char *name;
        uint64_t *out;
    } numbers[] = {{STEPS, "--steps", &run->open.steps},
                   {EVERY, "--checkpoint-every", &run->checkpoint_every},
                   {KEEP, "--keep", &run->open.keep},
                   {STEP, "--step", &run->open.step},
                   {MAX_TIME, "--max-time", &run->limit.max_s},
                   {MARGIN, "--max-time-margin", &run->limit.margin_s},
                   {STEP_TIME, "--step-time", &run->step_time_ms}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (numbers[i].option == option) {
            return leat_cli_number(cli, "run", numbers[i].name, optarg, numbers[i].out);
        }
    }
    return LEAT_INVALID;
}

static leat_status take_options(leat_cli *cli, run_options *run, int argc, char **argv)
{
    for (int option; (option = getopt_long(argc, argv, ":", long_options, NULL)) != -1;) {
        leat_status status = LEAT_OK;
        if (option == OUT) {
            run->out = optarg;
        } else if (option == RESUME) {
            run->resume = true;
        } else if (option == RESUME_FROM) {
            run->open.resume_from = optarg;
        } else if (option == CALLER) {
            run->open.progress = LEAT_PROGRESS_CALLER;
        } else if (option == SET && run->open.set_count < SETS_MAX) {
            run->set[run->open.set_count++] = optarg;
        } else if (option == '?' || option == ':' || option == SET) {
            return leat_cli_unknown(cli, "run", argv);
        } else {
            run->open.at_step = run->open.at_step || option == STEP;
            run->limit.margin_given = run->limit.margin_given || option == MARGIN;
            status = take_number(cli, run, option);
        }
        if (status != LEAT_OK) {
            return status;
        }
    }
    if (optind + 1 != argc) {
        return leat_cli_usage(cli, "run", "wants one job file");
    }
    run->job = argv[optind];
    if (run->open.at_step && !run->resume) {
        return leat_cli_usage(cli, "run", "--step goes with --resume");
    }
    if ((run->resume || run->checkpoint_every != 0 || run->open.resume_from != NULL) &&
        run->out == NULL) {
        return leat_cli_usage(cli, "run", "--resume and --checkpoint-every want --out DIR");
    }
    return LEAT_OK;
}

typedef struct run_state {
    leat_cli *cli;
    const run_options *run;
    leat_loader *loader;
    const leat_clock *clock;
    uint64_t begin_ns, first_step, saved_step, rows, tokens;
    bool saved, timed_out;
} run_state;

static uint64_t now(const run_state *state)
{
    return state->clock->now_ns(state->clock->context);
}

static leat_status save(run_state *state, uint64_t step)
{
    if (state->run->out == NULL || (state->saved && state->saved_step == step)) {
        return LEAT_OK;
    }
    leat_status status = leat_loader_save(state->loader, state->run->out, step, &state->cli->error);
    state->saved = status == LEAT_OK;
    state->saved_step = step;
    return status;
}

static void show_progress(const run_state *state, const leat_batch *batch)
{
    uint64_t elapsed = now(state) - state->begin_ns + 1,
             steps = batch->step + 1 - state->first_step;
    uint64_t per_second = steps * 1000000000u / elapsed;
    if (state->run->open.steps != 0) {
        uint64_t left =
            (state->run->open.steps - batch->step - 1) * (elapsed / steps) / 1000000000u;
        leat_cli_progress(state->cli, "step %llu of %llu, %llu steps/s, %llu s left",
                          (unsigned long long)batch->step + 1,
                          (unsigned long long)state->run->open.steps,
                          (unsigned long long)per_second, (unsigned long long)left);
    } else {
        leat_cli_progress(state->cli, "step %llu, %llu steps/s",
                          (unsigned long long)batch->step + 1, (unsigned long long)per_second);
    }
}

static leat_status step(run_state *state, const leat_batch *batch)
{
    const run_options *run = state->run;
    uint64_t next = batch->step + 1;
    state->rows += batch->global_rows;
    state->tokens += batch->global_rows * batch->row_tokens;
    if (run->step_time_ms != 0) {
        state->clock->sleep_ns(state->clock->context, run->step_time_ms * 1000000u);
    }
    leat_loader_done(state->loader, batch);
    show_progress(state, batch);
    if (!state->timed_out && leat_time_limit_over(&run->limit, state->clock, state->begin_ns)) {
        state->timed_out = true;
        leat_loader_stop(state->loader);
    }
    return run->checkpoint_every != 0 && next % run->checkpoint_every == 0 ? save(state, next)
                                                                           : LEAT_OK;
}

static void report(const run_state *state, const leat_batch *last)
{
    leat_loader_figures figures = leat_loader_measure(state->loader);
    uint64_t elapsed = now(state) - state->begin_ns + 1, steps = last->step - state->first_step;
    uint64_t rate = leat_mul_div_u64(state->tokens, 1000000000u, elapsed);
    if (!leat_cli_root(state->cli)) {
        return;
    }
    if (state->cli->json) {
        printf(
            "{\"first_step\":%llu,\"next_step\":%llu,\"stopped\":%s,\"rows\":%llu,\"tokens\":%llu,"
            "\"ns\":%llu,"
            "\"wait_ns\":%llu,\"read_ns\":%llu,\"tokenize_ns\":%llu,\"assemble_ns\":%llu,\"read_"
            "bytes\":%llu,"
            "\"document_bytes\":%llu,\"dropped_rows\":%llu,\"dropped_tokens\":%llu,\"ranks\":%d}\n",
            (unsigned long long)state->first_step, (unsigned long long)last->step,
            last->stopped ? "true" : "false", (unsigned long long)state->rows,
            (unsigned long long)state->tokens, (unsigned long long)elapsed,
            (unsigned long long)figures.wait_ns, (unsigned long long)figures.read_ns,
            (unsigned long long)figures.tokenize_ns, (unsigned long long)figures.assemble_ns,
            (unsigned long long)figures.read_bytes, (unsigned long long)figures.document_bytes,
            (unsigned long long)figures.dropped_rows, (unsigned long long)figures.dropped_tokens,
            state->cli->wire->size);
        return;
    }
    printf("steps %llu to %llu on %d ranks: %llu rows, %llu tokens in %llu ms (%llu tokens/s), "
           "waited %llu ms\n",
           (unsigned long long)state->first_step, (unsigned long long)last->step,
           state->cli->wire->size, (unsigned long long)state->rows,
           (unsigned long long)state->tokens, (unsigned long long)(elapsed / 1000000u),
           (unsigned long long)rate, (unsigned long long)(figures.wait_ns / 1000000u));
    if (figures.dropped_rows != 0 || figures.dropped_tokens != 0) {
        printf("the plan has ended; dropped: %llu rows of a batch that was not full, %llu tokens "
               "of a row that was not full\n",
               (unsigned long long)figures.dropped_rows,
               (unsigned long long)figures.dropped_tokens);
    }
    if (state->run->step_time_ms != 0) {
        printf("with a step of %llu ms the trainer waited %llu µs a step\n",
               (unsigned long long)state->run->step_time_ms,
               (unsigned long long)(figures.wait_ns / 1000u / (steps != 0 ? steps : 1)));
    }
    if (last->stopped) {
        printf("stopped at step %llu as asked; go on with --resume\n",
               (unsigned long long)last->step);
    }
}

static leat_status drive(run_state *state)
{
    leat_batch batch;
    leat_error *error = &state->cli->error;
    leat_status status;
    state->first_step = leat_loader_step(state->loader);
    state->begin_ns = now(state);
    while ((status = leat_loader_next(state->loader, &batch, error)) == LEAT_OK && !batch.end) {
        status = step(state, &batch);
        if (status != LEAT_OK) {
            return status;
        }
    }
    leat_cli_progress(state->cli, NULL);
    if (status == LEAT_OK) {
        status = save(state, batch.step);
    }
    if (status == LEAT_OK) {
        report(state, &batch);
        state->cli->exit_code = batch.stopped ? LEAT_EXIT_STOPPED : LEAT_EXIT_OK;
    }
    return status;
}

static leat_status run_command(leat_cli *cli, int argc, char **argv)
{
    run_options run = {0};
    leat_status status = take_options(cli, &run, argc, argv);
    if (status != LEAT_OK) {
        return status;
    }
    run.open.set = run.set;
    run.open.run_folder = run.out;
    run.open.resume = run.resume ? run.out : NULL;
    run.open.log = leat_cli_log;
    run.open.log_context = cli;
    run_state state = {.cli = cli, .run = &run, .clock = leat_clock_system()};
    leat_time_limit_begin(&run.limit, cli, state.clock);
    status = leat_loader_open(&state.loader, cli->wire, run.job, &run.open, &cli->error);
    if (status != LEAT_OK) {
        return status;
    }
    leat_cli_signals_to(state.loader);
    status = drive(&state);
    leat_cli_signals_to(NULL);
    leat_loader_close(state.loader);
    return status;
}

const leat_command leat_command_run = {"run",
                                       "mpirun -n W leat run JOB --out DIR [options]",
                                       "Run the loader as a job would, without a trainer",
                                       help,
                                       true,
                                       run_command};
