/* tasks.c: what workers do: tokenize documents, assemble and hash rows. */
#include "base/arith.h"
#include "base/memory.h"
#include "feed/state.h"

/* One task of either kind; it writes only itself, its block, and its rows of a slot. */
typedef struct feed_task {
    leat_task task; /* first: a leat_task is cast to its feed_task */
    leat_feed *feed;
    leat_status status;
    leat_error error;
    /* tokenize */
    leat_round *round;
    uint32_t dataset;
    size_t count, capacity;
    size_t *round_at; /* index in the round of each document */
    leat_place *places;
    uint64_t *positions;
    uint32_t *counts;
    uint64_t *starts;
    leat_token_block *block;
    /* assemble */
    leat_slot *slot;
    uint64_t first, end;
    uint32_t *ends;
    size_t end_capacity;
} feed_task;

static void add_ns(atomic_uint_fast64_t *counter, uint64_t ns)
{
    atomic_fetch_add_explicit(counter, ns, memory_order_relaxed);
}

static uint64_t now(const leat_feed *feed)
{
    return feed->wire->clock->now_ns(feed->wire->clock->context);
}

/* Tokens of one document's text with bos and eos around them (docs/plan.md, section 4). */
static leat_status encode_one(feed_task *task, leat_worker *worker, size_t i, const leat_text *text)
{
    const leat_feed_options *options = &task->feed->options;
    const leat_place *place = &task->places[i];
    leat_tokens *tokens = &task->block->tokens;
    size_t start = tokens->count;
    task->starts[i] = start;
    task->counts[i] = 0;
    if (text->size == 0) {
        return LEAT_OK;
    }
    LEAT_GROW(tokens->ids, tokens->capacity, tokens->count + 1);
    bool bos = options->has_bos && place->part == 0;
    if (bos) {
        tokens->ids[tokens->count++] = options->bos;
    }
    leat_status status =
        leat_encode(worker->encoder, (leat_bytes){text->data, text->size}, tokens, &task->error);
    if (status != LEAT_OK) {
        tokens->count = start;
        return status;
    }
    if (tokens->count == start + (bos ? 1u : 0u)) {
        tokens->count = start;
        return LEAT_OK;
    }
    if (options->has_eos && place->part + 1 == place->parts) {
        LEAT_GROW(tokens->ids, tokens->capacity, tokens->count + 1);
        tokens->ids[tokens->count++] = options->eos;
    }
    task->counts[i] = leat_u32(tokens->count - start);
    return LEAT_OK;
}

static void count_token_data(feed_task *task)
{
    const leat_feed_options *options = &task->feed->options;
    bool special = options->add_special != NULL && options->add_special[task->dataset];
    for (size_t i = 0; i < task->count; i++) {
        const leat_place *place = &task->places[i];
        uint64_t count = place->tokens;
        if (count != 0 && special) {
            count += options->has_bos && place->part == 0 ? 1u : 0u;
            count += options->has_eos && place->part + 1 == place->parts ? 1u : 0u;
        }
        task->counts[i] = leat_u32(count);
        task->starts[i] = 0;
    }
}

/* One by one, so that only the documents that cannot be read are bad, however tasks were cut. */
static void tokenize_singly(feed_task *task, leat_worker *worker, size_t from)
{
    for (size_t i = from; i < task->count; i++) {
        leat_text text = {0};
        leat_error error;
        leat_status status = leat_corpus_read_texts(worker->reader, task->dataset, &task->places[i],
                                                    1, &text, &error);
        bool bad = status == LEAT_OK && text.bad && !task->feed->options.skip_bad;
        if (bad) {
            status = LEAT_FAIL(&error, LEAT_CORRUPT, "a bad record in dataset %s",
                               task->feed->spec->datasets[task->dataset].name);
            leat_error_where(&error, "record %llu of its shard %u",
                             (unsigned long long)task->places[i].record, task->places[i].shard);
        }
        if (status == LEAT_OK) {
            leat_error kept = task->error;
            status = encode_one(task, worker, i, &text);
            error = task->error;
            task->error = kept;
        }
        if (status != LEAT_OK) {
            task->counts[i] = LEAT_COUNT_BAD_WIRE;
            task->starts[i] = 0;
            if (task->status == LEAT_OK) {
                task->status = status;
                task->error = error;
            }
        }
    }
}

