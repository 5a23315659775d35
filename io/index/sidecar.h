/* sidecar.h: the layout of a shard's side-car index (documented in sidecar.c): encoding and checking, no input or output. */
#ifndef LEAT_IO_SIDECAR_H
#define LEAT_IO_SIDECAR_H
#include "io/index/corpus.h"

enum {
    LEAT_SIDECAR_BLOCK = 4096, /* the header is one block too */
    LEAT_SIDECAR_ENTRIES = 255,
    LEAT_SIDECAR_PARTS = 85,
    LEAT_SIDECAR_WINDOW =
        65536 /* bytes hashed at the start, in the middle and at the end of the data */
};
#define LEAT_SIDECAR_OFFSET_MAX (((uint64_t)1 << 48) - 1)

typedef struct leat_sidecar_header {
    uint8_t rules[16]; /* identity of the record rules */
    uint64_t windows[3];
    leat_shard_summary summary;
    uint64_t parts; /* entries of the parts table */
    uint32_t format;
} leat_sidecar_header;

typedef enum leat_entry_kind {
    LEAT_ENTRY_WHOLE,  /* a record that is one document */
    LEAT_ENTRY_PART,   /* one of several documents of a record: see the parts table */
    LEAT_ENTRY_BAD,    /* a bad record */
    LEAT_ENTRY_TOKENS, /* a run of tokens that is one document */
    LEAT_ENTRY_KINDS
} leat_entry_kind;

typedef struct leat_entry {
    leat_entry_kind kind;
    uint64_t record;
    uint64_t offset;  /* in the data file; PART: number in the parts table */
    uint64_t bytes;   /* WHOLE, BAD: of the record in the file */
    uint64_t content; /* WHOLE: bytes of the decoded text; TOKENS: tokens */
} leat_entry;

typedef struct leat_part_entry {
    uint64_t offset, bytes; /* of the record */
    uint64_t begin, end;    /* of the part: bytes of decoded text, or tokens */
    uint64_t record;
    uint32_t part, parts;
} leat_part_entry;

/* The rules with their defaults filled in.  INVALID: sizes that are not allowed. */
leat_status leat_record_rules_check(const leat_record_rules *rules, leat_record_rules *out,
                                    leat_error *error) LEAT_MUST_USE;
/* Of checked rules. */
void leat_record_rules_identity(const leat_record_rules *rules, uint8_t out[16]);
/* Path of the side-car of a data file; for leat_free.  Hidden (it begins with a dot), so that globs do not meet it. */
char *leat_sidecar_path(const char *data_path, const leat_record_rules *rules,
                        const char *index_folder);

void leat_sidecar_header_encode(const leat_sidecar_header *header, uint8_t out[LEAT_SIDECAR_BLOCK]);
/* false: no header of this version, damaged, or its numbers contradict each other; *why says which. */
bool leat_sidecar_header_decode(leat_sidecar_header *header, const uint8_t in[LEAT_SIDECAR_BLOCK],
                                const char **why);
uint64_t leat_sidecar_entry_blocks(uint64_t documents);
/* Whole size of the side-car file. */
uint64_t leat_sidecar_bytes(uint64_t documents, uint64_t parts);

/* A block is begun, filled and sealed; `number` counts blocks of the file, the header being number 0. */
void leat_block_begin(uint8_t block[LEAT_SIDECAR_BLOCK], uint64_t first_record);
void leat_block_put(uint8_t block[LEAT_SIDECAR_BLOCK], size_t slot, const leat_entry *entry);
void leat_block_put_part(uint8_t block[LEAT_SIDECAR_BLOCK], size_t slot,
                         const leat_part_entry *part);
void leat_block_seal(uint8_t block[LEAT_SIDECAR_BLOCK], uint64_t number);
bool leat_block_is_whole(const uint8_t block[LEAT_SIDECAR_BLOCK], uint64_t number);
void leat_block_get(const uint8_t block[LEAT_SIDECAR_BLOCK], size_t slot, leat_entry *entry);
void leat_block_get_part(const uint8_t block[LEAT_SIDECAR_BLOCK], size_t slot,
                         leat_part_entry *part);
#endif
