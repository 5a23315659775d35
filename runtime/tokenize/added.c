#include "tokenize/added.h"
#include "base/arith.h"
#include "base/memory.h"
#include "tokenize/unicode.h"

void leat_added_list_deinit(leat_added_list *list)
{
    leat_free(list->items);
    leat_buffer_deinit(&list->pool);
    *list = (leat_added_list){0};
}

void leat_added_list_add(leat_added_list *list, leat_added added, leat_bytes content)
{
    LEAT_GROW(list->items, list->capacity, list->count + 1);
    added.at = list->pool.size;
    added.size = leat_u32(content.size);
    leat_buffer_add(&list->pool, content.data, content.size);
    list->items[list->count++] = added;
}

leat_bytes leat_added_content(const leat_added_list *list, size_t index)
{
    return (leat_bytes){list->pool.data + list->items[index].at, list->items[index].size};
}

static uint32_t node_new(leat_matcher *matcher, uint8_t byte)
{
    LEAT_GROW(matcher->nodes, matcher->node_capacity, matcher->node_count + 1);
    matcher->nodes[matcher->node_count] = (leat_matcher_node){.byte = byte};
    return leat_u32(matcher->node_count++);
}

void leat_matcher_init(leat_matcher *matcher)
{
    *matcher = (leat_matcher){.only_first = -1};
    node_new(matcher, 0);
}

void leat_matcher_deinit(leat_matcher *matcher)
{
    leat_free(matcher->nodes);
    matcher->nodes = NULL;
    matcher->node_count = matcher->node_capacity = 0;
}

static inline uint32_t child_of(const leat_matcher *matcher, uint32_t node, uint8_t byte)
{
    uint32_t child = matcher->nodes[node].child;
    while (child != 0 && matcher->nodes[child].byte != byte) {
        child = matcher->nodes[child].sibling;
    }
    return child;
}

static void begins_with(leat_matcher *matcher, leat_bytes pattern)
{
    uint8_t first = pattern.data[0];
    matcher->only_first = matcher->node_count == 1 || matcher->only_first == first ? first : -1;
    matcher->first[first] = true;
    for (size_t second = 0; second < 256; second++) {
        if (pattern.size == 1 || pattern.data[1] == second) {
            size_t pair = (size_t)first << 8 | second;
            matcher->pairs[pair >> 6] |= (uint64_t)1 << (pair & 63);
        }
    }
}

void leat_matcher_add(leat_matcher *matcher, leat_bytes pattern, uint32_t item)
{
    begins_with(matcher, pattern);
    uint32_t node = 0;
    for (size_t i = 0; i < pattern.size; i++) {
        uint32_t child = child_of(matcher, node, pattern.data[i]);
        if (child == 0) {
            child = node_new(matcher, pattern.data[i]);
            matcher->nodes[child].sibling = matcher->nodes[node].child;
            matcher->nodes[node].child = child;
        }
        node = child;
    }
    if (matcher->nodes[node].item_and_one == 0) {
        matcher->nodes[node].item_and_one = item + 1;
    }
}

static bool longest_at(const leat_matcher *matcher, leat_bytes text, size_t at, leat_match *match)
{
    uint32_t node = 0;
    bool found = false;
    for (size_t i = at; i < text.size; i++) {
        node = child_of(matcher, node, text.data[i]);
        if (node == 0) {
            break;
        }
        if (matcher->nodes[node].item_and_one != 0) {
            *match = (leat_match){at, i + 1, matcher->nodes[node].item_and_one - 1};
            found = true;
        }
    }
    return found;
}

bool leat_matcher_next(const leat_matcher *matcher, leat_bytes text, size_t at, leat_match *match)
{
    if (matcher->node_count <= 1) {
        return false;
    }
    for (; at < text.size; at++) {
        if (matcher->only_first >= 0) {
            const uint8_t *next = memchr(text.data + at, matcher->only_first, text.size - at);
            if (next == NULL) {
                return false;
            }
            at = (size_t)(next - text.data);
        }
        uint8_t first = text.data[at];
        if (!matcher->first[first]) {
            continue;
        }
        if (at + 1 < text.size) {
            size_t pair = (size_t)first << 8 | text.data[at + 1];
            if ((matcher->pairs[pair >> 6] >> (pair & 63) & 1) == 0) {
                continue;
            }
        }
        if (longest_at(matcher, text, at, match)) {
            return true;
        }
    }
    return false;
}

static bool is_word(const uint8_t *at)
{
    return (leat_class_of(leat_utf8_at(at)) & LEAT_CLASS_WORD) != 0;
}

static bool is_space(const uint8_t *at)
{
    return leat_category_is_space(leat_category_of(leat_utf8_at(at)));
}

bool leat_added_accepts(const leat_added *added, leat_bytes text, size_t floor, leat_match *match)
{
    const uint8_t *data = text.data;
    if (added->single_word &&
        ((match->start != 0 && is_word(leat_utf8_before(data + match->start))) ||
         (match->end != text.size && is_word(data + match->end)))) {
        return false;
    }
    if (added->lstrip) {
        size_t start = match->start;
        while (start != 0 && is_space(leat_utf8_before(data + start))) {
            start = (size_t)(leat_utf8_before(data + start) - data);
        }
        match->start = start > floor ? start : floor;
    }
    if (added->rstrip) {
        while (match->end < text.size && is_space(data + match->end)) {
            match->end += leat_utf8_size(data[match->end]);
        }
    }
    return true;
}
