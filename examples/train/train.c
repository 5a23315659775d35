/* train: a small language model, trained data-parallel on CPUs, fed by leat or, to compare, by a plain loader.
 *
 *     mpirun -n W train --job job.yaml --out DIR --steps N [--save-at K] [--resume] [--parts M]
 *     mpirun -n W train --plain documents.bin --rows G --length S --out DIR --steps N [--save-at K] [--resume-at K]
 *
 * DIR/losses-<first step>.tsv gets a line a step: step, mean loss of the global batch before the update, labels that count,
 * fingerprint of the batch's rows.  DIR/model-<step>.bin is the trainer's checkpoint, beside leat's. */
#include "collectives/leat_mpi.h"
#include "leat.h"
#include "plain.h"
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct train_run {
    const char *job, *plain_path, *out;
    uint64_t steps, save_at, resume_at, parts, rows, length;
    bool resume;
    int rank, ranks;
    train_model model;
    double sums[MODEL_SUMS];
    FILE *losses; /* rank 0 */
    train_plain plain;
    leat_error error;
} train_run;

/* A rank that fails on its own takes the others with it. */
static void give_up(const char *what)
{
    fprintf(stderr, "train: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static void model_path(const train_run *run, uint64_t step, char *path, size_t size)
{
    snprintf(path, size, "%s/model-%06" PRIu64 ".bin", run->out, step);
}

/* Begins at `first`: a new model, or that of the trainer's checkpoint of that step, read by rank 0 for all. */
static void begin(train_run *run, uint64_t first)
{
    char path[4096];
    train_position *positions = NULL;
    uint64_t count = 0;
    model_init(&run->model);
    if (run->rank == 0) {
        size_t read = 0;
        model_path(run, first, path, sizeof path);
        if (first > 0 && state_read(path, &run->model, &positions, &read) != 0) {
            give_up("cannot go on without the model of leat's checkpoint");
        }
        if (run->model.step != first) {
            give_up("the model's checkpoint is of another step");
        }
        count = read;
        snprintf(path, sizeof path, "%s/losses-%06" PRIu64 ".tsv", run->out, first);
        run->losses = fopen(path, "w");
        if (run->losses == NULL) {
            give_up("cannot write the losses");
        }
    }
    MPI_Bcast(&run->model, (int)sizeof run->model, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Bcast(&count, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (count > 0 && run->rank != 0) {
        positions = calloc((size_t)count, sizeof *positions);
        if (positions == NULL) {
            give_up("no memory");
        }
    }
    if (count > 0) {
        /* The plain loader: each rank takes up its own position, a rank that is new that of an older one. */
        MPI_Bcast(positions, 2 * (int)count, MPI_UINT64_T, 0, MPI_COMM_WORLD);
        run->plain.position = positions[(uint64_t)run->rank % count];
    }
    free(positions);
}

/* Adds the gradients of all ranks, and takes the step. */
static void update(train_run *run)
{
    MPI_Allreduce(MPI_IN_PLACE, run->sums, MODEL_SUMS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (run->rank == 0) {
        double count = run->sums[MODEL_COUNT_AT];
        fprintf(run->losses, "%" PRIu64 "\t%.17g\t%.0f\t%.0f\n", run->model.step,
                count > 0 ? run->sums[MODEL_LOSS_AT] / count : 0, count,
                run->sums[MODEL_FINGERPRINT_AT]);
    }
    model_update(&run->model, run->sums);
    memset(run->sums, 0, sizeof run->sums);
}

static void save_model(train_run *run)
{
    char path[4096];
    size_t count = run->plain_path != NULL ? (size_t)run->ranks : 0;
    train_position *positions = calloc(count + 1, sizeof *positions);
    if (positions == NULL) {
        give_up("no memory");
        return;
    }
    if (count > 0) {
        MPI_Gather(&run->plain.position, 2, MPI_UINT64_T, positions, 2, MPI_UINT64_T, 0,
                   MPI_COMM_WORLD);
    }
    model_path(run, run->model.step, path, sizeof path);
    if (run->rank == 0 && state_write(path, &run->model, positions, count) != 0) {
        give_up("cannot save the model");
    }
    free(positions);
}

/* This rank's share of a batch, one micro-batch after the other: their gradients add up before the one update. */
static void add_batch(train_run *run, const leat_batch *batch, int64_t *labels)
{
    for (uint64_t m = 0; m < run->parts; m++) {
        leat_batch part = leat_batch_part(batch, m, run->parts);
        for (uint64_t row = 0; row < part.rows; row++) {
            const uint32_t *tokens = part.tokens + row * part.row_tokens;
            for (size_t i = 0; i < part.row_tokens; i++) {
                if (tokens[i] >= MODEL_VOCABULARY) {
                    give_up(
                        "the model knows ids below 258: the job wants tokenizer: {file: bytes}");
                }
            }
            leat_batch_labels(&part, row, -1, labels);
            model_row(&run->model, tokens, labels, part.row_tokens - 1, run->sums);
        }
    }
}

static leat_status train_step(train_run *run, leat_loader *loader, leat_batch *batch,
                              int64_t **labels)
{
    leat_status status = leat_loader_next(loader, batch, &run->error);
    if (status != LEAT_OK || batch->end) {
        return status;
    }
    if (*labels == NULL) {
        *labels = calloc(batch->row_tokens, sizeof **labels);
        if (*labels == NULL) {
            give_up("no memory");
        }
    }
    add_batch(run, batch, *labels);
    uint64_t next = batch->step + 1;
    leat_loader_done(loader, batch);
    update(run);
    if (next != run->save_at) {
        return LEAT_OK;
    }
    /* The model first: whatever checkpoint of leat there is, its model is there. */
    save_model(run);
    return leat_loader_save(loader, run->out, next, &run->error);
}

static int tell(const leat_error *e)
{
    fprintf(stderr, "train: %s: %s\n  found: %s\n  wanted: %s\n  %s\n", e->where, e->text, e->found,
            e->wanted, e->hint);
    return leat_status_exit_code(e->status);
}

static int train_with_leat(train_run *run)
{
    leat_wire *wire = NULL;
    leat_loader *loader = NULL;
    leat_batch batch = {0};
    int64_t *labels = NULL;
    leat_options options = {
        .run_folder = run->out, .resume = run->resume ? run->out : NULL, .steps = run->steps};
    leat_status status = leat_wire_open_mpi(&wire, MPI_COMM_WORLD, &run->error);
    if (status == LEAT_OK) {
        status = leat_loader_open(&loader, wire, run->job, &options, &run->error);
    }
    if (status != LEAT_OK && run->rank == 0) {
        tell(&run->error);
    }
    if (status == LEAT_OK) {
        begin(run, leat_loader_step(loader));
    }
    while (status == LEAT_OK && !batch.end) {
        status = train_step(run, loader, &batch, &labels);
        if (status != LEAT_OK) {
            /* Every rank gets the verdict, but at its next call of leat: some may wait in the sum of gradients. */
            MPI_Abort(MPI_COMM_WORLD, tell(&run->error));
        }
    }
    leat_loader_close(loader);
    leat_wire_close(wire);
    free(labels);
    return leat_status_exit_code(status);
}

static int train_with_plain(train_run *run)
{
    uint64_t ranks = (uint64_t)run->ranks;
    size_t length = (size_t)run->length;
    uint32_t *tokens = calloc(length + 1, sizeof *tokens);
    int64_t *labels = calloc(length, sizeof *labels);
    if (tokens == NULL || labels == NULL || run->rows % ranks != 0) {
        give_up("the plain loader wants a number of rows that the ranks divide");
    }
    if (plain_open(&run->plain, run->plain_path, (uint64_t)run->rank, ranks) != 0) {
        give_up("the plain loader has no documents");
    }
    begin(run, run->resume_at);
    while (run->model.step < run->steps) {
        for (uint64_t row = 0; row < run->rows / ranks; row++) {
            plain_row(&run->plain, tokens, length + 1);
            for (size_t i = 0; i < length; i++) {
                labels[i] = tokens[i + 1];
            }
            model_row(&run->model, tokens, labels, length, run->sums);
        }
        update(run);
        if (run->model.step == run->save_at) {
            save_model(run);
        }
    }
    free(tokens);
    free(labels);
    return 0;
}

static bool read_number(const char *text, uint64_t *out)
{
    char *end = NULL;
    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0';
}

static int read_arguments(train_run *run, int argc, char **argv)
{
    static const struct option known[] = {{"job", required_argument, NULL, 'j'},
                                          {"plain", required_argument, NULL, 'p'},
                                          {"out", required_argument, NULL, 'o'},
                                          {"steps", required_argument, NULL, 'n'},
                                          {"save-at", required_argument, NULL, 's'},
                                          {"resume", no_argument, NULL, 'r'},
                                          {"resume-at", required_argument, NULL, 'a'},
                                          {"parts", required_argument, NULL, 'm'},
                                          {"rows", required_argument, NULL, 'g'},
                                          {"length", required_argument, NULL, 'l'},
                                          {NULL, 0, NULL, 0}};
    struct {
        char key;
        uint64_t *out;
    } numbers[] = {{'n', &run->steps}, {'s', &run->save_at}, {'a', &run->resume_at},
                   {'m', &run->parts}, {'g', &run->rows},    {'l', &run->length}};
    bool good = true;
    for (int key; (key = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        good = good && key != '?';
        run->job = key == 'j' ? optarg : run->job;
        run->plain_path = key == 'p' ? optarg : run->plain_path;
        run->out = key == 'o' ? optarg : run->out;
        run->resume = run->resume || key == 'r';
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            good = good && (key != numbers[i].key || read_number(optarg, numbers[i].out));
        }
    }
    good = good && optind == argc && run->out != NULL && run->steps > 0 && run->parts > 0 &&
           (run->job != NULL) != (run->plain_path != NULL) && run->length > 0 &&
           run->length < 1 << 20;
    if (!good && run->rank == 0) {
        fputs(
            "usage: mpirun -n W train --job job.yaml --out DIR --steps N [--save-at K] [--resume] "
            "[--parts M]\n       mpirun -n W train --plain FILE --rows G --length S --out DIR "
            "--steps N [--save-at K] [--resume-at K]\n",
            stderr);
    }
    return good ? 0 : 2;
}

int main(int argc, char **argv)
{
    int given;
    static train_run run = {.parts = 2, .rows = 64, .length = 24};
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
    int result = read_arguments(&run, argc, argv);
    if (result == 0) {
        if (run.rank == 0) {
            (void)mkdir(run.out, 0777);
        }
        result = run.job != NULL ? train_with_leat(&run) : train_with_plain(&run);
        if (run.losses != NULL && fclose(run.losses) != 0) {
            give_up("cannot write the losses");
        }
    }
    MPI_Finalize();
    return result;
}
