/* A .tiktoken file: lines of a token's bytes in base64, a space, and its rank, which is its id.  The file does not say how a
 * text is split; its name does.  Special tokens are known by name, but stay plain text where a document has them, as in
 * tiktoken's encode_ordinary. */
#include "base/memory.h"
#include "tokenize/model.h"
#include <inttypes.h>

typedef struct known_file {
    const char *name; /* in the file's name */
    const char *pattern;
    uint32_t end_of_text;
} known_file;

#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define WORD "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define SUFFIX "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
static const known_file files[] = {
    {"r50k", GPT2, 50256},
    {"p50k", GPT2, 50256},
    {"gpt2", GPT2, 50256},
    {"cl100k",
     "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}| "
     "?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+",
     100257},
    {"o200k",
     WORD "*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+" SUFFIX "|" WORD "+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*" SUFFIX
          "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
     199999},
};

static leat_status bad_line(leat_load *load, size_t line, const char *wanted)
{
    LEAT_FAIL(load->error, LEAT_CORRUPT, "%s is neither a tokenizer.json nor a .tiktoken file",
              load->name);
    leat_error_where(load->error, "%s:%zu", load->name, line);
    leat_error_wanted(load->error, "%s", wanted);
    return LEAT_CORRUPT;
}

static int digit_of(uint8_t c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

static bool base64(leat_bytes text, leat_buffer *out)
{
    uint32_t bits = 0, count = 0;
    if (text.size == 0 || text.size % 4 != 0) {
        return false;
    }
    size_t padding = text.data[text.size - 1] != '=' ? 0 : text.data[text.size - 2] != '=' ? 1 : 2;
    for (size_t i = 0; i < text.size - padding; i++) {
        int digit = digit_of(text.data[i]);
        if (digit < 0) {
            return false;
        }
        bits = bits << 6 | (uint32_t)digit;
        count += 6;
        if (count >= 8) {
            count -= 8;
            leat_buffer_add_u8(out, (uint8_t)(bits >> count));
        }
    }
    return true;
}

static bool number(leat_bytes text, uint32_t *out)
{
    uint32_t value = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || value >= LEAT_TOKEN_IDS_MAX) {
            return false;
        }
        value = value * 10 + (uint32_t)(text.data[i] - '0');
    }
    *out = value;
    return text.size != 0;
}

static leat_status load_line(leat_load *load, leat_bytes line, size_t line_number,
                             leat_buffer *token)
{
    leat_model *model = &load->tokenizer->model;
    const uint8_t *space = memchr(line.data, ' ', line.size);
    uint32_t rank;
    leat_buffer_clear(token);
    if (space == NULL || !base64((leat_bytes){line.data, (size_t)(space - line.data)}, token) ||
        !number((leat_bytes){space + 1, (size_t)(line.data + line.size - space - 1)}, &rank)) {
        return bad_line(load, line_number, "a token in base64, a space and its rank");
    }
    leat_bytes bytes = {token->data, token->size};
    if (!leat_vocabulary_add(&model->texts, bytes, rank) ||
        !leat_vocabulary_add(&model->pieces, bytes, rank)) {
        return bad_line(load, line_number, "each token and each rank once, ranks below 8388608");
    }
    return LEAT_OK;
}

/* Every cut of a token into two tokens is a merge into it, with its rank: what tiktoken looks up by joined bytes.  Called
 * with add false it only counts. */
static size_t merges_of(leat_model *model, uint32_t id, bool add)
{
    leat_bytes token = leat_vocabulary_token(&model->pieces, id);
    size_t count = 0;
    for (size_t cut = 1; cut < token.size; cut++) {
        uint32_t left, right;
        if (leat_vocabulary_find(&model->pieces, (leat_bytes){token.data, cut}, &left) &&
            leat_vocabulary_find(&model->pieces, (leat_bytes){token.data + cut, token.size - cut},
                                 &right)) {
            count++;
            if (add) {
                leat_merges_add_ranked(&model->merges, left, right, id, id);
            }
        }
    }
    return count;
}

static leat_status finish(leat_load *load, const known_file *known)
{
    leat_tokenizer *tokenizer = load->tokenizer;
    leat_model *model = &tokenizer->model;
    size_t pairs = 0, ids = model->pieces.id_count;
    for (size_t byte = 0; byte < 256; byte++) {
        uint8_t value = (uint8_t)byte;
        if (!leat_vocabulary_find(&model->pieces, (leat_bytes){&value, 1},
                                  &model->byte_ids[byte])) {
            return leat_load_damaged(load, "the list of tokens", "a token for each single byte");
        }
    }
    for (uint32_t id = 0; id < ids; id++) {
        pairs += merges_of(model, id, false);
    }
    leat_merges_init(&model->merges, pairs, ids);
    for (uint32_t id = 0; id < ids; id++) {
        merges_of(model, id, true);
    }
    leat_bytes end = {(const uint8_t *)"<|endoftext|>", strlen("<|endoftext|>")};
    leat_added added = {.id = known->end_of_text, .special = true};
    if (leat_vocabulary_add(&tokenizer->added_texts, end, 0)) {
        leat_added_list_add(&tokenizer->added, added, end);
    }
    return LEAT_OK;
}

leat_status leat_load_tiktoken(leat_load *load, leat_bytes file)
{
    leat_tokenizer *tokenizer = load->tokenizer;
    leat_model *model = &tokenizer->model;
    const known_file *known = NULL;
    leat_buffer token = {0};
    leat_status status = LEAT_OK;
    model->byte_level = model->ignore_merges = true;
    model->unk = LEAT_NO_ID;
    if (file.size == 0) {
        return bad_line(load, 1, "a tokenizer file");
    }
    for (size_t at = 0, line = 1; at < file.size; line++) {
        const uint8_t *end = memchr(file.data + at, '\n', file.size - at);
        size_t size = (end != NULL ? (size_t)(end - file.data) : file.size) - at;
        LEAT_TRY(load_line(load, (leat_bytes){file.data + at, size}, line, &token));
        at += size + 1;
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        known = known == NULL && strstr(load->name, files[i].name) != NULL ? &files[i] : known;
    }
    if (known == NULL) {
        status = leat_load_unsupported(
            load, "a .tiktoken file whose name says not r50k, p50k, gpt2, cl100k or o200k:",
            (leat_bytes){(const uint8_t *)load->name, strlen(load->name)});
        goto done;
    }
    leat_bytes pattern = {(const uint8_t *)known->pattern, strlen(known->pattern)};
    bool found = leat_split_find(&tokenizer->splits[tokenizer->split_count++], pattern, false);
    LEAT_ASSERT(found);
    LEAT_TRY(finish(load, known));
done:
    leat_buffer_deinit(&token);
    return status;
}
