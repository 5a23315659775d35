/* The store of the file system.  Files are read with pread, never mapped: a lost server is an error, not a SIGBUS. */
#include "base/arith.h"
#include "base/memory.h"
#include "io/store/store.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CALL_BYTES_MAX = 1 << 30 }; /* Linux moves at most 2 GiB - 4 KiB a call */

typedef struct posix_file {
    leat_file file;
    int fd;
} posix_file;

typedef struct posix_writer {
    leat_writer writer;
    char *temporary;
    int fd;
} posix_writer;

static leat_status posix_stat(leat_store *store, const char *path, leat_file_stat *out,
                              leat_error *error)
{
    struct stat found;
    (void)store;
    if (stat(path, &found) != 0) {
        return leat_fail_errno(error, "look at", path, errno);
    }
    *out = (leat_file_stat){.size = (uint64_t)found.st_size,
                            .modified_ns = (uint64_t)found.st_mtim.tv_sec * 1000000000u +
                                           (uint64_t)found.st_mtim.tv_nsec,
                            .is_folder = S_ISDIR(found.st_mode)};
    return LEAT_OK;
}

static leat_status posix_open(leat_store *store, const char *path, leat_file **out,
                              leat_error *error)
{
    *out = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not make it wait */
    struct stat found;
    if (fd < 0 || fstat(fd, &found) != 0) {
        int code = errno;
        if (fd >= 0) {
            close(fd);
        }
        return leat_fail_errno(error, "open", path, code);
    }
    if (!S_ISREG(found.st_mode)) {
        close(fd);
        LEAT_FAIL(error, LEAT_IO, "cannot open %s: it is not a file", path);
        leat_error_found(error, "%s",
                         S_ISDIR(found.st_mode) ? "a folder" : "a pipe, socket or device");
        return error->status;
    }
    posix_file *opened = leat_alloc(1, sizeof *opened);
    opened->file = (leat_file){store, leat_strdup(path), (uint64_t)found.st_size};
    opened->fd = fd;
    *out = &opened->file;
    return LEAT_OK;
}

static leat_status posix_read(leat_file *file, uint64_t offset, void *out, size_t bytes,
                              leat_error *error)
{
    posix_file *opened = (posix_file *)file;
    size_t done = 0;
    while (done < bytes) {
        size_t wanted = bytes - done < CALL_BYTES_MAX ? bytes - done : CALL_BYTES_MAX;
        ssize_t got = pread(opened->fd, (uint8_t *)out + done, wanted, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            leat_fail_errno(error, "read", file->path, errno);
            leat_error_where(error, "%s, byte %" PRIu64, file->path, offset + done);
            return error->status;
        }
        if (got == 0) {
            LEAT_FAIL(error, LEAT_IO, "%s ends too early", file->path);
            leat_error_where(error, "%s, byte %" PRIu64, file->path, offset);
            leat_error_found(error, "%zu bytes there", done);
            leat_error_wanted(error, "%zu bytes", bytes);
            leat_error_hint(error, "was the file cut or written anew while it was in use?");
            return error->status;
        }
        done += (size_t)got;
    }
    return LEAT_OK;
}

static void posix_advise(leat_file *file, uint64_t offset, uint64_t bytes)
{
    posix_fadvise(((posix_file *)file)->fd, (off_t)offset, (off_t)bytes, POSIX_FADV_WILLNEED);
}

static void posix_close(leat_file *file)
{
    if (file != NULL) {
        close(((posix_file *)file)->fd);
        leat_free(file->path);
        leat_free(file);
    }
}

/* "folder/name" gives "folder" (memory for leat_free), "name" gives ".". */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? leat_strdup(".")
                         : leat_strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static leat_status posix_create(leat_store *store, const char *path, leat_writer **out,
                                leat_error *error)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    *out = NULL;
    /* A process number is not unique between hosts of one file system; O_EXCL finds the free name. */
    for (int attempt = 0; attempt < 1000; attempt++) {
        char *temporary = leat_format("%.*s.%.200s.%ld-%d.tmp", (int)(name - path), path, name,
                                      (long)getpid(), attempt);
        int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            posix_writer *made = leat_alloc(1, sizeof *made);
            made->writer = (leat_writer){store, leat_strdup(path)};
            made->temporary = temporary;
            made->fd = fd;
            *out = &made->writer;
            return LEAT_OK;
        }
        leat_free(temporary);
        if (errno != EEXIST) {
            return leat_fail_errno(error, "write", path, errno);
        }
    }
    LEAT_FAIL(error, LEAT_IO, "cannot make a temporary file beside %s", path);
    leat_error_hint(error, "remove the old files ending in .tmp there");
    return error->status;
}

