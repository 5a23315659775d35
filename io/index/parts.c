#include "io/index/parts.h"
#include "base/utf8.h"

size_t leat_part_end(const uint8_t *text, size_t size, size_t begin, uint64_t part_bytes)
{
    if (part_bytes == 0 || size - begin <= part_bytes) {
        return size;
    }
    const uint8_t *low = text + begin + part_bytes / 2;  /* an end lies above it … */
    size_t span = (size_t)(part_bytes - part_bytes / 2); /* … by at most this */
    const uint8_t *newline = memrchr(low, '\n', span);
    if (newline != NULL) {
        return (size_t)(newline + 1 - text);
    }
    const uint8_t *space = memrchr(low + 1, ' ', span);
    if (space != NULL) {
        return (size_t)(space - text);
    }
    size_t end = begin + (size_t)part_bytes;
    while (leat_utf8_is_continuation(text[end])) {
        end--;
    }
    return end;
}
