/* vocabulary.h: tokens by id and ids by token bytes.  Built once, then read by all threads. */
#ifndef LEAT_TOKENIZE_VOCABULARY_H
#define LEAT_TOKENIZE_VOCABULARY_H
#include "base/bytes.h"

enum { LEAT_TOKEN_IDS_MAX = 1 << 23 }; /* larger ids in a file are taken for damage */

typedef struct leat_token_span {
    uint64_t at : 40, size : 23, known : 1;
} leat_token_span;

typedef struct leat_vocabulary_slot {
    uint32_t tag, id_and_one; /* 0: free */
} leat_vocabulary_slot;

typedef struct leat_vocabulary {
    leat_buffer pool;
    leat_token_span *spans; /* by id */
    size_t id_count, id_capacity;
    leat_vocabulary_slot *slots;
    size_t slot_mask, used;
} leat_vocabulary;

void leat_vocabulary_deinit(leat_vocabulary *vocabulary);
/* false: the id is taken, the text is there already, or either is too large. */
bool leat_vocabulary_add(leat_vocabulary *vocabulary, leat_bytes token, uint32_t id);
bool leat_vocabulary_find(const leat_vocabulary *vocabulary, leat_bytes token, uint32_t *id);
/* Empty for unknown ids. */
leat_bytes leat_vocabulary_token(const leat_vocabulary *vocabulary, uint32_t id);
static inline bool leat_vocabulary_has(const leat_vocabulary *vocabulary, uint32_t id)
{
    return id < vocabulary->id_count && vocabulary->spans[id].known;
}
#endif
