/* leat stop DIR: asks a running job to save and stop. */
#include "cli/cli.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static leat_status run(leat_cli *cli, int argc, char **argv)
{
    char path[4096];
    struct stat folder;
    if (argc != 2) {
        return leat_cli_usage(cli, "stop", "wants one run folder");
    }
    if (stat(argv[1], &folder) != 0 || !S_ISDIR(folder.st_mode)) {
        return LEAT_FAIL(&cli->error, LEAT_NOT_FOUND, "%s is no run folder", argv[1]);
    }
    if (snprintf(path, sizeof path, "%s/stop", argv[1]) >= (int)sizeof path) {
        return LEAT_FAIL(&cli->error, LEAT_INVALID, "the path is too long");
    }
    int descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) {
        return leat_fail_errno(&cli->error, "make", path, errno);
    }
    close(descriptor);
    if (!cli->json) {
        printf("asked the run in %s to save and stop (its command ends with exit code 75)\n",
               argv[1]);
    }
    return LEAT_OK;
}

const leat_command leat_command_stop = {"stop",
                                        "leat stop DIR",
                                        "Ask a running job to save and stop",
                                        "Makes DIR/stop; the run removes it when it obeys.\n",
                                        false,
                                        run};
