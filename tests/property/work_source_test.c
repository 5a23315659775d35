/* Random small jobs: the plan must not depend on how counts are fed, on where it was interrupted and resumed, or on the
 * batch size; its rows must be whole; and every token must be given once.  The seed is the first argument. */
#include "plan/work_source.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "check.h"
#include "plan/cursor.h"

enum { DATASETS_MAX = 45, STAGES_MAX = 3, STEPS_MAX = 60 };

typedef struct job {
    leat_plan_spec spec;
    leat_plan_dataset datasets[DATASETS_MAX];
    char names[DATASETS_MAX][8];
    leat_plan_stage stages[STAGES_MAX];
    uint64_t weights[STAGES_MAX][DATASETS_MAX];
    leat_plan_batch_size batch_sizes[2];
    uint64_t count_seed, longest;
    uint32_t empty_of_8; /* documents without tokens */
} job;

typedef struct record {
    uint64_t steps, rows, tokens;
    uint8_t digest[STEPS_MAX][32];
    leat_buffer cursors[STEPS_MAX + 1];
    leat_plan_event end;
    leat_plan_need need;
    leat_plan_ending ending;
    uint8_t rows_digest[32]; /* of all rows, wherever the steps are cut */
} record;

static uint64_t below(uint64_t *state, uint64_t n)
{
    return check_random(state) % n;
}

static uint64_t document_tokens(const job *j, uint32_t dataset, uint64_t document)
{
    uint64_t state = j->count_seed + dataset * 1000003u + document * 7919u;
    if (below(&state, 8) < j->empty_of_8) {
        return 0;
    }
    return 1 + below(&state, below(&state, 4) == 0 ? j->longest : j->longest / 8 + 1);
}

static void make_dataset(job *j, uint32_t d, uint64_t *state)
{
    snprintf(j->names[d], sizeof j->names[d], "d%" PRIu32, d);
    j->datasets[d] = (leat_plan_dataset){.name = j->names[d],
                                         .weight = 1 + below(state, 9),
                                         .documents = 1 + below(state, 40),
                                         .epochs = below(state, 4),
                                         .unit = LEAT_UNIT_NONE,
                                         .piece_window = 1 + below(state, 9),
                                         .window_tokens = 1 + below(state, 200)};
}

static void make_job(job *j, uint64_t seed)
{
    static const uint64_t row_tokens[] = {1, 2, 5, 17, 33, 100};
    uint64_t state = seed;
    *j = (job){.count_seed = check_random(&state), .longest = 1 + below(&state, 120)};
    j->empty_of_8 = (uint32_t)below(&state, 4) == 0 ? (uint32_t)below(&state, 7) : 0;
    leat_plan_spec *spec = &j->spec;
    spec->seed = check_random(&state);
    spec->row_tokens = row_tokens[below(&state, 6)];
    spec->packing = (leat_packing)below(&state, 3);
    spec->piece = 1 + below(&state, spec->row_tokens);
    if (spec->packing == LEAT_PACKING_CONCAT && below(&state, 3) == 0) {
        spec->piece = 1 + below(&state, 3 * spec->row_tokens);
    }
    spec->pack_window = 1 + below(&state, 12);
    spec->truncate = below(&state, 5) == 0;
    spec->mix_by_documents = below(&state, 4) == 0;
    spec->drop_exhausted = below(&state, 3) > 0;
    spec->drop_last = below(&state, 3) == 0;
    uint32_t datasets = below(&state, 6) == 0 ? DATASETS_MAX : 1 + (uint32_t)below(&state, 5);
    bool limited = below(&state, 3) > 0;
    for (uint32_t d = 0; d < datasets; d++) {
        make_dataset(j, d, &state);
        j->datasets[d].epochs += limited && j->datasets[d].epochs == 0;
    }
    spec->dataset_count = datasets;
    spec->datasets = j->datasets;
    uint64_t from_row = below(&state, 2);
    spec->stage_count = below(&state, STAGES_MAX + 1);
    for (uint64_t i = 0; i < spec->stage_count; i++, from_row += 1 + below(&state, 30)) {
        for (uint32_t d = 0; d < datasets; d++) {
            j->weights[i][d] = below(&state, 3) == 0 ? 0 : 1 + below(&state, 1000);
        }
        j->weights[i][below(&state, datasets)] = 3;
        j->stages[i] = (leat_plan_stage){from_row, j->weights[i]};
    }
    spec->stages = j->stages;
    uint64_t most_rows = below(&state, 2) == 0 ? 9 : 60;
    j->batch_sizes[0] = (leat_plan_batch_size){0, 1 + below(&state, most_rows)};
    j->batch_sizes[1] = (leat_plan_batch_size){1 + below(&state, 9), 1 + below(&state, most_rows)};
    spec->batch_sizes = j->batch_sizes;
    spec->batch_size_count = 1 + below(&state, 2);
    memset(spec->digest, 0x5a, sizeof spec->digest);
}

