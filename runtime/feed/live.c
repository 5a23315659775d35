#include "feed/live.h"
#include "base/memory.h"

void leat_live_init(leat_live *live, size_t datasets, uint64_t token_bytes_max)
{
    *live = (leat_live){0};
    live->datasets = leat_alloc(datasets, sizeof *live->datasets);
    live->dataset_count = datasets;
    live->token_bytes_max = token_bytes_max;
}

static uint64_t block_bytes(const leat_token_block *block)
{
    return block->tokens.capacity * sizeof *block->tokens.ids;
}

static void block_free(leat_live *live, leat_token_block *block)
{
    live->token_bytes -= block_bytes(block);
    block->tokens.count = 0;
    block->next = live->free_blocks;
    live->free_blocks = block;
}

static void let_go(leat_live *live, leat_live_document *document)
{
    if (document->block != NULL && --document->block->users == 0) {
        block_free(live, document->block);
    }
    document->block = NULL;
    document->tokens = NULL;
}

void leat_live_deinit(leat_live *live)
{
    for (size_t d = 0; d < live->dataset_count; d++) {
        leat_live_release(live, (uint32_t)d, live->datasets[d].end);
        leat_free(live->datasets[d].items);
    }
    while (live->free_blocks != NULL) {
        leat_token_block *block = live->free_blocks;
        live->free_blocks = block->next;
        leat_tokens_deinit(&block->tokens);
        leat_free(block);
    }
    leat_free(live->datasets);
    *live = (leat_live){0};
}

static void grow(leat_live_dataset *dataset)
{
    size_t capacity = dataset->capacity != 0 ? dataset->capacity * 2 : 64;
    leat_live_document *items = leat_alloc(capacity, sizeof *items);
    for (uint64_t p = dataset->begin; p < dataset->end; p++) {
        items[p & (capacity - 1)] = dataset->items[p & (dataset->capacity - 1)];
    }
    leat_free(dataset->items);
    dataset->items = items;
    dataset->capacity = capacity;
}

leat_live_document *leat_live_append(leat_live *live, uint32_t dataset, uint64_t document,
                                     uint32_t owner)
{
    leat_live_dataset *in = &live->datasets[dataset];
    if (in->end - in->begin == in->capacity) {
        grow(in);
    }
    leat_live_document *at = &in->items[in->end++ & (in->capacity - 1)];
    *at = (leat_live_document){.document = document, .owner = owner};
    return at;
}

leat_live_document *leat_live_at(const leat_live *live, uint32_t dataset, uint64_t position)
{
    const leat_live_dataset *in = &live->datasets[dataset];
    LEAT_ASSERT(position >= in->begin && position < in->end);
    return &in->items[position & (in->capacity - 1)];
}

void leat_live_release(leat_live *live, uint32_t dataset, uint64_t low)
{
    leat_live_dataset *in = &live->datasets[dataset];
    for (; in->begin < low && in->begin < in->end; in->begin++) {
        let_go(live, &in->items[in->begin & (in->capacity - 1)]);
    }
}

leat_token_block *leat_live_block(leat_live *live)
{
    leat_token_block *block = live->free_blocks;
    if (block == NULL) {
        return leat_alloc(1, sizeof *block);
    }
    live->free_blocks = block->next;
    block->next = NULL;
    return block;
}

void leat_live_keep(leat_live *live, leat_live_document *document, leat_token_block *block,
                    size_t start)
{
    let_go(live, document);
    document->tokens = block->tokens.ids + start;
    document->block = block;
    block->users++;
}

void leat_live_block_filled(leat_live *live, leat_token_block *block)
{
    live->token_bytes += block_bytes(block);
    if (block->users == 0) {
        block_free(live, block);
    }
}
