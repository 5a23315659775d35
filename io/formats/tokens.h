/* tokens.h: what the formats of token data share: types of tokens, and columns of numbers in a file. */
#ifndef LEAT_IO_TOKENS_H
#define LEAT_IO_TOKENS_H
#include "io/formats/format.h"

typedef struct leat_dtype {
    uint32_t width; /* 1, 2, 4 or 8 bytes, little-endian */
    bool is_signed;
} leat_dtype;

/* "uint16", "u2" or "<u2" and so on; false: no type of tokens. */
bool leat_dtype_parse(const char *text, leat_dtype *out);

/* One token, as an id; false: negative or beyond 32 bits. */
static inline bool leat_dtype_get(leat_dtype dtype, const uint8_t *at, uint32_t *out)
{
    uint64_t value = dtype.width == 2   ? leat_get_u16(at)
                     : dtype.width == 4 ? leat_get_u32(at)
                     : dtype.width == 1 ? at[0]
                                        : leat_get_u64(at);
    *out = (uint32_t)value;
    return value <= UINT32_MAX && !(dtype.is_signed && value >> (8 * dtype.width - 1) != 0);
}

/* A stretch of numbers of one width in a file, read through a buffer of 64 KiB. */
typedef struct leat_column {
    leat_file *file;
    uint64_t offset, count;
    uint32_t width; /* 4 or 8 */
    uint8_t *buffer;
    uint64_t first, held; /* numbers in the buffer */
} leat_column;

void leat_column_init(leat_column *column, leat_file *file, uint64_t offset, uint64_t count,
                      uint32_t width);
void leat_column_deinit(leat_column *column);
/* Number `index`, below count; sign-extended where it is 4 bytes wide. */
leat_status leat_column_get(leat_column *column, uint64_t index, int64_t *out,
                            leat_error *error) LEAT_MUST_USE;

/* Hands a file to the scan's hash (where there is one); *all_good (may be NULL) is false where a token of the given type from byte
 * `offset` on is none that leat_dtype_get takes. */
leat_status leat_tokens_hash(const leat_scan *scan, leat_file *file, uint64_t offset,
                             leat_dtype dtype, bool *all_good, leat_error *error) LEAT_MUST_USE;
#endif
