/* The plan on hand-made corpora: windows, exhaustion, epochs, refusals, stages, last batches, and settings out of range. */
#include "plan/work_source.h"
#include "base/memory.h"
#include "check.h"
#include "plan/cursor.h"

static const leat_plan_batch_size batch[1] = {{0, 2}};

/* Token counts of one epoch of up to three datasets; the plan is told in text, a row in brackets: dataset, position, start
 * and length of each segment; END or the refusal at the end. */
typedef struct plan_case {
    const char *label;
    leat_plan_spec spec;
    leat_plan_dataset datasets[3];
    leat_plan_stage stages[2];
    uint64_t counts[3][8];
    const char *want;
} plan_case;

#define DATASET(name_, weight_, documents_, epochs_) \
    { \
        .name = name_, .weight = weight_, .documents = documents_, .epochs = epochs_, \
        .piece_window = 1, .window_tokens = 1000 \
    }
static const uint64_t only_b[3] = {0, 1, 0}, only_a[3] = {1, 0, 0};

static const plan_case cases[] = {
    {"pieces are laid end to end and may continue",
     {.row_tokens = 4, .piece = 4, .drop_last = true, .dataset_count = 1},
     {DATASET("a", 1, 3, 1)},
     {{0}},
     {{3, 6, 3}},
     "[a0 0+3 a1 0+1][a1 1+4]/0 END rows 2 dropped 1 rows 0 tokens"},
    {"neighbours that continue are one segment",
     {.row_tokens = 6, .piece = 2, .drop_last = true, .dataset_count = 1},
     {DATASET("a", 1, 3, 1)},
     {{0}},
     {{5, 0, 7}},
     "[a0 0+5 a2 0+1][a2 1+6]/0 END rows 2 dropped 0 rows 0 tokens"},
    {"a last row is padded, a last batch is short",
     {.row_tokens = 4, .piece = 4, .drop_last = false, .dataset_count = 1},
     {DATASET("a", 1, 2, 1)},
     {{0}},
     {{8, 2}},
     "[a0 0+4][a0 4+4]/0 [a1 0+2]/1 END rows 3 dropped 0 rows 0 tokens"},
    {"a row that is not full is dropped",
     {.row_tokens = 4, .piece = 4, .drop_last = true, .dataset_count = 1},
     {DATASET("a", 1, 2, 1)},
     {{0}},
     {{8, 2}},
     "[a0 0+4][a0 4+4]/0 END rows 2 dropped 0 rows 2 tokens"},
    {"truncate takes the first piece",
     {.row_tokens = 4, .piece = 3, .truncate = true, .drop_last = false, .dataset_count = 1},
     {DATASET("a", 1, 2, 1)},
     {{0}},
     {{8, 5}},
     "[a0 0+3 a1 0+1][a1 1+2]/0 END rows 2 dropped 0 rows 0 tokens"},
    {"epochs go on, empty documents are passed over",
     {.row_tokens = 2, .piece = 2, .drop_last = false, .dataset_count = 1},
     {DATASET("a", 1, 3, 2)},
     {{0}},
     {{0, 2, 0}},
     "[a1 0+2][a4 0+2]/0 END rows 2 dropped 0 rows 0 tokens"},
    {"stop: the first end ends the plan",
     {.row_tokens = 2, .piece = 2, .drop_last = false, .dataset_count = 2},
     {DATASET("a", 1, 1, 1), DATASET("b", 1, 1, 0)},
     {{0}},
     {{2}, {2}},
     "[a0 0+2][b0 0+2]/0 END rows 2 dropped 0 rows 0 tokens"},
    {"drop: the others go on",
     {.row_tokens = 2, .piece = 2, .drop_exhausted = true, .dataset_count = 2},
     {DATASET("a", 1, 1, 1), DATASET("b", 1, 1, 3)},
     {{0}},
     {{2}, {2}},
     "[a0 0+2][b0 0+2]/0 [b1 0+2][b2 0+2]/1 END rows 4 dropped 0 rows 0 tokens"},
    {"weights by tokens, the earlier wins a tie",
     {.row_tokens = 1, .piece = 1, .drop_last = true, .dataset_count = 2},
     {DATASET("a", 1, 4, 1), DATASET("b", 3, 4, 1)},
     {{0}},
     {{1, 1, 1, 1}, {1, 1, 1, 1}},
     "[a0 0+1][b0 0+1]/0 [b1 0+1][b2 0+1]/1 [a1 0+1][b3 0+1]/2 END rows 6 dropped 0 rows 0 tokens"},
    {"mix_by documents: long documents weigh as short ones",
     {.row_tokens = 4, .piece = 4, .mix_by_documents = true, .dataset_count = 2},
     {DATASET("a", 1, 2, 1), DATASET("b", 1, 2, 1)},
     {{0}},
     {{8, 4}, {4, 4}},
     "[a0 0+4][a0 4+4]/0 [b0 0+4][a1 0+4]/1 [b1 0+4]/2 END rows 5 dropped 0 rows 0 tokens"},
    {"a dataset without tokens is refused, whatever its epochs",
     {.row_tokens = 4, .piece = 4, .dataset_count = 2},
     {DATASET("a", 1, 1, 0), DATASET("b", 1, 3, 1)},
     {{0}},
     {{8}, {0, 0, 0}},
     "refused 1 b3"},
    {"so is one without documents",
     {.row_tokens = 4, .piece = 4, .dataset_count = 2},
     {DATASET("a", 1, 1, 0), DATASET("b", 1, 0, 0)},
     {{0}},
     {{8}, {0}},
     "refused 1 b0"},
    {"a bad document is refused where it is met",
     {.row_tokens = 4, .piece = 4, .dataset_count = 1},
     {DATASET("a", 1, 4, 1)},
     {{0}},
     {{4, 4, 4, LEAT_COUNT_BAD}},
     "[a0 0+4][a1 0+4]/0 refused 0 a3"},
    {"a stage comes into force by rows, and ended is ended",
     {.row_tokens = 2, .piece = 2, .drop_exhausted = true, .dataset_count = 2, .stage_count = 2},
     {DATASET("a", 1, 1, 9), DATASET("b", 1, 1, 2)},
     {{1, only_b}, {2, only_a}},
     {{2}, {2}},
     "[a0 0+2][b0 0+2]/0 [a1 0+2][a2 0+2]/1 [a3 0+2][a4 0+2]/2 [a5 0+2][a6 0+2]/3 "
     "[a7 0+2][a8 0+2]/4 END rows 10 dropped 0 rows 0 tokens"},
    {"a stage whose datasets have ended ends the plan",
     {.row_tokens = 2, .piece = 2, .drop_exhausted = true, .dataset_count = 2, .stage_count = 1},
     {DATASET("a", 1, 1, 9), DATASET("b", 1, 1, 1)},
     {{1, only_b}},
     {{2}, {2}},
     "[a0 0+2][b0 0+2]/0 END rows 2 dropped 0 rows 0 tokens"},
    {"single: one piece a row",
     {.row_tokens = 4, .piece = 3, .packing = LEAT_PACKING_SINGLE, .dataset_count = 1},
     {DATASET("a", 1, 2, 1)},
     {{0}},
     {{5, 3}},
     "[a0 0+3][a0 3+2]/0 [a1 0+3]/1 END rows 3 dropped 0 rows 0 tokens"},
    {"single: a batch that is not full is dropped",
     {.row_tokens = 4,
      .piece = 3,
      .packing = LEAT_PACKING_SINGLE,
      .drop_last = true,
      .dataset_count = 1},
     {DATASET("a", 1, 2, 1)},
     {{0}},
     {{5, 3}},
     "[a0 0+3][a0 3+2]/0 END rows 2 dropped 1 rows 0 tokens"},
};

