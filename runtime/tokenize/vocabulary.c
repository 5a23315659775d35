#include "tokenize/vocabulary.h"
#include "base/memory.h"

/* Multiplicative, eight bytes a round: most tokens are one round. */
static uint64_t hash_bytes(leat_bytes token)
{
    uint64_t hash = token.size * 0x9e3779b97f4a7c15u;
    const uint8_t *at = token.data;
    size_t left = token.size;
    while (left != 0) {
        uint64_t word = 0;
        size_t bytes = left < 8 ? left : 8;
        memcpy(&word, at, bytes);
        hash = (hash ^ word) * 0xbf58476d1ce4e5b9u;
        hash ^= hash >> 32;
        at += bytes;
        left -= bytes;
    }
    return hash * 0x94d049bb133111ebu;
}

void leat_vocabulary_deinit(leat_vocabulary *vocabulary)
{
    leat_buffer_deinit(&vocabulary->pool);
    leat_free(vocabulary->spans);
    leat_free(vocabulary->slots);
    *vocabulary = (leat_vocabulary){0};
}

leat_bytes leat_vocabulary_token(const leat_vocabulary *vocabulary, uint32_t id)
{
    if (!leat_vocabulary_has(vocabulary, id)) {
        return (leat_bytes){(const uint8_t *)"", 0};
    }
    leat_token_span span = vocabulary->spans[id];
    return (leat_bytes){vocabulary->pool.data + span.at, span.size};
}

/* The slot that holds `token`, or the free one where it belongs. */
static size_t slot_of(const leat_vocabulary *vocabulary, leat_bytes token, uint64_t hash)
{
    size_t at = (size_t)(hash >> 32) & vocabulary->slot_mask;
    for (;; at = (at + 1) & vocabulary->slot_mask) {
        leat_vocabulary_slot slot = vocabulary->slots[at];
        if (slot.id_and_one == 0) {
            return at;
        }
        if (slot.tag == (uint32_t)hash) {
            leat_bytes other = leat_vocabulary_token(vocabulary, slot.id_and_one - 1);
            if (other.size == token.size &&
                (token.size == 0 || memcmp(other.data, token.data, token.size) == 0)) {
                return at;
            }
        }
    }
}

static void grow(leat_vocabulary *vocabulary)
{
    size_t old_count = vocabulary->slots != NULL ? vocabulary->slot_mask + 1 : 0;
    leat_vocabulary_slot *old = vocabulary->slots;
    size_t count = old_count != 0 ? old_count * 2 : 1024;
    vocabulary->slots = leat_alloc(count, sizeof *vocabulary->slots);
    vocabulary->slot_mask = count - 1;
    for (size_t i = 0; i < old_count; i++) {
        if (old[i].id_and_one != 0) {
            leat_bytes token = leat_vocabulary_token(vocabulary, old[i].id_and_one - 1);
            vocabulary->slots[slot_of(vocabulary, token, hash_bytes(token))] = old[i];
        }
    }
    leat_free(old);
}

bool leat_vocabulary_add(leat_vocabulary *vocabulary, leat_bytes token, uint32_t id)
{
    if (id >= LEAT_TOKEN_IDS_MAX || token.size >= 1u << 23 || leat_vocabulary_has(vocabulary, id)) {
        return false;
    }
    if (2 * (vocabulary->used + 1) > (vocabulary->slots != NULL ? vocabulary->slot_mask + 1 : 0)) {
        grow(vocabulary);
    }
    uint64_t hash = hash_bytes(token);
    size_t slot = slot_of(vocabulary, token, hash);
    if (vocabulary->slots[slot].id_and_one != 0) {
        return false;
    }
    if (id >= vocabulary->id_count) {
        size_t had = vocabulary->id_count;
        LEAT_GROW(vocabulary->spans, vocabulary->id_capacity, (size_t)id + 1);
        memset(vocabulary->spans + had, 0, ((size_t)id + 1 - had) * sizeof *vocabulary->spans);
        vocabulary->id_count = (size_t)id + 1;
    }
    vocabulary->spans[id].at = vocabulary->pool.size & 0xffffffffffu;
    vocabulary->spans[id].size = token.size & 0x7fffffu;
    vocabulary->spans[id].known = 1;
    leat_buffer_add(&vocabulary->pool, token.data, token.size);
    vocabulary->slots[slot] = (leat_vocabulary_slot){(uint32_t)hash, id + 1};
    vocabulary->used++;
    return true;
}

bool leat_vocabulary_find(const leat_vocabulary *vocabulary, leat_bytes token, uint32_t *id)
{
    if (vocabulary->slots == NULL) {
        return false;
    }
    leat_vocabulary_slot slot = vocabulary->slots[slot_of(vocabulary, token, hash_bytes(token))];
    *id = slot.id_and_one - 1;
    return slot.id_and_one != 0;
}
