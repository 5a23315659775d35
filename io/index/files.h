/* files.h: a corpus's open files: a bounded number, the least recently used closed first.  Shared by threads.  A file in use is
 * never closed; where more threads than places use files at once, the bound is exceeded for that long. */
#ifndef LEAT_IO_FILES_H
#define LEAT_IO_FILES_H
#include "io/store/store.h"

typedef struct leat_files leat_files;

leat_files *leat_files_open(leat_store *store, size_t files_max);
void leat_files_close(leat_files *files); /* accepts NULL; no file is in use any more */

/* Called once for each file that is opened, before anybody gets it; what it returns becomes the result. */
typedef leat_status leat_files_check(void *context, leat_file *file, leat_error *error);
/* The file of that key, opened by `path` where it is not open.  Give it back with leat_files_release. */
leat_status leat_files_acquire(leat_files *files, uint64_t key, const char *path,
                               leat_files_check *check, void *context, leat_file **out,
                               leat_error *error) LEAT_MUST_USE;
/* The same where the file is open already, else NULL. */
leat_file *leat_files_use(leat_files *files, uint64_t key);
void leat_files_release(leat_files *files, leat_file *file); /* accepts NULL */
/* Closes the file of that key once nobody uses it; the next acquire opens it anew. */
void leat_files_forget(leat_files *files, uint64_t key);
#endif
