/* hdf5_file.h: a small HDF5 file as bytes in memory: named fields at its root, made and read through HDF5's core driver.
 * The one file with HDF5 in it.  No file is opened here, so no lock is taken and no half-written file is ever met; who calls
 * checks the bytes first (checkpoint.c: SHA-256), because HDF5 is not safe against damaged ones.
 * The earliest layout: any HDF5 reads the files; no times are kept.  LOCAL; any thread. */
#ifndef LEAT_IO_HDF5_FILE_H
#define LEAT_IO_HDF5_FILE_H
#include "base/bytes.h"

typedef enum leat_hdf5_kind {
    LEAT_HDF5_NUMBER, /* one unsigned 64-bit number; `number` */
    LEAT_HDF5_BYTES,  /* uint8[n], deflated where longer than 256 */
    LEAT_HDF5_TEXT /* one UTF-8 string without NUL, deflated where longer than 256; h5dump shows it */
} leat_hdf5_kind;

typedef struct leat_hdf5_field {
    const char *name;
    leat_hdf5_kind kind;
    uint64_t number;
    leat_bytes content; /* BYTES, TEXT: to write */
    leat_buffer *out;   /* BYTES, TEXT: filled by reading */
} leat_hdf5_field;

/* "1.10.8" of the library in use; false where it is not the one leat was built with. */
bool leat_hdf5_version(char *out, size_t size);

enum { LEAT_HDF5_FIELD_BYTES_MAX = 1 << 30 };

/* The same fields give the same bytes (with one version of HDF5 and zlib). */
leat_status leat_hdf5_write(const leat_hdf5_field *fields, size_t count, leat_buffer *image,
                            leat_error *error) LEAT_MUST_USE;
/* CORRUPT: a field is missing or has another type, in one line. */
leat_status leat_hdf5_read(leat_bytes image, leat_hdf5_field *fields, size_t count,
                           leat_error *error) LEAT_MUST_USE;
#endif
