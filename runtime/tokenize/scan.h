/* scan.h: what the pre-tokenizers share: classes of characters and runs of them, in valid UTF-8.
 * Everything is inline: a piece of text is about five bytes, and a call would cost as much as the scan. */
#ifndef LEAT_TOKENIZE_SCAN_H
#define LEAT_TOKENIZE_SCAN_H
#include "tokenize/unicode.h"

enum leat_scan_class { LEAT_SCAN_OTHER, LEAT_SCAN_LETTER, LEAT_SCAN_NUMBER, LEAT_SCAN_SPACE };

/* leat_scan_class of each category, and of each byte below 0x80. */
static const uint8_t leat_scan_of_category[32] = {0, 1, 1, 1, 1, 1, 0, 0, 0, 2,
                                                  2, 2, 0, 0, 3, 0, 0, 0, 3};
static const uint8_t leat_scan_of_ascii[128] = {
    ['\t'] = 3, 3, 3, 3, 3, [' '] = 3, ['0'] = 2, 2, 2,         2, 2, 2, 2, 2, 2, 2, ['A'] = 1,
    1,          1, 1, 1, 1, 1,         1,         1, 1,         1, 1, 1, 1, 1, 1, 1, 1,
    1,          1, 1, 1, 1, 1,         1,         1, ['a'] = 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1,          1, 1, 1, 1, 1,         1,         1, 1,         1, 1, 1, 1, 1, 1, 1, 1};

/* The class of the character at `at`, and its size. */
static inline unsigned leat_scan_at(const uint8_t *at, size_t *size)
{
    if (*at < 0x80) {
        *size = 1;
        return leat_scan_of_ascii[*at];
    }
    *size = leat_utf8_size(*at);
    return leat_scan_of_category[leat_category_of(leat_utf8_at(at))];
}

/* The end of the run of characters of a class. */
static inline size_t leat_scan_run(leat_bytes text, size_t at, unsigned wanted)
{
    size_t size;
    while (at < text.size && leat_scan_at(text.data + at, &size) == wanted) {
        at += size;
    }
    return at;
}

/* The number of ASCII letters at the front of eight bytes: without a branch a letter, since words are short and their
 * ends are not predictable. */
static inline size_t leat_scan_letters8(const uint8_t *at)
{
    uint64_t word = leat_get_u64(at);
    uint64_t folded = (word | 0x2020202020202020u) & 0x7f7f7f7f7f7f7f7fu;
    uint64_t from_a = folded + 0x1f1f1f1f1f1f1f1fu; /* high bit: at least 'a' */
    uint64_t past_z = folded + 0x0505050505050505u; /* high bit: above 'z' */
    uint64_t other = (~(from_a & ~past_z) | word) & 0x8080808080808080u;
    return other == 0 ? 8 : (size_t)__builtin_ctzll(other) / 8;
}

static inline size_t leat_scan_letters(leat_bytes text, size_t at)
{
    for (;;) {
        if (text.size - at >= 8) {
            size_t letters = leat_scan_letters8(text.data + at);
            at += letters;
            if (letters == 8) {
                continue;
            }
        }
        size_t size;
        if (at >= text.size || leat_scan_at(text.data + at, &size) != LEAT_SCAN_LETTER) {
            return at;
        }
        at += size;
    }
}

/* What `\s+(?!\S)|\s+` takes at a run of white space [at, end): all where the text ends there, else all but the last
 * character, and a single character anyway. */
static inline size_t leat_scan_spaces(leat_bytes text, size_t at, size_t end)
{
    if (end == text.size) {
        return end;
    }
    size_t last = (size_t)(leat_utf8_before(text.data + end) - text.data);
    return last > at ? last : end;
}

/* The bytes of 's 't 're 've 'm 'll 'd after an apostrophe at `at`, the apostrophe included; 0 for none.  With `fold` in
 * any case; U+017F is a kind of s then. */
static inline size_t leat_scan_contraction(leat_bytes text, size_t at, bool fold)
{
    size_t left = text.size - at;
    if (left < 2 || text.data[at] != '\'') {
        return 0;
    }
    uint8_t first = text.data[at + 1], second = left > 2 ? text.data[at + 2] : 0;
    if (fold) {
        if (first == 0xc5 && second == 0xbf) {
            return 3;
        }
        first = (uint8_t)(first | (first >= 'A' && first <= 'Z' ? 0x20 : 0));
        second = (uint8_t)(second | (second >= 'A' && second <= 'Z' ? 0x20 : 0));
    }
    if (first == 's' || first == 't' || first == 'm' || first == 'd') {
        return 2;
    }
    return (second == 'e' && (first == 'r' || first == 'v')) || (second == 'l' && first == 'l') ? 3
                                                                                                : 0;
}

/* The end of up to `max` numbers at `at`. */
static inline size_t leat_scan_numbers(leat_bytes text, size_t at, uint32_t max)
{
    size_t size;
    for (uint32_t i = 0; i < max && at < text.size; i++) {
        if (leat_scan_at(text.data + at, &size) != LEAT_SCAN_NUMBER) {
            break;
        }
        at += size;
    }
    return at;
}

/* The end behind the last line end in the white space [at, end); `at` where there is none. */
static inline size_t leat_scan_line_end(leat_bytes text, size_t at, size_t end)
{
    while (end > at && text.data[end - 1] != '\r' && text.data[end - 1] != '\n') {
        end--;
    }
    return end;
}

static inline bool leat_scan_is_line_end(uint8_t byte)
{
    return byte == '\r' || byte == '\n';
}
#endif