static void run_tokenize(leat_task *base, leat_worker *worker)
{
    feed_task *task = (feed_task *)(void *)base;
    leat_feed *feed = task->feed;
    leat_corpus *corpus = feed->options.corpus;
    if (leat_corpus_is_tokens(corpus, task->dataset)) {
        count_token_data(task);
        return;
    }
    uint64_t begin = now(feed), bytes = 0;
    LEAT_GROW(worker->texts, worker->text_capacity, task->count);
    leat_status status = leat_corpus_read_texts(worker->reader, task->dataset, task->places,
                                                task->count, worker->texts, &task->error);
    uint64_t read = now(feed);
    size_t i = 0;
    for (; status == LEAT_OK && i < task->count; i++) {
        bytes += worker->texts[i].size;
        if (worker->texts[i].bad && !feed->options.skip_bad) {
            break;
        }
        if (encode_one(task, worker, i, &worker->texts[i]) != LEAT_OK) {
            break;
        }
    }
    task->status = LEAT_OK;
    tokenize_singly(task, worker, i);
    add_ns(&feed->counters.read_ns, read - begin);
    add_ns(&feed->counters.tokenize_ns, now(feed) - read);
    add_ns(&feed->counters.document_bytes, bytes);
    add_ns(&feed->counters.tokenized_documents, task->count);
}

static void task_size(feed_task *task, size_t count)
{
    if (task->capacity < count) {
        task->places = leat_realloc(task->places, count, sizeof *task->places);
        task->positions = leat_realloc(task->positions, count, sizeof *task->positions);
        task->counts = leat_realloc(task->counts, count, sizeof *task->counts);
        task->starts = leat_realloc(task->starts, count, sizeof *task->starts);
        task->round_at = leat_realloc(task->round_at, count, sizeof *task->round_at);
        task->capacity = count;
    }
}

static void task_free(feed_task *task)
{
    leat_free(task->places);
    leat_free(task->positions);
    leat_free(task->counts);
    leat_free(task->starts);
    leat_free(task->round_at);
    leat_free(task->ends);
    leat_free(task);
}

void leat_feed_tokenize(leat_feed *feed, leat_round *round, const leat_round_item *items,
                        size_t count)
{
    feed_task *task = leat_alloc(1, sizeof *task);
    task_size(task, count);
    task->feed = feed;
    task->round = round;
    task->dataset = items[0].dataset;
    task->block = leat_live_block(&feed->live);
    for (size_t i = 0; i < count; i++) {
        if (items[i].set_apart) {
            round->counts[&items[i] - round->items] = 0;
            continue;
        }
        task->places[task->count] = items[i].place;
        task->round_at[task->count] = round != NULL ? (size_t)(&items[i] - round->items) : 0;
        task->positions[task->count++] = items[i].position;
    }
    task->task =
        (leat_task){NULL, round != NULL ? LEAT_URGENT_COUNT : LEAT_URGENT_FETCH, run_tokenize};
    feed->tasks_out++;
    leat_pool_submit(feed->pool, &task->task);
}

/* Copies a segment of token data from its file. */
static leat_status read_segment(feed_task *task, leat_worker *worker,
                                const leat_batch_segment *segment, uint32_t *out)
{
    const leat_feed_options *options = &task->feed->options;
    leat_place place;
    leat_status status = leat_corpus_places(worker->reader, segment->dataset, &segment->document, 1,
                                            &place, &task->error);
    if (status != LEAT_OK) {
        return status;
    }
    bool special = options->add_special != NULL && options->add_special[segment->dataset];
    uint64_t lead = special && options->has_bos && place.part == 0 ? 1 : 0;
    uint64_t start = segment->start, left = segment->length;
    if (lead == 1 && start == 0) {
        *out++ = options->bos;
        left--;
    } else {
        start -= lead;
    }
    uint64_t here = leat_min_u64(left, place.tokens - leat_min_u64(start, place.tokens));
    if (here != 0) {
        status = leat_corpus_read_tokens(worker->reader, segment->dataset, &place, start, here, out,
                                         &task->error);
    }
    for (uint64_t i = 0; status == LEAT_OK && options->vocabulary != 0 && i < here; i++) {
        if (out[i] >= options->vocabulary) {
            status = LEAT_FAIL(&task->error, LEAT_CORRUPT,
                               "a token id outside the vocabulary in dataset %s",
                               task->feed->spec->datasets[segment->dataset].name);
            leat_error_where(&task->error, "document %llu, token %llu",
                             (unsigned long long)segment->document,
                             (unsigned long long)(start + i));
            leat_error_found(&task->error, "%u", out[i]);
            leat_error_wanted(&task->error, "below %u", options->vocabulary);
        }
    }
    if (left > here) {
        out[here] = options->eos;
    }
    return status;
}