static void feed(const job *j, leat_work_source *source, uint32_t dataset, uint64_t count)
{
    uint64_t counts[512], at = leat_work_source_fed(source, dataset);
    uint64_t left = leat_work_source_stream_end(source, dataset) - at;
    count = count < left ? count : left;
    count = count < 512 ? count : 512;
    for (uint64_t i = 0; i < count; i++) {
        counts[i] = document_tokens(j, dataset, (at + i) % j->datasets[dataset].documents);
    }
    leat_work_source_feed(source, dataset, at, counts, count);
}

static void hash_rows(leat_sha256 *hash, const leat_step_plan *plan)
{
    uint8_t bytes[32];
    for (uint64_t row = 0, i = 0; row < plan->rows; row++) {
        for (; i < plan->row_ends[row]; i++) {
            const leat_segment *s = &plan->segments[i];
            leat_put_u32(bytes, s->dataset);
            leat_put_u32(bytes + 4, s->row_start);
            leat_put_u64(bytes + 8, s->length);
            leat_put_u64(bytes + 16, s->position);
            leat_put_u64(bytes + 24, s->start);
            leat_sha256_add(hash, bytes, sizeof bytes);
        }
        leat_sha256_add(hash, "row", 3);
    }
}

/* Rows are filled from their start without a gap; a whole row of concat is full; sums agree. */
static void check_step(const job *j, const leat_step_plan *plan, bool may_be_short)
{
    uint64_t tokens[DATASETS_MAX] = {0}, bad = 0;
    for (uint64_t row = 0, i = 0; row < plan->rows; row++) {
        uint64_t filled = 0;
        for (; i < plan->row_ends[row]; i++) {
            const leat_segment *s = &plan->segments[i];
            bad += s->row_start != filled || s->length == 0;
            filled += s->length;
            tokens[s->dataset] += s->length;
            uint64_t n =
                document_tokens(j, s->dataset, s->position % j->datasets[s->dataset].documents);
            n = j->spec.truncate && n > j->spec.piece ? j->spec.piece : n;
            bad += s->start + s->length > n;
        }
        bad += filled == 0 || filled > j->spec.row_tokens;
        bad += j->spec.packing == LEAT_PACKING_CONCAT && filled != j->spec.row_tokens &&
               !(may_be_short && row + 1 == plan->rows);
    }
    for (uint32_t d = 0; d < j->spec.dataset_count; d++) {
        bad += tokens[d] != plan->dataset_tokens[d];
    }
    CHECK_U64("faults of a step", bad, 0);
}

/* No segment is below the low positions told before its step; they never go back.  Adds the step's tokens to *tokens. */
static void check_low(const job *j, const leat_work_source *source, const leat_step_plan *plan,
                      uint64_t *low, uint64_t *tokens)
{
    uint64_t bad = 0;
    for (size_t i = 0; i < plan->segment_count; i++) {
        bad += plan->segments[i].position < low[plan->segments[i].dataset];
    }
    for (uint32_t d = 0; d < j->spec.dataset_count; d++) {
        bad += leat_work_source_low(source, d) < low[d];
        low[d] = leat_work_source_low(source, d);
        *tokens += plan->dataset_tokens[d];
    }
    CHECK_U64("segments below the low position", bad, 0);
}

