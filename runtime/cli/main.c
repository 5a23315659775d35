/* main.c: the command `leat`: picks the command, starts MPI only where a launcher started it, and is the only place that
 * prints errors and ends the process. */
#include "cli/cli.h"
#include "base/json_out.h"
#include "collectives/leat_mpi.h"
#include "collectives/wire.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const leat_command *const commands[] = {
#include "cli/commands.inc"
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static const char overview[] =
    "leat feeds language-model training: the same global batches on any number of ranks.\n"
    "\n"
    "usage: leat COMMAND [options]          leat COMMAND --help tells more\n"
    "       mpirun -n W leat run JOB --out DIR\n"
    "\n"
    "commands:\n";
static const char common[] =
    "\n"
    "for every command:\n"
    "  --json    print for programs; on an error the last line on stderr is a JSON object\n"
    "  --mpi     start MPI although no launcher is seen\n"
    "  --alone   one process, although a launcher started more\n"
    "\n"
    "exit codes: 0 done, 1 does not hold, 2 wrong use or job file, 3 data, 4 does not match,\n"
    "            5 a peer failed, 6 environment, 7 limit, 70 defect, 75 stopped (resume me)\n";

static void print_overview(void)
{
    fputs(overview, stdout);
    for (size_t i = 0; i < COMMANDS; i++) {
        printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    }
    fputs(common, stdout);
}

static const leat_command *find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

static uint64_t env_number(const char *name)
{
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : 0;
}

/* A launcher that MPI understands. */
static bool launched(void)
{
    return getenv("OMPI_COMM_WORLD_SIZE") != NULL || getenv("PMI_SIZE") != NULL ||
           getenv("PMIX_RANK") != NULL;
}

/* How many processes the environment speaks of; SLURM_NTASKS is of the allocation, not of this step. */
static uint64_t world(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE",
                                        "SLURM_STEP_NUM_TASKS"};
    uint64_t most = 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint64_t value = env_number(names[i]);
        most = value > most ? value : most;
    }
    return most;
}

typedef struct common_flags {
    bool json, mpi, alone, help;
} common_flags;

/* Takes the flags of every command out of argv. */
static common_flags take_flags(int *argc, char **argv)
{
    common_flags found = {false, false, false, false};
    const struct {
        const char *name;
        bool *flag;
    } known[] = {{"--json", &found.json},
                 {"--mpi", &found.mpi},
                 {"--alone", &found.alone},
                 {"--help", &found.help},
                 {"-h", &found.help}};
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        bool taken = false;
        for (size_t k = 0; k < sizeof known / sizeof *known && !taken; k++) {
            taken = strcmp(argv[i], known[k].name) == 0;
            *known[k].flag = *known[k].flag || taken;
        }
        if (!taken) {
            argv[kept++] = argv[i];
        }
    }
    argv[kept] = NULL;
    *argc = kept;
    return found;
}

static void print_json_error(const leat_error *error)
{
    leat_buffer buffer = {0};
    leat_json_out out = {&buffer, false};
    leat_json_object(&out);
    leat_json_key_text(&out, "status", leat_status_name(error->status));
    leat_json_key_u64(&out, "code", (uint64_t)leat_status_exit_code(error->status));
    leat_json_key_bool(&out, "retry", leat_status_retry(error->status) != 0);
    leat_json_key(&out, "rank");
    leat_json_i64(&out, error->rank);
    leat_json_key_text(&out, "text", error->text);
    leat_json_key_text(&out, "where", error->where);
    leat_json_key_text(&out, "found", error->found);
    leat_json_key_text(&out, "wanted", error->wanted);
    leat_json_key_text(&out, "hint", error->hint);
    leat_json_object_end(&out);
    fprintf(stderr, "%s\n", leat_buffer_text(&buffer));
    leat_buffer_deinit(&buffer);
}

static void print_error(const leat_cli *cli)
{
    char text[2048];
    leat_error error = cli->error;
    if (cli->wire == NULL || cli->wire->size == 1) {
        error.rank = -1; /* of one process: "rank 0" would say nothing */
    }
    leat_error_format(&error, text, sizeof text);
    fprintf(stderr, "leat: error: %s\n", text);
    if (cli->json) {
        print_json_error(&cli->error);
    }
}

