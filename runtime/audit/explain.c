/* explain.c: from a segment of a batch to the record, the bytes and the text it is from. */
#include "audit/audit.h"
#include "base/memory.h"
#include "loader/loader.h"

static leat_status place_of(leat_loader *loader, const leat_batch_segment *segment,
                            leat_place *place, leat_error *error)
{
    if (loader->reader == NULL) {
        loader->reader = leat_corpus_reader_open(loader->corpus);
    }
    return leat_corpus_places(loader->reader, segment->dataset, &segment->document, 1, place,
                              error);
}

leat_status leat_audit_document_of(leat_loader *loader, const leat_batch_segment *segment,
                                   leat_audit_document *out, leat_error *error)
{
    leat_place place;
    leat_status status = place_of(loader, segment, &place, error);
    if (status != LEAT_OK) {
        return status;
    }
    *out = (leat_audit_document){
        .dataset = loader->job->datasets[segment->dataset].name,
        .file = loader->shards.lists[segment->dataset].paths[place.shard],
        .record = place.record,
        .line_offset = place.offset,
        .line_bytes = place.bytes,
        .document = segment->document,
        .part = place.part,
        .parts = place.parts,
        .text_begin = place.text_begin,
        .text_end = place.text_end,
        .tokens = place.tokens,
    };
    return LEAT_OK;
}

leat_status leat_audit_text_of(leat_loader *loader, const leat_batch_segment *segment,
                               leat_bytes *out, leat_error *error)
{
    leat_place place;
    leat_text text = {0};
    *out = (leat_bytes){NULL, 0};
    leat_status status = place_of(loader, segment, &place, error);
    if (status != LEAT_OK || leat_corpus_is_tokens(loader->corpus, segment->dataset)) {
        return status;
    }
    status = leat_corpus_read_texts(loader->reader, segment->dataset, &place, 1, &text, error);
    *out = (leat_bytes){text.data, text.size};
    return status;
}

bool leat_audit_token_bytes(leat_loader *loader, const leat_batch_segment *segment, uint64_t token,
                            uint64_t *begin, uint64_t *end)
{
    leat_error error;
    leat_bytes text;
    leat_tokens tokens = {0};
    if (leat_audit_text_of(loader, segment, &text, &error) != LEAT_OK || text.data == NULL) {
        return false;
    }
    leat_encoder *encoder = leat_encoder_open(loader->tokenizer, 0);
    bool known = leat_encode(encoder, text, &tokens, &error) == LEAT_OK;
    leat_place place;
    known = known && place_of(loader, segment, &place, &error) == LEAT_OK;
    uint64_t lead = known && loader->has_bos && place.part == 0 ? 1 : 0;
    known = known && token >= lead && token - lead < tokens.count;
    uint64_t at = 0;
    for (uint64_t i = 0; known && i <= token - lead; i++) {
        leat_bytes bytes = leat_tokenizer_token(loader->tokenizer, tokens.ids[i]);
        known = at + bytes.size <= text.size && memcmp(text.data + at, bytes.data, bytes.size) == 0;
        *begin = at;
        at += bytes.size;
        *end = at;
    }
    leat_encoder_close(encoder);
    leat_tokens_deinit(&tokens);
    return known;
}
