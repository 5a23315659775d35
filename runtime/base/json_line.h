/* json_line.h: the text of one JSON object, by a key: what a line of a JSON-lines file is read with.  The whole line is
 * checked: UTF-8, strict grammar, no lone surrogate escape anywhere, the key once, its value a string.  simdjson does the
 * common case; what it refuses, and texts beyond 1 MiB (for which it would need 14 times their memory), our own scanner
 * reads, with the same results.  One thread at a time uses one leat_json_line.
 *
 * A key "a.b" is the member b of the object that is the member a.  A dot or backslash that belongs to a name is written
 * with a backslash before it: "a\.b". */
#ifndef LEAT_BASE_JSON_LINE_H
#define LEAT_BASE_JSON_LINE_H
#include "base/bytes.h"

typedef struct leat_json_line leat_json_line;

enum { LEAT_JSON_LINE_PADDING = 64 }; /* readable bytes that the caller has behind a line */

/* INVALID: the key is empty, ends in a backslash or has more than 16 names. */
leat_status leat_json_line_open(leat_json_line **out, const char *key,
                                leat_error *error) LEAT_MUST_USE;
void leat_json_line_close(leat_json_line *line);
/* true: *text is the unescaped text, a view until the next call or until `data` goes.  false: the line is bad. */
bool leat_json_line_text(leat_json_line *line, const uint8_t *data, size_t size, leat_bytes *text);
/* Why the line of the last call is bad; *at is the byte in it.  Lives until the next call. */
const char *leat_json_line_fault(const leat_json_line *line, size_t *at);
/* The last call's line was bad because of invalid UTF-8. */
bool leat_json_line_is_bad_utf8(const leat_json_line *line);
#endif