/* Runs from `cursor` (NULL data: the start) for at most `steps`; `chunk` 0: random sizes and far ahead. */
static void run(const job *j, leat_bytes cursor, uint64_t steps, uint64_t chunk, record *out)
{
    leat_error error;
    leat_work_source *source;
    leat_step_plan plan = {0};
    leat_sha256 *hash = leat_sha256_open(), *rows_hash = leat_sha256_open();
    uint64_t state = chunk + 1, fed_calls = 0, low[DATASETS_MAX];
    out->steps = out->rows = out->tokens = 0;
    out->end = LEAT_PLAN_STEP;
    leat_sha256_begin(rows_hash);
    if (!CHECK_OK(leat_work_source_open(&source, &j->spec, cursor, &error), &error)) {
        exit(1);
    }
    leat_work_source_cursor(source, &out->cursors[0]);
    for (uint32_t d = 0; d < j->spec.dataset_count; d++) {
        low[d] = leat_work_source_low(source, d);
    }
    while (out->steps < steps) {
        leat_plan_event event = leat_work_source_next(source, &plan, &out->need);
        if (event == LEAT_PLAN_NEED) {
            CHECK_U64("need", out->need.position, leat_work_source_fed(source, out->need.dataset));
            feed(j, source, out->need.dataset, chunk > 0 ? chunk : 1 + below(&state, 300));
            if (chunk == 0) {
                feed(j, source, (uint32_t)below(&state, j->spec.dataset_count), below(&state, 50));
            }
            if (++fed_calls > 1000000) {
                CHECK_U64("calls of feed, endless", fed_calls, 0);
                break;
            }
            continue;
        }
        out->end = event;
        if (event != LEAT_PLAN_STEP) {
            break;
        }
        check_step(j, &plan, !j->spec.drop_last);
        CHECK_U64(
            "first row", plan.first_row,
            leat_plan_step_first_row(j->spec.batch_sizes, j->spec.batch_size_count, plan.step));
        check_low(j, source, &plan, low, &out->tokens);
        leat_sha256_begin(hash);
        hash_rows(hash, &plan);
        hash_rows(rows_hash, &plan);
        leat_sha256_end(hash, out->digest[out->steps++]);
        out->rows += plan.rows;
        leat_work_source_cursor(source, &out->cursors[out->steps]);
    }
    out->ending = leat_work_source_ending(source);
    leat_sha256_end(rows_hash, out->rows_digest);
    leat_step_plan_deinit(&plan);
    leat_work_source_close(source);
    leat_sha256_close(hash);
    leat_sha256_close(rows_hash);
}

