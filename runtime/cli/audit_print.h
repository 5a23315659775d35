/* audit_print.h: how the audit commands show documents and rows. */
#ifndef LEAT_CLI_AUDIT_PRINT_H
#define LEAT_CLI_AUDIT_PRINT_H
#include "audit/audit.h"
#include "base/json_out.h"
#include "cli/cli.h"
#include <stdio.h>

/* Adds the members that say where a segment is from to an open JSON object. */
leat_status leat_cli_segment_json(leat_loader *loader, const leat_batch_segment *segment,
                                  leat_json_out *out, leat_error *error);
/* One line for people: "docs: corpus/a.jsonl record 17 part 1 of 2, tokens 0 to 12, epoch 0". */
leat_status leat_cli_segment_line(leat_loader *loader, const leat_batch_segment *segment, FILE *to,
                                  leat_error *error);
/* Runs a loader over steps [first, end) and compares every batch digest with the log; *different is the first step that
 * differs, or `end`.  COLLECTIVE. */
leat_status leat_cli_replay_log(leat_cli *cli, leat_loader *loader, const char *log, uint64_t first,
                                uint64_t end, uint64_t *different);
/* INVALID where the log of the run folder does not have all the steps [first, end). */
leat_status leat_cli_check_logged(leat_cli *cli, const char *command, const char *folder,
                                  uint64_t first, uint64_t end);
#endif
