/* file_faults.h: file calls that fail or end the process at the n-th one, for tests of what a crash leaves behind.  With
 * `kill` the process ends by SIGKILL; writes are torn in the middle first, so that a crash shows half a line or file. */
#ifndef LEAT_TESTS_FILE_FAULTS_H
#define LEAT_TESTS_FILE_FAULTS_H
#include "base/file_ops.h"
#include <errno.h>
#include <signal.h>
#include <unistd.h>

typedef struct file_faults {
    leat_file_ops ops;
    long at;     /* the call that fails, from 0; -1: none */
    int cause;   /* errno of the failing call */
    int kill;    /* end the process instead */
    int lasting; /* all further writes fail too, as on a full disk; other calls work */
    long calls;
    char trace
        [64]; /* first letter of each call, in order: what a test of the order of writing and syncing looks at */
} file_faults;

static inline int file_faults_hit(file_faults *faults, char letter)
{
    long call = faults->calls++;
    if (call < (long)sizeof faults->trace - 1) {
        faults->trace[call] = letter;
    }
    if (faults->at < 0 || call != faults->at) {
        return 0;
    }
    if (faults->kill) {
        kill(getpid(), SIGKILL);
    }
    errno = faults->cause;
    return 1;
}

#define FILE_FAULTS_CALL(name, parameters, arguments) \
    static inline int file_faults_##name parameters \
    { \
        file_faults *faults = context; \
        const leat_file_ops *posix = leat_file_ops_posix(); \
        return file_faults_hit(faults, #name[0]) ? -1 : posix->name arguments; \
    }
FILE_FAULTS_CALL(open, (void *context, const char *path, int flags, mode_t mode),
                 (NULL, path, flags, mode))
FILE_FAULTS_CALL(sync, (void *context, int file), (NULL, file))
FILE_FAULTS_CALL(data_sync, (void *context, int file), (NULL, file))
FILE_FAULTS_CALL(truncate, (void *context, int file, off_t size), (NULL, file, size))
FILE_FAULTS_CALL(rename, (void *context, const char *from, const char *to), (NULL, from, to))
FILE_FAULTS_CALL(link, (void *context, const char *from, const char *to), (NULL, from, to))
FILE_FAULTS_CALL(remove, (void *context, const char *path), (NULL, path))

/* A failing close still closes, as close does. */
static inline int file_faults_close(void *context, int file)
{
    int hit = file_faults_hit(context, 'c');
    int closed = leat_file_ops_posix()->close(NULL, file);
    if (hit) {
        errno = ((file_faults *)context)->cause;
    }
    return hit ? -1 : closed;
}

static inline ssize_t file_faults_write(void *context, int file, const void *data, size_t bytes)
{
    file_faults *faults = context;
    const leat_file_ops *posix = leat_file_ops_posix();
    long call = faults->calls++;
    if (call < (long)sizeof faults->trace - 1) {
        faults->trace[call] = 'w';
    }
    if (faults->at < 0 || (faults->lasting ? call < faults->at : call != faults->at)) {
        return posix->write(NULL, file, data, bytes);
    }
    if (call == faults->at && bytes > 1) {
        ssize_t half = posix->write(NULL, file, data, bytes / 2);
        if (faults->kill) {
            kill(getpid(), SIGKILL);
        }
        if (faults->lasting) {
            return half;
        }
    }
    errno = faults->cause;
    return -1;
}

static inline void file_faults_init(file_faults *faults, long at, int cause)
{
    *faults = (file_faults){.at = at, .cause = cause};
    faults->ops = (leat_file_ops){file_faults_open,     file_faults_write,
                                  file_faults_sync,     file_faults_data_sync,
                                  file_faults_truncate, file_faults_close,
                                  file_faults_rename,   file_faults_link,
                                  file_faults_remove,   faults};
}
#endif
