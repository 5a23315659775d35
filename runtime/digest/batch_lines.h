/* batch_lines.h: lines of a batch log in an open file, found and parsed.  For batch_log.c and batch_reader.c alone. */
#ifndef LEAT_DIGEST_BATCH_LINES_H
#define LEAT_DIGEST_BATCH_LINES_H
#include "digest/batch_log.h"

/* A line holds about 210 bytes and up to 42 a dataset; more is no batch log. */
enum { LEAT_BATCH_LINE_BYTES_MAX = 1 << 26 };

typedef struct leat_batch_lines {
    int file;
    const char *path;  /* of the owner, for messages */
    uint64_t size;     /* bytes; the last of them ends a line */
    leat_buffer text;  /* the line last read */
    uint64_t *numbers; /* by_dataset of the line last read */
    size_t numbers_capacity;
} leat_batch_lines;

/* Looks at an open file: size is set to the end of the last whole line, *file_size to the file's. */
leat_status leat_batch_lines_init(leat_batch_lines *lines, int file, const char *path,
                                  uint64_t *file_size, leat_error *error) LEAT_MUST_USE;
void leat_batch_lines_deinit(leat_batch_lines *lines); /* does not close the file */
/* The line that begins at `offset` < size; *end is where the next begins.  CORRUPT: damaged. */
leat_status leat_batch_lines_read(leat_batch_lines *lines, uint64_t offset, leat_batch_entry *entry,
                                  uint64_t *end, leat_error *error) LEAT_MUST_USE;
/* Where the line begins that holds the byte before `offset` (> 0). */
leat_status leat_batch_lines_before(const leat_batch_lines *lines, uint64_t offset, uint64_t *begin,
                                    leat_error *error) LEAT_MUST_USE;
/* Offset of the first line with a step ≥ `step`; size where there is none. */
leat_status leat_batch_lines_seek(leat_batch_lines *lines, uint64_t step, uint64_t *offset,
                                  leat_error *error) LEAT_MUST_USE;
void leat_batch_line_write(leat_buffer *out, const leat_batch_line *line); /* with the line end */
#endif