static void tell_step(const leat_plan_spec *spec, const leat_step_plan *plan, leat_buffer *out)
{
    for (uint64_t row = 0, i = 0; row < plan->rows; row++) {
        leat_buffer_add_text(out, "[");
        for (bool first = true; i < plan->row_ends[row]; i++, first = false) {
            const leat_segment *s = &plan->segments[i];
            leat_buffer_add_format(out, "%s%s%" PRIu64 " %" PRIu64 "+%" PRIu32, first ? "" : " ",
                                   spec->datasets[s->dataset].name, s->position, s->start,
                                   s->length);
        }
        leat_buffer_add_text(out, "]");
    }
    leat_buffer_add_format(out, "/%" PRIu64 " ", plan->step);
}

static void tell(const plan_case *c, leat_buffer *out)
{
    leat_error error;
    leat_work_source *source = NULL;
    leat_step_plan plan = {0};
    leat_plan_need need;
    leat_plan_spec spec = c->spec;
    spec.datasets = c->datasets;
    spec.stages = c->stages;
    spec.batch_sizes = batch;
    spec.batch_size_count = 1;
    if (!CHECK_OK(leat_work_source_open(&source, &spec, (leat_bytes){NULL, 0}, &error), &error)) {
        return;
    }
    for (int calls = 0; CHECK(calls < 200); calls++) {
        switch (leat_work_source_next(source, &plan, &need)) {
        case LEAT_PLAN_STEP:
            tell_step(&spec, &plan, out);
            continue;
        case LEAT_PLAN_NEED: {
            uint64_t n = spec.datasets[need.dataset].documents;
            leat_work_source_feed(source, need.dataset, need.position,
                                  &c->counts[need.dataset][need.position % n], 1);
            continue;
        }
        case LEAT_PLAN_END: {
            leat_plan_ending ending = leat_work_source_ending(source);
            leat_buffer_add_format(
                out, "END rows %" PRIu64 " dropped %" PRIu64 " rows %" PRIu64 " tokens",
                ending.rows, ending.dropped_rows, ending.dropped_tokens);
            CHECK(leat_work_source_next(source, &plan, &need) == LEAT_PLAN_END);
            break;
        }
        case LEAT_PLAN_REFUSED:
            leat_buffer_add_format(out, "refused %d %s%" PRIu64, need.no_tokens,
                                   spec.datasets[need.dataset].name, need.position);
            CHECK(leat_work_source_next(source, &plan, &need) == LEAT_PLAN_REFUSED);
            break;
        }
        break;
    }
    leat_step_plan_deinit(&plan);
    leat_work_source_close(source);
}

