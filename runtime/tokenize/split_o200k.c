/* [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
 * [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
 * \p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
 * with 3 or another number of digits, and without the suffixes (Tekken). */
#include "tokenize/scan.h"
#include "tokenize/split.h"

/* A character can be upper, lower or both (letters without case, marks). */
enum { UPPER = 1, LOWER = 2, BOTH = 3 };
static const uint8_t cases[32] = {
    [LEAT_LU] = UPPER, [LEAT_LL] = LOWER, [LEAT_LT] = UPPER, [LEAT_LM] = BOTH,
    [LEAT_LO] = BOTH,  [LEAT_MN] = BOTH,  [LEAT_MC] = BOTH,  [LEAT_ME] = BOTH};

static inline uint8_t case_at(leat_bytes text, size_t at)
{
    return cases[leat_category_of(leat_utf8_at(text.data + at))];
}

static inline size_t run_of(leat_bytes text, size_t at, uint8_t wanted)
{
    while (at < text.size && (case_at(text, at) & wanted) != 0) {
        at += leat_utf8_size(text.data[at]);
    }
    return at;
}

/* The word of the first alternative from `at`, which is the end of a prefix; `at` where it does not match.  Upper* takes
 * all it can and gives back until lower+ has something to begin with. */
static size_t word_lower(leat_bytes text, size_t at)
{
    size_t upper = run_of(text, at, UPPER);
    size_t lower = run_of(text, upper, LOWER);
    if (lower > upper) {
        return lower;
    }
    for (size_t end = upper; end > at;) {
        size_t before = (size_t)(leat_utf8_before(text.data + end) - text.data);
        if (case_at(text, before) == BOTH) {
            return end;
        }
        end = before;
    }
    return at;
}

/* The end of the word, with the prefix where that matches, else without; `at` where there is no word.  The first
 * alternative goes before the second one, with or without a prefix; where it has failed no lower character follows. */
static size_t word_only(leat_bytes text, size_t at)
{
    size_t size;
    unsigned class = leat_scan_at(text.data + at, &size);
    bool prefix = class != LEAT_SCAN_LETTER && class != LEAT_SCAN_NUMBER &&
                  !leat_scan_is_line_end(text.data[at]);
    size_t starts[2] = {prefix ? at + size : at, at};
    size_t tries = prefix ? 2 : 1;
    for (size_t i = 0; i < tries; i++) {
        size_t end = word_lower(text, starts[i]);
        if (end > starts[i]) {
            return end;
        }
    }
    for (size_t i = 0; i < tries; i++) {
        size_t end = run_of(text, starts[i], UPPER);
        if (end > starts[i]) {
            return end;
        }
    }
    return at;
}

static size_t word(const leat_split *split, leat_bytes text, size_t at)
{
    size_t end = word_only(text, at);
    return end > at && end < text.size && !split->no_suffix
               ? end + leat_scan_contraction(text, end, true)
               : end;
}

static size_t end_of(const leat_split *split, leat_bytes text, size_t at)
{
    size_t size, end = word(split, text, at), next;
    if (end > at) {
        return end;
    }
    unsigned class = leat_scan_at(text.data + at, &size);
    if (class == LEAT_SCAN_NUMBER) {
        return leat_scan_numbers(text, at + size, split->run_max - 1);
    }
    if (class == LEAT_SCAN_OTHER || (text.data[at] == ' ' && at + 1 < text.size &&
                                     leat_scan_at(text.data + at + 1, &next) == LEAT_SCAN_OTHER)) {
        end = leat_scan_run(text, at + size, LEAT_SCAN_OTHER);
        while (end < text.size &&
               (leat_scan_is_line_end(text.data[end]) || text.data[end] == '/')) {
            end++;
        }
        return end;
    }
    end = leat_scan_run(text, at + size, LEAT_SCAN_SPACE);
    size_t line_end = leat_scan_line_end(text, at, end);
    return line_end > at ? line_end : leat_scan_spaces(text, at, end);
}

size_t leat_fill_o200k(const leat_split *split, leat_bytes text, size_t at, size_t *ends,
                       size_t max)
{
    size_t count = 0;
    while (at < text.size && count < max) {
        at = end_of(split, text, at);
        ends[count++] = at;
    }
    return count;
}
