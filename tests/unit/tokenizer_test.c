/* Tokenizers made by hand, the byte tokenizer, added tokens, long pieces, and files that are damaged or not supported. */
#include "base/memory.h"
#include "base/sha256.h"
#include "check.h"
#include "tokenize/tokenizer.h"
#include <pthread.h>
#include <time.h>

#define BYTE_LEVEL \
    "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true}"
#define VOCAB \
    "\"a\":0,\"b\":1,\"c\":2,\"ab\":3,\"bc\":4,\"abc\":5,\"\\u0120\":6,\"\\u0120a\":7,\"aa\":8"
#define MODEL(vocab, merges) \
    "\"model\":{\"type\":\"BPE\",\"vocab\":{" vocab "},\"merges\":[" merges "]}"
#define MERGES "\"b c\",[\"a\",\"b\"],\"ab c\",\"\\u0120 a\",\"a a\""

static leat_bytes bytes_of(const char *text)
{
    return (leat_bytes){(const uint8_t *)text, strlen(text)};
}

static char *ids_text(const leat_tokens *tokens)
{
    leat_buffer text = {0};
    for (size_t i = 0; i < tokens->count; i++) {
        leat_buffer_add_format(&text, "%s%" PRIu32, i != 0 ? " " : "", tokens->ids[i]);
    }
    char *copy = leat_strdup(leat_buffer_text(&text));
    leat_buffer_deinit(&text);
    return copy;
}

static void check_ids(const leat_tokenizer *tokenizer, const char *text, const char *want)
{
    leat_error error = {0};
    leat_tokens tokens = {0};
    leat_encoder *encoder = leat_encoder_open(tokenizer, 1);
    for (int again = 0; again < 2; again++) { /* computed, then from the cache */
        tokens.count = 0;
        CHECK_OK(leat_encode(encoder, bytes_of(text), &tokens, &error), &error);
        char *got = ids_text(&tokens);
        CHECK_TEXT(text, got, want);
        leat_free(got);
    }
    leat_tokens_deinit(&tokens);
    leat_encoder_close(encoder);
}

static leat_tokenizer *opened(const char *json)
{
    leat_error error = {0};
    leat_tokenizer *tokenizer = NULL;
    CHECK_OK(leat_tokenizer_open(&tokenizer, bytes_of(json), "made.json", &error), &error);
    return tokenizer;
}

static void test_merges(void)
{
    static const struct {
        const char *text, *ids;
    } cases[] = {
        {"", ""},        {"a", "0"},     {"ab", "3"},
        {"abc", "0 4"}, /* b c goes first, and a bc is no merge, though abc is a token */
        {"aab", "0 3"}, /* a b has the lower rank */
        {"aaa", "8 0"}, /* the leftmost of equals */
        {"aaaa", "8 8"}, {"b a", "1 7"}, {"b  a", "1 6 7"},
        {"xaxby", "3"}, /* bytes that are no token are left out, and their neighbours meet */
    };
    leat_tokenizer *tokenizer = opened("{" BYTE_LEVEL "," MODEL(VOCAB, MERGES) "}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_ids(tokenizer, cases[i].text, cases[i].ids);
    }
    CHECK_U64("vocabulary", leat_tokenizer_vocabulary(tokenizer), 9);
    leat_bytes token = leat_tokenizer_token(tokenizer, 7);
    CHECK(token.size == 2 && memcmp(token.data, " a", 2) == 0);
    CHECK_U64("unknown id", leat_tokenizer_token(tokenizer, 1000).size, 0);
    leat_tokenizer_close(tokenizer);
    /* Of a pair given twice the last rank counts: a b is behind b c then. */
    tokenizer = opened("{" BYTE_LEVEL "," MODEL(VOCAB, "\"a b\",\"b c\",\"a b\"") "}");
    check_ids(tokenizer, "abc", "0 4");
    leat_tokenizer_close(tokenizer);
    tokenizer = opened("{" BYTE_LEVEL
                       ",\"model\":{\"type\":\"BPE\",\"ignore_merges\":true,\"vocab\":{" VOCAB
                       "},\"merges\":[\"b c\"]}}");
    check_ids(tokenizer, "abc", "5");
    check_ids(tokenizer, "ab abc", "3 6 0 4");
    leat_tokenizer_close(tokenizer);
}

