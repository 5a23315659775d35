/* census.c: the documents of a job in chunks of equal size: chunk c belongs to rank c mod W, and a sample takes the first
 * documents of every chunk, so that it meets every file and reads in runs. */
#include "audit/census.h"
#include "base/arith.h"
#include "base/memory.h"
#include "feed/pool.h"
#include "plan/order.h"
#include <pthread.h>
#include <sched.h>

enum { CHUNK = 1024, READ_BYTES = 8 << 20, FIELDS = sizeof(leat_census_dataset) / 8 };

typedef struct census {
    leat_loader *loader;
    leat_pool *pool;
    pthread_mutex_t mutex;
    pthread_cond_t finished;
    uint64_t under_way, chunks_done, chunks;
    uint32_t millionths;
    leat_census_dataset *sums; /* [datasets] of this rank */
    leat_status status;
    leat_error error;
} census;

typedef struct chunk_task {
    leat_task base;
    census *of;
    uint32_t dataset;
    uint64_t first, count;
    leat_census_dataset sum;
    leat_status status;
    leat_error error;
} chunk_task;

static void add_document(chunk_task *task, uint64_t tokens)
{
    const leat_plan_spec *spec = &task->of->loader->spec;
    if (tokens == 0) {
        return;
    }
    tokens = spec->truncate ? leat_min_u64(tokens, spec->piece) : tokens;
    task->sum.tokens += tokens;
    task->sum.pieces += leat_div_ceil(tokens, spec->piece);
    task->sum.filled++;
    task->sum.longest = leat_max_u64(task->sum.longest, tokens);
}

/* bos on a first part only, eos on a last part only, nothing around no tokens (docs/plan.md, section 4). */
static uint64_t with_special(const leat_loader *loader, const leat_place *place, uint64_t tokens)
{
    if (tokens != 0 && loader->has_bos && place->part == 0) {
        tokens++;
    }
    if (tokens != 0 && loader->has_eos && place->part + 1 == place->parts) {
        tokens++;
    }
    return tokens;
}

static leat_status count_texts(chunk_task *task, leat_worker *worker, const leat_place *places,
                               const bool *apart, size_t count)
{
    leat_tokens tokens = {0};
    LEAT_GROW(worker->texts, worker->text_capacity, count);
    leat_status status = leat_corpus_read_texts(worker->reader, task->dataset, places, count,
                                                worker->texts, &task->error);
    for (size_t i = 0; i < count && status == LEAT_OK; i++) {
        const leat_text *text = &worker->texts[i];
        tokens.count = 0;
        if (!text->bad && text->size != 0 && !apart[i]) {
            status = leat_encode(worker->encoder, (leat_bytes){text->data, text->size}, &tokens,
                                 &task->error);
        }
        add_document(task, with_special(task->of->loader, &places[i], tokens.count));
    }
    leat_tokens_deinit(&tokens);
    return status;
}

static leat_status count_places(chunk_task *task, leat_worker *worker, const leat_place *places,
                                const bool *apart)
{
    const leat_loader *loader = task->of->loader;
    leat_status status = LEAT_OK;
    bool special = loader->add_special[task->dataset];
    bool is_tokens = leat_corpus_is_tokens(loader->corpus, task->dataset);
    for (size_t i = 0; i < task->count && status == LEAT_OK;) {
        size_t from = i;
        uint64_t bytes = 0;
        for (; i < task->count && (i == from || bytes + places[i].bytes <= READ_BYTES); i++) {
            uint64_t size = places[i].text_end - places[i].text_begin;
            bytes += places[i].bytes;
            task->sum.documents++;
            task->sum.seen_bytes += is_tokens ? 4 * size : size;
            if (is_tokens && !apart[i]) {
                add_document(task, special ? with_special(loader, &places[i], places[i].tokens)
                                           : places[i].tokens);
            }
        }
        if (!is_tokens) {
            status = count_texts(task, worker, places + from, apart + from, i - from);
        }
    }
    return status;
}