static void test_plans(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        leat_buffer out = {0};
        tell(&cases[i], &out);
        CHECK_TEXT(cases[i].label, leat_buffer_text(&out), cases[i].want);
        leat_buffer_deinit(&out);
    }
}

static void test_settings(void)
{
    static const uint64_t none[1] = {0};
    leat_plan_dataset dataset = DATASET("docs", 1, 3, 1);
    leat_plan_spec spec = {.row_tokens = 8,
                           .piece = 8,
                           .pack_window = 1,
                           .dataset_count = 1,
                           .datasets = &dataset,
                           .batch_sizes = batch,
                           .batch_size_count = 1};
    leat_plan_stage no_weight[1] = {{0, none}};
    static const leat_plan_batch_size late[1] = {{1, 2}}, zero[1] = {{0, 0}};
    static const uint64_t one[1] = {1};
    leat_plan_stage same_row[2] = {{4, one}, {4, one}};
    leat_plan_spec specs[12];
    static const char *texts[12] = {"row tokens",  "piece",       "piece",    "piece",
                                    "pack_window", "pack_window", "datasets", "batch_size",
                                    "batch_size",  "no weight",   "from_row", "too large"};
    for (int i = 0; i < 12; i++) {
        specs[i] = spec;
    }
    specs[0].row_tokens = 0;
    specs[1].piece = 0;
    specs[2].piece = (1 << 21) + 1;
    specs[3].piece = 9;
    specs[3].packing = LEAT_PACKING_SINGLE;
    specs[4].pack_window = 0;
    specs[4].packing = LEAT_PACKING_BEST_FIT;
    specs[5].pack_window = ((uint64_t)1 << 28) - 1;
    specs[5].packing = LEAT_PACKING_BEST_FIT;
    specs[6].dataset_count = 0;
    specs[7].batch_sizes = late;
    specs[8].batch_sizes = zero;
    specs[9].stages = no_weight;
    specs[9].stage_count = 1;
    specs[10].stages = same_row;
    specs[10].stage_count = 2;
    leat_plan_dataset heavy = dataset;
    heavy.weight = (uint64_t)1 << 58;
    specs[11].datasets = &heavy;
    leat_error error;
    CHECK_OK(leat_plan_spec_check(&spec, &error), &error);
    for (int i = 0; i < 12; i++) {
        leat_work_source *source = NULL;
        CHECK(leat_work_source_open(&source, &specs[i], (leat_bytes){NULL, 0}, &error) ==
              LEAT_INVALID);
        CHECK_HAS("text", error.text, texts[i]);
    }
}

static void test_dataset_settings(void)
{
    static const uint64_t ends[2] = {5, 3};
    leat_plan_dataset dataset = DATASET("docs", 1, 3, 1), bad[7];
    leat_plan_spec spec = {.row_tokens = 8,
                           .piece = 8,
                           .dataset_count = 1,
                           .batch_sizes = batch,
                           .batch_size_count = 1};
    leat_error error;
    static const char *bad_texts[7] = {"documents",     "epochs", "holdout",   "piece_window",
                                       "window_tokens", "buffer", "shard ends"};
    for (int i = 0; i < 7; i++) {
        bad[i] = dataset;
    }
    bad[0].documents = (uint64_t)1 << 62;
    bad[1].epochs = UINT64_MAX;
    bad[2].holdout_millionths = 1000001;
    bad[3].piece_window = 0;
    bad[4].window_tokens = 0;
    bad[5].documents = (uint64_t)1 << 40;
    bad[5].buffer = 2;
    bad[6].unit = LEAT_UNIT_SHARD;
    bad[6].shards = 2;
    bad[6].shard_ends = ends;
    for (int i = 0; i < 7; i++) {
        spec.datasets = &bad[i];
        CHECK(leat_plan_spec_check(&spec, &error) == LEAT_INVALID);
        CHECK_HAS("text", error.text, bad_texts[i]);
        CHECK_HAS("where", error.where, "dataset docs");
    }
}

