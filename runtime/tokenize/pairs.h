/* pairs.h: cuts a text of a vocabulary without a pre-tokenizer (SentencePiece's kind), whose texts would be one piece each
 * otherwise, too long for a cache.
 *
 * Merging only ever joins what stands side by side inside some token.  So where two neighbouring characters stand side by
 * side in no token that a merge makes, no symbol reaches over the place between them, and cutting there changes no id.
 * The pairs are kept as bits under a hash: two pairs with one bit cost a cut, never an id.  Built once, then read by all
 * threads. */
#ifndef LEAT_TOKENIZE_PAIRS_H
#define LEAT_TOKENIZE_PAIRS_H
#include "tokenize/merge.h"
#include "tokenize/vocabulary.h"

typedef struct leat_pairs {
    uint64_t *bits;
    uint32_t shift; /* of the hash, that leaves the number of a bit */
    /* Characters below U+10000 that are tokens.  A text is not cut beside others, since neighbours without a token can
     * be fused into one unk; where every character has a token or byte tokens there are no others. */
    uint64_t known[1024];
    bool all_known;
    uint64_t ascii[128][2]; /* the answer for two ASCII characters: a bit where no cut may be */
} leat_pairs;

void leat_pairs_init(leat_pairs *pairs, size_t merges);
void leat_pairs_deinit(leat_pairs *pairs);
/* Notes the neighbours in a token that can come to be. */
void leat_pairs_add(leat_pairs *pairs, leat_bytes token);
void leat_pairs_finish(leat_pairs *pairs);

/* As leat_split.fill: ends of the pieces of a text. */
size_t leat_pairs_fill(const leat_pairs *pairs, leat_bytes text, size_t at, size_t *ends,
                       size_t max);
#endif