static leat_status posix_write(leat_writer *writer, uint64_t offset, leat_bytes content,
                               leat_error *error)
{
    posix_writer *made = (posix_writer *)writer;
    size_t done = 0;
    while (done < content.size) {
        size_t wanted = content.size - done < CALL_BYTES_MAX ? content.size - done : CALL_BYTES_MAX;
        ssize_t put = pwrite(made->fd, content.data + done, wanted, (off_t)(offset + done));
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return leat_fail_errno(error, "write", writer->path, put < 0 ? errno : ENOSPC);
        }
        done += (size_t)put;
    }
    return LEAT_OK;
}

static void free_writer(posix_writer *made)
{
    leat_free(made->temporary);
    leat_free(made->writer.path);
    leat_free(made);
}

static void posix_discard(leat_writer *writer)
{
    if (writer != NULL) {
        posix_writer *made = (posix_writer *)writer;
        if (made->fd >= 0) {
            close(made->fd);
        }
        unlink(made->temporary);
        free_writer(made);
    }
}

/* A rename is lasting only when its folder is.  Some file systems cannot sync a folder and say EINVAL. */
static leat_status sync_folder(const char *path, leat_error *error)
{
    char *folder = folder_of(path);
    leat_status status = LEAT_OK;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP)) {
        status = leat_fail_errno(error, "sync the folder", folder, errno);
    }
    if (fd >= 0) {
        close(fd);
    }
    leat_free(folder);
    return status;
}

static leat_status posix_commit(leat_writer *writer, leat_error *error)
{
    posix_writer *made = (posix_writer *)writer;
    leat_status status = LEAT_OK;
    if (fsync(made->fd) != 0) {
        status = leat_fail_errno(error, "write", writer->path, errno);
    }
    if (close(made->fd) != 0 && status == LEAT_OK) {
        status = leat_fail_errno(error, "write", writer->path, errno);
    }
    made->fd = -1;
    if (status == LEAT_OK && rename(made->temporary, writer->path) != 0) {
        status = leat_fail_errno(error, "write", writer->path, errno);
    }
    if (status != LEAT_OK) {
        posix_discard(writer);
        return status;
    }
    status = sync_folder(writer->path, error);
    free_writer(made);
    return status;
}

static leat_status posix_write_whole(leat_store *store, const char *path, leat_bytes content,
                                     leat_error *error)
{
    leat_writer *writer;
    leat_status status = posix_create(store, path, &writer, error);
    if (status != LEAT_OK) {
        return status;
    }
    status = posix_write(writer, 0, content, error);
    if (status != LEAT_OK) {
        posix_discard(writer);
        return status;
    }
    return posix_commit(writer, error);
}

leat_store *leat_store_posix(void)
{
    static leat_store store = {.name = "posix",
                               .stat = posix_stat,
                               .open = posix_open,
                               .read = posix_read,
                               .advise = posix_advise,
                               .close = posix_close,
                               .write_whole = posix_write_whole,
                               .create = posix_create,
                               .write = posix_write,
                               .commit = posix_commit,
                               .discard = posix_discard};
    return &store;
}

leat_status leat_store_read_whole(leat_store *store, const char *path, uint64_t bytes_max,
                                  leat_buffer *out, leat_error *error)
{
    leat_file *file;
    leat_status status = store->open(store, path, &file, error);
    if (status != LEAT_OK) {
        return status;
    }
    leat_buffer_clear(out);
    if (file->size > bytes_max) {
        LEAT_FAIL(error, LEAT_LIMIT, "%s is too large", path);
        leat_error_found(error, "%" PRIu64 " bytes", file->size);
        leat_error_wanted(error, "at most %" PRIu64 " bytes", bytes_max);
        status = error->status;
    } else if (file->size != 0) {
        status = store->read(file, 0, leat_buffer_extend(out, file->size), file->size, error);
    }
    store->close(file);
    return status;
}

leat_status leat_store_make_folder(const char *path, leat_error *error)
{
    char *partial = leat_strdup(path);
    leat_status status = LEAT_OK;
    for (char *at = partial + 1; status == LEAT_OK && partial[0] != '\0'; at++) {
        if (*at != '/' && *at != '\0') {
            continue;
        }
        char kept = *at;
        struct stat found;
        *at = '\0';
        if (mkdir(partial, 0777) != 0) {
            int code = errno;
            if (stat(partial, &found) != 0) {
                status = leat_fail_errno(error, "make the folder", partial, code);
            } else if (!S_ISDIR(found.st_mode)) {
                status = leat_fail_errno(error, "make the folder", partial, ENOTDIR);
            }
        }
        *at = kept;
        if (kept == '\0') {
            break;
        }
    }
    leat_free(partial);
    return status;
}
