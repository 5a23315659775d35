/* tokens.c: token data, read by document.  No token format is known yet, so leat_corpus_is_tokens is true for none. */
#include "io/index/corpus.h"

leat_status leat_corpus_read_tokens(leat_corpus_reader *reader, uint32_t dataset,
                                    const leat_place *place, uint64_t start, uint64_t count,
                                    uint32_t *out, leat_error *error)
{
    (void)reader;
    (void)place;
    (void)start;
    (void)count;
    (void)out;
    return LEAT_FAIL(error, LEAT_INVALID, "dataset %u holds text, not tokens", dataset);
}
