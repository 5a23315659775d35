#include "tokenize/split.h"
#include "tokenize/scan.h"

/* \p{N}{1,run_max} */
static size_t match_numbers(const leat_split *split, leat_bytes text, size_t at)
{
    return leat_scan_numbers(text, at, split->run_max);
}

/* [一-龥぀-ゟ゠-ヿ]+ */
static size_t match_east_asian(const leat_split *split, leat_bytes text, size_t at)
{
    (void)split;
    while (at < text.size) {
        uint32_t c = leat_utf8_at(text.data + at);
        if (!((c >= 0x4e00 && c <= 0x9fa5) || (c >= 0x3040 && c <= 0x30ff))) {
            break;
        }
        at += leat_utf8_size(text.data[at]);
    }
    return at;
}

/* [0-9][0-9][0-9] */
static size_t match_three_digits(const leat_split *split, leat_bytes text, size_t at)
{
    (void)split;
    for (size_t i = at; i < at + 3; i++) {
        if (i >= text.size || text.data[i] < '0' || text.data[i] > '9') {
            return at;
        }
    }
    return at + 3;
}

/*  ?[^(\s|[.,!?…。，、।۔،])]+ */
static size_t match_bloom(const leat_split *split, leat_bytes text, size_t at)
{
    static const uint32_t outside[] = {'(',    ')',    '|',    '.',    ',',    '!',   '?',
                                       0x2026, 0x3002, 0xff0c, 0x3001, 0x0964, 0x6d4, 0x60c};
    (void)split;
    size_t from = text.data[at] == ' ' ? at + 1 : at, end = from;
    while (end < text.size) {
        size_t size;
        uint32_t c = leat_utf8_at(text.data + end);
        bool taken = leat_scan_at(text.data + end, &size) != LEAT_SCAN_SPACE;
        for (size_t i = 0; taken && i < sizeof outside / sizeof *outside; i++) {
            taken = c != outside[i];
        }
        if (!taken) {
            break;
        }
        end += size;
    }
    return end > from ? end : at;
}

typedef struct known_pattern {
    const char *text;
    leat_split split;
    bool mapped; /* the same behind ByteLevel */
} known_pattern;

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define CL100K_FRONT CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
#define CL100K_BACK "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define O200K_WORD "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define MATCHES(function, max) \
    { \
        .fill = leat_fill_matches, .match = function, .run_max = max \
    }

static const known_pattern patterns[] = {
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
     {.fill = leat_fill_gpt2, .run_max = 0},
     false},
    {"'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
     {.fill = leat_fill_gpt2, .run_max = 0},
     false},
    {CL100K_FRONT "\\p{N}{1,3}" CL100K_BACK, {.fill = leat_fill_cl100k, .run_max = 3}, false},
    {CL100K_FRONT "\\p{N}" CL100K_BACK, {.fill = leat_fill_cl100k, .run_max = 1}, false},
    {"'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}| "
     "?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+",
     {.fill = leat_fill_cl100k, .run_max = 3},
     false},
    {O200K_WORD "*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+" CONTRACTIONS "?|" O200K_WORD
                "+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*" CONTRACTIONS "?|\\p{N}{1,3}| "
                "?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
     {.fill = leat_fill_o200k, .run_max = 3},
     false},
    {O200K_WORD "*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|" O200K_WORD
                "+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|\\p{N}| "
                "?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
     {.fill = leat_fill_o200k, .run_max = 1, .no_suffix = true},
     false},
    {"\\p{N}{1,3}", MATCHES(match_numbers, 3), false},
    {"\\p{N}", MATCHES(match_numbers, 1), false},
    {"\\p{N}+", MATCHES(match_numbers, UINT32_MAX), false},
    {"[一-龥぀-ゟ゠-ヿ]+", MATCHES(match_east_asian, 0), false},
    {"[!\"#$%&'()*+,\\-./"
     ":;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]"
     "+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
     MATCHES(leat_match_deepseek, 0), false},
    {"[0-9][0-9][0-9]", MATCHES(match_three_digits, 0), true},
    {" ?[^(\\s|[.,!?…。，、।۔،])]+", MATCHES(match_bloom, 0), false},
};

void leat_split_gpt2(leat_split *split)
{
    *split = (leat_split){.fill = leat_fill_gpt2};
}

/* Line ends stand in patterns as themselves or as escapes. */
static void in_escapes(leat_bytes pattern, leat_buffer *out)
{
    for (size_t i = 0; i < pattern.size; i++) {
        uint8_t byte = pattern.data[i];
        if (byte == '\r' || byte == '\n') {
            leat_buffer_add_text(out, byte == '\r' ? "\\r" : "\\n");
        } else {
            leat_buffer_add_u8(out, byte);
        }
    }
}

bool leat_split_find(leat_split *split, leat_bytes pattern, bool mapped)
{
    leat_buffer text = {0};
    bool found = false;
    in_escapes(pattern, &text);
    for (size_t i = 0; !found && i < sizeof patterns / sizeof *patterns; i++) {
        if (strlen(patterns[i].text) == text.size && text.size != 0 &&
            memcmp(patterns[i].text, text.data, text.size) == 0) {
            *split = patterns[i].split;
            found = !mapped || patterns[i].mapped;
        }
    }
    leat_buffer_deinit(&text);
    return found;
}
