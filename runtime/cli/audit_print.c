#include "cli/audit_print.h"
#include "base/memory.h"
#include "collectives/wire.h"

leat_status leat_cli_segment_json(leat_loader *loader, const leat_batch_segment *segment,
                                  leat_json_out *out, leat_error *error)
{
    leat_audit_document document;
    leat_status status = leat_audit_document_of(loader, segment, &document, error);
    if (status != LEAT_OK) {
        return status;
    }
    leat_json_key_text(out, "dataset", document.dataset);
    leat_json_key_text(out, "file", document.file);
    leat_json_key_u64(out, "record", document.record);
    leat_json_key_u64(out, "document", document.document);
    leat_json_key_u64(out, "part", document.part);
    leat_json_key_u64(out, "parts", document.parts);
    leat_json_key_u64(out, "byte_begin", document.line_offset);
    leat_json_key_u64(out, "byte_end", document.line_offset + document.line_bytes);
    leat_json_key_u64(out, "text_begin", document.text_begin);
    leat_json_key_u64(out, "text_end", document.text_end);
    leat_json_key_u64(out, "epoch", segment->epoch);
    leat_json_key_u64(out, "token_begin", segment->start);
    leat_json_key_u64(out, "token_end", segment->start + segment->length);
    leat_json_key_u64(out, "row_begin", segment->row_start);
    leat_json_key_u64(out, "row_end", segment->row_start + segment->length);
    return LEAT_OK;
}

leat_status leat_cli_segment_line(leat_loader *loader, const leat_batch_segment *segment, FILE *to,
                                  leat_error *error)
{
    leat_audit_document document;
    leat_status status = leat_audit_document_of(loader, segment, &document, error);
    if (status != LEAT_OK) {
        return status;
    }
    fprintf(to, "%s: %s record %llu", document.dataset, document.file,
            (unsigned long long)document.record);
    if (document.parts > 1) {
        fprintf(to, " part %u of %u", document.part + 1, document.parts);
    }
    fprintf(to, " (bytes %llu to %llu), epoch %llu, tokens %llu to %llu, at %u in the row\n",
            (unsigned long long)document.line_offset,
            (unsigned long long)(document.line_offset + document.line_bytes),
            (unsigned long long)segment->epoch, (unsigned long long)segment->start,
            (unsigned long long)(segment->start + segment->length), segment->row_start);
    return LEAT_OK;
}

/* Digests are known a window behind delivery, so they are compared when the loader has them. */
static leat_status compare_until(leat_cli *cli, leat_loader *loader, leat_batch_reader *reader,
                                 uint64_t *at, uint64_t until, uint64_t *different)
{
    leat_batch_entry entry;
    uint8_t batch[32], chain[32];
    while (*at<until && * different> * at) {
        leat_error not_yet;
        if (leat_loader_digest(loader, *at, batch, chain, &not_yet) != LEAT_OK) {
            return LEAT_OK;
        }
        leat_status status = leat_batch_reader_next(reader, &entry, &cli->error);
        if (status != LEAT_OK) {
            return status;
        }
        if (entry.end || entry.step != *at || memcmp(entry.batch, batch, 32) != 0) {
            *different = *at;
        }
        (*at)++;
    }
    return LEAT_OK;
}

leat_status leat_cli_replay_log(leat_cli *cli, leat_loader *loader, const char *log, uint64_t first,
                                uint64_t end, uint64_t *different)
{
    leat_batch_reader *reader = NULL;
    leat_batch batch;
    uint64_t at = first;
    *different = end;
    leat_status status = leat_batch_reader_open(&reader, log, &cli->error);
    status = status == LEAT_OK ? leat_batch_reader_seek(reader, first, &cli->error) : status;
    while (status == LEAT_OK &&
           (status = leat_loader_next(loader, &batch, &cli->error)) == LEAT_OK && !batch.end) {
        leat_loader_done(loader, &batch);
        leat_cli_progress(cli, "step %llu of %llu", (unsigned long long)batch.step + 1,
                          (unsigned long long)end);
        status = compare_until(cli, loader, reader, &at, batch.step + 1, different);
    }
    leat_cli_progress(cli, NULL);
    if (status == LEAT_OK) {
        status = leat_loader_settle(loader, &cli->error);
    }
    status = status == LEAT_OK ? compare_until(cli, loader, reader, &at, end, different) : status;
    if (status == LEAT_OK && at < *different) {
        *different = at; /* the plan ended before the log did */
    }
    leat_batch_reader_close(reader);
    return status;
}

leat_status leat_cli_check_logged(leat_cli *cli, const char *command, const char *folder,
                                  uint64_t first, uint64_t end)
{
    uint64_t log_first = 0, log_end = 0;
    char *log = leat_format("%s/batches.jsonl", folder);
    leat_status status = leat_audit_log_range(log, &log_first, &log_end, &cli->error);
    if (status == LEAT_OK && (first < log_first || end > log_end)) {
        LEAT_FAIL(&cli->error, LEAT_INVALID, "leat %s: these steps are not all in the log",
                  command);
        leat_error_where(&cli->error, "%s", log);
        leat_error_found(&cli->error, "steps %llu..%llu", (unsigned long long)first,
                         (unsigned long long)end);
        leat_error_wanted(&cli->error, "steps within %llu..%llu", (unsigned long long)log_first,
                          (unsigned long long)log_end);
        status = cli->error.status;
    }
    leat_free(log);
    return status;
}
