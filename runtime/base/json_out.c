#include "base/json_out.h"
#include <inttypes.h>

static void value_begins(leat_json_out *out)
{
    if (out->comma) {
        leat_buffer_add_u8(out->buffer, ',');
    }
    out->comma = true;
}

static void opens(leat_json_out *out, char bracket)
{
    value_begins(out);
    leat_buffer_add_u8(out->buffer, (uint8_t)bracket);
    out->comma = false;
}

static void closes(leat_json_out *out, char bracket)
{
    leat_buffer_add_u8(out->buffer, (uint8_t)bracket);
    out->comma = true;
}

void leat_json_object(leat_json_out *out)
{
    opens(out, '{');
}

void leat_json_object_end(leat_json_out *out)
{
    closes(out, '}');
}

void leat_json_array(leat_json_out *out)
{
    opens(out, '[');
}

void leat_json_array_end(leat_json_out *out)
{
    closes(out, ']');
}

static void quoted(leat_buffer *buffer, const char *text, size_t bytes)
{
    leat_buffer_add_u8(buffer, '"');
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\') {
            leat_buffer_add_u8(buffer, '\\');
            leat_buffer_add_u8(buffer, c);
        } else if (c < 0x20) {
            leat_buffer_add_format(buffer, "\\u%04x", c);
        } else {
            leat_buffer_add_u8(buffer, c);
        }
    }
    leat_buffer_add_u8(buffer, '"');
}

void leat_json_text_sized(leat_json_out *out, const char *text, size_t bytes)
{
    value_begins(out);
    quoted(out->buffer, text, bytes);
}

void leat_json_text(leat_json_out *out, const char *text)
{
    leat_json_text_sized(out, text, strlen(text));
}

void leat_json_key(leat_json_out *out, const char *key)
{
    leat_json_text(out, key);
    leat_buffer_add_u8(out->buffer, ':');
    out->comma = false;
}

void leat_json_raw(leat_json_out *out, const char *text)
{
    value_begins(out);
    leat_buffer_add_text(out->buffer, text);
}

void leat_json_u64(leat_json_out *out, uint64_t value)
{
    value_begins(out);
    leat_buffer_add_format(out->buffer, "%" PRIu64, value);
}

void leat_json_i64(leat_json_out *out, int64_t value)
{
    value_begins(out);
    leat_buffer_add_format(out->buffer, "%" PRId64, value);
}

void leat_json_bool(leat_json_out *out, bool value)
{
    leat_json_raw(out, value ? "true" : "false");
}

void leat_json_null(leat_json_out *out)
{
    leat_json_raw(out, "null");
}

void leat_json_hex(leat_json_out *out, const uint8_t *bytes, size_t count)
{
    value_begins(out);
    leat_buffer_add_u8(out->buffer, '"');
    char *at = (char *)leat_buffer_extend(out->buffer, 2 * count + 1);
    leat_hex(bytes, count, at);
    out->buffer->data[out->buffer->size - 1] = '"';
}

void leat_json_key_text(leat_json_out *out, const char *key, const char *text)
{
    leat_json_key(out, key);
    if (text == NULL) {
        leat_json_null(out);
    } else {
        leat_json_text(out, text);
    }
}

void leat_json_key_u64(leat_json_out *out, const char *key, uint64_t value)
{
    leat_json_key(out, key);
    leat_json_u64(out, value);
}

void leat_json_key_bool(leat_json_out *out, const char *key, bool value)
{
    leat_json_key(out, key);
    leat_json_bool(out, value);
}

void leat_json_key_hex(leat_json_out *out, const char *key, const uint8_t *bytes, size_t count)
{
    leat_json_key(out, key);
    leat_json_hex(out, bytes, count);
}
