#include "plan/order.h"
#include "base/arith.h"
#include "base/memory.h"
#include <string.h>

enum {
    REMEMBERED_BLOCKS = 256
}; /* power of two; a buffer of 16384 documents has 64 blocks of 256 */

struct leat_order {
    uint64_t seed, documents;
    const leat_plan_dataset *dataset;
    uint64_t epoch; /* that `unit` belongs to; UINT64_MAX none yet */
    leat_permutation unit;
    uint64_t buffer_epoch, buffer_number; /* that `buffer` belongs to */
    leat_permutation buffer;
    /* unit block: B, F, m, T and the place of the short block among the T blocks (docs/plan.md, section 3) */
    uint64_t block, full_blocks, short_size, blocks, short_place;
    uint64_t block_places[REMEMBERED_BLOCKS], block_numbers[REMEMBERED_BLOCKS];
    /* unit shard: documents in the first j + 1 shards of the epoch's order, and the shards in that order */
    uint64_t *laid_ends, *laid_shards;
    bool has_holdout;
    leat_permutation holdout;
    uint64_t holdout_below;
};

leat_order *leat_order_open(uint64_t seed, const leat_plan_dataset *dataset)
{
    LEAT_ASSERT(dataset->documents >= 1);
    leat_order *order = leat_alloc(1, sizeof *order);
    order->seed = seed;
    order->dataset = dataset;
    order->documents = dataset->documents;
    order->epoch = order->buffer_epoch = UINT64_MAX;
    if (dataset->unit == LEAT_UNIT_BLOCK) {
        order->block =
            leat_min_u64(dataset->block, leat_max_u64(1, leat_div_floor(order->documents, 64)));
        order->full_blocks = order->documents / order->block;
        order->short_size = order->documents % order->block;
        order->blocks = order->full_blocks + (order->short_size > 0);
    } else if (dataset->unit == LEAT_UNIT_SHARD) {
        order->laid_ends = leat_alloc(dataset->shards, sizeof *order->laid_ends);
        order->laid_shards = leat_alloc(dataset->shards, sizeof *order->laid_shards);
    }
    return order;
}

void leat_order_close(leat_order *order)
{
    if (order != NULL) {
        leat_free(order->laid_ends);
        leat_free(order->laid_shards);
        leat_free(order);
    }
}

static uint64_t shard_first(const leat_order *order, uint64_t shard)
{
    return shard > 0 ? order->dataset->shard_ends[shard - 1] : 0;
}

static void lay_shards(leat_order *order)
{
    uint64_t end = 0;
    for (uint64_t j = 0; j < order->dataset->shards; j++) {
        uint64_t shard = leat_permutation_at(&order->unit, j);
        end += order->dataset->shard_ends[shard] - shard_first(order, shard);
        order->laid_shards[j] = shard;
        order->laid_ends[j] = end;
    }
}

static void use_epoch(leat_order *order, uint64_t epoch)
{
    if (order->epoch == epoch) {
        return;
    }
    order->epoch = epoch;
    if (order->dataset->unit == LEAT_UNIT_NONE) {
        return;
    }
    uint64_t key = leat_plan_key(order->seed, "unit", order->dataset->name, epoch);
    switch (order->dataset->unit) {
    case LEAT_UNIT_NONE:
        break;
    case LEAT_UNIT_DOCUMENT:
        leat_permutation_init(&order->unit, key, order->documents);
        break;
    case LEAT_UNIT_BLOCK:
        leat_permutation_init(&order->unit, key, order->blocks);
        order->short_place = order->short_size > 0
                                 ? leat_permutation_inverse(&order->unit, order->full_blocks)
                                 : order->blocks;
        memset(order->block_places, 0xff, sizeof order->block_places);
        break;
    case LEAT_UNIT_SHARD:
        leat_permutation_init(&order->unit, key, order->dataset->shards);
        lay_shards(order);
        break;
    }
}

/* Sets order->buffer for buffer `number` of the epoch. */
static void use_buffer(leat_order *order, uint64_t epoch, uint64_t number)
{
    if (order->buffer_epoch == epoch && order->buffer_number == number) {
        return;
    }
    uint64_t first = number * order->dataset->buffer;
    uint64_t size = leat_min_u64(order->dataset->buffer, order->documents - first);
    order->buffer_epoch = epoch;
    order->buffer_number = number;
    leat_permutation_init(
        &order->buffer,
        leat_plan_key(order->seed, "buffer", order->dataset->name, (epoch << 32) + number), size);
}

static uint64_t block_at(leat_order *order, uint64_t place)
{
    size_t slot = place % REMEMBERED_BLOCKS;
    if (order->block_places[slot] != place) {
        order->block_places[slot] = place;
        order->block_numbers[slot] = leat_permutation_at(&order->unit, place);
    }
    return order->block_numbers[slot];
}

