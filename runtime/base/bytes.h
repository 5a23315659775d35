/* bytes.h: byte views, a growable byte buffer, and little-endian fields.  Everything that leat writes, sends or hashes goes
 * through the put and get helpers, so that its bytes are the same on every host. */
#ifndef LEAT_BASE_BYTES_H
#define LEAT_BASE_BYTES_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A view: the memory belongs to somebody else. */
typedef struct leat_bytes {
    const uint8_t *data;
    size_t size;
} leat_bytes;

static inline void leat_put_u16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}
static inline void leat_put_u32(uint8_t *at, uint32_t value)
{
    leat_put_u16(at, (uint16_t)value);
    leat_put_u16(at + 2, (uint16_t)(value >> 16));
}
static inline void leat_put_u64(uint8_t *at, uint64_t value)
{
    leat_put_u32(at, (uint32_t)value);
    leat_put_u32(at + 4, (uint32_t)(value >> 32));
}
static inline uint16_t leat_get_u16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}
static inline uint32_t leat_get_u32(const uint8_t *at)
{
    return leat_get_u16(at) | (uint32_t)leat_get_u16(at + 2) << 16;
}
static inline uint64_t leat_get_u64(const uint8_t *at)
{
    return leat_get_u32(at) | (uint64_t)leat_get_u32(at + 4) << 32;
}

/* Owns its memory.  Zero-initialized is empty and ready. */
typedef struct leat_buffer {
    uint8_t *data;
    size_t size, capacity;
} leat_buffer;

void leat_buffer_deinit(leat_buffer *buffer);
void leat_buffer_clear(leat_buffer *buffer); /* size 0, memory kept */
/* Appends `bytes` bytes that the caller fills in; the pointer lives until the next call on the buffer. */
uint8_t *leat_buffer_extend(leat_buffer *buffer, size_t bytes);
void leat_buffer_add(leat_buffer *buffer, const void *data, size_t bytes);
void leat_buffer_add_u8(leat_buffer *buffer, uint8_t value);
void leat_buffer_add_u32(leat_buffer *buffer, uint32_t value);
void leat_buffer_add_u64(leat_buffer *buffer, uint64_t value);
void leat_buffer_add_text(leat_buffer *buffer, const char *text); /* without the NUL */
void leat_buffer_add_format(leat_buffer *buffer, const char *format, ...) LEAT_PRINTF(2, 3);
/* Adds a NUL behind the content (not counted in size) and gives the content as a C string. */
const char *leat_buffer_text(leat_buffer *buffer);

/* Reads fields in order; after a read past the end `failed` is set and every further read gives 0. */
typedef struct leat_reader {
    const uint8_t *data;
    size_t size, at;
    bool failed;
} leat_reader;

uint8_t leat_reader_u8(leat_reader *reader);
uint32_t leat_reader_u32(leat_reader *reader);
uint64_t leat_reader_u64(leat_reader *reader);
/* NULL where fewer than `bytes` are left. */
const uint8_t *leat_reader_take(leat_reader *reader, size_t bytes);

void leat_hex(const uint8_t *bytes, size_t count, char *out);  /* 2·count digits and a NUL */
bool leat_unhex(const char *text, uint8_t *out, size_t count); /* exactly 2·count digits */
#endif
