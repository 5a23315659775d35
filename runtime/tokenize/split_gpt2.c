/* 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
#include "tokenize/scan.h"
#include "tokenize/split.h"

static inline size_t end_of(leat_bytes text, size_t at)
{
    const uint8_t *data = text.data;
    size_t run = at, size;
    if (data[at] == '\'') {
        size_t contraction = leat_scan_contraction(text, at, false);
        if (contraction != 0) {
            return at + contraction;
        }
    }
    if (data[at] == ' ' && at + 1 < text.size) {
        run = at + 1;
    }
    unsigned class = leat_scan_at(data + run, &size);
    if (class == LEAT_SCAN_LETTER) {
        return leat_scan_letters(text, run + size);
    }
    if (class != LEAT_SCAN_SPACE) {
        return leat_scan_run(text, run + size, class);
    }
    return leat_scan_spaces(text, at, leat_scan_run(text, run + size, LEAT_SCAN_SPACE));
}

size_t leat_fill_gpt2(const leat_split *split, leat_bytes text, size_t at, size_t *ends, size_t max)
{
    (void)split;
    size_t count = 0;
    while (at < text.size && count < max) {
        at = end_of(text, at);
        ends[count++] = at;
    }
    return count;
}
