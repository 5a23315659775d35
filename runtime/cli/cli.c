#include "cli/cli.h"
#include "base/clock.h"
#include "collectives/wire.h"
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

leat_status leat_cli_usage(leat_cli *cli, const char *command, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    LEAT_FAIL(&cli->error, LEAT_INVALID, "leat %s: %s", command, text);
    leat_error_hint(&cli->error, "leat %s --help", command);
    return LEAT_INVALID;
}

leat_status leat_cli_number(leat_cli *cli, const char *command, const char *option,
                            const char *text, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0) {
        return leat_cli_usage(cli, command, "%s takes a whole number, not \"%s\"", option, text);
    }
    *out = value;
    return LEAT_OK;
}

leat_status leat_cli_unknown(leat_cli *cli, const char *command, char **argv)
{
    return leat_cli_usage(cli, command, "unknown option or missing value: %s", argv[optind - 1]);
}

static _Atomic(leat_loader *) signal_loader;
static atomic_bool stop_asked;

static void on_signal(int number)
{
    (void)number;
    atomic_store(&stop_asked, true);
    leat_loader *loader = atomic_load(&signal_loader);
    if (loader != NULL) {
        leat_loader_stop(loader);
    }
}

void leat_cli_signals_to(leat_loader *loader)
{
    static const int signals[] = {SIGUSR1, SIGTERM, SIGINT};
    atomic_store(&signal_loader, loader);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        sigaction(signals[i], &action, NULL);
    }
    /* A write past the limit of file sizes is an error that is told, not a death. */
    action.sa_handler = SIG_IGN;
    sigaction(SIGXFSZ, &action, NULL);
    if (loader != NULL && atomic_load(&stop_asked)) {
        leat_loader_stop(loader);
    }
}

bool leat_cli_stop_asked(void)
{
    return atomic_load(&stop_asked);
}

bool leat_cli_root(const leat_cli *cli)
{
    return cli->wire->rank == 0;
}

void leat_cli_log(void *context, int warning, const char *line)
{
    const leat_cli *cli = context;
    if (warning || leat_cli_root(cli)) {
        fprintf(stderr, "leat: %s%s\n", warning ? "warning: " : "", line);
    }
}

void leat_cli_progress(leat_cli *cli, const char *format, ...)
{
    static uint64_t last_ns; /* of the one progress line of this process */
    const leat_clock *clock = leat_clock_system();
    if (!leat_cli_root(cli) || cli->json) {
        return;
    }
    bool terminal = isatty(STDERR_FILENO) != 0;
    if (format == NULL) {
        if (terminal && last_ns != 0) {
            fprintf(stderr, "\r\033[K");
        }
        return;
    }
    uint64_t now = clock->now_ns(clock->context);
    if (!terminal && last_ns == 0) {
        last_ns = now; /* a file gets no line of work that is over soon */
    }
    if (now - last_ns < (terminal ? 200000000u : 10000000000u)) {
        return;
    }
    last_ns = now;
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, terminal ? "\r\033[K%s" : "%s\n", text);
}
