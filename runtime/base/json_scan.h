/* json_scan.h: a strict JSON reader (RFC 8259) of our own, one event at a time.  It is the judge where simdjson refuses a
 * text: it knows numbers of any size and any depth, and says at which byte and why a text is no JSON.  Lone surrogate
 * escapes are refused: they have no UTF-8.  The caller has checked the UTF-8. */
#ifndef LEAT_BASE_JSON_SCAN_H
#define LEAT_BASE_JSON_SCAN_H
#include "base/bytes.h"

typedef enum leat_json_event {
    LEAT_JSON_EVENT_END, /* of the text; all of it is JSON */
    LEAT_JSON_EVENT_FAULT,
    LEAT_JSON_EVENT_OBJECT,
    LEAT_JSON_EVENT_OBJECT_END,
    LEAT_JSON_EVENT_ARRAY,
    LEAT_JSON_EVENT_ARRAY_END,
    LEAT_JSON_EVENT_KEY,
    LEAT_JSON_EVENT_TEXT,
    LEAT_JSON_EVENT_NUMBER,
    LEAT_JSON_EVENT_TRUE,
    LEAT_JSON_EVENT_FALSE,
    LEAT_JSON_EVENT_NULL
} leat_json_event;

typedef struct leat_json_scan {
    const uint8_t *data;
    size_t size, at;
    size_t begin, end; /* of a key, a text (without its quotes) or a number */
    bool escaped;      /* the key or text has escapes */
    bool integer;      /* the number has no fraction and no exponent */
    size_t depth;      /* arrays and objects open now */
    size_t fault_at;   /* FAULT: byte */
    const char *fault; /* FAULT: a literal */
    int state;
    leat_buffer levels; /* a bit a level: 1 for an object */
} leat_json_scan;

void leat_json_scan_init(leat_json_scan *scan); /* keeps nothing; once before the first start */
void leat_json_scan_deinit(leat_json_scan *scan);
void leat_json_scan_start(leat_json_scan *scan, const uint8_t *data, size_t size);
leat_json_event leat_json_scan_next(leat_json_scan *scan);
/* Undoes the escapes of a key or text that an event gave; out has room for size bytes.  Gives the bytes written. */
size_t leat_json_unescape(const uint8_t *data, size_t size, uint8_t *out);
#endif
