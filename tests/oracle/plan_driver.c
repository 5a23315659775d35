/* plan_driver: runs the plan over many small jobs that it reads as text, for plan_test.py to compare with the oracle.
 *
 * Input, one job after another; every line is a word and its values:
 *
 *     job SEED ROW_TOKENS PIECE PACKING PACK_WINDOW TRUNCATE BY_DOCUMENTS DROP_EXHAUSTED DROP_LAST STEPS FEED_SEED
 *     dataset NAME WEIGHT DOCUMENTS EPOCHS HOLDOUT USE_HOLDOUT UNIT BLOCK BUFFER PIECE_WINDOW WINDOW_TOKENS
 *     shards COUNT END…                 of the dataset above
 *     tokens COUNT…                     of each of its documents; "bad" for one that cannot be read
 *     stage FROM_ROW WEIGHT…
 *     batch FROM_STEP ROWS
 *     end
 *
 * Output: "job", then for the start and after every step "cursor HEX"; for a step "step NUMBER FIRST_ROW ROWS", a line
 * "row DATASET,POSITION,DOCUMENT,START,LENGTH,ROW_START …" a row, "tokens N…", "batch HEX"; in the end one of "stopped",
 * "end ROWS DROPPED_ROWS DROPPED_TOKENS", "refused DATASET NO_TOKENS POSITION" and "invalid TEXT".  After every step the
 * same step is also computed by a work source that was opened from the cursor before it; any difference ends the program
 * with status 1. */
#include "base/bytes.h"
#include "base/memory.h"
#include "check.h"
#include "digest/digest.h"
#include "plan/order.h"
#include "plan/work_source.h"

enum { DATASETS_MAX = 256, STAGES_MAX = 16, BATCH_SIZES_MAX = 16, PAD_ID = 7 };

typedef struct driver_job {
    leat_plan_spec spec;
    leat_plan_dataset datasets[DATASETS_MAX];
    leat_plan_stage stages[STAGES_MAX];
    leat_plan_batch_size batch_sizes[BATCH_SIZES_MAX];
    char *names[DATASETS_MAX];
    uint64_t *tokens[DATASETS_MAX], *shard_ends[DATASETS_MAX], *stage_weights[STAGES_MAX];
    leat_order *orders[DATASETS_MAX];
    uint64_t steps, random;
} driver_job;

static _Noreturn void give_up(const char *why, uint64_t value)
{
    fflush(stdout);
    fprintf(stderr, "plan_driver: %s (%" PRIu64 ")\n", why, value);
    exit(1);
}

/* ---- reading jobs ---- */
static uint64_t next_number(void)
{
    const char *word = strtok(NULL, " \n");
    if (word == NULL) {
        give_up("a number is missing", 0);
    }
    return strcmp(word, "bad") == 0 ? LEAT_COUNT_BAD : strtoull(word, NULL, 10);
}

static uint64_t *next_numbers(uint64_t count)
{
    uint64_t *numbers = leat_alloc(count + 1, sizeof *numbers);
    for (uint64_t i = 0; i < count; i++) {
        numbers[i] = next_number();
    }
    return numbers;
}

static void read_settings(driver_job *job)
{
    leat_plan_spec *spec = &job->spec;
    spec->seed = next_number();
    spec->row_tokens = next_number();
    spec->piece = next_number();
    spec->packing = (leat_packing)next_number();
    spec->pack_window = next_number();
    spec->truncate = next_number() != 0;
    spec->mix_by_documents = next_number() != 0;
    spec->drop_exhausted = next_number() != 0;
    spec->drop_last = next_number() != 0;
    job->steps = next_number();
    job->random = next_number();
    for (size_t i = 0; i < sizeof spec->digest; i++) {
        spec->digest[i] = (uint8_t)i;
    }
}

static void read_dataset(driver_job *job)
{
    if (job->spec.dataset_count == DATASETS_MAX) {
        give_up("too many datasets", DATASETS_MAX);
    }
    uint64_t number = job->spec.dataset_count++;
    leat_plan_dataset *dataset = &job->datasets[number];
    job->names[number] = leat_strdup(strtok(NULL, " \n"));
    dataset->name = job->names[number];
    dataset->weight = next_number();
    dataset->documents = next_number();
    dataset->epochs = next_number();
    dataset->holdout_millionths = (uint32_t)next_number();
    dataset->use_holdout = next_number() != 0;
    dataset->unit = (leat_unit)next_number();
    dataset->block = next_number();
    dataset->buffer = next_number();
    dataset->piece_window = next_number();
    dataset->window_tokens = next_number();
}