static void test_bytes(void)
{
    leat_tokenizer *tokenizer = leat_tokenizer_open_bytes();
    check_ids(tokenizer, "A\xc3\xa9\n", "65 195 169 10");
    uint32_t id = 0;
    CHECK(leat_tokenizer_id(tokenizer, "<|bos|>", &id) && id == 256);
    CHECK(leat_tokenizer_id(tokenizer, "<|eos|>", &id) && id == 257);
    CHECK(!leat_tokenizer_id(tokenizer, "a", &id));
    CHECK_U64("vocabulary", leat_tokenizer_vocabulary(tokenizer), 258);
    CHECK_U64("a byte", leat_tokenizer_token(tokenizer, 200).data[0], 200);
    uint8_t got[32], want[32];
    leat_tokenizer_sha256(tokenizer, got);
    leat_sha256_of("leat-byte-tokenizer-1", 21, want);
    CHECK(memcmp(got, want, 32) == 0);
    leat_tokenizer_close(tokenizer);
}

static void test_added(void)
{
    leat_tokenizer *tokenizer = opened(
        "{" BYTE_LEVEL ",\"added_tokens\":[{\"id\":9,\"content\":\"<s>\",\"special\":true},"
        "{\"id\":10,\"content\":\"<s>b\",\"lstrip\":true,\"normalized\":false},"
        "{\"id\":11,\"content\":\"cab\",\"single_word\":true,\"normalized\":false},"
        "{\"id\":8,\"content\":\"aa\",\"rstrip\":true,\"normalized\":true},"
        "{\"id\":9,\"content\":\"<s>\"},{\"id\":12,\"content\":\"\"}]," MODEL(VOCAB, MERGES) "}");
    check_ids(tokenizer, "<s>", "9");
    check_ids(tokenizer, "a<s>c", "0 9 2");
    check_ids(tokenizer, "a <s>b", "0 10");   /* the longest; white space before it goes */
    check_ids(tokenizer, "<s> <s>b", "9 10"); /* but not what a match has taken */
    check_ids(tokenizer, "cab", "11");
    check_ids(tokenizer, "acab", "0 2 3"); /* not a word of its own */
    check_ids(tokenizer, "cab cab", "11 6 11");
    check_ids(tokenizer, "aa  aa", "8 8");
    check_ids(tokenizer, "<<s><", "9");
    uint32_t id = 0;
    CHECK(leat_tokenizer_id(tokenizer, "<s>b", &id) && id == 10);
    CHECK(leat_tokenizer_id(tokenizer, "bc", &id) && id == 4);
    CHECK(!leat_tokenizer_id(tokenizer, "nothing", &id));
    CHECK_U64("vocabulary", leat_tokenizer_vocabulary(tokenizer), 12);
    leat_tokenizer_close(tokenizer);
}

/* SentencePiece's kind, without a pre-tokenizer: ▁ for spaces, unk, byte tokens; and a merge over a space. */
#define MARKED(model) \
    "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":" \
    "\"\xe2\x96\x81\"}," \
    "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\xe2\x96\x81\"}]}," \
    "\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\"," model "}}"
#define MARKED_VOCAB \
    "\"vocab\":{\"<unk>\":0,\"\xe2\x96\x81\":1,\"a\":2,\"b\":3,\"\xe2\x96\x81" \
    "a\":4,\"b\xe2\x96\x81\":5,\"\xe2\x96\x81\xe2\x96\x81\":6,\"<0x78>\":7}"

