/* split.h: hand-written pre-tokenizers.  A split cuts a valid UTF-8 text into pieces that together are the whole text; a
 * piece depends on the text from its start on, never on what is before it.  Pure; any thread. */
#ifndef LEAT_TOKENIZE_SPLIT_H
#define LEAT_TOKENIZE_SPLIT_H
#include "base/bytes.h"

typedef struct leat_split leat_split;
/* The end of the piece that begins at `at`, which is before text.size. */
typedef size_t leat_split_end(const leat_split *split, leat_bytes text, size_t at);

struct leat_split {
    /* Puts up to `max` ends of pieces, the first one beginning at `at`, and gives their number: all of the text's where
     * fewer than `max`. */
    size_t (*fill)(const leat_split *split, leat_bytes text, size_t at, size_t *ends, size_t max);
    uint32_t digits_max; /* longest run of numbers in a piece, where the pattern says so */
    bool individual;     /* Digits, Punctuation: each one for itself */
    bool mapped;         /* the text stands for its byte-level characters by now */
    bool prefix; /* ByteLevel with add_prefix_space: a space goes in front of a text without one */
};

/* ByteLevel's own pattern (GPT-2), and the patterns of `Split` by their text: false where the pattern is not known. */
void leat_split_gpt2(leat_split *split);
bool leat_split_find(leat_split *split, leat_bytes pattern);
void leat_split_digits(leat_split *split, bool individual);
void leat_split_punctuation(leat_split *split, bool individual);
/* ▁ begins a piece (Metaspace). */
void leat_split_metaspace(leat_split *split);
/* Before every run of ▁ and around every run of line feeds. */
void leat_split_runs(leat_split *split);

size_t leat_fill_gpt2(const leat_split *split, leat_bytes text, size_t at, size_t *ends,
                      size_t max);
size_t leat_fill_cl100k(const leat_split *split, leat_bytes text, size_t at, size_t *ends,
                        size_t max);
size_t leat_fill_o200k(const leat_split *split, leat_bytes text, size_t at, size_t *ends,
                       size_t max);
size_t leat_fill_deepseek(const leat_split *split, leat_bytes text, size_t at, size_t *ends,
                          size_t max);
#endif