/* Very long documents (more than 2^32 tokens) and many datasets without a draw. */
static void test_large_counts(void)
{
    leat_plan_dataset dataset = DATASET("a", 1, 2, 1);
    leat_plan_spec spec = {.row_tokens = 1 << 20,
                           .piece = 1 << 20,
                           .dataset_count = 1,
                           .datasets = &dataset,
                           .batch_sizes = batch,
                           .batch_size_count = 1};
    uint64_t counts[2] = {((uint64_t)1 << 33) + 5, UINT32_MAX}, tokens = 0;
    leat_error error;
    leat_work_source *source = NULL;
    leat_step_plan plan = {0};
    leat_plan_need need;
    CHECK_OK(leat_work_source_open(&source, &spec, (leat_bytes){NULL, 0}, &error), &error);
    leat_work_source_feed(source, 0, 0, counts, 2);
    CHECK_U64("ahead", leat_work_source_ahead_tokens(source, 0), counts[0] + counts[1]);
    while (leat_work_source_next(source, &plan, &need) == LEAT_PLAN_STEP) {
        tokens += plan.dataset_tokens[0];
    }
    CHECK_U64("tokens", tokens, counts[0] + counts[1]);
    CHECK_U64("nothing ahead", leat_work_source_ahead_tokens(source, 0), 0);
    CHECK_U64("not live", (uint64_t)leat_work_source_live(source, 0), 0);
    leat_step_plan_deinit(&plan);
    leat_work_source_close(source);
}

/* Steps without growing buffers: the path of a step allocates nothing. */
static void test_no_allocation(void)
{
    static const leat_packing packings[] = {LEAT_PACKING_CONCAT, LEAT_PACKING_BEST_FIT,
                                            LEAT_PACKING_SINGLE};
    for (size_t i = 0; i < 3; i++) {
        leat_plan_dataset datasets[2] = {DATASET("a", 1, 64, 0), DATASET("b", 2, 64, 0)};
        datasets[0].piece_window = datasets[1].piece_window = 8;
        leat_plan_spec spec = {.row_tokens = 64,
                               .piece = 64,
                               .packing = packings[i],
                               .pack_window = 16,
                               .dataset_count = 2,
                               .datasets = datasets,
                               .batch_sizes = batch,
                               .batch_size_count = 1};
        leat_error error;
        leat_work_source *source = NULL;
        leat_step_plan plan = {0};
        leat_plan_need need;
        uint64_t before = 0, counts[64];
        for (uint64_t d = 0; d < 64; d++) {
            counts[d] = 1 + d * 3 % 100;
        }
        CHECK_OK(leat_work_source_open(&source, &spec, (leat_bytes){NULL, 0}, &error), &error);
        for (int step = 0; step < 2000;) {
            leat_plan_event event = leat_work_source_next(source, &plan, &need);
            if (event == LEAT_PLAN_NEED) {
                leat_work_source_feed(source, need.dataset, need.position, counts, 64);
            } else if (!CHECK(event == LEAT_PLAN_STEP)) {
                break;
            } else if (++step == 1000) {
                before = leat_alloc_count();
            }
        }
        CHECK_U64("allocations in 1000 steps", leat_alloc_count() - before, 0);
        leat_step_plan_deinit(&plan);
        leat_work_source_close(source);
    }
}

/* An epoch that turns out empty after one that was not: counts are looked at, not remembered. */
static void test_empty_epoch(void)
{
    leat_plan_dataset dataset = DATASET("a", 1, 2, 3);
    leat_plan_spec spec = {.row_tokens = 2,
                           .piece = 2,
                           .dataset_count = 1,
                           .datasets = &dataset,
                           .batch_sizes = batch,
                           .batch_size_count = 1};
    static const uint64_t counts[4] = {2, 2, 0, 0};
    leat_error error;
    leat_work_source *source = NULL;
    leat_step_plan plan = {0};
    leat_plan_need need;
    CHECK_OK(leat_work_source_open(&source, &spec, (leat_bytes){NULL, 0}, &error), &error);
    leat_work_source_feed(source, 0, 0, counts, 4);
    CHECK(leat_work_source_next(source, &plan, &need) == LEAT_PLAN_STEP);
    CHECK(leat_work_source_next(source, &plan, &need) == LEAT_PLAN_REFUSED);
    CHECK_U64("why", (uint64_t)need.no_tokens, LEAT_REFUSED_NO_TOKENS);
    leat_step_plan_deinit(&plan);
    leat_work_source_close(source);
}

int main(void)
{
    test_no_allocation();
    test_empty_epoch();
    test_plans();
    test_settings();
    test_dataset_settings();
    test_large_counts();
    return check_done();
}
