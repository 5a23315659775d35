/* jsonl.h: JSON lines.  A record is a line that is not blank (blank: only space, tab and CR).  Lines end in LF or CR LF; the
 * last line needs no end.  A byte order mark at the start of the file is skipped.  A leat_jsonl decodes single records. */
#ifndef LEAT_IO_JSONL_H
#define LEAT_IO_JSONL_H
#include "io/index/corpus.h"

typedef struct leat_jsonl leat_jsonl;

enum { LEAT_JSONL_PADDING = 64 }; /* readable bytes that the caller has behind a record */

leat_status leat_jsonl_open(leat_jsonl **out, const leat_record_rules *rules,
                            leat_error *error) LEAT_MUST_USE;
void leat_jsonl_close(leat_jsonl *jsonl);
/* true: *text is the text, a view until the next call or until `data` goes.  false: bad, see leat_jsonl_fault. */
bool leat_jsonl_decode(leat_jsonl *jsonl, const uint8_t *data, size_t size, leat_bytes *text);
const char *leat_jsonl_fault(const leat_jsonl *jsonl, size_t *at);
#endif
