#include "tokenize/unicode.h"

const uint32_t *leat_mapping_find(const uint32_t *from, const uint32_t *to, size_t count,
                                  uint32_t code_point, size_t *length)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (from[middle] < code_point) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == count || from[low] != code_point) {
        return NULL;
    }
    *length = to[low] & 31;
    return leat_mapping_pool + (to[low] >> 5);
}

uint32_t leat_compose(uint32_t first, uint32_t second)
{
    if (first - 0x1100u < 19 && second - 0x1161u < 21) {
        return 0xac00 + ((first - 0x1100) * 21 + (second - 0x1161)) * 28;
    }
    if (first - 0xac00u < 11172 && (first - 0xac00) % 28 == 0 && second - 0x11a8u < 27) {
        return first + (second - 0x11a7);
    }
    uint64_t key = (uint64_t)first << 32 | second;
    size_t low = 0, high = leat_compose_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (leat_compose_from[middle] < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < leat_compose_count && leat_compose_from[low] == key ? leat_compose_to[low] : 0;
}
