#include "plan/spec.h"
#include "base/arith.h"
#include <inttypes.h>

__extension__ typedef unsigned __int128 wide;

/* Documents, and stream positions where there is no limit, stay below this, so that sums of them cannot wrap. */
static const uint64_t most = (uint64_t)1 << 62;

/* A setting out of its range: names it, and the dataset where it is one of a dataset. */
static leat_status out_of_range(leat_error *error, const char *dataset, const char *setting,
                                uint64_t found, const char *wanted)
{
    LEAT_FAIL(error, LEAT_INVALID, "the plan cannot be made: %s is out of range", setting);
    if (dataset != NULL) {
        leat_error_where(error, "dataset %s: %s", dataset, setting);
    } else {
        leat_error_where(error, "%s", setting);
    }
    leat_error_found(error, "%" PRIu64, found);
    leat_error_wanted(error, "%s", wanted);
    return error->status;
}

static leat_status check_weights(const leat_plan_spec *spec, const uint64_t *weights,
                                 uint64_t stage, leat_error *error)
{
    wide sum = 0;
    for (uint64_t d = 0; d < spec->dataset_count; d++) {
        sum += weights != NULL ? weights[d] : spec->datasets[d].weight;
    }
    if (weights != NULL && sum == 0) {
        LEAT_FAIL(error, LEAT_INVALID, "mixture stage %" PRIu64 " has no weight above 0", stage);
        leat_error_where(error, "mixture_stages");
        leat_error_wanted(error, "at least one dataset with a weight above 0");
        return error->status;
    }
    /* sum < 2^61 is looked at first: then the product fits in 128 bits */
    if (sum >> 61 != 0 || sum * spec->piece * spec->dataset_count >> 61 != 0) {
        LEAT_FAIL(error, LEAT_INVALID, "the weights are too large for exact mixing");
        if (weights != NULL) {
            leat_error_where(error, "mixture_stages, stage %" PRIu64, stage);
        } else {
            leat_error_where(error, "weights of the datasets");
        }
        leat_error_found(
            error,
            "sum of the integer weights %" PRIu64 ", piece %" PRIu64 ", %" PRIu64 " datasets",
            sum >> 64 != 0 ? UINT64_MAX : (uint64_t)sum, spec->piece, spec->dataset_count);
        leat_error_wanted(error, "a product of the three below 2^61");
        leat_error_hint(error, "give the weights with fewer decimals, or a smaller piece");
        return error->status;
    }
    return LEAT_OK;
}

static leat_status check_shards(const leat_plan_dataset *dataset, leat_error *error)
{
    uint64_t end = 0;
    for (uint64_t s = 0; s < dataset->shards; s++) {
        if (dataset->shard_ends[s] < end) {
            return out_of_range(error, dataset->name, "shard ends", dataset->shard_ends[s],
                                "shards in ascending order");
        }
        end = dataset->shard_ends[s];
    }
    if (end != dataset->documents) {
        return out_of_range(error, dataset->name, "shard ends", end,
                            "the number of documents in the last one");
    }
    return LEAT_OK;
}

static leat_status check_dataset(const leat_plan_dataset *dataset, leat_error *error)
{
    uint64_t end;
    if (dataset->documents >= most) {
        return out_of_range(error, dataset->name, "documents", dataset->documents, "below 2^62");
    }
    if (!leat_mul_u64(dataset->documents, dataset->epochs, &end) || end >= most) {
        return out_of_range(error, dataset->name, "epochs", dataset->epochs,
                            "documents times epochs below 2^62");
    }
    if (dataset->holdout_millionths > 1000000) {
        return out_of_range(error, dataset->name, "holdout", dataset->holdout_millionths,
                            "0 to 1000000 millionths");
    }
    if (dataset->block == 0 && dataset->unit == LEAT_UNIT_BLOCK) {
        return out_of_range(error, dataset->name, "block", 0, "at least 1");
    }
    if (dataset->piece_window == 0) {
        return out_of_range(error, dataset->name, "piece_window", 0, "at least 1");
    }
    if (dataset->window_tokens == 0) {
        return out_of_range(error, dataset->name, "window_tokens", 0, "at least 1");
    }
    if (dataset->buffer > 1 && leat_div_ceil(dataset->documents, dataset->buffer) >> 32 != 0) {
        return out_of_range(error, dataset->name, "buffer", dataset->buffer,
                            "fewer than 2^32 buffers in an epoch");
    }
    return dataset->unit == LEAT_UNIT_SHARD ? check_shards(dataset, error) : LEAT_OK;
}

