/* A shard of JSON lines: indexed, then every document read back. */
#include "fuzz/fuzz.h"
#include "io/index/corpus.h"
#include "base/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    leat_error error;
    leat_record_rules rules = {
        .format = "jsonl", .text = "text", .part_bytes = 64, .record_bytes_max = 1 << 20};
    rules.replace_bad_utf8 = size % 2 == 1;
    leat_index_options options = {.store = leat_store_posix(), .rebuild = true};
    leat_shard_summary summary;
    const char *path = fuzz_file("shard.jsonl", data, size);
    if (leat_shard_index(path, &rules, &options, &summary, &error) != LEAT_OK ||
        summary.documents == 0) {
        return 0;
    }
    leat_corpus *corpus = NULL;
    leat_corpus_dataset dataset = {
        .name = "d", .rules = rules, .shard_count = 1, .paths = &path, .summaries = &summary};
    leat_corpus_options how = {.store = leat_store_posix()};
    if (leat_corpus_open(&corpus, &dataset, 1, &how, &error) == LEAT_OK) {
        leat_corpus_reader *reader = leat_corpus_reader_open(corpus);
        for (uint64_t d = 0; d < summary.documents; d++) {
            leat_place place;
            leat_text text;
            LEAT_ASSERT(leat_corpus_places(reader, 0, &d, 1, &place, &error) == LEAT_OK);
            LEAT_ASSERT(leat_corpus_read_texts(reader, 0, &place, 1, &text, &error) == LEAT_OK);
        }
        leat_corpus_reader_close(reader);
    }
    leat_corpus_close(corpus);
    return 0;
}