static void test_marked(void)
{
    leat_tokenizer *tokenizer =
        opened(MARKED("\"fuse_unk\":true," MARKED_VOCAB
                      ",\"merges\":[\"\xe2\x96\x81 a\",\"\xe2\x96\x81 \xe2\x96\x81\"]"));
    check_ids(tokenizer, "a", "4");
    check_ids(tokenizer, " a", "1 4");
    check_ids(tokenizer, "b  a b", "1 3 1 4 1 3"); /* ▁a before ▁▁ */
    check_ids(tokenizer, "   ", "6 6");
    check_ids(tokenizer, "xxya", "1 0 2"); /* fused */
    check_ids(tokenizer, "x a", "1 0 4");
    leat_tokenizer_close(tokenizer);
    tokenizer = opened(MARKED("\"byte_fallback\":true," MARKED_VOCAB
                              ",\"merges\":[\"b \xe2\x96\x81\",\"\xe2\x96\x81 a\"]"));
    check_ids(tokenizer, "b a", "1 5 2"); /* b▁ reaches over the space */
    check_ids(tokenizer, "xyza", "1 7 0 0 2");
    check_ids(tokenizer, "yxa",
              "1 7 0 2"); /* byte tokens pass an unk that waits, as in the reference */
    leat_tokenizer_close(tokenizer);
}

static void test_special(void)
{
    leat_error error = {0};
    leat_tokens tokens = {0};
    leat_tokenizer *tokenizer = opened("{" BYTE_LEVEL "," MODEL(
        VOCAB,
        MERGES) ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{"
                "\"SpecialToken\":{"
                "\"id\":\"x\",\"type_id\":0}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},"
                "{\"SpecialToken\":{\"id\":\"y\"}}],\"special_tokens\":{\"x\":{\"ids\":[4,5]},"
                "\"y\":{\"ids\":[6]}}}}");
    leat_encoder *encoder = leat_encoder_open(tokenizer, 0);
    CHECK_OK(leat_encode_special(encoder, bytes_of("a"), &tokens, &error), &error);
    char *got = ids_text(&tokens);
    CHECK_TEXT("template", got, "4 5 0 6");
    leat_free(got);
    CHECK(leat_encode_special(encoder, bytes_of("a\xff"), &tokens, &error) == LEAT_CORRUPT);
    CHECK_U64("nothing is added by a failure", tokens.count, 4);
    leat_tokens_deinit(&tokens);
    leat_encoder_close(encoder);
    leat_tokenizer_close(tokenizer);
}

static void test_tiktoken(void)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    leat_buffer file = {0};
    for (unsigned i = 0; i < 256; i++) {
        leat_buffer_add_format(&file, "%c%c== %u\n", digits[i >> 2], digits[(i & 3) << 4], i);
    }
    leat_buffer_add_text(&file, "YmM= 256\nYWI= 257\nYWJjZA== 258\n"); /* bc, ab, abcd */
    leat_error error = {0};
    leat_tokenizer *tokenizer = NULL;
    leat_bytes whole = {file.data, file.size};
    CHECK_OK(leat_tokenizer_open(&tokenizer, whole, "x/cl100k_base.tiktoken", &error), &error);
    check_ids(tokenizer, "abc", "97 256");
    check_ids(tokenizer, "abcd", "258"); /* a whole piece is looked up first */
    check_ids(tokenizer, "xabcd", "120 97 256 100");
    uint32_t id = 0;
    CHECK(leat_tokenizer_id(tokenizer, "<|endoftext|>", &id) && id == 100257);
    leat_tokenizer_close(tokenizer);
    CHECK(leat_tokenizer_open(&tokenizer, whole, "other.tiktoken", &error) == LEAT_INVALID);
    CHECK_HAS("names the file", error.found, "other.tiktoken");
    whole.size -= 5;
    CHECK(leat_tokenizer_open(&tokenizer, whole, "gpt2", &error) == LEAT_CORRUPT);
    CHECK_HAS("line", error.where, "gpt2:259");
    whole.size = 100;
    CHECK(leat_tokenizer_open(&tokenizer, whole, "gpt2", &error) == LEAT_CORRUPT);
    leat_buffer_deinit(&file);
}

