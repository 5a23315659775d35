/* corpus.h: the documents of a job's datasets by number: where each is, how big, and its text or tokens.
 *
 * Two halves.  A leat_shard_summary says in about 100 bytes what a shard holds; it comes from the shard's side-car index,
 * which leat_shard_index builds or checks (any rank may do it for any shard).  A leat_corpus is opened from the list of
 * all summaries; it opens files as needed, few at a time, and holds nothing per document.
 *
 * A corpus is shared by threads; a leat_corpus_reader is one thread's. */
#ifndef LEAT_IO_CORPUS_H
#define LEAT_IO_CORPUS_H
#include "base/log.h"
#include "io/store/store.h"

/* How records become documents; all of it is in the identity of a side-car. */
typedef struct leat_record_rules {
    const char *
        format; /* jsonl, megatron (.bin with .idx), npy, raw, llmc, datatrove; NULL: from the file's name and magic bytes */
    const char *
        text; /* NULL: "text".  Key or column of the text, "a.b" for a nested one ("a\.b": a dot in a name) */
    uint64_t part_bytes;       /* 0: never cut, else at least 64 */
    uint64_t record_bytes_max; /* at most 2^30, which 0 stands for */
    const char *dtype;         /* raw token files: "uint16", "int32", …; NULL: none given */
    bool
        has_eos_id; /* raw token files: a document ends with this token; else the file is one document */
    uint32_t eos_id;
    bool replace_bad_utf8; /* bad_records: replace */
} leat_record_rules;

typedef struct leat_shard_summary {
    uint64_t file_bytes, modified_ns;
    uint64_t records, documents, bad_records;
    uint64_t text_bytes;       /* decoded UTF-8 of all texts (4 a token for token data) */
    uint8_t content_hash[16];  /* XXH3-128 of the whole file */
    uint64_t first_bad_record; /* record number; meaningful where bad_records > 0 */
    uint64_t first_bad_line;   /* physical line, from 1 */
    uint32_t token_width;      /* 0: text.  Else bytes of a token in the file */
    uint32_t built;            /* 1 where the index was (re)built by this call */
} leat_shard_summary;
enum { LEAT_SHARD_SUMMARY_BYTES = 96 };
void leat_shard_summary_encode(const leat_shard_summary *summary,
                               uint8_t out[LEAT_SHARD_SUMMARY_BYTES]);
void leat_shard_summary_decode(leat_shard_summary *summary,
                               const uint8_t in[LEAT_SHARD_SUMMARY_BYTES]);

typedef struct leat_index_options {
    leat_store *store;
    const char *
        index_folder; /* NULL: beside the data where that is writable, else an error with the remedy */
    bool rebuild;     /* even where it is fresh */
    bool readonly;    /* never build: NOT_FOUND where it is missing or stale */
    const leat_log *log;
    /* May be NULL; called now and then with bytes indexed so far; nonzero return cancels (status PEER). */
    int (*progress)(void *context, uint64_t bytes);
    void *progress_context;
} leat_index_options;

/* Opens and checks the side-car of one shard, builds it where it is missing or stale. */
leat_status leat_shard_index(const char *path, const leat_record_rules *rules,
                             const leat_index_options *options, leat_shard_summary *out,
                             leat_error *error) LEAT_MUST_USE;
/* Why records are bad: "file:line: reason (byte b)" one a line, at most `most` of them. */
leat_status leat_shard_explain_bad(const char *path, const leat_record_rules *rules,
                                   leat_store *store, size_t most, leat_buffer *out,
                                   leat_error *error) LEAT_MUST_USE;

typedef struct leat_corpus leat_corpus;
typedef struct leat_corpus_reader leat_corpus_reader;

typedef struct leat_corpus_dataset {
    const char *name;
    leat_record_rules rules;
    size_t shard_count;
    const char *const *paths;            /* [shard_count] */
    const leat_shard_summary *summaries; /* [shard_count] */
} leat_corpus_dataset;

typedef struct leat_corpus_options {
    leat_store *store;
    const char *index_folder;
    size_t files_max; /* files open at a time, 0: 64 */
} leat_corpus_options;

/* Copies what it needs. */
leat_status leat_corpus_open(leat_corpus **out, const leat_corpus_dataset *datasets, size_t count,
                             const leat_corpus_options *options, leat_error *error) LEAT_MUST_USE;
void leat_corpus_close(leat_corpus *corpus);

/* Where a document is. */
typedef struct leat_place {
    uint32_t shard;         /* in its dataset */
    uint32_t part, parts;   /* part number of its record and how many it has */
    bool bad;               /* a bad record: no text */
    uint64_t document;      /* in its dataset */
    uint64_t record;        /* in its shard, from 0 */
    uint64_t offset, bytes; /* of the record in the file (line without its end) */
    uint64_t text_begin,
        text_end; /* of this part in the record's decoded text (token data: in its tokens) */
    uint64_t
        tokens; /* token data: tokens of the document; text with counts known: see leat_corpus_counts_known */
} leat_place;

leat_corpus_reader *leat_corpus_reader_open(leat_corpus *corpus);
void leat_corpus_reader_close(leat_corpus_reader *reader);
/* Places of documents (any order; runs of consecutive ones are fastest). */
leat_status leat_corpus_places(leat_corpus_reader *reader, uint32_t dataset,
                               const uint64_t *documents, size_t count, leat_place *out,
                               leat_error *error) LEAT_MUST_USE;

typedef struct leat_text {
    const uint8_t *data; /* valid UTF-8 */
    size_t size;
    bool bad; /* a bad record (size 0) */
} leat_text;
/* Decoded texts of documents, views until the next call on the reader.  Places that lie close together in a file are read
 * in one go; sort them by (shard, offset) for the fewest reads.  CORRUPT: the file is not what was indexed. */
leat_status leat_corpus_read_texts(leat_corpus_reader *reader, uint32_t dataset,
                                   const leat_place *places, size_t count, leat_text *out,
                                   leat_error *error) LEAT_MUST_USE;
/* Token data only: tokens [start, start+count) of a document, widened to 32 bits. */
leat_status leat_corpus_read_tokens(leat_corpus_reader *reader, uint32_t dataset,
                                    const leat_place *place, uint64_t start, uint64_t count,
                                    uint32_t *out, leat_error *error) LEAT_MUST_USE;
bool leat_corpus_is_tokens(const leat_corpus *corpus, uint32_t dataset);
uint64_t leat_corpus_bytes_read(const leat_corpus *corpus); /* from data files so far */
#endif