static void run_assemble(leat_task *base, leat_worker *worker)
{
    feed_task *task = (feed_task *)(void *)base;
    leat_feed *feed = task->feed;
    leat_slot *slot = task->slot;
    uint64_t begin = now(feed), row_tokens = feed->spec->row_tokens;
    task->status = LEAT_OK;
    for (uint64_t row = task->first; row < task->end && task->status == LEAT_OK; row++) {
        uint32_t *out = slot->tokens + row * row_tokens;
        uint64_t at = row == 0 ? 0 : slot->row_segments[row - 1],
                 segments = slot->row_segments[row] - at;
        LEAT_GROW(task->ends, task->end_capacity, (size_t)segments);
        uint32_t filled = 0;
        for (uint64_t i = 0; i < segments && task->status == LEAT_OK; i++) {
            const leat_batch_segment *segment = &slot->segments[at + i];
            if (slot->sources[at + i].tokens != NULL) {
                memcpy(out + segment->row_start, slot->sources[at + i].tokens,
                       segment->length * sizeof *out);
            } else {
                task->status = read_segment(task, worker, segment, out + segment->row_start);
            }
            filled = segment->row_start + segment->length;
            task->ends[i] = filled;
        }
        for (uint64_t i = filled; i < row_tokens; i++) {
            out[i] = feed->options.pad_id;
        }
        leat_row_view view = {leat_u32(row_tokens), out, task->ends, leat_u32(segments), NULL, 0};
        leat_digest_row(worker->hash, &view, slot->digests + row * LEAT_SHA256_BYTES);
    }
    add_ns(&feed->counters.assemble_ns, now(feed) - begin);
}

void leat_feed_assemble(leat_feed *feed, leat_slot *slot, uint64_t first, uint64_t end)
{
    feed_task *task = leat_alloc(1, sizeof *task);
    task->feed = feed;
    task->slot = slot;
    task->first = first;
    task->end = end;
    task->task = (leat_task){NULL, LEAT_URGENT_ASSEMBLE, run_assemble};
    feed->tasks_out++;
    leat_pool_submit(feed->pool, &task->task);
}

/* A document that cannot be read while counting is told to all ranks in its count; in a fetch, it was readable before. */
static void collect_tokenized(leat_feed *feed, feed_task *task)
{
    bool keep = feed->live.token_bytes < feed->live.token_bytes_max || task->round == NULL;
    for (size_t i = 0; i < task->count; i++) {
        if (task->round != NULL) {
            task->round->counts[task->round_at[i]] = task->counts[i];
        }
        leat_live_dataset *in = &feed->live.datasets[task->dataset];
        if (task->positions[i] < in->begin) {
            continue;
        }
        leat_live_document *live = leat_live_at(&feed->live, task->dataset, task->positions[i]);
        live->wanted = false;
        if (keep && task->counts[i] != 0 && task->counts[i] != LEAT_COUNT_BAD_WIRE &&
            live->tokens == NULL && !leat_corpus_is_tokens(feed->options.corpus, task->dataset)) {
            leat_live_keep(&feed->live, live, task->block, (size_t)task->starts[i]);
        }
    }
    leat_live_block_filled(&feed->live, task->block);
    if (task->round != NULL) {
        task->round->tasks_left--;
    }
    if (task->status == LEAT_OK) {
        return;
    }
    task->error.rank = feed->wire->rank;
    if (task->round != NULL) {
        if (feed->round_error.status == LEAT_OK) {
            feed->round_error = task->error;
        }
    } else {
        leat_feed_fail_here(feed, &task->error, feed->assembled);
    }
}

bool leat_feed_collect(leat_feed *feed)
{
    leat_task *list = leat_pool_collect(feed->pool);
    bool any = list != NULL;
    while (list != NULL) {
        feed_task *task = (feed_task *)(void *)list;
        list = list->next;
        feed->tasks_out--;
        if (task->slot == NULL) {
            collect_tokenized(feed, task);
        } else {
            if (task->status != LEAT_OK) {
                leat_feed_fail_here(feed, &task->error, feed->assembled);
            }
            task->slot->tasks_left--;
            leat_steps_slot_assembled(feed, task->slot);
        }
        task_free(task);
    }
    return any;
}

void leat_feed_free_tasks(leat_task *list)
{
    while (list != NULL) {
        feed_task *task = (feed_task *)(void *)list;
        list = list->next;
        if (task->block != NULL) {
            leat_tokens_deinit(&task->block->tokens);
            leat_free(task->block);
        }
        task_free(task);
    }
}
