/* split.h: hand-written pre-tokenizers.  A split cuts a text into pieces that together are the whole text; a piece depends on
 * the text from its start on, never on what is before it.  Texts are valid UTF-8, except for a split behind ByteLevel
 * (`mapped`), which sees bytes.  Pure; any thread. */
#ifndef LEAT_TOKENIZE_SPLIT_H
#define LEAT_TOKENIZE_SPLIT_H
#include "tokenize/pairs.h"

typedef struct leat_split leat_split;
struct leat_split {
    /* Puts up to `max` ends of pieces, the first one beginning at `at`, and gives their number: all of the text's where
     * fewer than `max`. */
    size_t (*fill)(const leat_split *split, leat_bytes text, size_t at, size_t *ends, size_t max);
    /* For leat_fill_matches: the end of the match that begins at `at`, `at` where none does. */
    size_t (*match)(const leat_split *split, leat_bytes text, size_t at);
    uint32_t
        run_max; /* longest run of numbers in a piece, where the pattern says so; longest match */
    bool no_suffix;          /* leat_fill_o200k: 's and the like are no part of a word (Tekken) */
    const leat_pairs *pairs; /* for leat_split_pairs */
    bool prefix; /* ByteLevel with add_prefix_space: a space goes in front of a text without one */
};

/* ByteLevel's own pattern (GPT-2), and the patterns of `Split` by their text: false where the pattern is not known.
 * `mapped`: behind ByteLevel. */
void leat_split_gpt2(leat_split *split);
bool leat_split_find(leat_split *split, leat_bytes pattern, bool mapped);
void leat_split_whole(leat_split *split); /* one piece */
void leat_split_digits(leat_split *split, bool individual, bool mapped);
void leat_split_punctuation(leat_split *split, bool individual);
void leat_split_metaspace(leat_split *split); /* ▁ begins a piece */
void leat_split_pairs(leat_split *split, const leat_pairs *pairs);

size_t leat_fill_gpt2(const leat_split *split, leat_bytes text, size_t at, size_t *ends,
                      size_t max);
size_t leat_fill_cl100k(const leat_split *split, leat_bytes text, size_t at, size_t *ends,
                        size_t max);
size_t leat_fill_o200k(const leat_split *split, leat_bytes text, size_t at, size_t *ends,
                       size_t max);
/* Matches, and what is between them. */
size_t leat_fill_matches(const leat_split *split, leat_bytes text, size_t at, size_t *ends,
                         size_t max);
size_t leat_match_deepseek(const leat_split *split, leat_bytes text, size_t at);
#endif
