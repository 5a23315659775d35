/* array.h: files that are one array of tokens: documents end, or begin, with a certain token, or are the rows of the array. */
#ifndef LEAT_IO_ARRAY_H
#define LEAT_IO_ARRAY_H
#include "io/formats/tokens.h"

typedef struct leat_token_array {
    leat_dtype dtype;
    uint64_t offset, tokens; /* of the tokens in the file; they lie in it */
    uint64_t row;            /* tokens a row of a two-dimensional array; 0: one dimension */
    bool eos_first;          /* a document begins with eos_id instead of ending with it */
} leat_token_array;

/* One dimension and no eos_id in the scan's rules: the array is one document. */
leat_status leat_token_array_scan(const leat_scan *scan, const leat_token_array *array,
                                  leat_error *error) LEAT_MUST_USE;
#endif
