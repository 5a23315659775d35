#include "tokenize/normalize.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "tokenize/unicode.h"

void leat_normalizer_deinit(leat_normalizer *normalizer)
{
    for (size_t i = 0; i < normalizer->count; i++) {
        leat_buffer_deinit(&normalizer->steps[i].from);
        leat_buffer_deinit(&normalizer->steps[i].to);
    }
    leat_free(normalizer->steps);
    *normalizer = (leat_normalizer){0};
}

void leat_normal_scratch_deinit(leat_normal_scratch *scratch)
{
    leat_buffer_deinit(&scratch->texts[0]);
    leat_buffer_deinit(&scratch->texts[1]);
    leat_free(scratch->points);
    *scratch = (leat_normal_scratch){0};
}

static bool is_space(const uint8_t *at)
{
    return leat_category_is_space(leat_category_of(leat_utf8_at(at)));
}

static leat_bytes strip(const leat_normal_step *step, leat_bytes text)
{
    while (step->left && text.size != 0 && is_space(text.data)) {
        size_t size = leat_utf8_size(*text.data);
        text.data += size;
        text.size -= size;
    }
    while (step->right && text.size != 0) {
        const uint8_t *last = leat_utf8_before(text.data + text.size);
        if (!is_space(last)) {
            break;
        }
        text.size = (size_t)(last - text.data);
    }
    return text;
}

static void lowercase(leat_bytes text, leat_buffer *out)
{
    for (size_t at = 0; at < text.size; at += leat_utf8_size(text.data[at])) {
        size_t length;
        uint32_t c = leat_utf8_at(text.data + at);
        const uint32_t *mapped =
            leat_mapping_find(leat_lower_from, leat_lower_to, leat_lower_count, c, &length);
        if (mapped == NULL) {
            mapped = &c;
            length = 1;
        }
        for (size_t i = 0; i < length; i++) {
            uint8_t bytes[4];
            leat_buffer_add(out, bytes, leat_utf8_encode(mapped[i], bytes));
        }
    }
}

static void replace(const leat_normal_step *step, leat_bytes text, leat_buffer *out)
{
    const uint8_t *at = text.data, *end = text.data + text.size;
    while (at != end) {
        const uint8_t *next = memmem(at, (size_t)(end - at), step->from.data, step->from.size);
        if (next == NULL) {
            next = end;
        }
        leat_buffer_add(out, at, (size_t)(next - at));
        at = next;
        if (next != end) {
            leat_buffer_add(out, step->to.data, step->to.size);
            at += step->from.size;
        }
    }
}

static bool changes(const leat_normal_step *step, leat_bytes text)
{
    if (text.size == 0) {
        return false;
    }
    if (step->kind == LEAT_NORMAL_REPLACE) {
        return memmem(text.data, text.size, step->from.data, step->from.size) != NULL;
    }
    return step->kind > LEAT_NORMAL_NFKD || !leat_normal_is(step->kind, text);
}

leat_bytes leat_normalize(const leat_normalizer *normalizer, leat_normal_scratch *scratch,
                          leat_bytes text)
{
    int used = 0;
    for (size_t i = 0; i < normalizer->count; i++) {
        const leat_normal_step *step = &normalizer->steps[i];
        if (step->kind == LEAT_NORMAL_STRIP) {
            text = strip(step, text);
            continue;
        }
        if (!changes(step, text)) {
            continue;
        }
        leat_buffer *out = &scratch->texts[used];
        used = 1 - used;
        leat_buffer_clear(out);
        if (step->kind == LEAT_NORMAL_LOWERCASE) {
            lowercase(text, out);
        } else if (step->kind == LEAT_NORMAL_PREPEND) {
            leat_buffer_add(out, step->to.data, step->to.size);
            leat_buffer_add(out, text.data, text.size);
        } else if (step->kind == LEAT_NORMAL_REPLACE) {
            replace(step, text, out);
        } else {
            leat_normal_form(step->kind, scratch, text, out);
        }
        text = (leat_bytes){out->data, out->size};
    }
    return text;
}