static void read_line(driver_job *job, const char *word)
{
    leat_plan_spec *spec = &job->spec;
    uint64_t last = spec->dataset_count - 1;
    if (strcmp(word, "job") == 0) {
        read_settings(job);
    } else if (strcmp(word, "dataset") == 0) {
        read_dataset(job);
    } else if (strcmp(word, "shards") == 0) {
        job->datasets[last].shards = next_number();
        job->shard_ends[last] = next_numbers(job->datasets[last].shards);
        job->datasets[last].shard_ends = job->shard_ends[last];
    } else if (strcmp(word, "tokens") == 0) {
        job->tokens[last] = next_numbers(job->datasets[last].documents);
    } else if (strcmp(word, "stage") == 0 && spec->stage_count < STAGES_MAX) {
        uint64_t number = spec->stage_count++;
        job->stages[number].from_row = next_number();
        job->stage_weights[number] = next_numbers(spec->dataset_count);
        job->stages[number].weights = job->stage_weights[number];
    } else if (strcmp(word, "batch") == 0 && spec->batch_size_count < BATCH_SIZES_MAX) {
        uint64_t number = spec->batch_size_count++;
        job->batch_sizes[number].from_step = next_number();
        job->batch_sizes[number].rows = next_number();
    } else {
        give_up("an unknown line", (uint64_t)(unsigned char)word[0]);
    }
}

/* false: no further job. */
static bool read_job(driver_job *job, char **line, size_t *capacity)
{
    memset(job, 0, sizeof *job);
    while (getline(line, capacity, stdin) > 0) {
        const char *word = strtok(*line, " \n");
        if (word == NULL) {
            continue;
        }
        if (strcmp(word, "end") == 0) {
            job->spec.datasets = job->datasets;
            job->spec.stages = job->stages;
            job->spec.batch_sizes = job->batch_sizes;
            return true;
        }
        read_line(job, word);
    }
    return false;
}

static void forget_job(driver_job *job)
{
    for (uint64_t d = 0; d < job->spec.dataset_count; d++) {
        leat_free(job->names[d]);
        leat_free(job->tokens[d]);
        leat_free(job->shard_ends[d]);
        leat_order_close(job->orders[d]);
    }
    for (uint64_t s = 0; s < job->spec.stage_count; s++) {
        leat_free(job->stage_weights[s]);
    }
}

/* ---- driving a work source ---- */
static void feed_some(driver_job *job, leat_work_source *source, uint32_t dataset)
{
    uint64_t counts[64];
    uint64_t position = leat_work_source_fed(source, dataset);
    uint64_t end = leat_work_source_stream_end(source, dataset);
    size_t want = 1 + check_random(&job->random) % (check_random(&job->random) % 3 ? 5 : 64);
    size_t count = 0;
    for (; count < want && position + count < end; count++) {
        uint64_t document = leat_order_document(job->orders[dataset], position + count);
        bool apart = leat_order_set_apart(job->orders[dataset], document);
        counts[count] = apart ? 0 : job->tokens[dataset][document];
    }
    leat_work_source_feed(source, dataset, position, counts, count);
    if (leat_work_source_fed(source, dataset) != position + count) {
        give_up("fed counts were not taken", position);
    }
}

/* The next event that is not NEED.  Now and then a dataset is fed that did not ask. */
static leat_plan_event advance(driver_job *job, leat_work_source *source, leat_step_plan *plan,
                               leat_plan_need *need)
{
    for (;;) {
        uint64_t dice = check_random(&job->random) % (8 * job->spec.dataset_count);
        if (dice < job->spec.dataset_count && job->datasets[dice].documents > 0 &&
            leat_work_source_live(source, (uint32_t)dice)) {
            feed_some(job, source, (uint32_t)dice);
        }
        leat_plan_event event = leat_work_source_next(source, plan, need);
        if (event != LEAT_PLAN_NEED) {
            return event;
        }
        uint64_t end = leat_work_source_stream_end(source, need->dataset);
        if (need->position != leat_work_source_fed(source, need->dataset) ||
            need->position >= end || job->datasets[need->dataset].documents == 0) {
            give_up("NEED asks for a wrong position", need->position);
        }
        feed_some(job, source, need->dataset);
    }
}

static leat_work_source *open_source(driver_job *job, leat_bytes cursor)
{
    leat_error error = {0};
    leat_work_source *source = NULL;
    if (leat_work_source_open(&source, &job->spec, cursor, &error) != LEAT_OK) {
        char text[1024];
        leat_error_format(&error, text, sizeof text);
        for (char *at = text; *at != '\0'; at++) {
            *at = *at == '\n' ? ' ' : *at;
        }
        if (cursor.data != NULL) {
            fprintf(stderr, "%s\n", text);
            give_up("a cursor of its own is refused", cursor.size);
        }
        printf("invalid %s\n", text);
        return NULL;
    }
    return source;
}

