/* A batch log: read through, and searched. */
#include "fuzz/fuzz.h"
#include "audit/audit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    leat_error error;
    leat_batch_reader *reader = NULL;
    leat_batch_entry entry;
    uint8_t batch[32], chain[32];
    uint64_t rows, first, end;
    const char *path = fuzz_file("batches.jsonl", data, size);
    if (leat_batch_reader_open(&reader, path, &error) == LEAT_OK) {
        while (leat_batch_reader_next(reader, &entry, &error) == LEAT_OK && !entry.end) {
        }
    }
    leat_batch_reader_close(reader);
    if (leat_batch_log_find(path, size % 7, batch, chain, &rows, &error) == LEAT_OK &&
        leat_audit_log_range(path, &first, &end, &error) == LEAT_OK) {
        return 0;
    }
    return 0;
}
