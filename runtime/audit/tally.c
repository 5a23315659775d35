#include "audit/tally.h"
#include "base/arith.h"
#include "base/memory.h"
#include <stdlib.h>

void leat_tally_init(leat_tally *tally, size_t datasets)
{
    *tally =
        (leat_tally){.datasets = datasets, .items = leat_alloc(datasets, sizeof *tally->items)};
}

void leat_tally_deinit(leat_tally *tally)
{
    leat_free(tally->items);
    leat_free(tally->sorted);
    *tally = (leat_tally){0};
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_document(const void *a, const void *b)
{
    const leat_batch_segment *first = a, *second = b;
    int order = compare_u64(first->dataset, second->dataset);
    order = order == 0 ? compare_u64(first->epoch, second->epoch) : order;
    return order == 0 ? compare_u64(first->document, second->document) : order;
}

void leat_tally_take(leat_tally *tally, const leat_batch *batch, uint64_t first, uint64_t end)
{
    memset(tally->items, 0, tally->datasets * sizeof *tally->items);
    tally->tokens = 0;
    if (first >= end) {
        return;
    }
    uint64_t from = first == 0 ? batch->segment_first : batch->row_segments[first - 1];
    size_t count = (size_t)(batch->row_segments[end - 1] - from);
    if (count == 0) {
        return;
    }
    LEAT_GROW(tally->sorted, tally->capacity, count);
    memcpy(tally->sorted, batch->segments + from, count * sizeof *tally->sorted);
    qsort(tally->sorted, count, sizeof *tally->sorted, by_document);
    for (size_t i = 0; i < count; i++) {
        const leat_batch_segment *segment = &tally->sorted[i];
        leat_tally_dataset *item = &tally->items[segment->dataset];
        tally->tokens += segment->length;
        item->tokens += segment->length;
        if (i == 0 || by_document(segment, segment - 1) != 0) {
            item->epoch_first = item->documents == 0 ? segment->epoch : item->epoch_first;
            item->epoch_last = segment->epoch;
            item->documents++;
        }
    }
}

void leat_tally_add(leat_tally *to, const leat_tally *from)
{
    to->tokens += from->tokens;
    for (size_t d = 0; d < to->datasets; d++) {
        to->items[d].tokens += from->items[d].tokens;
    }
}
