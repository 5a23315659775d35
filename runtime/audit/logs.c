/* logs.c: where the logs of two runs part. */
#include "audit/audit.h"
#include "base/arith.h"
#include "base/json_out.h"
#include "io/store/store.h"

leat_status leat_audit_log_range(const char *path, uint64_t *first, uint64_t *end,
                                 leat_error *error)
{
    leat_batch_reader *reader = NULL;
    leat_batch_entry entry;
    leat_status status = leat_batch_reader_open(&reader, path, error);
    *first = *end = 0;
    if (status == LEAT_OK) {
        status = leat_batch_reader_next(reader, &entry, error);
        *first = status == LEAT_OK && !entry.end ? entry.step : 0;
    }
    /* The last step, found by doubling and bisection: a log of a million steps is not read through. */
    uint64_t low = *first, step = 1;
    bool past = status != LEAT_OK || entry.end;
    while (!past) {
        status = leat_batch_reader_seek(reader, low + step, error);
        status = status == LEAT_OK ? leat_batch_reader_next(reader, &entry, error) : status;
        if (status != LEAT_OK) {
            break;
        }
        if (!entry.end && entry.step != low + step) {
            LEAT_FAIL(error, LEAT_CORRUPT, "the steps of %s do not ascend by one", path);
            leat_error_found(error, "step %llu", (unsigned long long)entry.step);
            leat_error_wanted(error, "step %llu", (unsigned long long)(low + step));
            status = error->status;
            break;
        }
        if (!entry.end) {
            low += step;
            step *= 2;
            *end = low + 1;
        } else if (step == 1) {
            past = true;
            *end = low + 1;
        } else {
            step = 1;
        }
    }
    leat_batch_reader_close(reader);
    return status;
}

leat_status leat_audit_compare_logs(const char *path_a, const char *path_b,
                                    leat_log_comparison *out, leat_error *error)
{
    uint64_t first_a, end_a, first_b, end_b, rows;
    uint8_t batch[2][32], chain[2][32];
    *out = (leat_log_comparison){0};
    leat_status status = leat_audit_log_range(path_a, &first_a, &end_a, error);
    status = status == LEAT_OK ? leat_audit_log_range(path_b, &first_b, &end_b, error) : status;
    if (status != LEAT_OK) {
        return status;
    }
    out->first = leat_max_u64(first_a, first_b);
    out->end = leat_min_u64(end_a, end_b);
    if (out->first >= out->end) {
        LEAT_FAIL(error, LEAT_INVALID, "the two logs have no step in common");
        leat_error_found(error, "steps %llu to %llu and %llu to %llu", (unsigned long long)first_a,
                         (unsigned long long)end_a, (unsigned long long)first_b,
                         (unsigned long long)end_b);
        return error->status;
    }
    /* The chain differs at `high` (or high is the end) and is equal before `low`. */
    uint64_t low = out->first, high = out->end;
    while (low < high) {
        uint64_t middle = low == out->first && high == out->end ? high - 1 : low + (high - low) / 2;
        status = leat_batch_log_find(path_a, middle, batch[0], chain[0], &rows, error);
        status = status == LEAT_OK
                     ? leat_batch_log_find(path_b, middle, batch[1], chain[1], &rows, error)
                     : status;
        if (status != LEAT_OK) {
            return status;
        }
        out->looked_at++;
        if (memcmp(chain[0], chain[1], 32) == 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    out->different = low;
    return LEAT_OK;
}

leat_status leat_audit_export(const char *log, const char *path, leat_error *error)
{
    leat_batch_reader *reader = NULL;
    leat_batch_entry entry;
    leat_buffer text = {0};
    leat_status status = leat_batch_reader_open(&reader, log, error);
    while (status == LEAT_OK) {
        status = leat_batch_reader_next(reader, &entry, error);
        if (status != LEAT_OK || entry.end) {
            break;
        }
        leat_json_out out = {&text, false};
        leat_json_object(&out);
        leat_json_key_u64(&out, "step", entry.step);
        leat_json_key_hex(&out, "batch", entry.batch, sizeof entry.batch);
        leat_json_key_hex(&out, "chain", entry.chain, sizeof entry.chain);
        leat_json_key_u64(&out, "rows", entry.rows);
        leat_json_key_u64(&out, "tokens", entry.tokens);
        leat_json_key(&out, "by_dataset");
        leat_json_array(&out);
        for (size_t d = 0; d < entry.datasets; d++) {
            leat_json_array(&out);
            leat_json_u64(&out, entry.by_dataset[2 * d]);
            leat_json_u64(&out, entry.by_dataset[2 * d + 1]);
            leat_json_array_end(&out);
        }
        leat_json_array_end(&out);
        leat_json_object_end(&out);
        leat_buffer_add_u8(&text, '\n');
    }
    if (status == LEAT_OK) {
        status = leat_store_posix()->write_whole(leat_store_posix(), path,
                                                 (leat_bytes){text.data, text.size}, error);
    }
    leat_batch_reader_close(reader);
    leat_buffer_deinit(&text);
    return status;
}
