/* slices.c: which rank takes which rows (docs/plan.md, section 8). */
#include "base/arith.h"
#include "base/memory.h"
#include "loader/loader.h"

static uint64_t smallest_batch(const leat_job *job)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < job->batch_size_count; i++) {
        least = leat_min_u64(least, job->batch_sizes[i].rows);
    }
    return least;
}

static leat_status check(const leat_loader *loader, leat_error *error)
{
    const leat_job *job = loader->job;
    uint64_t slices = (uint64_t)loader->slices, least = smallest_batch(job);
    if (loader->slices < 1 || loader->slice < -1 || loader->slice >= loader->slices) {
        return LEAT_FAIL(error, LEAT_INVALID, "dp_rank %d of dp_size %d makes no sense",
                         loader->slice, loader->slices);
    }
    if (slices > least) {
        LEAT_FAIL(error, LEAT_INVALID, "there are more ranks than rows in the smallest batch");
        leat_error_where(error, "%s: batch_size", job->path);
        leat_error_found(error, "%d ranks that take rows", loader->slices);
        leat_error_wanted(error, "any number from 1 to %llu", (unsigned long long)least);
        leat_error_hint(error, "start at most %llu ranks, or raise batch_size",
                        (unsigned long long)least);
        return error->status;
    }
    for (size_t i = 0; loader->options.require_equal_slices && i < job->batch_size_count; i++) {
        if (job->batch_sizes[i].rows % slices != 0) {
            LEAT_FAIL(error, LEAT_INVALID,
                      "the slices of the ranks are not equal, as was required");
            leat_error_found(error, "batch_size %llu on %d ranks",
                             (unsigned long long)job->batch_sizes[i].rows, loader->slices);
            leat_error_wanted(error, "a rank count that divides it");
            return error->status;
        }
    }
    return LEAT_OK;
}

leat_status leat_loader_open_slices(leat_loader *loader, leat_error *error)
{
    bool grouped = loader->options.grouped;
    loader->slice = grouped ? loader->options.dp_rank : loader->wire->rank;
    loader->slices = grouped ? loader->options.dp_size : loader->wire->size;
    leat_status status = leat_agree(loader->wire, check(loader, error), error);
    if (status != LEAT_OK) {
        return status;
    }
    size_t size = (size_t)loader->wire->size;
    uint8_t mine[16], *all = leat_alloc(size, sizeof mine);
    leat_put_u64(mine, (uint64_t)(int64_t)loader->slice);
    leat_put_u64(mine + 8, (uint64_t)loader->slices);
    status = leat_wire_gather_equal(loader->wire, LEAT_CHANNEL_CALL, mine, all, sizeof mine, error);
    loader->slice_owner = leat_alloc((size_t)loader->slices, sizeof *loader->slice_owner);
    loader->rank_slices = leat_alloc(size, sizeof *loader->rank_slices);
    for (int s = 0; s < loader->slices; s++) {
        loader->slice_owner[s] = -1;
    }
    for (size_t r = size; status == LEAT_OK && r-- > 0;) {
        int64_t slice = (int64_t)leat_get_u64(all + r * sizeof mine);
        loader->rank_slices[r] = (int)slice;
        if (leat_get_u64(all + r * sizeof mine + 8) != (uint64_t)loader->slices) {
            status = LEAT_FAIL(error, LEAT_INVALID, "ranks disagree about dp_size: %d here",
                               loader->slices);
        } else if (slice >= 0) {
            loader->slice_owner[slice] = (int)r;
        }
    }
    for (int s = 0; s < loader->slices && status == LEAT_OK; s++) {
        if (loader->slice_owner[s] < 0) {
            status = LEAT_FAIL(error, LEAT_INVALID, "no rank has dp_rank %d of dp_size %d", s,
                               loader->slices);
        }
    }
    leat_free(all);
    return status;
}
