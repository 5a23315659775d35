/* steps.c: from planned steps to batches in the ring. */
#include "base/arith.h"
#include "base/memory.h"
#include "feed/state.h"

enum { ROWS_AT_ONCE = 32 };

static leat_slot *slot_of(leat_feed *feed, uint64_t step)
{
    return &feed->slots[step % feed->slot_count];
}

static void keep_cursor(leat_feed *feed, uint64_t step)
{
    pthread_mutex_lock(&feed->mutex);
    if (step >= feed->cursor_low + feed->cursor_count) {
        feed->cursor_low = step - feed->cursor_count + 1; /* before it is written over */
    }
    pthread_mutex_unlock(&feed->mutex);
    leat_work_source_cursor(feed->source, &feed->cursors[step % feed->cursor_count]);
}

static void add_segment(leat_feed *feed, leat_slot *slot, const leat_segment *from)
{
    LEAT_GROW(slot->segments, slot->segment_capacity, slot->segment_count + 1);
    LEAT_GROW(slot->sources, slot->source_capacity, slot->segment_count + 1);
    const leat_live_document *live = leat_live_at(&feed->live, from->dataset, from->position);
    slot->segments[slot->segment_count] = (leat_batch_segment){
        .dataset = from->dataset,
        .row_start = from->row_start,
        .length = from->length,
        .epoch = from->position / feed->spec->datasets[from->dataset].documents,
        .document = live->document,
        .start = from->start,
    };
    slot->sources[slot->segment_count] = (leat_slot_source){NULL, NULL, from->position};
    if (feed->exchange != NULL && (int)live->owner != feed->wire->rank &&
        !leat_corpus_is_tokens(feed->options.corpus, from->dataset)) {
        leat_exchange_expect(feed, slot, slot->segment_count, (int)live->owner);
    }
    slot->segment_count++;
}

/* The slot of a step that was just planned: this rank's rows of it. */
static void fill_slot(leat_feed *feed, const leat_step_plan *plan)
{
    leat_slot *slot = slot_of(feed, plan->step);
    LEAT_ASSERT(slot->state == LEAT_SLOT_FREE);
    uint64_t first = 0, end = 0;
    if (feed->options.slice >= 0) {
        leat_plan_slice(plan->rows, (uint64_t)feed->options.slice, (uint64_t)feed->options.slices,
                        &first, &end);
    }
    LEAT_ASSERT(end - first <= feed->row_capacity);
    slot->step = plan->step;
    slot->global_rows = plan->rows;
    slot->first_row = first;
    slot->rows = end - first;
    slot->segment_count = 0;
    slot->missing = slot->tasks_left = 0;
    slot->total_tokens = 0;
    for (uint64_t d = 0; d < feed->spec->dataset_count; d++) {
        slot->dataset_tokens[d] = plan->dataset_tokens[d];
        slot->total_tokens += plan->dataset_tokens[d];
        slot->lows[d] = leat_work_source_low(feed->source, (uint32_t)d);
    }
    for (uint64_t row = first; row < end; row++) {
        for (uint64_t i = row == 0 ? 0 : plan->row_ends[row - 1]; i < plan->row_ends[row]; i++) {
            add_segment(feed, slot, &plan->segments[i]);
        }
        slot->row_segments[row - first] = slot->segment_count;
    }
    slot->state = LEAT_SLOT_PLANNED;
    slot->missing = UINT64_MAX; /* not looked at yet */
}

/* Documents are kept until this rank's rows are assembled and what it owes to others is sent. */
static void release_documents(leat_feed *feed)
{
    uint64_t limit = feed->assembled;
    if (feed->exchange != NULL) {
        limit = leat_min_u64(limit, leat_exchange_sent(feed));
    }
    for (; feed->released < limit; feed->released++) {
        const leat_slot *slot = slot_of(feed, feed->released);
        for (uint32_t d = 0; d < feed->spec->dataset_count; d++) {
            leat_live_release(&feed->live, d, slot->lows[d]);
        }
    }
}

static void plan_ends(leat_feed *feed)
{
    feed->plan_over = true;
    if (!feed->refused) {
        pthread_mutex_lock(&feed->mutex);
        feed->end_step = leat_min_u64(feed->end_step, feed->planned);
        pthread_cond_broadcast(&feed->trainer_wake);
        pthread_mutex_unlock(&feed->mutex);
    }
}

/* The plan cannot go on.  For a bad document every rank knows that here and now: they agree on the reason. */
static void plan_refused(leat_feed *feed, const leat_plan_need *need)
{
    feed->refused = true;
    plan_ends(feed);
    if (need->no_tokens == LEAT_REFUSED_CURSOR) {
        leat_error error;
        LEAT_FAIL(&error, LEAT_CORRUPT, "the cursor does not fit the token counts of dataset %s",
                  feed->spec->datasets[need->dataset].name);
        leat_error_found(&error, "a place at stream position %llu that its documents do not have",
                         (unsigned long long)need->position);
        leat_error_hint(&error, "the corpus or the tokenizer is not the one of the checkpoint");
        leat_feed_fail(feed, &error, feed->planned);
    } else if (need->no_tokens) {
        leat_error error;
        LEAT_FAIL(&error, LEAT_INVALID, "dataset %s has no tokens",
                  feed->spec->datasets[need->dataset].name);
        leat_error_found(&error, "no document of a whole epoch gives a token");
        leat_error_hint(&error, "give it documents with text, or take it out of the job");
        leat_feed_fail(feed, &error, feed->planned);
    } else {
        leat_verdict_begin(feed, feed->planned);
    }
}

