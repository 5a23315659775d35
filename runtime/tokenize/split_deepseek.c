/* The third split of DeepSeek-V3:
 * [!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|
 * \s*[\r\n]+|\s+(?!\S)|\s+
 * It leaves gaps: a control character, say, is in no match. */
#include "tokenize/scan.h"
#include "tokenize/split.h"

enum { LETTER = 1, MARK = 2, SIGN = 4 };
static const uint8_t kinds[32] = {
    [LEAT_LU] = LETTER, [LEAT_LL] = LETTER, [LEAT_LT] = LETTER, [LEAT_LM] = LETTER,
    [LEAT_LO] = LETTER, [LEAT_MN] = MARK,   [LEAT_MC] = MARK,   [LEAT_ME] = MARK,
    [LEAT_P] = SIGN,    [LEAT_S] = SIGN};

static inline uint8_t kind_at(leat_bytes text, size_t at)
{
    return kinds[leat_category_of(leat_utf8_at(text.data + at))];
}

static size_t run_of(leat_bytes text, size_t at, unsigned wanted)
{
    while (at < text.size && (kind_at(text, at) & wanted) != 0) {
        at += leat_utf8_size(text.data[at]);
    }
    return at;
}

static inline bool is_ascii_letter(uint8_t byte)
{
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
}

static size_t line_ends(leat_bytes text, size_t at)
{
    while (at < text.size && leat_scan_is_line_end(text.data[at])) {
        at++;
    }
    return at;
}

size_t leat_match_deepseek(const leat_split *split, leat_bytes text, size_t at)
{
    (void)split;
    size_t size, next;
    uint8_t byte = text.data[at], kind = kind_at(text, at);
    unsigned class = leat_scan_at(text.data + at, &size);
    next = at + size;
    if (kind == SIGN && byte < 0x80 && next < text.size && is_ascii_letter(text.data[next])) {
        while (next < text.size && is_ascii_letter(text.data[next])) {
            next++;
        }
        return next;
    }
    if ((kind & (LETTER | MARK)) != 0) {
        return run_of(text, at, LETTER | MARK);
    }
    if (kind != SIGN && !leat_scan_is_line_end(byte)) {
        size_t end = run_of(text, next, LETTER | MARK);
        if (end > next) {
            return end;
        }
    }
    if (kind == SIGN || (byte == ' ' && next < text.size && kind_at(text, next) == SIGN)) {
        return line_ends(text, run_of(text, next, SIGN));
    }
    if (class != LEAT_SCAN_SPACE) {
        return at;
    }
    size_t end = leat_scan_run(text, next, LEAT_SCAN_SPACE);
    size_t line_end = leat_scan_line_end(text, at, end);
    return line_end > at ? line_end : leat_scan_spaces(text, at, end);
}
