/* json_tape.h: what the files behind json.h share: the parsed form, which is simdjson's tape (a word a value, its type in
 * the top byte), made by simdjson or, where simdjson refuses a text that strict JSON allows, by json_tape.c. */
#ifndef LEAT_BASE_JSON_TAPE_H
#define LEAT_BASE_JSON_TAPE_H
#ifdef __cplusplus
#include <cstddef>
#include <cstdint>
extern "C" {
#else
#include "base/bytes.h"
#endif

typedef struct leat_json_tape {
    const uint64_t *words;
    const uint8_t *strings;
} leat_json_tape;

enum { LEAT_JSON_PADDING = 64 }; /* readable bytes behind a text that simdjson reads */

typedef struct leat_json_simd leat_json_simd;
leat_json_simd *leat_json_simd_open(void);
void leat_json_simd_close(leat_json_simd *simd);
/* true where simdjson accepts the text (size below 4 GiB, LEAT_JSON_PADDING readable bytes behind it); the tape lives until
 * the next call.  false says nothing: json_scan.h decides then. */
bool leat_json_simd_parse(leat_json_simd *simd, const uint8_t *text, size_t size,
                          leat_json_tape *out);
bool leat_json_simd_is_utf8(const uint8_t *text, size_t size);

#ifdef __cplusplus
}
#else
static inline uint8_t leat_json_tape_type(uint64_t word)
{
    return (uint8_t)(word >> 56);
}
static inline uint64_t leat_json_tape_payload(uint64_t word)
{
    return word & 0x00ffffffffffffffu;
}
/* The word behind the value at `at`. */
static inline uint64_t leat_json_tape_after(const uint64_t *words, uint64_t at)
{
    uint8_t type = leat_json_tape_type(words[at]);
    return type == '{' || type == '['                  ? (uint32_t)words[at]
           : type == 'l' || type == 'u' || type == 'd' ? at + 2
                                                       : at + 1;
}
/* simdjson keeps the length in the host's byte order. */
static inline leat_bytes leat_json_tape_text(const leat_json_tape *tape, uint64_t word)
{
    const uint8_t *at = tape->strings + leat_json_tape_payload(word);
    uint32_t length;
    memcpy(&length, at, 4);
    leat_bytes text = {at + 4, length};
    return text;
}
#endif
#endif