void leat_steps_plan(leat_feed *feed)
{
    uint64_t limit = leat_min_u64(feed->min_consumed + feed->slot_count, feed->options.steps);
    limit = leat_min_u64(limit, feed->stop_step);
    while (!feed->plan_over &&
           (feed->planned < limit || feed->planned < feed->options.deliver_from)) {
        leat_plan_need need = {0};
        leat_plan_event event = leat_work_source_next(feed->source, &feed->plan, &need);
        if (event == LEAT_PLAN_NEED) {
            /* Nothing of it is under way: the estimate was too small. */
            if (feed->asked[need.dataset] == leat_work_source_fed(feed->source, need.dataset)) {
                feed->boost[need.dataset] = feed->boost[need.dataset] * 2 + 4096;
            }
            return;
        }
        if (event == LEAT_PLAN_REFUSED) {
            plan_refused(feed, &need);
            return;
        }
        if (event == LEAT_PLAN_END) {
            plan_ends(feed);
            return;
        }
        LEAT_ASSERT(feed->plan.step == feed->planned);
        feed->planned++;
        keep_cursor(feed, feed->planned);
        if (feed->plan.step >= feed->options.deliver_from) {
            if (feed->exchange != NULL) {
                leat_exchange_plan(feed, &feed->plan);
            }
            fill_slot(feed, &feed->plan);
        } else {
            for (uint32_t d = 0; d < feed->spec->dataset_count; d++) {
                leat_live_release(&feed->live, d, leat_work_source_low(feed->source, d));
            }
            feed->assembled = feed->released = feed->planned;
        }
    }
    if (feed->planned >= feed->options.steps && !feed->plan_over) {
        plan_ends(feed);
    }
}

bool leat_steps_fetch(leat_feed *feed, uint32_t dataset, uint64_t position)
{
    leat_live_document *live = leat_live_at(&feed->live, dataset, position);
    if (live->wanted || live->tokens != NULL) {
        return false;
    }
    leat_round_item item = {.position = position, .dataset = dataset};
    leat_error error;
    if (leat_corpus_places(feed->reader, dataset, &live->document, 1, &item.place, &error) !=
        LEAT_OK) {
        leat_feed_fail_here(feed, &error, feed->assembled);
        return false;
    }
    live->wanted = true;
    leat_feed_tokenize(feed, NULL, &item, 1);
    return true;
}

/* Documents of the slot that are not here and come in no message are tokenized by this rank, once for all its rows. */
static uint64_t look_for(leat_feed *feed, leat_slot *slot)
{
    uint64_t missing = 0;
    for (size_t i = 0; i < slot->segment_count; i++) {
        const leat_batch_segment *segment = &slot->segments[i];
        leat_slot_source *source = &slot->sources[i];
        if (source->tokens != NULL ||
            leat_corpus_is_tokens(feed->options.corpus, segment->dataset)) {
            continue;
        }
        if (source->parcel != NULL) {
            missing++;
            continue;
        }
        const leat_live_document *live =
            leat_live_at(&feed->live, segment->dataset, source->position);
        if (live->tokens != NULL) {
            source->tokens = live->tokens + segment->start;
            continue;
        }
        missing++;
        leat_steps_fetch(feed, segment->dataset, source->position);
    }
    return missing;
}

static void start_assembly(leat_feed *feed, leat_slot *slot)
{
    slot->state = LEAT_SLOT_ASSEMBLING;
    if (slot->rows == 0) {
        leat_steps_slot_assembled(feed, slot);
        return;
    }
    uint64_t tasks = leat_div_ceil(slot->rows, ROWS_AT_ONCE);
    slot->tasks_left = tasks;
    for (uint64_t t = 0; t < tasks; t++) {
        leat_feed_assemble(feed, slot, slot->rows * t / tasks, slot->rows * (t + 1) / tasks);
    }
}

void leat_steps_advance(leat_feed *feed)
{
    release_documents(feed);
    for (uint64_t step = feed->assembled; step < feed->planned && feed->local_status == LEAT_OK;
         step++) {
        leat_slot *slot = slot_of(feed, step);
        if (slot->state != LEAT_SLOT_PLANNED || slot->step != step) {
            continue;
        }
        slot->missing = look_for(feed, slot);
        if (slot->missing == 0) {
            start_assembly(feed, slot);
        }
    }
}

void leat_steps_slot_assembled(leat_feed *feed, leat_slot *slot)
{
    if (slot->tasks_left != 0 || feed->local_status != LEAT_OK) {
        return;
    }
    slot->state = LEAT_SLOT_READY;
    for (size_t i = 0; i < slot->segment_count; i++) {
        if (slot->sources[i].parcel != NULL) {
            leat_exchange_used(feed, slot->sources[i].parcel);
        }
    }
    bool any = false;
    while (feed->assembled < feed->planned &&
           slot_of(feed, feed->assembled)->state == LEAT_SLOT_READY) {
        feed->assembled++;
        any = true;
    }
    if (any) {
        pthread_mutex_lock(&feed->mutex);
        feed->ready_steps = feed->assembled;
        pthread_cond_broadcast(&feed->trainer_wake);
        pthread_mutex_unlock(&feed->mutex);
    }
}
