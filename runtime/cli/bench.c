/* leat bench JOB: how fast this machine prepares the batches of a job, stage by stage. */
#include "base/arith.h"
#include "base/clock.h"
#include "base/json_out.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "collectives/wire.h"
#include "loader/loader.h"
#include <stdio.h>
#include <sys/resource.h>

enum { SETS_MAX = 64, SECONDS_DEFAULT = 10, NUMBERS = 8 };

typedef struct bench {
    leat_cli *cli;
    uint64_t steps_wanted, seconds;
    uint64_t index_ns, index_cpu_ns, built, text_bytes;
    uint64_t first_ns, run_ns, steps, tokens, cpu_ns; /* of the steps, without the index */
    uint64_t read_ns, tokenize_ns, assemble_ns, document_bytes;
} bench;

static uint64_t now(void)
{
    const leat_clock *clock = leat_clock_system();
    return clock->now_ns(clock->context);
}

/* CPU time of this process so far, all threads. */
static uint64_t cpu(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) {
        return 0;
    }
    uint64_t seconds = (uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec;
    uint64_t micros = (uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec;
    return seconds * 1000000000u + micros * 1000u;
}

static leat_status deliver(bench *what, leat_loader *loader)
{
    leat_batch batch;
    leat_status status;
    uint64_t begin = now(), cpu_begin = cpu();
    bool asked = false;
    while ((status = leat_loader_next(loader, &batch, &what->cli->error)) == LEAT_OK &&
           !batch.end) {
        what->run_ns = now() - begin;
        what->first_ns = what->steps == 0 ? what->run_ns : what->first_ns;
        what->steps++;
        what->tokens += batch.global_rows * batch.row_tokens;
        leat_loader_done(loader, &batch);
        leat_cli_progress(what->cli, "step %llu", (unsigned long long)what->steps);
        if (what->steps_wanted == 0 && !asked && what->run_ns > what->seconds * 1000000000u) {
            asked = true;
            leat_loader_stop(loader);
        }
    }
    leat_cli_progress(what->cli, NULL);
    if (status == LEAT_OK) {
        status = leat_loader_settle(loader, &what->cli->error); /* hashing is part of the work */
    }
    if (status == LEAT_OK) {
        leat_loader_figures figures = leat_loader_measure(loader);
        what->run_ns = now() - begin;
        what->cpu_ns = cpu() - cpu_begin;
        what->read_ns = figures.read_ns;
        what->tokenize_ns = figures.tokenize_ns;
        what->assemble_ns = figures.assemble_ns;
        what->document_bytes = figures.document_bytes;
    }
    return status;
}

/* Works of all ranks are added; the slowest rank's time counts. */
static leat_status add_ranks(bench *what)
{
    uint64_t *const sums[] = {&what->read_ns, &what->tokenize_ns,  &what->assemble_ns,
                              &what->cpu_ns,  &what->index_cpu_ns, &what->document_bytes};
    uint64_t *const most[] = {&what->run_ns, &what->first_ns};
    uint8_t mine[NUMBERS * 8];
    size_t size = (size_t)what->cli->wire->size;
    for (size_t i = 0; i < NUMBERS; i++) {
        leat_put_u64(mine + 8 * i, i < 6 ? *sums[i] : *most[i - 6]);
    }
    uint8_t *all = leat_alloc(size, sizeof mine);
    leat_status status = leat_wire_gather_equal(what->cli->wire, LEAT_CHANNEL_CALL, mine, all,
                                                sizeof mine, &what->cli->error);
    for (size_t r = 0; r < size && status == LEAT_OK; r++) {
        for (size_t i = 0; i < NUMBERS; i++) {
            uint64_t value = leat_get_u64(all + r * sizeof mine + 8 * i);
            if (i < 6) {
                *sums[i] = (r == 0 ? 0 : *sums[i]) + value;
            } else {
                *most[i - 6] = leat_max_u64(*most[i - 6], value);
            }
        }
    }
    leat_free(all);
    return status;
}

static uint64_t rate(uint64_t amount, uint64_t ns)
{
    return ns == 0 ? 0 : leat_mul_div_u64(amount, 1000000000u, ns);
}

typedef struct stage {
    const char *name, *unit;
    uint64_t ns, amount;
} stage;

/* What the process spent beyond the measured stages: plan, communication, waiting loops. */
static size_t stages_of(const bench *what, stage out[4])
{
    uint64_t known = what->read_ns + what->tokenize_ns + what->assemble_ns;
    out[0] = (stage){"read", "waits for files, and CPU", what->read_ns, what->tokens};
    out[1] = (stage){"tokenize", "", what->tokenize_ns, what->tokens};
    out[2] = (stage){"assemble", "rows and their SHA-256", what->assemble_ns, what->tokens};
    out[3] = (stage){"rest", "plan, exchange, logging",
                     what->cpu_ns > known ? what->cpu_ns - known : 0, what->tokens};
    return 4;
}

/* CPU nanoseconds a million tokens. */
static uint64_t million(const bench *what, uint64_t ns)
{
    return what->tokens == 0 ? 0 : leat_mul_div_u64(ns, 1000000u, what->tokens);
}

static void print_json(const bench *what)
{
    leat_buffer buffer = {0};
    leat_json_out out = {&buffer, false};
    stage stages[4];
    size_t count = stages_of(what, stages);
    uint64_t total = 0;
    leat_json_object(&out);
    leat_json_key_u64(&out, "ranks", (uint64_t)what->cli->wire->size);
    leat_json_key_u64(&out, "steps", what->steps);
    leat_json_key_u64(&out, "tokens", what->tokens);
    leat_json_key_u64(&out, "ns", what->run_ns);
    leat_json_key_u64(&out, "tokens_per_second", rate(what->tokens, what->run_ns));
    leat_json_key_u64(&out, "first_batch_ns", what->first_ns);
    leat_json_key_u64(&out, "stall_step_ns", what->run_ns / leat_max_u64(what->steps, 1));
    leat_json_key_u64(&out, "cpu_ns", what->cpu_ns);
    leat_json_key_u64(&out, "cpu_ns_per_million_tokens", million(what, what->cpu_ns));
    leat_json_key_u64(&out, "document_bytes", what->document_bytes);
    leat_json_key(&out, "index");
    leat_json_object(&out);
    leat_json_key_u64(&out, "ns", what->index_ns);
    leat_json_key_u64(&out, "cpu_ns", what->index_cpu_ns);
    leat_json_key_u64(&out, "shards_built", what->built);
    leat_json_key_u64(&out, "text_bytes", what->text_bytes);
    leat_json_object_end(&out);
    for (size_t i = 0; i < count; i++) {
        total += stages[i].ns;
    }
    leat_json_key(&out, "stages");
    leat_json_array(&out);
    for (size_t i = 0; i < count; i++) {
        leat_json_object(&out);
        leat_json_key_text(&out, "stage", stages[i].name);
        leat_json_key_u64(&out, "ns", stages[i].ns);
        leat_json_key_u64(&out, "share_permille",
                          total == 0 ? 0 : leat_mul_div_u64(stages[i].ns, 1000, total));
        leat_json_key_u64(&out, "ns_per_million_tokens", million(what, stages[i].ns));
        leat_json_key_u64(&out, "tokens_per_second_a_thread", rate(stages[i].amount, stages[i].ns));
        leat_json_object_end(&out);
    }
    leat_json_array_end(&out);
    leat_json_object_end(&out);
    printf("%s\n", leat_buffer_text(&buffer));
    leat_buffer_deinit(&buffer);
}

static void print_seconds(const char *before, uint64_t ns, const char *after)
{
    printf("%s%llu.%03llu s%s", before, (unsigned long long)(ns / 1000000000u),
           (unsigned long long)(ns / 1000000u % 1000u), after);
}

static void print_table(const bench *what)
{
    stage stages[4];
    size_t count = stages_of(what, stages);
    uint64_t total = 0, step_ns = what->run_ns / leat_max_u64(what->steps, 1);
    for (size_t i = 0; i < count; i++) {
        total += stages[i].ns;
    }
    if (what->built != 0) {
        print_seconds("index      ", what->index_ns, "");
        printf(" for %llu shards with %llu bytes of text, %llu MB/s; kept for the next run\n",
               (unsigned long long)what->built, (unsigned long long)what->text_bytes,
               (unsigned long long)(rate(what->text_bytes, what->index_ns) / 1000000u));
    } else {
        print_seconds("index      ", what->index_ns, " to open; it was built before\n");
    }
    printf("\n%-10s %14s %10s %22s\n", "stage", "s per Mtoken", "share", "tokens/s a thread");
    for (size_t i = 0; i < count; i++) {
        uint64_t ns = million(what, stages[i].ns);
        uint64_t share = total == 0 ? 0 : leat_mul_div_u64(stages[i].ns, 1000, total);
        printf("%-10s %10llu.%03llu %7llu.%llu %% %20llu   %s\n", stages[i].name,
               (unsigned long long)(ns / 1000000000u), (unsigned long long)(ns / 1000000u % 1000u),
               (unsigned long long)(share / 10), (unsigned long long)(share % 10),
               (unsigned long long)rate(stages[i].amount, stages[i].ns), stages[i].unit);
    }
    printf("\nsteps: %llu, ranks: %d, tokens: %llu in ", (unsigned long long)what->steps,
           what->cli->wire->size, (unsigned long long)what->tokens);
    print_seconds("", what->run_ns, "");
    printf(": %llu tokens/s\n", (unsigned long long)rate(what->tokens, what->run_ns));
    print_seconds("first batch after ", what->first_ns, "");
    print_seconds("; CPU time a million tokens: ", million(what, what->cpu_ns), "\n");
    if (what->text_bytes != 0 && what->document_bytes > 2 * what->text_bytes) {
        printf("the corpus was read %llu times over: later readings come from memory\n",
               (unsigned long long)(what->document_bytes / what->text_bytes));
    }
    printf("a trainer stalls where its step takes less than %llu.%03llu ms\n",
           (unsigned long long)(step_ns / 1000000u), (unsigned long long)(step_ns / 1000u % 1000u));
}

static leat_status measure(bench *what, const char *job, const leat_options *open)
{
    leat_loader *loader = NULL;
    uint64_t begin = now(), cpu_begin = cpu();
    leat_status status = leat_loader_open(&loader, what->cli->wire, job, open, &what->cli->error);
    if (status != LEAT_OK) {
        return status;
    }
    what->index_ns = now() - begin;
    what->index_cpu_ns = cpu() - cpu_begin;
    for (size_t d = 0; d < loader->job->dataset_count; d++) {
        what->text_bytes += loader->shards.text_bytes[d];
        for (size_t i = 0; i < loader->shards.lists[d].count; i++) {
            what->built += loader->shards.summaries[d][i].built;
        }
    }
    status = deliver(what, loader);
    leat_loader_close(loader);
    status = status == LEAT_OK ? add_ranks(what) : status;
    if (status == LEAT_OK && what->steps == 0) {
        LEAT_FAIL(&what->cli->error, LEAT_INVALID, "the plan of %s has no step", job);
        leat_error_hint(&what->cli->error, "the corpus has less than one batch");
        status = LEAT_INVALID;
    }
    return status;
}

static leat_status run(leat_cli *cli, int argc, char **argv)
{
    static const struct option options[] = {{"steps", required_argument, NULL, 'n'},
                                            {"seconds", required_argument, NULL, 't'},
                                            {"set", required_argument, NULL, 's'},
                                            {NULL, 0, NULL, 0}};
    const char *set[SETS_MAX];
    bench what = {.cli = cli, .seconds = SECONDS_DEFAULT};
    leat_options open = {.set = set, .replay = true, .log = leat_cli_log, .log_context = cli};
    for (int option; (option = getopt_long(argc, argv, ":", options, NULL)) != -1;) {
        leat_status status = LEAT_OK;
        if (option == 'n') {
            status = leat_cli_number(cli, "bench", "--steps", optarg, &what.steps_wanted);
        } else if (option == 't') {
            status = leat_cli_number(cli, "bench", "--seconds", optarg, &what.seconds);
        } else if (option == 's' && open.set_count < SETS_MAX) {
            set[open.set_count++] = optarg;
        } else {
            status = leat_cli_unknown(cli, "bench", argv);
        }
        if (status != LEAT_OK) {
            return status;
        }
    }
    if (optind + 1 != argc) {
        return leat_cli_usage(cli, "bench", "wants one job file");
    }
    if (what.seconds > 1000000) {
        return leat_cli_usage(cli, "bench", "--seconds takes at most 1000000");
    }
    open.steps = what.steps_wanted;
    leat_status status = measure(&what, argv[optind], &open);
    if (status == LEAT_OK && leat_cli_root(cli)) {
        if (cli->json) {
            print_json(&what);
        } else {
            print_table(&what);
        }
    }
    return status;
}

const leat_command leat_command_bench = {
    "bench",
    "mpirun -n W leat bench JOB [--steps N] [--seconds S]",
    "Measure how fast this machine prepares batches, stage by stage",
    "Delivers and hashes batches as a run would, keeps nothing, and says how many tokens a second "
    "are prepared, what each\n"
    "stage costs, the CPU time a million tokens, and the step time below which a trainer would "
    "wait.  The side-car\n"
    "indexes are built where they are missing, and kept.\n"
    "  --steps N        measure N steps (default: about --seconds)\n"
    "  --seconds S      stop after S seconds (10)\n"
    "  --set KEY=VALUE  override a key of the job file\n",
    true,
    run};
