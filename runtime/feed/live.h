/* live.h: the documents between their count and the last step that needs them, by dataset and stream position; and the
 * blocks of tokens that hold their text.  A document's tokens are here where this rank tokenized it and kept them.
 * Driven by one thread. */
#ifndef LEAT_FEED_LIVE_H
#define LEAT_FEED_LIVE_H
#include "tokenize/tokenizer.h"

/* The tokens of some documents, laid end to end; given back when the last document that uses it is let go. */
typedef struct leat_token_block {
    leat_tokens tokens;
    uint32_t users;
    struct leat_token_block *next; /* in the list of free blocks */
} leat_token_block;

typedef struct leat_live_document {
    uint64_t document;      /* number in the dataset */
    const uint32_t *tokens; /* NULL: not here */
    leat_token_block *block;
    uint32_t count; /* tokens, known once its round is gathered */
    uint32_t owner; /* rank that counted it */
    bool wanted;    /* a task of this rank is tokenizing it for a row */
} leat_live_document;

typedef struct leat_live_dataset {
    leat_live_document *items; /* ring of power-of-two capacity */
    size_t capacity;
    uint64_t begin, end; /* stream positions held: begin ≤ p < end */
} leat_live_dataset;

typedef struct leat_live {
    leat_live_dataset *datasets;
    size_t dataset_count;
    leat_token_block *free_blocks;
    uint64_t token_bytes;     /* in blocks that are in use */
    uint64_t token_bytes_max; /* above it, counted documents do not keep their tokens */
} leat_live;

void leat_live_init(leat_live *live, size_t datasets, uint64_t token_bytes_max);
void leat_live_deinit(leat_live *live);
/* Adds the document at position `end` of the dataset. */
leat_live_document *leat_live_append(leat_live *live, uint32_t dataset, uint64_t document,
                                     uint32_t owner);
leat_live_document *leat_live_at(const leat_live *live, uint32_t dataset, uint64_t position);
/* Lets go of all positions before `low`. */
void leat_live_release(leat_live *live, uint32_t dataset, uint64_t low);

leat_token_block *leat_live_block(leat_live *live); /* an empty block, users 0 */
/* `document` uses tokens [start, …) of the block from now on. */
void leat_live_keep(leat_live *live, leat_live_document *document, leat_token_block *block,
                    size_t start);
/* To be called once after the keeps of a fresh block: a block without users is free again. */
void leat_live_block_filled(leat_live *live, leat_token_block *block);
#endif
