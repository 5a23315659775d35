#include "base/bytes.h"
#include "base/memory.h"
#include <stdarg.h>
#include <stdio.h>

void leat_buffer_deinit(leat_buffer *buffer)
{
    leat_free(buffer->data);
    *buffer = (leat_buffer){0};
}

void leat_buffer_clear(leat_buffer *buffer)
{
    buffer->size = 0;
}

uint8_t *leat_buffer_extend(leat_buffer *buffer, size_t bytes)
{
    LEAT_GROW(buffer->data, buffer->capacity, buffer->size + bytes);
    uint8_t *at = buffer->data + buffer->size;
    buffer->size += bytes;
    return at;
}

void leat_buffer_add(leat_buffer *buffer, const void *data, size_t bytes)
{
    if (bytes != 0) {
        memcpy(leat_buffer_extend(buffer, bytes), data, bytes);
    }
}

void leat_buffer_add_u8(leat_buffer *buffer, uint8_t value)
{
    *leat_buffer_extend(buffer, 1) = value;
}

void leat_buffer_add_u32(leat_buffer *buffer, uint32_t value)
{
    leat_put_u32(leat_buffer_extend(buffer, 4), value);
}

void leat_buffer_add_u64(leat_buffer *buffer, uint64_t value)
{
    leat_put_u64(leat_buffer_extend(buffer, 8), value);
}

void leat_buffer_add_text(leat_buffer *buffer, const char *text)
{
    leat_buffer_add(buffer, text, strlen(text));
}

void leat_buffer_add_format(leat_buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    LEAT_ASSERT(length >= 0);
    uint8_t *at = leat_buffer_extend(buffer, (size_t)length + 1);
    va_start(arguments, format);
    vsnprintf((char *)at, (size_t)length + 1, format, arguments);
    va_end(arguments);
    buffer->size--;
}

const char *leat_buffer_text(leat_buffer *buffer)
{
    *leat_buffer_extend(buffer, 1) = 0;
    buffer->size--;
    return (const char *)buffer->data;
}

const uint8_t *leat_reader_take(leat_reader *reader, size_t bytes)
{
    if (reader->failed || reader->size - reader->at < bytes) {
        reader->failed = true;
        return NULL;
    }
    const uint8_t *at = reader->data + reader->at;
    reader->at += bytes;
    return at;
}

uint8_t leat_reader_u8(leat_reader *reader)
{
    const uint8_t *at = leat_reader_take(reader, 1);
    return at != NULL ? *at : 0;
}

uint32_t leat_reader_u32(leat_reader *reader)
{
    const uint8_t *at = leat_reader_take(reader, 4);
    return at != NULL ? leat_get_u32(at) : 0;
}

uint64_t leat_reader_u64(leat_reader *reader)
{
    const uint8_t *at = leat_reader_take(reader, 8);
    return at != NULL ? leat_get_u64(at) : 0;
}

void leat_hex(const uint8_t *bytes, size_t count, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * count] = '\0';
}

static int nibble(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool leat_unhex(const char *text, uint8_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int high = nibble(text[2 * i]);
        int low = high < 0 ? -1 : nibble(text[2 * i + 1]);
        if (low < 0) {
            return false;
        }
        out[i] = (uint8_t)(high << 4 | low);
    }
    return text[2 * count] == '\0';
}
