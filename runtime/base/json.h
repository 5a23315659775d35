/* json.h: reads JSON (simdjson behind it, in json.cc alone).  A document owns a parsed copy; values are small handles into
 * it that live until the document is closed or parsed again.  Strict: UTF-8 and JSON grammar are checked in full.
 * Keys and strings are unescaped.  One thread at a time uses one document. */
#ifndef LEAT_BASE_JSON_H
#define LEAT_BASE_JSON_H
#include "base/bytes.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_json leat_json;

typedef enum leat_json_type {
    LEAT_JSON_NONE, /* absent; every call on it gives "absent" again */
    LEAT_JSON_NULL,
    LEAT_JSON_FALSE,
    LEAT_JSON_TRUE,
    LEAT_JSON_INTEGER, /* fits in int64 or uint64 */
    LEAT_JSON_REAL,
    LEAT_JSON_TEXT,
    LEAT_JSON_ARRAY,
    LEAT_JSON_OBJECT
} leat_json_type;

typedef struct leat_json_value {
    const leat_json *json;
    uint64_t at; /* opaque */
} leat_json_value;

leat_json *leat_json_open(void);
void leat_json_close(leat_json *json);
/* Parses `text` (any size below 4 GiB; copied).  CORRUPT with what is wrong (also: deeper than 1024 levels, a lone surrogate
 * escape); `name` names the text in messages.  Numbers that do not fit are REAL. */
leat_status leat_json_parse(leat_json *json, leat_bytes text, const char *name,
                            leat_json_value *root, leat_error *error) LEAT_MUST_USE;
leat_json_type leat_json_type_of(leat_json_value value);
/* First member with that key; NONE where there is none or `value` is no object. */
leat_json_value leat_json_member(leat_json_value value, const char *key);
/* Iteration over arrays and objects: start with leat_json_first; the value is NONE at the end.  *key (may be NULL) is the
 * member's key in objects. */
leat_json_value leat_json_first(leat_json_value value, leat_bytes *key);
leat_json_value leat_json_after(leat_json_value value, leat_bytes *key);
size_t leat_json_count(leat_json_value value); /* items or members; 0 for others */
/* false where the value is of another type or does not fit. */
bool leat_json_get_text(leat_json_value value, leat_bytes *out);
bool leat_json_get_u64(leat_json_value value, uint64_t *out);
bool leat_json_get_i64(leat_json_value value, int64_t *out);
bool leat_json_get_bool(leat_json_value value, bool *out);

#ifdef __cplusplus
}
#endif
#endif
