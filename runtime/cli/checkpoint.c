/* leat checkpoint FILE: shows a checkpoint and verifies it. */
#include "audit/checkpoint_print.h"
#include "cli/cli.h"
#include <stdio.h>

static leat_status run(leat_cli *cli, int argc, char **argv)
{
    leat_buffer text = {0};
    if (argc != 2) {
        return leat_cli_usage(cli, "checkpoint", "wants one checkpoint file");
    }
    leat_status status = leat_checkpoint_print(argv[1], cli->json, &text, &cli->error);
    if (status == LEAT_OK) {
        fwrite(text.data, 1, text.size, stdout);
    }
    leat_buffer_deinit(&text);
    return status;
}

const leat_command leat_command_checkpoint = {
    "checkpoint",
    "leat checkpoint FILE [--json]",
    "Show a checkpoint and verify it",
    "FILE is DIR/checkpoints/step-*.h5.  Verifies the SHA-256 of the whole file and of its fields "
    "before\n"
    "anything in it is believed.  The file is HDF5: h5dump shows it too.\n",
    false,
    run};
