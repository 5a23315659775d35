/* (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 * with 3 or another number of digits. */
#include "tokenize/scan.h"
#include "tokenize/split.h"

static inline size_t line_ends(leat_bytes text, size_t at)
{
    while (at < text.size && leat_scan_is_line_end(text.data[at])) {
        at++;
    }
    return at;
}

static inline size_t end_of(leat_bytes text, size_t at, uint32_t digits_max)
{
    const uint8_t *data = text.data;
    size_t size, next_size = 0;
    if (data[at] == '\'') {
        size_t contraction = leat_scan_contraction(text, at, true);
        if (contraction != 0) {
            return at + contraction;
        }
    }
    unsigned class = leat_scan_at(data + at, &size), next = LEAT_SCAN_SPACE;
    if (class == LEAT_SCAN_LETTER) {
        return leat_scan_letters(text, at + size);
    }
    if (class == LEAT_SCAN_NUMBER) {
        return leat_scan_numbers(text, at + size, digits_max - 1);
    }
    if (at + size < text.size) {
        next = leat_scan_at(data + at + size, &next_size);
        if (next == LEAT_SCAN_LETTER && !leat_scan_is_line_end(data[at])) {
            return leat_scan_letters(text, at + size + next_size);
        }
    }
    if (class == LEAT_SCAN_OTHER || (data[at] == ' ' && next == LEAT_SCAN_OTHER)) {
        return line_ends(text, leat_scan_run(text, at + size, LEAT_SCAN_OTHER));
    }
    size_t end = leat_scan_run(text, at + size, LEAT_SCAN_SPACE);
    size_t line_end = leat_scan_line_end(text, at, end);
    return line_end > at ? line_end : leat_scan_spaces(text, at, end);
}

size_t leat_fill_cl100k(const leat_split *split, leat_bytes text, size_t at, size_t *ends,
                        size_t max)
{
    uint32_t digits_max = split->run_max;
    size_t count = 0;
    while (at < text.size && count < max) {
        at = end_of(text, at, digits_max);
        ends[count++] = at;
    }
    return count;
}
