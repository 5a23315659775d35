/* utf8.h: strict UTF-8 (Unicode 15, table 3-7): no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef LEAT_BASE_UTF8_H
#define LEAT_BASE_UTF8_H
#include "base/bytes.h"

/* Length (1 to 4) of the sequence that begins at data[0]; 0 where it is none, and then *subpart (may be NULL) is the length
 * of its maximal subpart (1 to 3): what one U+FFFD stands for.  size is at least 1. */
size_t leat_utf8_length(const uint8_t *data, size_t size, size_t *subpart);
/* Place of the first byte that begins no valid sequence; size where all is valid. */
size_t leat_utf8_fault(const uint8_t *data, size_t size);
/* Appends data with U+FFFD for each maximal subpart of an ill-formed sequence. */
void leat_utf8_replace(const uint8_t *data, size_t size, leat_buffer *append_to);
/* 1 to 4 bytes; code is a scalar value. */
size_t leat_utf8_encode(uint32_t code, uint8_t out[4]);

static inline bool leat_utf8_is_continuation(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}
#endif
