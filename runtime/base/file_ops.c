#include "base/file_ops.h"
#include "base/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int posix_open(void *context, const char *path, int flags, mode_t mode)
{
    (void)context;
    return open(path, flags | O_CLOEXEC, mode);
}

static ssize_t posix_write(void *context, int file, const void *data, size_t bytes)
{
    (void)context;
    return write(file, data, bytes);
}

static int posix_sync(void *context, int file)
{
    (void)context;
    return fsync(file);
}

static int posix_data_sync(void *context, int file)
{
    (void)context;
    return fdatasync(file);
}

static int posix_truncate(void *context, int file, off_t size)
{
    (void)context;
    return ftruncate(file, size);
}

static int posix_close(void *context, int file)
{
    (void)context;
    return close(file);
}

static int posix_rename(void *context, const char *from, const char *to)
{
    (void)context;
    return rename(from, to);
}

static int posix_link(void *context, const char *from, const char *to)
{
    (void)context;
    return link(from, to);
}

static int posix_remove(void *context, const char *path)
{
    (void)context;
    return unlink(path);
}

const leat_file_ops *leat_file_ops_posix(void)
{
    static const leat_file_ops ops = {posix_open,     posix_write, posix_sync,   posix_data_sync,
                                      posix_truncate, posix_close, posix_rename, posix_link,
                                      posix_remove,   NULL};
    return &ops;
}

bool leat_file_ops_write_all(const leat_file_ops *ops, int file, const void *data, size_t bytes)
{
    const uint8_t *at = data;
    while (bytes > 0) {
        ssize_t written = ops->write(ops->context, file, at, bytes);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            errno = written == 0 ? ENOSPC : errno;
            return false;
        }
        at += written;
        bytes -= (size_t)written;
    }
    return true;
}

leat_status leat_file_ops_sync_folder(const leat_file_ops *ops, const char *path, leat_error *error)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL   ? leat_strdup(".")
                   : slash == path ? leat_strdup("/")
                                   : leat_strndup(path, (size_t)(slash - path));
    leat_status status = LEAT_OK;
    int file = ops->open(ops->context, folder, O_RDONLY | O_DIRECTORY, 0);
    if (file < 0) {
        status = leat_fail_errno(error, "open the folder", folder, errno);
    } else {
        if (ops->sync(ops->context, file) != 0 && errno != EINVAL && errno != ENOTSUP) {
            status = leat_fail_errno(error, "sync the folder", folder, errno);
        }
        ops->close(ops->context, file);
    }
    leat_free(folder);
    return status;
}

/* Creates `path` with the content, synced and closed; on failure errno is set and the file is gone. */
static const char *write_new(const leat_file_ops *ops, const char *path, leat_bytes content)
{
    int file = ops->open(ops->context, path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0) {
        return "create";
    }
    const char *failed = NULL;
    if (!leat_file_ops_write_all(ops, file, content.data, content.size)) {
        failed = "write";
    } else if (ops->sync(ops->context, file) != 0) {
        failed = "sync";
    }
    int cause = errno;
    if (ops->close(ops->context, file) != 0 && failed == NULL) {
        failed = "close";
        cause = errno;
    }
    errno = cause;
    return failed;
}

leat_status leat_file_ops_write_whole(const leat_file_ops *ops, const char *path,
                                      leat_bytes content, leat_error *error)
{
    char *temporary = leat_format("%s.%ld.tmp", path, (long)getpid());
    const char *failed = write_new(ops, temporary, content);
    leat_status status = LEAT_OK;
    if (failed == NULL && ops->rename(ops->context, temporary, path) != 0) {
        failed = "rename";
    }
    if (failed != NULL) {
        int cause = errno;
        ops->remove(ops->context, temporary);
        status = leat_fail_errno(error, failed, temporary, cause);
        error->status = status = LEAT_IO;
        leat_error_wanted(error, "%s, written whole", path);
        leat_error_hint(error, "check space, quota and permissions of that folder; "
                               "what was there before is unchanged");
    } else {
        status = leat_file_ops_sync_folder(ops, path, error);
    }
    leat_free(temporary);
    return status;
}