static bool same_bytes(const leat_buffer *a, const leat_buffer *b)
{
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

static void check_same(const char *label, const record *whole, uint64_t from, const record *part,
                       bool to_end)
{
    uint64_t bad = 0;
    for (uint64_t i = 0; i <= part->steps; i++) {
        bad += from + i > whole->steps || !same_bytes(&whole->cursors[from + i], &part->cursors[i]);
        bad += i < part->steps && (from + i >= whole->steps ||
                                   memcmp(whole->digest[from + i], part->digest[i], 32) != 0);
    }
    if (to_end) {
        bad += from + part->steps != whole->steps || part->end != whole->end ||
               part->ending.dropped_rows != whole->ending.dropped_rows ||
               part->ending.dropped_tokens != whole->ending.dropped_tokens ||
               part->ending.rows != whole->ending.rows;
        bad += whole->end == LEAT_PLAN_REFUSED && part->need.dataset != whole->need.dataset;
    }
    CHECK_U64(label, bad, 0);
}

/* With drop and without dropping the last batch, limited datasets give every token once. */
static void check_complete(const job *j, const record *whole, uint64_t *checked)
{
    uint64_t want = 0;
    for (uint32_t d = 0; d < j->spec.dataset_count; d++) {
        uint64_t n = j->datasets[d].documents;
        for (uint64_t p = 0; p < n * j->datasets[d].epochs; p++) {
            uint64_t tokens = document_tokens(j, d, p % n);
            want += j->spec.truncate && tokens > j->spec.piece ? j->spec.piece : tokens;
        }
    }
    if (whole->end != LEAT_PLAN_END || !j->spec.drop_exhausted || j->spec.drop_last ||
        j->spec.stage_count > 0) {
        return;
    }
    CHECK_U64("all tokens", whole->tokens, want);
    if (j->spec.packing == LEAT_PACKING_CONCAT) {
        uint64_t row = j->spec.row_tokens;
        CHECK_U64("rows of all tokens", whole->rows, want / row + (want % row > 0));
    }
    ++*checked;
}

static void check_job(uint64_t seed, record *whole, record *part, uint64_t counts[5])
{
    static job j, other;
    make_job(&j, seed);
    run(&j, (leat_bytes){NULL, 0}, STEPS_MAX, 1, whole);
    counts[whole->end]++;
    counts[4] += whole->steps;
    run(&j, (leat_bytes){NULL, 0}, STEPS_MAX, 0, part);
    check_same("fed in other chunks", whole, 0, part, true);
    run(&j, (leat_bytes){NULL, 0}, STEPS_MAX, 37, part);
    check_same("fed in chunks of 37", whole, 0, part, true);
    for (uint64_t step = 0; step <= whole->steps; step++) {
        const leat_buffer *cursor = &whole->cursors[step];
        uint64_t steps = step + 4 > STEPS_MAX ? STEPS_MAX - step : step % 8 == 0 ? 60 - step : 4;
        run(&j, (leat_bytes){cursor->data, cursor->size}, steps, step % 3, part);
        check_same("resumed", whole, step, part, part->steps < steps && whole->steps < STEPS_MAX);
    }
    make_job(&other, seed);
    other.batch_sizes[0].rows = 1;
    other.spec.batch_size_count = 1;
    uint64_t rows = whole->rows;
    if (rows < STEPS_MAX && (whole->steps == 0 || whole->rows > 0)) {
        run(&other, (leat_bytes){NULL, 0}, rows, 5, part);
        CHECK_U64("rows with batches of one", part->rows, rows);
        CHECK(memcmp(part->rows_digest, whole->rows_digest, 32) == 0);
    }
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    uint64_t jobs = argc > 2 ? strtoull(argv[2], NULL, 0) : 300, counts[5] = {0}, complete = 0;
    record *whole = leat_alloc(1, sizeof *whole), *part = leat_alloc(1, sizeof *part);
    for (uint64_t seed = first; seed < first + jobs; seed++) {
        int before = check_failures;
        check_job(seed, whole, part, counts);
        static job j;
        make_job(&j, seed);
        check_complete(&j, whole, &complete);
        if (check_failures != before) {
            printf("seed %" PRIu64 ": packing %d, R %" PRIu64 ", P %" PRIu64 ", %" PRIu64
                   " datasets, %" PRIu64 " stages\n",
                   seed, (int)j.spec.packing, j.spec.row_tokens, j.spec.piece, j.spec.dataset_count,
                   j.spec.stage_count);
            break;
        }
    }
    CHECK(jobs < 100 || complete > 0);
    printf("seeds %" PRIu64 " to %" PRIu64 ": %" PRIu64 " steps, %" PRIu64 " cut, %" PRIu64
           " ended, %" PRIu64 " complete\n",
           first, first + jobs - 1, counts[4], counts[LEAT_PLAN_STEP], counts[LEAT_PLAN_END],
           complete);
    for (int i = 0; i <= STEPS_MAX; i++) {
        leat_buffer_deinit(&whole->cursors[i]);
        leat_buffer_deinit(&part->cursors[i]);
    }
    leat_free(whole);
    leat_free(part);
    return check_done();
}