static uint64_t block_document(leat_order *order, uint64_t p)
{
    uint64_t before = order->short_place * order->block; /* documents before the short block */
    if (order->short_size == 0 || p < before) {
        return block_at(order, p / order->block) * order->block + p % order->block;
    }
    if (p < before + order->short_size) {
        return order->full_blocks * order->block + (p - before);
    }
    uint64_t q = p - before - order->short_size;
    return block_at(order, order->short_place + 1 + q / order->block) * order->block +
           q % order->block;
}

/* Index of the first item of the ascending `ends` that is above x; there is one. */
static uint64_t first_above(const uint64_t *ends, uint64_t count, uint64_t x)
{
    uint64_t low = 0, high = count - 1;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (ends[middle] > x) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static uint64_t shard_document(const leat_order *order, uint64_t p)
{
    uint64_t j = first_above(order->laid_ends, order->dataset->shards, p);
    return shard_first(order, order->laid_shards[j]) + (p - (j > 0 ? order->laid_ends[j - 1] : 0));
}

void leat_order_documents(leat_order *order, uint64_t position, uint64_t *documents, size_t count)
{
    const uint64_t buffer = order->dataset->buffer;
    while (count > 0) {
        uint64_t epoch = position / order->documents, place = position % order->documents;
        uint64_t run = leat_min_u64(count, order->documents - place), first = place, base = 0;
        use_epoch(order, epoch);
        if (buffer > 1) {
            use_buffer(order, epoch, place / buffer);
            base = place / buffer * buffer;
            first = place - base;
            run = leat_min_u64(run, order->buffer.n - first);
        }
        for (uint64_t i = 0; i < run; i++) {
            documents[i] = first + i;
        }
        if (buffer > 1) {
            leat_permutation_apply(&order->buffer, documents, run);
        }
        if (order->dataset->unit == LEAT_UNIT_BLOCK) {
            for (uint64_t i = 0; i < run; i++) {
                documents[i] = block_document(order, base + documents[i]);
            }
        } else if (order->dataset->unit == LEAT_UNIT_SHARD) {
            for (uint64_t i = 0; i < run; i++) {
                documents[i] = shard_document(order, base + documents[i]);
            }
        } else {
            for (uint64_t i = 0; i < run; i++) {
                documents[i] += base;
            }
            if (order->dataset->unit == LEAT_UNIT_DOCUMENT) {
                leat_permutation_apply(&order->unit, documents, run);
            }
        }
        documents += run;
        position += run;
        count -= run;
    }
}

uint64_t leat_order_document(leat_order *order, uint64_t position)
{
    uint64_t document;
    leat_order_documents(order, position, &document, 1);
    return document;
}

static uint64_t block_place(const leat_order *order, uint64_t document)
{
    uint64_t number = document / order->block;
    uint64_t place = leat_permutation_inverse(&order->unit, number);
    uint64_t first = place * order->block; /* were all blocks before it full */
    if (order->short_size > 0 && place > order->short_place) {
        first -= order->block - order->short_size;
    }
    return first + document % order->block;
}

uint64_t leat_order_place(leat_order *order, uint64_t epoch, uint64_t document)
{
    uint64_t place = document, buffer = order->dataset->buffer;
    use_epoch(order, epoch);
    switch (order->dataset->unit) {
    case LEAT_UNIT_NONE:
        break;
    case LEAT_UNIT_DOCUMENT:
        place = leat_permutation_inverse(&order->unit, document);
        break;
    case LEAT_UNIT_BLOCK:
        place = block_place(order, document);
        break;
    case LEAT_UNIT_SHARD: {
        uint64_t shard = first_above(order->dataset->shard_ends, order->dataset->shards, document);
        uint64_t j = leat_permutation_inverse(&order->unit, shard);
        place = (j > 0 ? order->laid_ends[j - 1] : 0) + (document - shard_first(order, shard));
        break;
    }
    }
    if (buffer > 1) {
        use_buffer(order, epoch, place / buffer);
        place = place / buffer * buffer + leat_permutation_inverse(&order->buffer, place % buffer);
    }
    return place;
}

bool leat_order_set_apart(leat_order *order, uint64_t document)
{
    const leat_plan_dataset *dataset = order->dataset;
    if (dataset->holdout_millionths == 0) {
        return dataset->use_holdout;
    }
    if (!order->has_holdout) {
        order->has_holdout = true;
        order->holdout_below =
            leat_mul_div_u64(order->documents, dataset->holdout_millionths, 1000000);
        leat_permutation_init(&order->holdout,
                              leat_plan_key(order->seed, "holdout", dataset->name, 0),
                              order->documents);
    }
    bool held_out = leat_permutation_at(&order->holdout, document) < order->holdout_below;
    return held_out != dataset->use_holdout;
}
