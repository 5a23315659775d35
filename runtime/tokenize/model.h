/* model.h: what a tokenizer file becomes.  Filled by the load_*.c files, one a part of the file, then never changed. */
#ifndef LEAT_TOKENIZE_MODEL_H
#define LEAT_TOKENIZE_MODEL_H
#include "base/json.h"
#include "tokenize/added.h"
#include "tokenize/merge.h"
#include "tokenize/normalize.h"
#include "tokenize/pairs.h"
#include "tokenize/split.h"
#include "tokenize/tokenizer.h"
#include "tokenize/vocabulary.h"

enum { LEAT_SPLITS_MAX = 8 };
#define LEAT_NO_ID UINT32_MAX

typedef struct leat_model {
    leat_vocabulary texts;  /* tokens as the file writes them */
    leat_vocabulary pieces; /* tokens as the text to encode has them */
    leat_merges merges;
    uint8_t *whole; /* by id: a piece equal to the token is the token */
    bool byte_level, byte_fallback, fuse_unk, ignore_merges;
    uint32_t unk; /* LEAT_NO_ID: none */
    uint32_t byte_ids[256];
} leat_model;

/* ▁ in place of spaces (the pre-tokenizer Metaspace). */
typedef enum leat_metaspace {
    LEAT_METASPACE_NONE,
    LEAT_METASPACE_NEVER,
    LEAT_METASPACE_FIRST,
    LEAT_METASPACE_ALWAYS
} leat_metaspace;

typedef struct leat_special_ids {
    uint32_t *ids;
    size_t count, capacity;
} leat_special_ids;

struct leat_tokenizer {
    bool bytes; /* the built-in one: nothing below is used */
    uint8_t sha256[32];
    leat_model model;
    leat_added_list added;
    leat_vocabulary added_texts; /* content to index of `added` */
    uint32_t next_id;            /* while loading: what a new added token gets */
    leat_matcher raw,
        normalized; /* over the text, over the normalized text; items are indexes of `added` */
    leat_normalizer normalizer;
    leat_split splits[LEAT_SPLITS_MAX];
    size_t split_count;
    leat_pairs pairs; /* of splits[0], where the file has no pre-tokenizer */
    leat_metaspace metaspace;
    leat_buffer replacement;        /* of Metaspace */
    leat_special_ids before, after; /* the post-processor's tokens */
    uint32_t vocabulary;
};

/* What a loader needs beside its part of the file. */
typedef struct leat_load {
    leat_tokenizer *tokenizer;
    const char *name;
    leat_error *error;
} leat_load;

leat_status leat_load_model(leat_load *load, leat_json_value model) LEAT_MUST_USE;
leat_status leat_load_added(leat_load *load, leat_json_value added) LEAT_MUST_USE;
leat_status leat_load_normalizer(leat_load *load, leat_json_value normalizer) LEAT_MUST_USE;
leat_status leat_load_split(leat_load *load, leat_json_value pre_tokenizer) LEAT_MUST_USE;
leat_status leat_load_post(leat_load *load, leat_json_value post_processor) LEAT_MUST_USE;
leat_status leat_load_tiktoken(leat_load *load, leat_bytes file) LEAT_MUST_USE;
/* Marks the tokens that merging makes of their own bytes; after model and splits. */
void leat_model_finish(leat_model *model);

/* The pairs of the model's tokens, for a tokenizer without a pre-tokenizer. */
void leat_model_pairs(const leat_model *model, leat_pairs *pairs);

/* The first symbols of a piece, before merging, appended at `ids` (room for piece.size); gives their number. */
size_t leat_model_symbols(const leat_model *model, leat_bytes piece, uint32_t *ids);
/* The byte-level alphabet: the byte that a code point stands for, -1 for others; and the code point of a byte. */
int leat_byte_of_point(uint32_t code_point);
uint32_t leat_point_of_byte(uint8_t byte);

/* Helpers of the loaders: the status is INVALID ("… is not supported") or CORRUPT (the part is not what the format says). */
leat_status leat_load_unsupported(leat_load *load, const char *part, leat_bytes what);
leat_status leat_load_damaged(leat_load *load, const char *part, const char *wanted);
/* A part of the file that is one object or a "Sequence" of them under `list`; absent and null are nothing.  `one` reads each. */
leat_status leat_load_sequence(leat_load *load, leat_json_value json, const char *part,
                               const char *list,
                               leat_status (*one)(leat_load *load, leat_json_value json));

bool leat_text_is(leat_bytes text, const char *wanted);
/* The member's value, `otherwise` where it is absent or null; *bad is set where it is something else. */
bool leat_load_bool(leat_json_value object, const char *key, bool otherwise, bool *bad);
#endif
