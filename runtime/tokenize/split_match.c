/* Splits that are made of one kind of match and of what is between the matches. */
#include "tokenize/scan.h"
#include "tokenize/split.h"

size_t leat_fill_matches(const leat_split *split, leat_bytes text, size_t at, size_t *ends,
                         size_t max)
{
    size_t count = 0;
    while (at < text.size && count < max) {
        size_t end = split->match(split, text, at);
        if (end == at) {
            /* A byte at a time is right behind ByteLevel; elsewhere nothing matches inside a character. */
            do {
                end++;
            } while (end < text.size &&
                     ((text.data[end] & 0xc0) == 0x80 || split->match(split, text, end) == end));
        }
        at = end;
        ends[count++] = at;
    }
    return count;
}

static size_t fill_whole(const leat_split *split, leat_bytes text, size_t at, size_t *ends,
                         size_t max)
{
    (void)split;
    (void)max;
    ends[0] = text.size;
    return at < text.size ? 1 : 0;
}

void leat_split_whole(leat_split *split)
{
    *split = (leat_split){.fill = fill_whole};
}

static size_t match_class(const leat_split *split, leat_bytes text, size_t at, uint8_t flag)
{
    for (uint32_t i = 0; i < split->run_max && at < text.size; i++) {
        if ((leat_class_of(leat_utf8_at(text.data + at)) & flag) == 0) {
            break;
        }
        at += leat_utf8_size(text.data[at]);
    }
    return at;
}

static size_t match_numeric(const leat_split *split, leat_bytes text, size_t at)
{
    return match_class(split, text, at, LEAT_CLASS_NUMERIC);
}

static size_t match_punctuation(const leat_split *split, leat_bytes text, size_t at)
{
    return match_class(split, text, at, LEAT_CLASS_PUNCTUATION);
}

/* Behind ByteLevel a byte is the character that stands for it, and some of those from B2 on are numbers. */
static size_t fill_mapped_digits(const leat_split *split, leat_bytes text, size_t at, size_t *ends,
                                 size_t max)
{
    static const bool numbers[256] = {
        ['0'] = 1, 1, 1,          1,          1,          1,          1,          1,
        1,         1, [0xb2] = 1, [0xb3] = 1, [0xb9] = 1, [0xbc] = 1, [0xbd] = 1, [0xbe] = 1};
    size_t count = 0;
    while (at < text.size && count < max) {
        bool number = numbers[text.data[at]];
        uint32_t left = number ? split->run_max : UINT32_MAX;
        while (at < text.size && numbers[text.data[at]] == number && left-- != 0) {
            at++;
        }
        ends[count++] = at;
    }
    return count;
}

void leat_split_digits(leat_split *split, bool individual, bool mapped)
{
    *split = (leat_split){.fill = mapped ? fill_mapped_digits : leat_fill_matches,
                          .match = match_numeric,
                          .run_max = individual ? 1 : UINT32_MAX};
}

void leat_split_punctuation(leat_split *split, bool individual)
{
    *split = (leat_split){.fill = leat_fill_matches,
                          .match = match_punctuation,
                          .run_max = individual ? 1 : UINT32_MAX};
}

static inline bool is_metaspace(leat_bytes text, size_t at)
{
    return text.size - at >= 3 && text.data[at] == 0xe2 && text.data[at + 1] == 0x96 &&
           text.data[at + 2] == 0x81;
}

static size_t fill_metaspace(const leat_split *split, leat_bytes text, size_t at, size_t *ends,
                             size_t max)
{
    (void)split;
    size_t count = 0;
    while (at < text.size && count < max) {
        do {
            at++;
        } while (at < text.size && !is_metaspace(text, at));
        ends[count++] = at;
    }
    return count;
}

void leat_split_metaspace(leat_split *split)
{
    *split = (leat_split){.fill = fill_metaspace};
}

static size_t fill_pairs(const leat_split *split, leat_bytes text, size_t at, size_t *ends,
                         size_t max)
{
    return leat_pairs_fill(split->pairs, text, at, ends, max);
}

void leat_split_pairs(leat_split *split, const leat_pairs *pairs)
{
    *split = (leat_split){.fill = fill_pairs, .pairs = pairs};
}