/* ---- printing and comparing ---- */
static void put_cursor(const leat_work_source *source, leat_buffer *cursor)
{
    leat_work_source_cursor(source, cursor);
    char *hex = leat_alloc(2 * cursor->size + 1, 1);
    leat_hex(cursor->data, cursor->size, hex);
    printf("cursor %s\n", hex);
    leat_free(hex);
}

/* The ids of the test's corpus: a function of dataset, document and place that plan_test.py knows as well. */
static uint32_t token_at(uint64_t dataset, uint64_t document, uint64_t place)
{
    return (uint32_t)(dataset * 1000003u + document * 4099u + place * 31u + 1u);
}

static void put_row(driver_job *job, leat_sha256 *hash, const leat_step_plan *plan, uint64_t row,
                    uint8_t digest[32])
{
    uint64_t begin = row == 0 ? 0 : plan->row_ends[row - 1], count = plan->row_ends[row] - begin;
    uint32_t *tokens = leat_alloc(job->spec.row_tokens, sizeof *tokens);
    uint32_t *ends = leat_alloc(count + 1, sizeof *ends);
    for (uint64_t i = 0; i < job->spec.row_tokens; i++) {
        tokens[i] = PAD_ID;
    }
    fputs("row", stdout);
    for (uint64_t s = 0; s < count; s++) {
        const leat_segment *segment = &plan->segments[begin + s];
        uint64_t document = leat_order_document(job->orders[segment->dataset], segment->position);
        printf(" %" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%" PRIu32,
               segment->dataset, segment->position, document, segment->start, segment->length,
               segment->row_start);
        ends[s] = segment->row_start + segment->length;
        if (segment->length == 0 || ends[s] > job->spec.row_tokens) {
            give_up("a segment leaves its row", ends[s]);
        }
        for (uint32_t i = 0; i < segment->length; i++) {
            tokens[segment->row_start + i] =
                token_at(segment->dataset, document, segment->start + i);
        }
    }
    putchar('\n');
    leat_row_view view = {(uint32_t)job->spec.row_tokens, tokens, ends, (uint32_t)count, NULL, 0};
    leat_digest_row(hash, &view, digest);
    leat_free(tokens);
    leat_free(ends);
}

static void put_step(driver_job *job, leat_sha256 *hash, const leat_step_plan *plan)
{
    uint8_t *digests = leat_alloc(plan->rows, 32), batch[32];
    char hex[65];
    printf("step %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", plan->step, plan->first_row, plan->rows);
    for (uint64_t row = 0; row < plan->rows; row++) {
        put_row(job, hash, plan, row, digests + 32 * row);
    }
    fputs("tokens", stdout);
    for (uint64_t d = 0; d < job->spec.dataset_count; d++) {
        printf(" %" PRIu64, plan->dataset_tokens[d]);
    }
    leat_digest_batch(hash, digests, plan->rows, batch);
    leat_hex(batch, sizeof batch, hex);
    printf("\nbatch %s\n", hex);
    leat_free(digests);
}

static bool same_step(const leat_step_plan *a, const leat_step_plan *b, uint64_t datasets)
{
    if (a->step != b->step || a->first_row != b->first_row || a->rows != b->rows ||
        a->segment_count != b->segment_count) {
        return false;
    }
    for (size_t i = 0; i < a->segment_count; i++) {
        const leat_segment *s = &a->segments[i], *t = &b->segments[i];
        if (s->dataset != t->dataset || s->row_start != t->row_start || s->length != t->length ||
            s->position != t->position || s->start != t->start) {
            return false;
        }
    }
    return memcmp(a->row_ends, b->row_ends, a->rows * sizeof *a->row_ends) == 0 &&
           memcmp(a->dataset_tokens, b->dataset_tokens, datasets * sizeof *a->dataset_tokens) == 0;
}

/* What the source promised before the step that `plan` holds. */
static void check_low(const uint64_t *low, const leat_step_plan *plan)
{
    for (size_t i = 0; i < plan->segment_count; i++) {
        if (plan->segments[i].position < low[plan->segments[i].dataset]) {
            give_up("a document below leat_work_source_low is used", plan->segments[i].position);
        }
    }
}

typedef struct resumed_source {
    leat_work_source *source;
    leat_step_plan plan;
    leat_buffer cursor;
} resumed_source;

