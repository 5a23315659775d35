/* file_ops.h: the calls by which leat changes files that must survive a crash (run folder, log, checkpoints), as a table, so
 * that a test can fail or stop any one of them.  Each follows its POSIX namesake: -1 and errno.  leat_file_ops_posix is what
 * everybody else uses.  Data files are read through io/store. */
#ifndef LEAT_BASE_FILE_OPS_H
#define LEAT_BASE_FILE_OPS_H
#include "base/bytes.h"
#include <sys/types.h>

typedef struct leat_file_ops {
    int (*open)(void *context, const char *path, int flags, mode_t mode);
    ssize_t (*write)(void *context, int file, const void *data, size_t bytes);
    int (*sync)(void *context, int file);      /* fsync */
    int (*data_sync)(void *context, int file); /* fdatasync */
    int (*truncate)(void *context, int file, off_t size);
    int (*close)(void *context, int file);
    int (*rename)(void *context, const char *from, const char *to);
    int (*link)(void *context, const char *from, const char *to);
    int (*remove)(void *context, const char *path);
    void *context;
} leat_file_ops;

const leat_file_ops *leat_file_ops_posix(void);

/* Writes all bytes, going on after short writes and EINTR; false with errno. */
bool leat_file_ops_write_all(const leat_file_ops *ops, int file, const void *data, size_t bytes);
/* fsync of the folder that holds `path`: makes a rename in it durable.  A file system that cannot sync folders is no error. */
leat_status leat_file_ops_sync_folder(const leat_file_ops *ops, const char *path,
                                      leat_error *error) LEAT_MUST_USE;
/* `path` becomes a file with this content, whole and durable, or stays as it is: temporary file PATH.PID.tmp beside it, write,
 * fsync, close, rename, fsync of the folder.  IO: `path` is as before and the temporary file is gone. */
leat_status leat_file_ops_write_whole(const leat_file_ops *ops, const char *path,
                                      leat_bytes content, leat_error *error) LEAT_MUST_USE;
#endif
