/* cli.h: what the commands share.  One file a command; main.c picks it, starts MPI where a launcher did, and turns the
 * error into a message and an exit code. */
#ifndef LEAT_CLI_CLI_H
#define LEAT_CLI_CLI_H
#include "base/bytes.h"
#include "leat.h"
#include <getopt.h>

/* Exit codes of commands that are no errors. */
enum { LEAT_EXIT_OK = 0, LEAT_EXIT_DIFFERS = 1, LEAT_EXIT_USAGE = 2, LEAT_EXIT_STOPPED = 75 };

typedef struct leat_cli {
    leat_wire *wire; /* of one rank for commands that work alone */
    bool json;       /* --json */
    int exit_code;   /* set by the command where it is not 0 and no error */
    leat_error error;
} leat_cli;

typedef struct leat_command {
    const char *name, *usage, *summary, *help;
    bool parallel; /* under mpirun its ranks share the work; else rank 0 does it alone */
    leat_status (*run)(leat_cli *cli, int argc, char **argv); /* argv[0] is the command's name */
} leat_command;

extern const leat_command leat_command_run, leat_command_index, leat_command_tokenize,
    leat_command_stop, leat_command_checkpoint, leat_command_replay, leat_command_explain,
    leat_command_verify, leat_command_init, leat_command_doctor, leat_command_bench,
    leat_command_check, leat_command_plan, leat_command_compare, leat_command_report;

/* A usage error: what is wrong and how to learn more. */
leat_status leat_cli_usage(leat_cli *cli, const char *command, const char *format, ...)
    LEAT_PRINTF(3, 4);
/* Decimal number; usage error naming the option. */
leat_status leat_cli_number(leat_cli *cli, const char *command, const char *option,
                            const char *text, uint64_t *out);
/* "A..B". */
leat_status leat_cli_range(leat_cli *cli, const char *command, const char *text, uint64_t *first,
                           uint64_t *end);
/* The word that getopt_long did not understand. */
leat_status leat_cli_unknown(leat_cli *cli, const char *command, char **argv);
/* Signals USR1, TERM and INT ask for a stop; loader may be NULL while it opens. */
void leat_cli_signals_to(leat_loader *loader);
bool leat_cli_stop_asked(void);
/* The library's messages on stderr, from rank 0 all, from others warnings. */
void leat_cli_log(void *cli, int warning, const char *line);
/* One line that is written over on a terminal, and now and then a plain line elsewhere.  Text NULL ends it. */
void leat_cli_progress(leat_cli *cli, const char *format, ...) LEAT_PRINTF(2, 3);
bool leat_cli_root(const leat_cli *cli);
#endif
