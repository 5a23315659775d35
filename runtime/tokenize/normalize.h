/* normalize.h: the normalizers of a tokenizer.json, applied one after the other to valid UTF-8, with the reference's own
 * Unicode data.  A normalizer is built once and read by all threads; a scratch belongs to one thread. */
#ifndef LEAT_TOKENIZE_NORMALIZE_H
#define LEAT_TOKENIZE_NORMALIZE_H
#include "base/bytes.h"

typedef enum leat_normal_kind {
    LEAT_NORMAL_NFC,
    LEAT_NORMAL_NFD,
    LEAT_NORMAL_NFKC,
    LEAT_NORMAL_NFKD,
    LEAT_NORMAL_LOWERCASE,
    LEAT_NORMAL_STRIP,
    LEAT_NORMAL_PREPEND,
    LEAT_NORMAL_REPLACE
} leat_normal_kind;

typedef struct leat_normal_step {
    leat_normal_kind kind;
    bool left, right;     /* strip */
    leat_buffer from, to; /* prepend: to; replace: both */
} leat_normal_step;

typedef struct leat_normalizer {
    leat_normal_step *steps;
    size_t count, capacity;
} leat_normalizer;
void leat_normalizer_deinit(leat_normalizer *normalizer);

typedef struct leat_normal_scratch {
    leat_buffer texts[2];
    uint32_t *points; /* decomposed code points */
    size_t capacity;
} leat_normal_scratch;
void leat_normal_scratch_deinit(leat_normal_scratch *scratch);

/* The normalized text: `text` itself where nothing changes, else in the scratch until its next use. */
leat_bytes leat_normalize(const leat_normalizer *normalizer, leat_normal_scratch *scratch,
                          leat_bytes text);
/* One of the Unicode forms, appended to `out`. */
void leat_normal_form(leat_normal_kind form, leat_normal_scratch *scratch, leat_bytes text,
                      leat_buffer *out);
/* true: the text is in the form for certain; false: perhaps not. */
bool leat_normal_is(leat_normal_kind form, leat_bytes text);
#endif