static void run_chunk(leat_task *base, leat_worker *worker)
{
    chunk_task *task = (chunk_task *)(void *)base;
    const leat_plan_spec *spec = &task->of->loader->spec;
    leat_order *order = leat_order_open(spec->seed, &spec->datasets[task->dataset]);
    uint64_t *documents = leat_alloc((size_t)task->count, sizeof *documents);
    bool *apart = leat_alloc((size_t)task->count, sizeof *apart);
    leat_place *places = leat_alloc((size_t)task->count, sizeof *places);
    for (uint64_t i = 0; i < task->count; i++) {
        documents[i] = task->first + i;
        apart[i] = leat_order_set_apart(order, documents[i]);
    }
    task->status = leat_corpus_places(worker->reader, task->dataset, documents, (size_t)task->count,
                                      places, &task->error);
    if (task->status == LEAT_OK) {
        task->status = count_places(task, worker, places, apart);
    }
    leat_free(places);
    leat_free(apart);
    leat_free(documents);
    leat_order_close(order);
}

static void wake(void *context)
{
    census *all = context;
    pthread_mutex_lock(&all->mutex);
    pthread_cond_signal(&all->finished);
    pthread_mutex_unlock(&all->mutex);
}

static void take_in(census *all, leat_task *list)
{
    while (list != NULL) {
        chunk_task *task = (chunk_task *)(void *)list;
        leat_census_dataset *sum = &all->sums[task->dataset];
        list = list->next;
        sum->tokens += task->sum.tokens;
        sum->pieces += task->sum.pieces;
        sum->documents += task->sum.documents;
        sum->filled += task->sum.filled;
        sum->seen_bytes += task->sum.seen_bytes;
        sum->longest = leat_max_u64(sum->longest, task->sum.longest);
        if (task->status != LEAT_OK && all->status == LEAT_OK) {
            all->status = task->status;
            all->error = task->error;
        }
        all->under_way--;
        all->chunks_done++;
        leat_free(task);
    }
}

/* Waits until at most `most` chunks are under way. */
static void drain(census *all, uint64_t most)
{
    for (;;) {
        pthread_mutex_lock(&all->mutex);
        leat_task *list = leat_pool_collect(all->pool);
        if (list == NULL && all->under_way > most) {
            pthread_cond_wait(&all->finished, &all->mutex);
        }
        pthread_mutex_unlock(&all->mutex);
        take_in(all, list);
        if (all->under_way <= most) {
            return;
        }
    }
}

static void count_share(census *all, uint32_t threads)
{
    leat_loader *loader = all->loader;
    uint64_t number = 0, size = (uint64_t)loader->wire->size, rank = (uint64_t)loader->wire->rank;
    for (uint32_t d = 0; d < loader->spec.dataset_count && all->status == LEAT_OK; d++) {
        uint64_t documents = loader->spec.datasets[d].documents;
        for (uint64_t at = 0; at < documents && all->status == LEAT_OK; at += CHUNK, number++) {
            if (number % size != rank) {
                continue;
            }
            chunk_task *task = leat_alloc(1, sizeof *task);
            task->base = (leat_task){NULL, LEAT_URGENT_COUNT, run_chunk};
            task->of = all;
            task->dataset = d;
            task->first = at;
            uint64_t whole = leat_min_u64(CHUNK, documents - at);
            task->count = leat_div_ceil(whole * all->millionths, LEAT_SAMPLE_ALL);
            all->under_way++;
            leat_pool_submit(all->pool, &task->base);
            drain(all, 2 * (uint64_t)threads);
            if (loader->options.progress_line != NULL) {
                loader->options.progress_line(loader->options.progress_context, "counting tokens",
                                              number * CHUNK, all->chunks * CHUNK);
            }
        }
    }
    drain(all, 0);
}

