/* Cursor bytes against a small plan. */
#include "fuzz/fuzz.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "plan/cursor.h"
#include "plan/work_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t ends[] = {9};
    static const leat_plan_batch_size batch = {0, 4};
    leat_plan_dataset dataset = {
        .name = "d", .weight = 1, .documents = 9, .unit = LEAT_UNIT_BLOCK, .block = 2, .buffer = 4};
    dataset.piece_window = 4;
    dataset.window_tokens = 64;
    dataset.shards = 1;
    dataset.shard_ends = ends;
    leat_plan_spec spec = {.seed = 1,
                           .row_tokens = 8,
                           .piece = 8,
                           .pack_window = 4,
                           .dataset_count = 1,
                           .batch_size_count = 1};
    spec.packing = size % 2 == 0 ? LEAT_PACKING_CONCAT : LEAT_PACKING_BEST_FIT;
    spec.datasets = &dataset;
    spec.batch_sizes = &batch;
    /* Sealed again, so that more than the checksum is tried. */
    uint8_t *sealed = leat_alloc(size + 1, 1), digest[LEAT_SHA256_BYTES];
    memcpy(sealed, data, size);
    if (size > 8 && data[size - 1] % 8 != 0) {
        leat_sha256_of(sealed, size - 8, digest);
        memcpy(sealed + size - 8, digest, 8);
    }
    leat_work_source *source = NULL;
    leat_error error;
    leat_cursor_info info;
    leat_step_plan plan = {0};
    if (leat_cursor_inspect((leat_bytes){sealed, size}, &info, &error) == LEAT_OK &&
        leat_work_source_open(&source, &spec, (leat_bytes){sealed, size}, &error) == LEAT_OK) {
        for (int i = 0; i < 50; i++) {
            leat_plan_need need;
            leat_plan_event event = leat_work_source_next(source, &plan, &need);
            if (event == LEAT_PLAN_NEED) {
                uint64_t count = 5;
                leat_work_source_feed(source, 0, leat_work_source_fed(source, 0), &count, 1);
            } else if (event != LEAT_PLAN_STEP) {
                break;
            }
        }
    }
    leat_step_plan_deinit(&plan);
    leat_work_source_close(source);
    leat_free(sealed);
    return 0;
}
