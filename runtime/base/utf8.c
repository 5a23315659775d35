#include "base/utf8.h"

size_t leat_utf8_length(const uint8_t *data, size_t size, size_t *subpart)
{
    uint8_t first = data[0], low = 0x80, high = 0xbf;
    size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4, good = 1;
    if (length == 1) {
        return 1;
    }
    if (first < 0xc2 || first > 0xf4) {
        length = 0;
    } else if (first == 0xe0) {
        low = 0xa0;
    } else if (first == 0xed) {
        high = 0x9f;
    } else if (first == 0xf0) {
        low = 0x90;
    } else if (first == 0xf4) {
        high = 0x8f;
    }
    while (good < length && good < size && data[good] >= low && data[good] <= high) {
        good++;
        low = 0x80;
        high = 0xbf;
    }
    if (good == length) {
        return length;
    }
    if (subpart != NULL) {
        *subpart = good;
    }
    return 0;
}

size_t leat_utf8_fault(const uint8_t *data, size_t size)
{
    size_t at = 0;
    while (at < size) {
        uint64_t word;
        if (size - at >= 8 && (memcpy(&word, data + at, 8), (word & 0x8080808080808080u) == 0)) {
            at += 8;
            continue;
        }
        size_t length = leat_utf8_length(data + at, size - at, NULL);
        if (length == 0) {
            return at;
        }
        at += length;
    }
    return size;
}

void leat_utf8_replace(const uint8_t *data, size_t size, leat_buffer *append_to)
{
    while (size != 0) {
        size_t good = leat_utf8_fault(data, size), bad = 0;
        leat_buffer_add(append_to, data, good);
        if (good == size) {
            return;
        }
        leat_utf8_length(data + good, size - good, &bad);
        leat_buffer_add(append_to, "\xef\xbf\xbd", 3);
        data += good + bad;
        size -= good + bad;
    }
}

size_t leat_utf8_encode(uint32_t code, uint8_t out[4])
{
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint8_t marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length; i-- > 1; code >>= 6) {
        out[i] = (uint8_t)(0x80 | (code & 0x3f));
    }
    out[0] = (uint8_t)(marks[length] | code);
    return length;
}
