#include "tokenize/split.h"

typedef struct known_pattern {
    const char *text;
    size_t (*fill)(const leat_split *split, leat_bytes text, size_t at, size_t *ends, size_t max);
    uint32_t digits_max;
} known_pattern;

#define CL100K_FRONT "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
#define CL100K_BACK "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static const known_pattern patterns[] = {
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
     leat_fill_gpt2, 0},
    {CL100K_FRONT "\\p{N}{1,3}" CL100K_BACK, leat_fill_cl100k, 3},
    {CL100K_FRONT "\\p{N}" CL100K_BACK, leat_fill_cl100k, 1},
    {"'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}| "
     "?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+",
     leat_fill_cl100k, 3},
};

void leat_split_gpt2(leat_split *split)
{
    *split = (leat_split){.fill = leat_fill_gpt2};
}

bool leat_split_find(leat_split *split, leat_bytes pattern)
{
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        if (strlen(patterns[i].text) == pattern.size &&
            memcmp(patterns[i].text, pattern.data, pattern.size) == 0) {
            *split = (leat_split){.fill = patterns[i].fill, .digits_max = patterns[i].digits_max};
            return true;
        }
    }
    return false;
}
