/* store.h: files as the rest of leat sees them: a small table of functions, so that tests can put a faulty store in their
 * place.  Reads are positioned and whole: fewer bytes than asked for is an error that names the file, the place and both
 * numbers.  LOCAL; a file may be read by many threads at once. */
#ifndef LEAT_IO_STORE_H
#define LEAT_IO_STORE_H
#include "base/bytes.h"

typedef struct leat_file leat_file;
typedef struct leat_store leat_store;

/* A file being written under a temporary name. */
typedef struct leat_writer {
    leat_store *store;
    char *path;
} leat_writer;

typedef struct leat_file_stat {
    uint64_t size;
    uint64_t modified_ns;
    bool is_folder;
} leat_file_stat;

struct leat_store {
    const char *name;
    leat_status (*stat)(leat_store *, const char *path, leat_file_stat *out, leat_error *);
    leat_status (*open)(leat_store *, const char *path, leat_file **out, leat_error *);
    leat_status (*read)(leat_file *, uint64_t offset, void *out, size_t bytes, leat_error *);
    void (*advise)(leat_file *, uint64_t offset,
                   uint64_t bytes); /* will be read soon; may do nothing */
    void (*close)(leat_file *);     /* accepts NULL */
    /* Writes a whole file: temporary file beside it, fsync, rename, fsync of the folder. */
    leat_status (*write_whole)(leat_store *, const char *path, leat_bytes content, leat_error *);
    void *context;
    /* The same for content that comes in pieces, in any order; all NULL in stores that only read.  Nobody sees the file
     * before commit, which frees the writer also where it fails; discard gives up and accepts NULL. */
    leat_status (*create)(leat_store *, const char *path, leat_writer **out, leat_error *);
    leat_status (*write)(leat_writer *, uint64_t offset, leat_bytes content, leat_error *);
    leat_status (*commit)(leat_writer *, leat_error *);
    void (*discard)(leat_writer *);
};
struct leat_file {
    leat_store *store;
    char *path;
    uint64_t size;
};

leat_store *leat_store_posix(void);
leat_status leat_store_read_whole(leat_store *store, const char *path, uint64_t bytes_max,
                                  leat_buffer *out, leat_error *error) LEAT_MUST_USE;
/* Makes the folder and its parents. */
leat_status leat_store_make_folder(const char *path, leat_error *error) LEAT_MUST_USE;

/* Paths of files matching one glob (*, ?, [..], and ** for any number of folders), sorted bytewise by the path below the longest leading part without wildcards.
 * *out is an array of *count strings, each and the array for leat_free.  INVALID: no match.  As in a
 * shell, wildcards do not match a dot at the start of a name and ** does not follow links to folders; a bracket, star or
 * question mark in a name is written in brackets, [[]. */
typedef struct leat_path_list {
    char **paths; /* as the file system wants them */
    const char **
        names; /* below the glob's fixed part; views into paths (the file name itself where the glob is fixed) */
    size_t count, capacity;
} leat_path_list;
leat_status leat_glob(const char *base_folder, const char *pattern, leat_path_list *append_to,
                      leat_error *error) LEAT_MUST_USE;
void leat_path_list_deinit(leat_path_list *list);
#endif
