/* json_out.h: writes JSON text into a buffer: commas, escapes and UTF-8 are its business.  Canonical: no white space, keys in
 * the order the caller gives them, integers only, "/" and non-ASCII characters as they are. */
#ifndef LEAT_BASE_JSON_OUT_H
#define LEAT_BASE_JSON_OUT_H
#include "base/bytes.h"

typedef struct leat_json_out {
    leat_buffer *buffer;
    bool comma; /* a comma is due before the next value or key */
} leat_json_out;

void leat_json_object(leat_json_out *out);
void leat_json_object_end(leat_json_out *out);
void leat_json_array(leat_json_out *out);
void leat_json_array_end(leat_json_out *out);
void leat_json_key(leat_json_out *out, const char *key);
void leat_json_text(leat_json_out *out, const char *text);
void leat_json_text_sized(leat_json_out *out, const char *text, size_t bytes);
void leat_json_u64(leat_json_out *out, uint64_t value);
void leat_json_i64(leat_json_out *out, int64_t value);
void leat_json_bool(leat_json_out *out, bool value);
void leat_json_null(leat_json_out *out);
void leat_json_hex(leat_json_out *out, const uint8_t *bytes, size_t count);
/* The text of a value made elsewhere (a decimal, a nested document); not checked. */
void leat_json_raw(leat_json_out *out, const char *text);

/* key and value in one call */
void leat_json_key_text(leat_json_out *out, const char *key, const char *text); /* NULL: null */
void leat_json_key_u64(leat_json_out *out, const char *key, uint64_t value);
void leat_json_key_bool(leat_json_out *out, const char *key, bool value);
void leat_json_key_hex(leat_json_out *out, const char *key, const uint8_t *bytes, size_t count);
#endif
