/* tokenizer.h: exact ids of a Hugging Face tokenizer.json, or of the built-in byte tokenizer.
 *
 * A leat_tokenizer is immutable after open and shared by all threads.  A leat_encoder holds one thread's caches and scratch
 * (bounded in bytes).  Tokens come without bos and eos; the caller puts them around (docs/plan.md, section 4). */
#ifndef LEAT_TOKENIZE_TOKENIZER_H
#define LEAT_TOKENIZE_TOKENIZER_H
#include "base/bytes.h"

typedef struct leat_tokenizer leat_tokenizer;
typedef struct leat_encoder leat_encoder;

/* Grows; zero-initialized is ready. */
typedef struct leat_tokens {
    uint32_t *ids;
    size_t count, capacity;
} leat_tokens;
void leat_tokens_deinit(leat_tokens *tokens);

/* `bytes` is the whole tokenizer file; `name` names it in messages.  INVALID: something that is not supported, by name.
 * CORRUPT: damaged. */
leat_status leat_tokenizer_open(leat_tokenizer **out, leat_bytes bytes, const char *name,
                                leat_error *error) LEAT_MUST_USE;
leat_tokenizer *leat_tokenizer_open_bytes(void); /* id = byte, bos 256, eos 257 */
void leat_tokenizer_close(leat_tokenizer *tokenizer);

/* SHA-256 of the file (of "leat-byte-tokenizer-1" for the built-in one). */
void leat_tokenizer_sha256(const leat_tokenizer *tokenizer, uint8_t out[32]);
uint32_t leat_tokenizer_vocabulary(
    const leat_tokenizer *tokenizer); /* largest id + 1, added tokens included */
/* The id whose token text is `text` (added tokens first), "<|bos|>"/"<|eos|>" for the byte tokenizer; false: none. */
bool leat_tokenizer_id(const leat_tokenizer *tokenizer, const char *text, uint32_t *id);
/* The bytes that id stands for (decoded); empty for unknown ids.  Lives as long as the tokenizer. */
leat_bytes leat_tokenizer_token(const leat_tokenizer *tokenizer, uint32_t id);

leat_encoder *leat_encoder_open(const leat_tokenizer *tokenizer,
                                size_t cache_bytes); /* 0: default */
void leat_encoder_close(leat_encoder *encoder);
/* Appends the ids of `text` to `out`.  CORRUPT: invalid UTF-8, found names the byte offset. */
leat_status leat_encode(leat_encoder *encoder, leat_bytes text, leat_tokens *out,
                        leat_error *error) LEAT_MUST_USE;
/* The same with the post-processor's special tokens around it (`leat tokenize --special`). */
leat_status leat_encode_special(leat_encoder *encoder, leat_bytes text, leat_tokens *out,
                                leat_error *error) LEAT_MUST_USE;
#endif