/* 10^6 equal characters in less than a second of processor time (sanitizers and slow machines get ten). */
static void test_long(void)
{
    enum { SIZE = 1000000 };
    leat_error error = {0};
    leat_tokens tokens = {0};
    leat_tokenizer *tokenizer = opened("{" BYTE_LEVEL "," MODEL(VOCAB, MERGES) "}");
    leat_encoder *encoder = leat_encoder_open(tokenizer, 0);
    char *text = leat_alloc(SIZE + 1, 1);
    memset(text, 'a', SIZE);
    clock_t before = clock();
    CHECK_OK(leat_encode(encoder, bytes_of(text), &tokens, &error), &error);
    double seconds = (double)(clock() - before) / CLOCKS_PER_SEC;
    printf("10^6 equal characters: %.3f s\n", seconds);
    CHECK(seconds < 10);
    CHECK_U64("pairs", tokens.count, SIZE / 2);
    CHECK_U64("the last one", tokens.ids[SIZE / 2 - 1], 8);
    for (size_t i = 0; i < SIZE; i++) {
        text[i] = "abc"[i % 3];
    }
    tokens.count = 0;
    CHECK_OK(leat_encode(encoder, bytes_of(text), &tokens, &error), &error);
    CHECK_U64("a, bc, a, bc …", tokens.count, SIZE / 3 * 2 + 1);
    leat_free(text);
    leat_tokens_deinit(&tokens);
    leat_encoder_close(encoder);
    leat_tokenizer_close(tokenizer);
}

/* One tokenizer, an encoder a thread: the same ids everywhere. */
static void *encode_much(void *context)
{
    leat_error error = {0};
    uint64_t seed = 7, *sum = leat_alloc(1, sizeof *sum);
    leat_encoder *encoder = leat_encoder_open(context, 1);
    for (int i = 0; i < 2000; i++) {
        leat_tokens tokens = {0};
        char text[128];
        size_t size = check_random(&seed) % sizeof text;
        for (size_t at = 0; at < size; at++) {
            text[at] = "abc \n<s>"[check_random(&seed) % 8];
        }
        leat_bytes view = {(const uint8_t *)text, size};
        if (leat_encode(encoder, view, &tokens, &error) != LEAT_OK) {
            *sum = UINT64_MAX;
        }
        for (size_t at = 0; at < tokens.count; at++) {
            *sum = *sum * 31 + tokens.ids[at];
        }
        leat_tokens_deinit(&tokens);
    }
    leat_encoder_close(encoder);
    return sum;
}

static void test_threads(void)
{
    leat_tokenizer *tokenizer =
        opened("{" BYTE_LEVEL
               ",\"added_tokens\":[{\"id\":9,\"content\":\"<s>\"}]," MODEL(VOCAB, MERGES) "}");
    uint64_t *want = encode_much(tokenizer);
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) {
        CHECK(pthread_create(&threads[i], NULL, encode_much, tokenizer) == 0);
    }
    for (size_t i = 0; i < 4; i++) {
        void *got = NULL;
        CHECK(pthread_join(threads[i], &got) == 0);
        CHECK_U64("ids of a thread", *(uint64_t *)got, *want);
        leat_free(got);
    }
    leat_free(want);
    leat_tokenizer_close(tokenizer);
}

static void test_invalid_text(void)
{
    static const struct {
        const char *text, *found;
    } cases[] = {
        {"abc\xff", "offset 3"},          {"\xc0\x80", "offset 0"},
        {"a\xed\xa0\x80", "offset 1"},    {"aaaaaaaaaaaaaaaa\xe2\x82", "offset 16"},
        {"\xf4\x90\x80\x80", "offset 0"},
    };
    leat_tokenizer *tokenizer = opened("{" BYTE_LEVEL "," MODEL(VOCAB, MERGES) "}");
    leat_encoder *encoder = leat_encoder_open(tokenizer, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_error error = {0};
        leat_tokens tokens = {0};
        CHECK(leat_encode(encoder, bytes_of(cases[i].text), &tokens, &error) == LEAT_CORRUPT);
        CHECK_HAS("place", error.found, cases[i].found);
        CHECK_U64("no ids", tokens.count, 0);
    }
    leat_encoder_close(encoder);
    leat_tokenizer_close(tokenizer);
}

#define SPLIT(pattern, behavior) \
    "{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":" pattern ",\"behavior\":\"" behavior \
    "\"}," MODEL(VOCAB, MERGES) "}"
#define WITH(part) "{" part "," BYTE_LEVEL "," MODEL(VOCAB, MERGES) "}"
#define ADDED(token) WITH("\"added_tokens\":[" token "]")

