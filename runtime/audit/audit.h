/* audit.h: questions about a run: what was in a batch, are two runs equal, does a log hold.  All of it reads; nothing here
 * changes a run folder. */
#ifndef LEAT_AUDIT_AUDIT_H
#define LEAT_AUDIT_AUDIT_H
#include "digest/batch_log.h"
#include "leat.h"

/* Opens a loader on the job of a run folder (from its manifest), to compute steps [step, end) again.  COLLECTIVE. */
leat_status leat_audit_open(leat_loader **out, leat_wire *wire, const char *run_folder,
                            uint64_t step, uint64_t end, const leat_options *options,
                            leat_error *error) LEAT_MUST_USE;

/* Why two runs differ, from their manifests: MISMATCH naming the first different setting or file with both values; OK where the
 * manifests say nothing. */
leat_status leat_audit_cause(const char *run_a, const char *run_b, leat_error *error);
/* Writes a log for others: whole lines, checked, in a new file. */
leat_status leat_audit_export(const char *log, const char *path, leat_error *error) LEAT_MUST_USE;

/* Where the logs of two runs part. */
typedef struct leat_log_comparison {
    uint64_t first, end; /* common steps: first ≤ s < end */
    uint64_t different;  /* the first step with another batch; end where all are equal */
    uint64_t looked_at;  /* lines read */
} leat_log_comparison;

/* Compares chains by bisection: equal chains say that everything before was equal.  INVALID: no step in common. */
leat_status leat_audit_compare_logs(const char *path_a, const char *path_b,
                                    leat_log_comparison *out, leat_error *error) LEAT_MUST_USE;
/* First and end step of a log. */
leat_status leat_audit_log_range(const char *path, uint64_t *first, uint64_t *end,
                                 leat_error *error) LEAT_MUST_USE;

/* The document behind a segment of a batch. */
typedef struct leat_audit_document {
    const char *dataset, *file; /* views into the loader */
    uint64_t record, line_offset, line_bytes, document;
    uint32_t part, parts;
    uint64_t text_begin, text_end; /* of the part in the record's text */
    uint64_t tokens;
} leat_audit_document;
leat_status leat_audit_document_of(leat_loader *loader, const leat_batch_segment *segment,
                                   leat_audit_document *out, leat_error *error) LEAT_MUST_USE;
/* The text of the document, a view until the next call; empty for token data. */
leat_status leat_audit_text_of(leat_loader *loader, const leat_batch_segment *segment,
                               leat_bytes *out, leat_error *error) LEAT_MUST_USE;
/* Bytes [*begin, *end) of the document's text that token `token` of the document stands for; false where the tokenizer does not
 * keep the text's bytes (normalizers), or the token is bos or eos. */
bool leat_audit_token_bytes(leat_loader *loader, const leat_batch_segment *segment, uint64_t token,
                            uint64_t *begin, uint64_t *end);
#endif
