/* What a trainer asks of a row: position ids, labels, loss mask, cumulative lengths, document ids, micro-batches. */
#include "leat.h"
#include "check.h"

/* Two rows of 6 tokens: [a a a | b b .] with a padded place, and [c c c c c c]. */
static const uint32_t tokens[] = {10, 11, 12, 20, 21, 0, 30, 31, 32, 33, 34, 35};
static const leat_batch_segment segments[] = {{.dataset = 0, .row_start = 0, .length = 3},
                                              {.dataset = 1, .row_start = 3, .length = 2},
                                              {.dataset = 0, .row_start = 0, .length = 6}};
static const uint64_t row_segments[] = {2, 3};

static leat_batch make(bool mask_boundaries)
{
    return (leat_batch){.rows = 2,
                        .global_rows = 4,
                        .first_row = 2,
                        .row_tokens = 6,
                        .tokens = tokens,
                        .segments = segments,
                        .row_segments = row_segments,
                        .mask_boundaries = mask_boundaries};
}

static void check_row(const char *label, const uint32_t *got, const uint32_t *want, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        CHECK_U64(label, got[i], want[i]);
    }
}

static void test_positions(void)
{
    leat_batch batch = make(false);
    uint32_t out[7];
    leat_batch_positions(&batch, 0, out);
    check_row("positions", out, (const uint32_t[]){0, 1, 2, 0, 1, 0}, 6);
    leat_batch_positions(&batch, 1, out);
    check_row("positions", out, (const uint32_t[]){0, 1, 2, 3, 4, 5}, 6);
    leat_batch_document_ids(&batch, 0, out);
    check_row("document ids", out, (const uint32_t[]){0, 0, 0, 1, 1, UINT32_MAX}, 6);
    CHECK_U64("cumulative count", leat_batch_cumulative_lengths(&batch, 0, out), 4);
    check_row("cumulative", out, (const uint32_t[]){0, 3, 5, 6}, 4);
    CHECK_U64("cumulative count", leat_batch_cumulative_lengths(&batch, 1, out), 2);
    check_row("cumulative", out, (const uint32_t[]){0, 6}, 2);
}

static void test_labels(void)
{
    static const struct {
        bool boundaries;
        uint64_t row;
        int64_t want[5];
    } cases[] = {{false, 0, {11, 12, 20, 21, -100}},
                 {true, 0, {11, 12, -100, 21, -100}},
                 {false, 1, {31, 32, 33, 34, 35}},
                 {true, 1, {31, 32, 33, 34, 35}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        leat_batch batch = make(cases[c].boundaries);
        int64_t labels[5];
        uint8_t mask[5];
        leat_batch_labels(&batch, cases[c].row, -100, labels);
        leat_batch_loss_mask(&batch, cases[c].row, mask);
        for (size_t i = 0; i < 5; i++) {
            CHECK(labels[i] == cases[c].want[i]);
            CHECK_U64("the mask says what labels say", mask[i], cases[c].want[i] != -100);
        }
    }
}

static void test_parts(void)
{
    leat_batch batch = make(false);
    leat_batch second = leat_batch_part(&batch, 1, 2);
    uint32_t out[7];
    CHECK_U64("rows", second.rows, 1);
    CHECK_U64("its place in the global batch", second.first_row, 3);
    CHECK_U64("its tokens", second.tokens[0], 30);
    leat_batch_positions(&second, 0, out);
    check_row("positions of a part", out, (const uint32_t[]){0, 1, 2, 3, 4, 5}, 6);
    uint64_t rows = 0;
    for (uint64_t m = 0; m < 3; m++) {
        rows += leat_batch_part(&batch, m, 3).rows;
    }
    CHECK_U64("more parts than rows: every row once", rows, 2);
}

int main(void)
{
    test_positions();
    test_labels();
    test_parts();
    return check_done();
}
