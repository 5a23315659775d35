/* 10^9 documents in a store that makes its bytes by formula: opening takes no time and no memory for documents, and any
 * document is found. */
#include "base/memory.h"
#include "check.h"
#include "io/index/sidecar.h"
#include <stdio.h>
#include <time.h>

enum { RECORD = 200, DOCUMENTS = 1000000000 };

/* A path is /made/SHARDS/NUMBER.jsonl, its side-car /made/SHARDS/.NUMBER.jsonl.RULES.leatidx. */
typedef struct made_file {
    leat_file file;
    bool sidecar;
    uint64_t shard, documents, first; /* first: number of its first document */
} made_file;

static const leat_record_rules rules = {.text = "text", .record_bytes_max = 1 << 30};

static leat_shard_summary summary_of(uint64_t documents, uint64_t shard)
{
    leat_shard_summary summary = {.file_bytes = documents * RECORD,
                                  .records = documents,
                                  .documents = documents,
                                  .text_bytes = documents * (RECORD - 12)};
    leat_put_u64(summary.content_hash, shard);
    return summary;
}

static leat_status made_open(leat_store *store, const char *path, leat_file **out,
                             leat_error *error)
{
    unsigned long shards, shard;
    bool sidecar = strstr(path, "/.") != NULL;
    if (sscanf(path, sidecar ? "/made/%lu/.%lu" : "/made/%lu/%lu", &shards, &shard) != 2) {
        return leat_fail_errno(error, "open", path, 2);
    }
    made_file *made = leat_alloc(1, sizeof *made);
    made->sidecar = sidecar;
    made->shard = shard;
    made->documents = DOCUMENTS / shards;
    made->first = shard * made->documents;
    made->file =
        (leat_file){store, leat_strdup(path),
                    sidecar ? leat_sidecar_bytes(made->documents, 0) : made->documents * RECORD};
    *out = &made->file;
    return LEAT_OK;
}

static void make_block(const made_file *made, uint64_t number, uint8_t *block)
{
    uint64_t first = (number - 1) * LEAT_SIDECAR_ENTRIES;
    leat_block_begin(block, first);
    for (size_t slot = 0; slot < LEAT_SIDECAR_ENTRIES && first + slot < made->documents; slot++) {
        leat_entry entry = {.kind = LEAT_ENTRY_WHOLE,
                            .record = first + slot,
                            .offset = (first + slot) * RECORD,
                            .bytes = RECORD - 1,
                            .content = RECORD - 12};
        leat_block_put(block, slot, &entry);
    }
    leat_block_seal(block, number);
}

static void make_record(const made_file *made, uint64_t number, char *record)
{
    snprintf(record, RECORD + 1, "{\"text\":\"document %-*" PRIu64 "\"}\n", RECORD - 21,
             made->first + number);
}

static leat_status made_read(leat_file *file, uint64_t offset, void *out, size_t bytes,
                             leat_error *error)
{
    const made_file *made = (const made_file *)file;
    uint64_t unit = made->sidecar ? LEAT_SIDECAR_BLOCK : RECORD;
    if (offset + bytes > file->size) {
        return LEAT_FAIL(error, LEAT_IO, "past the end");
    }
    while (bytes != 0) {
        uint8_t piece[LEAT_SIDECAR_BLOCK];
        uint64_t number = offset / unit, within = offset % unit;
        size_t take = unit - within < bytes ? (size_t)(unit - within) : bytes;
        if (!made->sidecar) {
            make_record(made, number, (char *)piece);
        } else if (number == 0) {
            leat_sidecar_header header = {.summary = summary_of(made->documents, made->shard),
                                          .format = 1};
            leat_record_rules_identity(&rules, header.rules);
            leat_sidecar_header_encode(&header, piece);
        } else {
            make_block(made, number, piece);
        }
        memcpy(out, piece + within, take);
        out = (uint8_t *)out + take;
        offset += take;
        bytes -= take;
    }
    return LEAT_OK;
}

static void made_close(leat_file *file)
{
    if (file != NULL) {
        leat_free(file->path);
        leat_free(file);
    }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void test_shards(size_t shards)
{
    leat_store store = {.name = "made", .open = made_open, .read = made_read, .close = made_close};
    leat_corpus_options options = {.store = &store, .files_max = 8};
    leat_shard_summary *summaries = leat_alloc(shards, sizeof *summaries);
    char **paths = leat_alloc(shards, sizeof *paths);
    uint64_t seed = shards;
    leat_error error;
    leat_corpus *corpus;
    for (size_t i = 0; i < shards; i++) {
        paths[i] = leat_format("/made/%zu/%zu.jsonl", shards, i);
        summaries[i] = summary_of(DOCUMENTS / shards, i);
    }
    leat_corpus_dataset dataset = {"d", rules, shards, (const char *const *)paths, summaries};
    double begin = seconds();
    CHECK_OK(leat_corpus_open(&corpus, &dataset, 1, &options, &error), &error);
    leat_corpus_reader *reader = leat_corpus_reader_open(corpus);
    double opened = seconds() - begin;
    printf("%zu shards: opened in %.4f s\n", shards, opened);
    CHECK(opened < 1);
    for (size_t i = 0; i < 500; i++) {
        enum { RUN = 40 };
        uint64_t documents[RUN];
        leat_place places[RUN];
        leat_text texts[RUN];
        documents[0] = i == 0 ? DOCUMENTS - RUN : check_random(&seed) % (DOCUMENTS - RUN);
        for (size_t j = 1; j < RUN; j++) {
            documents[j] = documents[j - 1] + 1;
        }
        CHECK_OK(leat_corpus_places(reader, 0, documents, RUN, places, &error), &error);
        CHECK_OK(leat_corpus_read_texts(reader, 0, places, RUN, texts, &error), &error);
        for (size_t j = 0; j < RUN; j++) {
            char want[RECORD];
            snprintf(want, sizeof want, "document %" PRIu64 " ", documents[j]);
            if (!CHECK(texts[j].size == RECORD - 12 &&
                       memcmp(texts[j].data, want, strlen(want)) == 0)) {
                i = 500;
                break;
            }
        }
    }
    leat_corpus_reader_close(reader);
    leat_corpus_close(corpus);
    for (size_t i = 0; i < shards; i++) {
        leat_free(paths[i]);
    }
    leat_free(paths);
    leat_free(summaries);
}

int main(void)
{
    test_shards(1);
    test_shards(1000);
    test_shards(100000);
    return check_done();
}
