/* format.h: what every corpus format gives: a name, a way to tell its files, and a scan that finds the records of a file.
 * A scan reads the file once from front to end in big blocks, hands every byte of it to the hash, and every record to the sink in
 * the order of the file. */
#ifndef LEAT_IO_FORMAT_H
#define LEAT_IO_FORMAT_H
#include "base/xxh3.h"
#include "io/index/corpus.h"

typedef struct leat_record {
    uint64_t offset, bytes; /* in the file */
    uint64_t line;          /* physical, from 1; 0 where the format has no lines */
    leat_bytes text;        /* decoded; a view for the time of the call */
    uint64_t tokens;        /* token data */
    const char *fault;      /* NULL: good.  Else why the record is bad … */
    uint64_t fault_at;      /* … and at which byte of it */
} leat_record;

/* Where a scan takes from and gives to. */
typedef struct leat_scan {
    leat_file *file;
    const leat_record_rules *rules;
    leat_xxh3 *hash; /* NULL: not wanted */
    leat_status (*record)(void *context, const leat_record *record, leat_error *error);
    int (*progress)(void *context, uint64_t bytes); /* NULL: none.  Bytes so far; nonzero cancels */
    void *record_context, *progress_context;
    uint32_t
        *token_width; /* NULL: not wanted.  Set by scans of token data before the first record */
} leat_scan;

typedef struct leat_corpus_format {
    const char *name;
    uint32_t number; /* in side-cars; never used again for another format */
    /* A second file that belongs to `path` (for leat_free); NULL: the format has none. */
    char *(*companion)(const char *path);
    leat_status (*scan)(const leat_scan *scan, leat_error *error);
} leat_corpus_format;

extern const leat_corpus_format leat_format_jsonl, leat_format_megatron, leat_format_npy,
    leat_format_raw, leat_format_llmc, leat_format_datatrove;

enum { LEAT_LLMC_NARROW = 20240520, LEAT_LLMC_WIDE = 20240801 }; /* how files of llm.c begin */

const leat_corpus_format *leat_format_numbered(uint32_t number); /* NULL: none */

/* The format of a file: the rules' or, where they name none, what its name and first bytes say.  INVALID: none that is known. */
leat_status leat_format_of(const leat_corpus_format **out, leat_file *file,
                           const leat_record_rules *rules, leat_error *error) LEAT_MUST_USE;
/* Calls the scan's progress; LEAT_PEER where that cancels. */
leat_status leat_scan_progress(const leat_scan *scan, uint64_t bytes,
                               leat_error *error) LEAT_MUST_USE;
#endif
