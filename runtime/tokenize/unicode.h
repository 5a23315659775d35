/* unicode.h: code points: UTF-8, classes and normalization data, with the Unicode versions of the reference
 * (cmake/unicode_tables.py says which).  Pure functions over constant tables. */
#ifndef LEAT_TOKENIZE_UNICODE_H
#define LEAT_TOKENIZE_UNICODE_H
#include "base/bytes.h"

enum leat_category {
    LEAT_CN,
    LEAT_LU,
    LEAT_LL,
    LEAT_LT,
    LEAT_LM,
    LEAT_LO,
    LEAT_MN,
    LEAT_MC,
    LEAT_ME,
    LEAT_ND,
    LEAT_NL,
    LEAT_NO,
    LEAT_P,
    LEAT_S,
    LEAT_Z,
    LEAT_CC,
    LEAT_CF,
    LEAT_CO,
    LEAT_CC_SPACE, /* controls that are white space */
    LEAT_CATEGORY_COUNT
};
/* Beside the category in the class byte. */
enum {
    LEAT_CLASS_CATEGORY = 0x1f,
    LEAT_CLASS_PUNCTUATION = 0x20, /* for the pre-tokenizer Punctuation */
    LEAT_CLASS_NUMERIC = 0x40,     /* for the pre-tokenizer Digits */
    LEAT_CLASS_WORD = 0x80         /* \w */
};
enum { LEAT_NORM_DECOMPOSES = 1, LEAT_NORM_COMPAT = 2, LEAT_NORM_SECOND = 4 };

extern const uint8_t leat_unicode_block[0x1100];
extern const uint8_t leat_unicode_class[];
extern const uint8_t leat_norm_block[0x1100];
extern const uint8_t leat_norm_kind[];
extern const uint8_t leat_norm_ccc[];
extern const uint8_t leat_norm_flags[];
/* Mappings: sorted `from`; `to` = place in the pool << 5 | length. */
extern const uint32_t leat_canonical_from[], leat_canonical_to[];
extern const uint32_t leat_compatible_from[],
    leat_compatible_to[]; /* where it is not the canonical one */
extern const uint32_t leat_lower_from[], leat_lower_to[];
extern const size_t leat_canonical_count, leat_compatible_count, leat_lower_count;
extern const uint32_t leat_mapping_pool[];
/* Sorted first << 32 | second. */
extern const uint64_t leat_compose_from[];
extern const uint32_t leat_compose_to[];
extern const size_t leat_compose_count;

static inline uint8_t leat_class_of(uint32_t code_point)
{
    return leat_unicode_class[(size_t)leat_unicode_block[code_point >> 8] << 8 |
                              (code_point & 0xff)];
}
static inline uint8_t leat_category_of(uint32_t code_point)
{
    return leat_class_of(code_point) & LEAT_CLASS_CATEGORY;
}
static inline uint8_t leat_norm_of(uint32_t code_point)
{
    return leat_norm_kind[(size_t)leat_norm_block[code_point >> 8] << 8 | (code_point & 0xff)];
}
static inline bool leat_category_is_space(uint8_t category)
{
    return category == LEAT_Z || category == LEAT_CC_SPACE;
}

/* Bytes of the sequence that `lead` begins; the text is known to be valid. */
static inline size_t leat_utf8_size(uint8_t lead)
{
    return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}
/* Of valid text. */
static inline uint32_t leat_utf8_at(const uint8_t *at)
{
    if (at[0] < 0x80) {
        return at[0];
    }
    if (at[0] < 0xe0) {
        return (uint32_t)(at[0] & 0x1f) << 6 | (at[1] & 0x3f);
    }
    if (at[0] < 0xf0) {
        return (uint32_t)(at[0] & 0x0f) << 12 | (uint32_t)(at[1] & 0x3f) << 6 | (at[2] & 0x3f);
    }
    return (uint32_t)(at[0] & 0x07) << 18 | (uint32_t)(at[1] & 0x3f) << 12 |
           (uint32_t)(at[2] & 0x3f) << 6 | (at[3] & 0x3f);
}
/* The code point that ends before `at`, which is after the start of valid text. */
static inline const uint8_t *leat_utf8_before(const uint8_t *at)
{
    do {
        at--;
    } while ((*at & 0xc0) == 0x80);
    return at;
}

/* The mapping of a code point in one of the tables; NULL where it has none. */
const uint32_t *leat_mapping_find(const uint32_t *from, const uint32_t *to, size_t count,
                                  uint32_t code_point, size_t *length);
/* The composition of two code points; 0 where there is none. */
uint32_t leat_compose(uint32_t first, uint32_t second);
#endif
