/* added.h: added tokens, which are cut out of a text before anything else is done with it.  As in the reference: those that
 * are not `normalized` are looked for in the text, the others in the normalized text between them, and the leftmost match
 * counts, the longest of those that begin there.  Built once, then read by all threads. */
#ifndef LEAT_TOKENIZE_ADDED_H
#define LEAT_TOKENIZE_ADDED_H
#include "base/bytes.h"

typedef struct leat_added {
    uint64_t at; /* of the content, in the pool of its list */
    uint32_t size, id;
    bool single_word, lstrip, rstrip, normalized, special;
} leat_added;

typedef struct leat_added_list {
    leat_added *items;
    size_t count, capacity;
    leat_buffer pool;
} leat_added_list;
void leat_added_list_deinit(leat_added_list *list);
void leat_added_list_add(leat_added_list *list, leat_added added, leat_bytes content);
leat_bytes leat_added_content(const leat_added_list *list, size_t index);

typedef struct leat_matcher_node {
    uint32_t child, sibling; /* 0: none; the root is nobody's child */
    uint32_t item_and_one;
    uint8_t byte;
} leat_matcher_node;

typedef struct leat_matcher {
    leat_matcher_node *nodes;
    size_t node_count, node_capacity;
    uint64_t pairs[1024]; /* a bit for each two bytes that a pattern can begin with */
    bool first[256];
    int only_first; /* the one byte that every pattern begins with; -1: there are more */
} leat_matcher;

void leat_matcher_init(leat_matcher *matcher);
void leat_matcher_deinit(leat_matcher *matcher);
/* `item` is what a match gives; of equal patterns the first one counts.  `pattern` is not empty. */
void leat_matcher_add(leat_matcher *matcher, leat_bytes pattern, uint32_t item);

typedef struct leat_match {
    size_t start, end;
    uint32_t item;
} leat_match;
/* The first match that begins at `at` or later; false where there is none. */
bool leat_matcher_next(const leat_matcher *matcher, leat_bytes text, size_t at, leat_match *match);

/* Widens a match by what the token strips, not before `floor`.  false: the token is a single word and this is none. */
bool leat_added_accepts(const leat_added *added, leat_bytes text, size_t floor, leat_match *match);
#endif
