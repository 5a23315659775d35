/* checkpoint_print.h: a checkpoint as text, for people or as one JSON object. */
#ifndef LEAT_AUDIT_CHECKPOINT_PRINT_H
#define LEAT_AUDIT_CHECKPOINT_PRINT_H
#include "base/bytes.h"

/* Reads and verifies the file and appends its description to `out`.  Statuses as of leat_checkpoint_read, and those of a cursor
 * that is damaged or of another plan version. */
leat_status leat_checkpoint_print(const char *path, bool json, leat_buffer *out,
                                  leat_error *error) LEAT_MUST_USE;
#endif
