/* state_calls.h: the writing calls of checkpoint.h through other file calls, for tests that fail or stop each of them, and what
 * the files of this folder share. */
#ifndef LEAT_IO_STATE_CALLS_H
#define LEAT_IO_STATE_CALLS_H
#include "base/file_ops.h"
#include "io/state/checkpoint.h"

leat_status leat_checkpoint_write_with(const leat_file_ops *ops, const char *run_folder,
                                       const leat_checkpoint *checkpoint,
                                       leat_error *error) LEAT_MUST_USE;
leat_status leat_checkpoint_prune_with(const leat_file_ops *ops, const char *run_folder,
                                       uint64_t keep, leat_error *error) LEAT_MUST_USE;
leat_status leat_cursors_append_with(const leat_file_ops *ops, const char *run_folder,
                                     uint64_t step, const uint8_t chain[32], leat_bytes cursor,
                                     leat_error *error) LEAT_MUST_USE;
leat_status leat_cursors_truncate_with(const leat_file_ops *ops, const char *run_folder,
                                       uint64_t step, leat_error *error) LEAT_MUST_USE;
leat_status leat_owner_take_with(leat_owner **out, const leat_file_ops *ops, const char *run_folder,
                                 const char *job, const leat_clock *clock,
                                 leat_error *error) LEAT_MUST_USE;

/* The whole content of a plain file of at most `bytes_max` bytes.  CORRUPT: longer, or no plain file. */
leat_status leat_state_read_file(const char *path, uint64_t bytes_max, leat_buffer *out,
                                 leat_error *error) LEAT_MUST_USE;
/* FOLDER/checkpoints/step-000150.h5; for leat_free. */
char *leat_checkpoint_path(const char *run_folder, uint64_t step);
#endif