static bool mpi_runs(void)
{
    int begun = 0, over = 0;
    MPI_Initialized(&begun);
    MPI_Finalized(&over);
    return begun && !over;
}

static void on_defect(const char *message)
{
    fprintf(stderr, "leat: %s\n", message);
    if (mpi_runs()) {
        MPI_Abort(MPI_COMM_WORLD, 70);
    }
    _exit(70);
}

static leat_status open_wire(leat_cli *cli, bool mpi, bool alone)
{
    if (!mpi) {
        uint64_t ranks = world();
        if (ranks > 1 && !alone) {
            LEAT_FAIL(&cli->error, LEAT_ENVIRONMENT,
                      "one process, although the environment speaks of %llu",
                      (unsigned long long)ranks);
            leat_error_hint(
                &cli->error,
                "start it with the mpirun or srun --mpi of the MPI that leat was built with, "
                "or insist with --alone");
            return LEAT_ENVIRONMENT;
        }
        return leat_wire_open_single(&cli->wire, &cli->error);
    }
    int given = 0;
    leat_cli_signals_to(NULL); /* before MPI_Init: an early signal must not kill the job */
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &given) != MPI_SUCCESS) {
        return LEAT_FAIL(&cli->error, LEAT_ENVIRONMENT, "MPI does not start");
    }
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size == 1 && world() > 1 && !alone) {
        LEAT_FAIL(&cli->error, LEAT_ENVIRONMENT, "MPI sees one process, the environment %llu",
                  (unsigned long long)world());
        leat_error_hint(
            &cli->error,
            "the launcher belongs to another MPI than leat was built with; or insist with --alone");
        return LEAT_ENVIRONMENT;
    }
    return leat_wire_open_mpi(&cli->wire, MPI_COMM_WORLD, &cli->error);
}

/* The lowest rank prints what all agreed on; where a rank failed alone, every such rank prints. */
static int finish(leat_cli *cli, leat_status status)
{
    int rank = cli->wire != NULL ? cli->wire->rank : 0;
    if (status != LEAT_OK &&
        (rank == 0 || cli->error.rank == rank || cli->error.status == LEAT_PEER)) {
        print_error(cli);
    }
    fflush(NULL);
    int code = status != LEAT_OK ? leat_status_exit_code(status) : cli->exit_code;
    if (!mpi_runs()) {
        leat_wire_close(cli->wire);
        return code;
    }
    if (status != LEAT_OK) {
        /* Others may still be inside a collective call of ours or of MPI: the launcher ends them all. */
        usleep(rank == 0 ? 0 : 300000);
        MPI_Abort(MPI_COMM_WORLD, code);
    }
    leat_wire_close(cli->wire);
    MPI_Finalize();
    return code;
}

int main(int argc, char **argv)
{
    leat_cli cli = {0};
    common_flags flags = take_flags(&argc, argv);
    cli.json = flags.json;
    leat_assert_handler_set(on_defect);
    if (argc < 2) {
        print_overview();
        return flags.help ? 0 : LEAT_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("leat " LEAT_VERSION);
        return 0;
    }
    const leat_command *command = find(argv[1]);
    if (command == NULL) {
        LEAT_FAIL(&cli.error, LEAT_INVALID, "there is no command \"%s\"", argv[1]);
        leat_error_hint(&cli.error, "leat --help lists the commands");
        return finish(&cli, LEAT_INVALID);
    }
    if (flags.help) {
        printf("usage: %s\n\n%s.\n\n%s", command->usage, command->summary, command->help);
        return 0;
    }
    leat_status status = open_wire(&cli, flags.mpi || (launched() && !flags.alone), flags.alone);
    if (status == LEAT_OK && (command->parallel || leat_cli_root(&cli))) {
        status = command->run(&cli, argc - 1, argv + 1);
    }
    return finish(&cli, status);
}