static const struct {
    const char *file;
    leat_status status;
    const char *names;
} refused[] = {
    {"", LEAT_CORRUPT, ""},
    {"{", LEAT_CORRUPT, ""},
    {"[]", LEAT_CORRUPT, ""},
    {"{}", LEAT_CORRUPT, "model"},
    {"{\"model\":[]}", LEAT_CORRUPT, "model"},
    {"{\"model\":{\"type\":\"Unigram\"}}", LEAT_INVALID, "Unigram"},
    {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{}}}", LEAT_INVALID, "WordPiece"},
    {"{\"model\":{\"type\":7}}", LEAT_CORRUPT, "model.type"},
    {"{\"model\":{\"type\":\"BPE\"}}", LEAT_CORRUPT, "model.vocab"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":-1},\"merges\":[]}}", LEAT_CORRUPT, "\"a\""},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0.5},\"merges\":[]}}", LEAT_CORRUPT, "\"a\""},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":\"0\"},\"merges\":[]}}", LEAT_CORRUPT, "\"a\""},
    {"{" MODEL("\"a\":4294967296", "") "}", LEAT_CORRUPT, "\"a\""},
    {"{" MODEL("\"a\":8388608", "") "}", LEAT_CORRUPT, "\"a\""},
    {"{" MODEL("\"a\":0,\"b\":0", "") "}", LEAT_CORRUPT, "\"b\""},
    {"{" MODEL("\"a\":0,\"a\":1", "") "}", LEAT_CORRUPT, "\"a\""},
    {"{" MODEL(VOCAB, "\"a b\",\"a x\"") "}", LEAT_CORRUPT, "number 1"},
    {"{" MODEL(VOCAB, "\"b a\"") "}", LEAT_CORRUPT, "number 0"},
    {"{" MODEL(VOCAB, "\"ab\"") "}", LEAT_CORRUPT, "number 0"},
    {"{" MODEL(VOCAB, "\"a b c\"") "}", LEAT_CORRUPT, "number 0"},
    {"{" MODEL(VOCAB, "[\"a\"]") "}", LEAT_CORRUPT, "number 0"},
    {"{" MODEL(VOCAB, "[\"a\",1]") "}", LEAT_CORRUPT, "number 0"},
    {"{" MODEL(VOCAB, "7") "}", LEAT_CORRUPT, "number 0"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":{}}}", LEAT_CORRUPT, "merges"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[],\"dropout\":0.1}}", LEAT_INVALID,
     "dropout"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[],\"end_of_word_suffix\":\"</w>\"}}",
     LEAT_INVALID, "end_of_word_suffix"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[],\"unk_token\":\"?\"}}", LEAT_CORRUPT,
     "unk_token"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[],\"byte_fallback\":1}}", LEAT_CORRUPT,
     "model"},
    {SPLIT("{\"Regex\":\"x+\"}", "Isolated"), LEAT_INVALID, "x+"},
    {SPLIT("{\"String\":\" \"}", "Isolated"), LEAT_INVALID, "text"},
    {SPLIT("7", "Isolated"), LEAT_CORRUPT, "pattern"},
    {SPLIT("{\"Regex\":\"\\\\p{N}\"}", "Removed"), LEAT_INVALID, "Removed"},
    {"{\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}}", LEAT_INVALID, "BertPreTokenizer"},
    {"{\"pre_tokenizer\":{\"type\":\"Sequence\"}}", LEAT_CORRUPT, "pretokenizers"},
    {"{\"pre_tokenizer\":7}", LEAT_CORRUPT, "pre_tokenizer"},
    {"{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"_\"}}", LEAT_INVALID, "_"},
    {"{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"prepend_scheme\":\"last\"}}", LEAT_INVALID,
     "last"},
    {WITH("\"normalizer\":{\"type\":\"Precompiled\"}"), LEAT_INVALID, "Precompiled"},
    {WITH("\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" +\"},\"content\":\" \"}"),
     LEAT_INVALID, " +"},
    {WITH("\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\"\"},\"content\":\"x\"}"),
     LEAT_CORRUPT, "Replace"},
    {WITH("\"normalizer\":[]"), LEAT_CORRUPT, "normalizer"},
    {WITH("\"post_processor\":{\"type\":\"Other\"}"), LEAT_INVALID, "Other"},
    {WITH("\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{"
          "\"id\":\"x\"}}]}"),
     LEAT_CORRUPT, "TemplateProcessing"},
    {WITH("\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[]}"), LEAT_INVALID,
     "one text"},
    {WITH("\"added_tokens\":{}"), LEAT_CORRUPT, "added_tokens"},
    {ADDED("7"), LEAT_CORRUPT, "number 0"},
    {ADDED("{\"id\":9,\"content\":\"x\",\"lstrip\":3}"), LEAT_CORRUPT, "number 0"},
    {ADDED("{\"id\":-9,\"content\":\"x\"}"), LEAT_CORRUPT, "number 0"},
    {ADDED("{\"id\":99999999999,\"content\":\"x\"}"), LEAT_CORRUPT, "number 0"},
    {ADDED("{\"id\":1000,\"content\":\"x\"}"), LEAT_CORRUPT, "1000"},
    {"bm90IGEgdG9rZW5pemVy", LEAT_CORRUPT, ":1"},
    {"YQ== 1\nYQ== 2\n", LEAT_CORRUPT, ":2"},
    {"YQ== 99999999\n", LEAT_CORRUPT, ":1"},
};