static void scale(const leat_loader *loader, leat_census_dataset *sums)
{
    for (size_t d = 0; d < loader->spec.dataset_count; d++) {
        uint64_t bytes = loader->shards.text_bytes[d], seen = sums[d].seen_bytes;
        if (seen != 0 && seen < bytes) {
            sums[d].tokens = leat_mul_div_u64(sums[d].tokens, bytes, seen);
            sums[d].pieces = leat_mul_div_u64(sums[d].pieces, bytes, seen);
            sums[d].filled = leat_min_u64(leat_mul_div_u64(sums[d].filled, bytes, seen),
                                          loader->shards.documents[d]);
        }
    }
}

static leat_status gather(leat_loader *loader, leat_census_dataset *sums, leat_error *error)
{
    size_t datasets = (size_t)loader->spec.dataset_count, ranks = (size_t)loader->wire->size;
    size_t bytes = datasets * FIELDS * 8;
    uint8_t *mine = leat_alloc(bytes, 1), *all = leat_alloc(ranks, bytes);
    for (size_t d = 0; d < datasets; d++) {
        const uint64_t fields[FIELDS] = {sums[d].tokens, sums[d].pieces,  sums[d].documents,
                                         sums[d].filled, sums[d].longest, sums[d].seen_bytes};
        for (size_t f = 0; f < FIELDS; f++) {
            leat_put_u64(mine + (d * FIELDS + f) * 8, fields[f]);
        }
        sums[d] = (leat_census_dataset){0};
    }
    leat_status status =
        leat_wire_gather_equal(loader->wire, LEAT_CHANNEL_CALL, mine, all, bytes, error);
    for (size_t i = 0; i < ranks * datasets && status == LEAT_OK; i++) {
        const uint8_t *at = all + i * FIELDS * 8;
        leat_census_dataset *sum = &sums[i % datasets];
        sum->tokens += leat_get_u64(at);
        sum->pieces += leat_get_u64(at + 8);
        sum->documents += leat_get_u64(at + 16);
        sum->filled += leat_get_u64(at + 24);
        sum->longest = leat_max_u64(sum->longest, leat_get_u64(at + 32));
        sum->seen_bytes += leat_get_u64(at + 40);
    }
    leat_free(mine);
    leat_free(all);
    return status;
}

/* No trainer runs beside a census, so it takes all cores of the mask. */
static uint32_t threads_of(const leat_loader *loader)
{
    cpu_set_t mask;
    if (loader->job->threads != 0) {
        return loader->job->threads;
    }
    return sched_getaffinity(0, sizeof mask, &mask) == 0 ? (uint32_t)CPU_COUNT(&mask) : 1;
}

leat_status leat_census_take(leat_loader *loader, uint32_t millionths, leat_census_dataset *out,
                             leat_error *error)
{
    uint32_t threads = threads_of(loader);
    census all = {.loader = loader, .millionths = millionths, .sums = out, .status = LEAT_OK};
    memset(out, 0, (size_t)loader->spec.dataset_count * sizeof *out);
    for (size_t d = 0; d < loader->spec.dataset_count; d++) {
        all.chunks += leat_div_ceil(loader->shards.documents[d], CHUNK);
    }
    pthread_mutex_init(&all.mutex, NULL);
    pthread_cond_init(&all.finished, NULL);
    all.pool = leat_pool_open(
        &(leat_pool_options){loader->corpus, loader->tokenizer, threads, wake, &all});
    count_share(&all, threads);
    leat_task *left = leat_pool_close(all.pool);
    LEAT_ASSERT(left == NULL);
    pthread_cond_destroy(&all.finished);
    pthread_mutex_destroy(&all.mutex);
    *error = all.error;
    leat_status status = leat_agree(loader->wire, all.status, error);
    status = status == LEAT_OK ? gather(loader, out, error) : status;
    if (status == LEAT_OK && millionths < LEAT_SAMPLE_ALL) {
        scale(loader, out);
    }
    return status;
}
