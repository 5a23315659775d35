/* The Unicode normalization forms. */
#include "base/memory.h"
#include "base/utf8.h"
#include "tokenize/normalize.h"
#include "tokenize/unicode.h"

static uint8_t ccc_of(uint32_t code_point)
{
    return leat_norm_ccc[leat_norm_of(code_point)];
}

bool leat_normal_is(leat_normal_kind form, leat_bytes text)
{
    bool composed = form == LEAT_NORMAL_NFC || form == LEAT_NORMAL_NFKC;
    bool compatible = form == LEAT_NORMAL_NFKC || form == LEAT_NORMAL_NFKD;
    uint8_t unwanted = composed ? LEAT_NORM_SECOND : LEAT_NORM_DECOMPOSES;
    unwanted = (uint8_t)(unwanted | (compatible ? LEAT_NORM_COMPAT : 0));
    uint8_t last = 0;
    for (size_t at = 0; at < text.size;) {
        uint64_t word;
        if (text.size - at >= 8 &&
            (memcpy(&word, text.data + at, 8), (word & 0x8080808080808080u) == 0)) {
            at += 8;
            last = 0;
            continue;
        }
        uint32_t c = leat_utf8_at(text.data + at);
        at += leat_utf8_size(text.data[at]);
        uint8_t kind = leat_norm_of(c), ccc = leat_norm_ccc[kind];
        /* Compatible characters with a canonical decomposition keep it in NFKC only where it is composed again. */
        if ((leat_norm_flags[kind] & unwanted) != 0 || (ccc != 0 && ccc < last) ||
            (!composed && c - 0xac00u < 11172)) {
            return false;
        }
        last = ccc;
    }
    return true;
}

/* Appends the decomposition of one code point; gives the new count. */
static size_t decompose(uint32_t c, bool compatible, uint32_t *out, size_t count)
{
    if (c - 0xac00u < 11172) {
        uint32_t index = c - 0xac00;
        out[count++] = 0x1100 + index / 588;
        out[count++] = 0x1161 + index % 588 / 28;
        if (index % 28 != 0) {
            out[count++] = 0x11a7 + index % 28;
        }
        return count;
    }
    uint8_t flags = leat_norm_flags[leat_norm_of(c)];
    const uint32_t *mapped = NULL;
    size_t length = 0;
    if (compatible && (flags & LEAT_NORM_COMPAT) != 0) {
        mapped = leat_mapping_find(leat_compatible_from, leat_compatible_to, leat_compatible_count,
                                   c, &length);
    }
    if (mapped == NULL && (flags & LEAT_NORM_DECOMPOSES) != 0) {
        mapped = leat_mapping_find(leat_canonical_from, leat_canonical_to, leat_canonical_count, c,
                                   &length);
    }
    if (mapped == NULL) {
        out[count++] = c;
        return count;
    }
    memcpy(out + count, mapped, length * sizeof *out);
    return count + length;
}

static void merge_runs(uint32_t *points, const uint32_t *from, size_t low, size_t middle,
                       size_t high)
{
    size_t left = low, right = middle;
    for (size_t at = low; at < high; at++) {
        bool take_left =
            left < middle && (right >= high || ccc_of(from[left]) <= ccc_of(from[right]));
        points[at] = take_left ? from[left++] : from[right++];
    }
}

/* Sorts a run of marks stably by combining class: insertion for the usual few, merging for runs made to be slow. */
static void sort_marks(uint32_t *points, uint32_t *spare, size_t count)
{
    if (count <= 32) {
        for (size_t i = 1; i < count; i++) {
            uint32_t point = points[i];
            size_t at = i;
            for (; at != 0 && ccc_of(points[at - 1]) > ccc_of(point); at--) {
                points[at] = points[at - 1];
            }
            points[at] = point;
        }
        return;
    }
    for (size_t width = 1; width < count; width *= 2) {
        memcpy(spare, points, count * sizeof *points);
        for (size_t low = 0; low < count; low += 2 * width) {
            size_t middle = low + width < count ? low + width : count;
            size_t high = low + 2 * width < count ? low + 2 * width : count;
            merge_runs(points, spare, low, middle, high);
        }
    }
}

static void order(uint32_t *points, uint32_t *spare, size_t count)
{
    for (size_t at = 0; at < count;) {
        if (ccc_of(points[at]) == 0) {
            at++;
            continue;
        }
        size_t end = at + 1;
        while (end < count && ccc_of(points[end]) != 0) {
            end++;
        }
        sort_marks(points + at, spare, end - at);
        at = end;
    }
}

static size_t compose(uint32_t *points, size_t count)
{
    size_t kept = 0, starter = 0;
    bool has_starter = false;
    uint8_t last = 0; /* class of what was kept behind the starter; 0: nothing was */
    for (size_t i = 0; i < count; i++) {
        uint8_t ccc = ccc_of(points[i]);
        bool adjacent = has_starter && kept == starter + 1;
        if (has_starter && (adjacent || (last != 0 && last < ccc))) {
            uint32_t whole = leat_compose(points[starter], points[i]);
            if (whole != 0) {
                points[starter] = whole;
                continue;
            }
        }
        if (ccc == 0) {
            starter = kept;
            has_starter = true;
        }
        last = ccc;
        points[kept++] = points[i];
    }
    return kept;
}

void leat_normal_form(leat_normal_kind form, leat_normal_scratch *scratch, leat_bytes text,
                      leat_buffer *out)
{
    bool compatible = form == LEAT_NORMAL_NFKC || form == LEAT_NORMAL_NFKD;
    size_t count = 0;
    for (size_t at = 0; at < text.size; at += leat_utf8_size(text.data[at])) {
        /* No decomposition is longer than 18; twice the room, so that marks can be sorted. */
        LEAT_GROW(scratch->points, scratch->capacity, 2 * (count + 32));
        count = decompose(leat_utf8_at(text.data + at), compatible, scratch->points, count);
    }
    if (count == 0) {
        return;
    }
    order(scratch->points, scratch->points + count, count);
    if (form == LEAT_NORMAL_NFC || form == LEAT_NORMAL_NFKC) {
        count = compose(scratch->points, count);
    }
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[4];
        leat_buffer_add(out, bytes, leat_utf8_encode(scratch->points[i], bytes));
    }
}