/* Opens from `cursor`; the cursor of what was opened must be the same bytes. */
static void resume(driver_job *job, resumed_source *resumed, const leat_buffer *cursor)
{
    leat_work_source_close(resumed->source);
    resumed->source = open_source(job, (leat_bytes){cursor->data, cursor->size});
    leat_work_source_cursor(resumed->source, &resumed->cursor);
    if (resumed->cursor.size != cursor->size ||
        memcmp(resumed->cursor.data, cursor->data, cursor->size) != 0) {
        give_up("a cursor that was loaded and saved again is not the same", job->spec.seed);
    }
}

static void compare_resumed(driver_job *job, resumed_source *resumed, leat_plan_event event,
                            const leat_step_plan *plan, const leat_plan_need *need,
                            const leat_buffer *cursor)
{
    leat_plan_need own_need = {0};
    leat_plan_event own_event = advance(job, resumed->source, &resumed->plan, &own_need);
    if (own_event != event) {
        give_up("a resumed source gives another event", (uint64_t)own_event);
    }
    if (event == LEAT_PLAN_REFUSED &&
        (own_need.dataset != need->dataset || own_need.no_tokens != need->no_tokens)) {
        give_up("a resumed source is refused otherwise", own_need.dataset);
    }
    if (event == LEAT_PLAN_REFUSED) {
        return;
    }
    if (event == LEAT_PLAN_STEP && !same_step(plan, &resumed->plan, job->spec.dataset_count)) {
        give_up("a resumed source gives another step", plan->step);
    }
    leat_work_source_cursor(resumed->source, &resumed->cursor);
    if (resumed->cursor.size != cursor->size ||
        memcmp(resumed->cursor.data, cursor->data, cursor->size) != 0) {
        give_up("a resumed source comes to another cursor", leat_work_source_step(resumed->source));
    }
}

static void put_ending(const leat_work_source *source, leat_plan_event event,
                       const leat_plan_need *need)
{
    if (event == LEAT_PLAN_REFUSED) {
        printf("refused %" PRIu32 " %d %" PRIu64 "\n", need->dataset, need->no_tokens,
               need->position);
    } else if (event == LEAT_PLAN_END) {
        leat_plan_ending ending = leat_work_source_ending(source);
        printf("end %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", ending.rows, ending.dropped_rows,
               ending.dropped_tokens);
    } else {
        puts("stopped");
    }
}

/* `near` is opened again after every step; `far` was opened once, at a step taken by chance. */
static void run_steps(driver_job *job, leat_work_source *source, leat_sha256 *hash)
{
    leat_step_plan plan = {0};
    leat_plan_need need = {0};
    leat_buffer cursor = {0};
    resumed_source near = {0}, far = {0};
    uint64_t low[DATASETS_MAX], far_step = check_random(&job->random) % (job->steps + 1);
    leat_plan_event event = LEAT_PLAN_STEP;
    put_cursor(source, &cursor);
    for (uint64_t step = 0; event == LEAT_PLAN_STEP && step < job->steps; step++) {
        for (uint32_t d = 0; d < job->spec.dataset_count; d++) {
            low[d] = leat_work_source_low(source, d);
        }
        resume(job, &near, &cursor);
        if (step == far_step) {
            resume(job, &far, &cursor);
        }
        event = advance(job, source, &plan, &need);
        if (event == LEAT_PLAN_STEP) {
            check_low(low, &plan);
            put_step(job, hash, &plan);
            put_cursor(source, &cursor);
        } else if (event == LEAT_PLAN_END) {
            put_cursor(source, &cursor);
        }
        compare_resumed(job, &near, event, &plan, &need, &cursor);
        if (far.source != NULL) {
            compare_resumed(job, &far, event, &plan, &need, &cursor);
        }
    }
    put_ending(source, event, &need);
    leat_step_plan_deinit(&plan);
    leat_buffer_deinit(&cursor);
    for (resumed_source *r = &near; r != NULL; r = r == &near ? &far : NULL) {
        leat_work_source_close(r->source);
        leat_step_plan_deinit(&r->plan);
        leat_buffer_deinit(&r->cursor);
    }
}

int main(void)
{
    static driver_job job;
    char *line = NULL;
    size_t capacity = 0;
    leat_sha256 *hash = leat_sha256_open();
    while (read_job(&job, &line, &capacity)) {
        puts("job");
        for (uint64_t d = 0; d < job.spec.dataset_count; d++) {
            if (job.datasets[d].documents > 0) {
                job.orders[d] = leat_order_open(job.spec.seed, &job.datasets[d]);
            }
        }
        leat_work_source *source = open_source(&job, (leat_bytes){NULL, 0});
        if (source != NULL) {
            run_steps(&job, source, hash);
            leat_work_source_close(source);
        }
        forget_job(&job);
    }
    leat_sha256_close(hash);
    free(line);
    return 0;
}
