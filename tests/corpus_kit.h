/* corpus_kit.h: a folder of its own for a test, files in it, and a corpus of one dataset opened from them. */
#ifndef LEAT_TESTS_CORPUS_KIT_H
#define LEAT_TESTS_CORPUS_KIT_H
#include "base/memory.h"
#include "check.h"
#include "io/index/corpus.h"

static char kit_root[] = "/tmp/leat-corpus-XXXXXX";
static leat_error kit_error;

static inline void kit_begin(void)
{
    CHECK(mkdtemp(kit_root) != NULL);
}

static inline void kit_end(void)
{
    char *command = leat_format("chmod -R u+w '%s'; rm -rf '%s'", kit_root, kit_root);
    CHECK(system(command) == 0);
    leat_free(command);
}

/* A path in the folder; one of eight buffers in turn. */
static inline char *kit_path(const char *name)
{
    static char paths[8][600];
    static int turn;
    turn = (turn + 1) % 8;
    snprintf(paths[turn], sizeof paths[turn], "%s/%s", kit_root, name);
    return paths[turn];
}

static inline void kit_write(const char *name, const void *data, size_t size)
{
    leat_bytes content = {data, size};
    CHECK_OK(
        leat_store_posix()->write_whole(leat_store_posix(), kit_path(name), content, &kit_error),
        &kit_error);
}

typedef struct kit_corpus {
    leat_corpus *corpus;
    leat_corpus_reader *reader;
    leat_shard_summary *summaries;
    uint64_t documents;
} kit_corpus;

static inline leat_status kit_open_options(kit_corpus *kit, const char *const *paths, size_t count,
                                           const leat_record_rules *rules,
                                           const leat_index_options *index,
                                           const leat_corpus_options *options)
{
    *kit = (kit_corpus){.summaries = leat_alloc(count, sizeof *kit->summaries)};
    for (size_t i = 0; i < count; i++) {
        leat_status status =
            leat_shard_index(paths[i], rules, index, &kit->summaries[i], &kit_error);
        if (status != LEAT_OK) {
            leat_free(kit->summaries);
            *kit = (kit_corpus){0};
            return status;
        }
        kit->documents += kit->summaries[i].documents;
    }
    leat_corpus_dataset dataset = {"d", *rules, count, paths, kit->summaries};
    leat_status status = leat_corpus_open(&kit->corpus, &dataset, 1, options, &kit_error);
    if (status == LEAT_OK) {
        kit->reader = leat_corpus_reader_open(kit->corpus);
    }
    return status;
}

static inline leat_status kit_open(kit_corpus *kit, const char *path,
                                   const leat_record_rules *rules)
{
    leat_index_options index = {.store = leat_store_posix()};
    leat_corpus_options options = {.store = leat_store_posix()};
    return kit_open_options(kit, &path, 1, rules, &index, &options);
}

static inline void kit_close(kit_corpus *kit)
{
    leat_corpus_reader_close(kit->reader);
    leat_corpus_close(kit->corpus);
    leat_free(kit->summaries);
    *kit = (kit_corpus){0};
}

/* All documents in order, each in <>, a bad one as <!>, a part with its number behind: <text>0/2. */
static inline leat_status kit_dump(kit_corpus *kit, leat_buffer *out)
{
    size_t count = (size_t)kit->documents;
    uint64_t *documents = leat_alloc(count, sizeof *documents);
    leat_place *places = leat_alloc(count, sizeof *places);
    leat_text *texts = leat_alloc(count, sizeof *texts);
    for (size_t i = 0; i < count; i++) {
        documents[i] = i;
    }
    leat_status status = leat_corpus_places(kit->reader, 0, documents, count, places, &kit_error);
    if (status == LEAT_OK) {
        status = leat_corpus_read_texts(kit->reader, 0, places, count, texts, &kit_error);
    }
    for (size_t i = 0; i < count && status == LEAT_OK; i++) {
        leat_buffer_add_text(out, texts[i].bad ? "<!" : "<");
        leat_buffer_add(out, texts[i].data, texts[i].size);
        leat_buffer_add_text(out, ">");
        if (places[i].parts > 1) {
            leat_buffer_add_format(out, "%u/%u", places[i].part, places[i].parts);
        }
    }
    leat_free(documents);
    leat_free(places);
    leat_free(texts);
    return status;
}
#endif