static leat_status check_sizes(const leat_plan_spec *spec, leat_error *error)
{
    if (spec->row_tokens == 0 || spec->row_tokens > UINT32_MAX) {
        return out_of_range(error, NULL, "row tokens (sequence_length + 1)", spec->row_tokens,
                            "1 to 2^32 - 1");
    }
    if (spec->piece == 0 || spec->piece > (1u << 21)) {
        return out_of_range(error, NULL, "piece", spec->piece, "1 to 2^21");
    }
    if (spec->packing != LEAT_PACKING_CONCAT && spec->piece > spec->row_tokens) {
        return out_of_range(error, NULL, "piece", spec->piece,
                            "at most sequence_length + 1 with this packing");
    }
    if (spec->packing == LEAT_PACKING_BEST_FIT &&
        (spec->pack_window == 0 || spec->pack_window >> 31 != 0 ||
         (spec->pack_window + 1) * spec->row_tokens >> 31 != 0)) {
        return out_of_range(error, NULL, "pack_window", spec->pack_window,
                            "at least 1, and (pack_window + 1) times (sequence_length + 1) "
                            "below 2^31");
    }
    if (spec->dataset_count == 0 || spec->dataset_count > 1u << 30) {
        return out_of_range(error, NULL, "datasets", spec->dataset_count, "1 to 2^30 datasets");
    }
    if (spec->batch_size_count == 0 || spec->batch_sizes[0].from_step != 0) {
        return out_of_range(error, NULL, "batch_size", spec->batch_size_count,
                            "a batch size from step 0 on");
    }
    for (uint64_t i = 0; i < spec->batch_size_count; i++) {
        if (spec->batch_sizes[i].rows == 0 || spec->batch_sizes[i].rows > UINT32_MAX) {
            return out_of_range(error, NULL, "batch_size", spec->batch_sizes[i].rows,
                                "1 to 2^32 - 1");
        }
        if (i > 0 && spec->batch_sizes[i].from_step <= spec->batch_sizes[i - 1].from_step) {
            return out_of_range(error, NULL, "batch_size, from_step",
                                spec->batch_sizes[i].from_step, "steps in ascending order");
        }
    }
    return LEAT_OK;
}

leat_status leat_plan_spec_check(const leat_plan_spec *spec, leat_error *error)
{
    leat_status status = check_sizes(spec, error);
    for (uint64_t d = 0; status == LEAT_OK && d < spec->dataset_count; d++) {
        status = check_dataset(&spec->datasets[d], error);
    }
    if (status == LEAT_OK) {
        status = check_weights(spec, NULL, 0, error);
    }
    for (uint64_t i = 0; status == LEAT_OK && i < spec->stage_count; i++) {
        if (i > 0 && spec->stages[i].from_row <= spec->stages[i - 1].from_row) {
            return out_of_range(error, NULL, "mixture_stages, from_row", spec->stages[i].from_row,
                                "rows in strictly ascending order");
        }
        status = check_weights(spec, spec->stages[i].weights, i, error);
    }
    return status;
}

uint64_t leat_plan_stream_end(const leat_plan_dataset *dataset)
{
    if (dataset->documents == 0) {
        return 0;
    }
    return dataset->epochs > 0 ? dataset->documents * dataset->epochs : UINT64_MAX;
}

uint64_t leat_plan_step_rows(const leat_plan_batch_size *sizes, uint64_t count, uint64_t step)
{
    uint64_t low = 0, high = count;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (sizes[middle].from_step <= step) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return sizes[low].rows;
}

uint64_t leat_plan_step_first_row(const leat_plan_batch_size *sizes, uint64_t count, uint64_t step)
{
    uint64_t first_row = 0;
    for (uint64_t i = 0; i < count && sizes[i].from_step < step; i++) {
        uint64_t end = i + 1 < count ? leat_min_u64(sizes[i + 1].from_step, step) : step, rows;
        if (!leat_mul_u64(end - sizes[i].from_step, sizes[i].rows, &rows) ||
            !leat_add_u64(first_row, rows, &first_row)) {
            return UINT64_MAX; /* beyond any plan */
        }
    }
    return first_row;
}

void leat_plan_slice(uint64_t rows, uint64_t rank, uint64_t ranks, uint64_t *first, uint64_t *end)
{
    *first = leat_mul_div_u64(rank, rows, ranks);
    *end = leat_mul_div_u64(rank + 1, rows, ranks);
}