static void test_refused(void)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        leat_error error = {0};
        leat_tokenizer *tokenizer = NULL;
        leat_status status =
            leat_tokenizer_open(&tokenizer, bytes_of(refused[i].file), "bad.json", &error);
        CHECK_U64(refused[i].file, status, refused[i].status);
        CHECK(tokenizer == NULL && error.status == status);
        char all[1400];
        snprintf(all, sizeof all, "%s %s %s %s", error.text, error.where, error.found,
                 error.wanted);
        CHECK_HAS(refused[i].file, all, refused[i].names);
        leat_tokenizer_close(tokenizer);
    }
}

/* Every prefix of a good file, and the file with one byte changed, is loaded or refused, never worse. */
static void test_damage(void)
{
    static const char good[] =
        "{\"version\":\"1.0\",\"added_tokens\":[{\"id\":9,\"content\":\"<s>\",\"special\":true}],"
        "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":"
        "\"Replace\","
        "\"pattern\":{\"String\":\"x\"},\"content\":\"y\"}]},\"pre_tokenizer\":{\"type\":"
        "\"Sequence\","
        "\"pretokenizers\":[{\"type\":\"Digits\",\"individual_digits\":true},{\"type\":"
        "\"ByteLevel\","
        "\"add_prefix_space\":true}]},\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":["
        "\"a\",0],"
        "\"sep\":[\"b\",1]}," MODEL(VOCAB, MERGES) "}";
    uint64_t seed = 20260101;
    size_t accepted = 0;
    for (size_t i = 0; i < 4 * sizeof good; i++) {
        leat_error error = {0};
        leat_tokenizer *tokenizer = NULL;
        size_t size = i < sizeof good - 1 ? i : sizeof good - 1;
        uint8_t *copy = leat_alloc(size + 1, 1);
        memcpy(copy, good, size);
        if (i >= sizeof good) {
            copy[check_random(&seed) % size] = (uint8_t)check_random(&seed);
        }
        leat_status status =
            leat_tokenizer_open(&tokenizer, (leat_bytes){copy, size}, "cut.json", &error);
        if (status == LEAT_OK) {
            leat_tokens tokens = {0};
            leat_encoder *encoder = leat_encoder_open(tokenizer, 1);
            CHECK_OK(leat_encode(encoder, bytes_of("ab <s> 1x\xc3\xa9"), &tokens, &error), &error);
            leat_encoder_close(encoder);
            leat_tokens_deinit(&tokens);
            accepted++;
        }
        CHECK(status == LEAT_OK || status == LEAT_CORRUPT || status == LEAT_INVALID);
        leat_tokenizer_close(tokenizer);
        leat_free(copy);
    }
    printf("damage: %zu of the changed files could be loaded (seed 20260101)\n", accepted);
}

int main(void)
{
    test_merges();
    test_bytes();
    test_added();
    test_marked();
    test_special();
    test_tiktoken();
    test_long();
    test_threads();
    test_invalid_text();
    test_refused();
    test_damage();
    return check_done();
}
