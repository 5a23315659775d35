/* Hostile cursors: whatever the bytes are, opening from them is refused or gives a source that goes on without harm; what
 * is accepted is written back as the same bytes.  The seed is the first argument. */
#include "base/memory.h"
#include "base/sha256.h"
#include "check.h"
#include "plan/cursor.h"
#include "plan/work_source.h"

static const uint64_t shard_end[] = {20};
static leat_plan_dataset datasets[3] = {
    {"a", 3, 20, 2, 0, false, LEAT_UNIT_NONE, 1, 0, 4, 60, 1, shard_end},
    {"b", 2, 20, 0, 0, false, LEAT_UNIT_NONE, 1, 0, 1, 1, 1, shard_end},
    {"c", 1, 7, 3, 0, false, LEAT_UNIT_NONE, 1, 0, 256, 1000, 1, shard_end},
};
static const uint64_t stage_weights[2][3] = {{1, 0, 5}, {2, 2, 2}};
static const leat_plan_stage stages[2] = {{9, stage_weights[0]}, {25, stage_weights[1]}};
static const leat_plan_batch_size batch_sizes[1] = {{0, 3}};

static leat_plan_spec make_spec(leat_packing packing)
{
    return (leat_plan_spec){.seed = 5,
                            .row_tokens = 16,
                            .piece = packing == LEAT_PACKING_CONCAT ? 21 : 11,
                            .packing = packing,
                            .pack_window = 5,
                            .drop_exhausted = true,
                            .dataset_count = 3,
                            .stage_count = 2,
                            .batch_size_count = 1,
                            .datasets = datasets,
                            .stages = stages,
                            .batch_sizes = batch_sizes};
}

static uint64_t tokens_of(uint32_t dataset, uint64_t position)
{
    uint64_t state = position % datasets[dataset].documents * 31 + dataset;
    return check_random(&state) % 40;
}

/* Goes on for some steps; gives the last event. */
static leat_plan_event go_on(leat_work_source *source, int steps, leat_plan_need *need,
                             leat_buffer *cursors)
{
    leat_step_plan plan = {0};
    leat_plan_event event = LEAT_PLAN_STEP;
    int needs = 0;
    while (steps > 0) {
        event = leat_work_source_next(source, &plan, need);
        if (event == LEAT_PLAN_NEED) {
            uint64_t counts[16], end = leat_work_source_stream_end(source, need->dataset), n = 0;
            for (; n < 16 && need->position + n < end; n++) {
                counts[n] = tokens_of(need->dataset, need->position + n);
            }
            leat_work_source_feed(source, need->dataset, need->position, counts, n);
            if (!CHECK(n > 0 && ++needs < 1000)) {
                break;
            }
        } else if (event == LEAT_PLAN_STEP) {
            steps--;
            if (cursors != NULL) {
                leat_work_source_cursor(source, cursors++);
            }
        } else {
            break;
        }
    }
    leat_step_plan_deinit(&plan);
    return event;
}

static void seal(leat_buffer *cursor)
{
    uint8_t digest[LEAT_SHA256_BYTES];
    leat_sha256_of(cursor->data, cursor->size - 8, digest);
    memcpy(cursor->data + cursor->size - 8, digest, 8);
}

static void spoil(leat_buffer *cursor, uint64_t *state)
{
    static const uint64_t nasty[] = {
        0, 1, UINT64_MAX, (uint64_t)1 << 63, UINT32_MAX, (uint64_t)1 << 61, 2, 40};
    for (uint64_t i = 1 + check_random(state) % 3; i > 0; i--) {
        uint64_t at = check_random(state) % (cursor->size - 16);
        switch (check_random(state) % 4) {
        case 0:
            cursor->data[at] ^= (uint8_t)(1u << check_random(state) % 8);
            break;
        case 1:
            cursor->data[at] = (uint8_t)check_random(state);
            break;
        case 2: /* a whole field of a dataset */
            at = 124 + 8 * (check_random(state) % 15);
            leat_put_u64(cursor->data + at, nasty[check_random(state) % 8]);
            break;
        default: /* a small change of a field */
            at = 124 + 8 * (check_random(state) % 15);
            leat_put_u64(cursor->data + at,
                         leat_get_u64(cursor->data + at) + check_random(state) % 5 - 2);
            break;
        }
    }
}

static void fuzz(leat_packing packing, uint64_t seed, int rounds, uint64_t counts[8])
{
    leat_plan_spec spec = make_spec(packing);
    leat_buffer cursors[20] = {0}, bad = {0}, back = {0};
    leat_error error;
    leat_work_source *source = NULL;
    leat_plan_need need;
    uint64_t state = seed;
    CHECK_OK(leat_work_source_open(&source, &spec, (leat_bytes){NULL, 0}, &error), &error);
    leat_plan_event last = go_on(source, 20, &need, cursors);
    CHECK(last == LEAT_PLAN_STEP);
    leat_work_source_close(source);
    for (int i = 0; i < rounds; i++) {
        const leat_buffer *good = &cursors[check_random(&state) % 20];
        leat_buffer_clear(&bad);
        leat_buffer_add(&bad, good->data, good->size);
        spoil(&bad, &state);
        if (check_random(&state) % 8 != 0) {
            seal(&bad);
        }
        leat_bytes bytes = {bad.data, bad.size};
        leat_status status = leat_work_source_open(&source, &spec, bytes, &error);
        counts[0] += status != LEAT_OK;
        if (status != LEAT_OK) {
            CHECK(status == LEAT_CORRUPT || status == LEAT_MISMATCH);
            CHECK(source == NULL);
            continue;
        }
        leat_work_source_cursor(source, &back);
        /* all but the digest, which is the caller's concern, comes back */
        CHECK(back.size == bad.size && memcmp(back.data + 44, bad.data + 44, bad.size - 52) == 0);
        counts[1 + go_on(source, 30, &need, NULL)]++;
        leat_work_source_close(source);
    }
    for (int i = 0; i < 20; i++) {
        leat_buffer_deinit(&cursors[i]);
    }
    leat_buffer_deinit(&bad);
    leat_buffer_deinit(&back);
}

static void test_sizes(void)
{
    leat_plan_spec spec = make_spec(LEAT_PACKING_CONCAT), two = spec;
    leat_buffer cursor = {0};
    leat_error error;
    leat_work_source *source = NULL;
    leat_cursor_info info;
    uint64_t position;
    bool ended;
    CHECK_OK(leat_work_source_open(&source, &spec, (leat_bytes){NULL, 0}, &error), &error);
    leat_work_source_cursor(source, &cursor);
    leat_work_source_close(source);
    CHECK_U64("size", cursor.size, 132 + 3 * 40);
    for (size_t size = 0; size < cursor.size; size++) {
        leat_bytes cut = {cursor.data, size};
        CHECK(leat_work_source_open(&source, &spec, cut, &error) == LEAT_CORRUPT);
        CHECK(leat_cursor_inspect(cut, &info, &error) == LEAT_CORRUPT);
        CHECK(leat_cursor_dataset(cut, 0, &position, &ended, &error) == LEAT_CORRUPT);
    }
    leat_bytes whole = {cursor.data, cursor.size};
    CHECK_OK(leat_cursor_inspect(whole, &info, &error), &error);
    CHECK_OK(leat_cursor_dataset(whole, 2, &position, &ended, &error), &error);
    CHECK(leat_cursor_dataset(whole, 3, &position, &ended, &error) == LEAT_MISMATCH);
    two.dataset_count = 2;
    CHECK(leat_work_source_open(&source, &two, whole, &error) == LEAT_MISMATCH);
    cursor.data[8] = 2;
    seal(&cursor);
    CHECK(leat_work_source_open(&source, &spec, whole, &error) == LEAT_MISMATCH);
    CHECK_HAS("version", error.text, "another version");
    leat_buffer_deinit(&cursor);
}

/* Every rule of a cursor that open can check: a field is set, the text must name the rule. */
static void test_rules(void)
{
    static const struct {
        leat_packing packing;
        size_t at, bytes;
        uint64_t value;
        const char *text;
    } rules[] = {
        {LEAT_PACKING_CONCAT, 44, 8, (uint64_t)1 << 62, "step"},
        {LEAT_PACKING_CONCAT, 52, 8, 7, "rows completed"},
        {LEAT_PACKING_CONCAT, 64, 4, 8 + 4, "flags"},
        {LEAT_PACKING_CONCAT, 64, 4, 0, "rest of a piece"},
        {LEAT_PACKING_SINGLE, 64, 4, 4, "rest of a piece"},
        {LEAT_PACKING_CONCAT, 68, 4, 4, "mixture stage"},
        {LEAT_PACKING_CONCAT, 68, 4, 3, "mixture stage"},
        {LEAT_PACKING_CONCAT, 72, 8, 5, "rows completed"},
        {LEAT_PACKING_CONCAT, 80, 4, 3, "dataset of the unfinished"},
        {LEAT_PACKING_CONCAT, 84, 8, 1000, "position of the unfinished"},
        {LEAT_PACKING_CONCAT, 92, 8, 0, "tokens of the unfinished"},
        {LEAT_PACKING_CONCAT, 100, 8, 22, "tokens of the unfinished"},
        {LEAT_PACKING_CONCAT, 108, 8, 1, "packing window"},
        {LEAT_PACKING_SINGLE, 116, 8, 1, "packing window"},
        {LEAT_PACKING_BEST_FIT, 116, 8, (uint64_t)1 << 31, "packing window"},
        {LEAT_PACKING_CONCAT, 124, 8, 41, "stream position"},
        {LEAT_PACKING_CONCAT, 132, 8, 5, "token offset"},
        {LEAT_PACKING_CONCAT, 140, 8, 0, "piece window"},
        {LEAT_PACKING_CONCAT, 148, 8, 4, "pieces taken"},
        {LEAT_PACKING_CONCAT, 156, 8, (uint64_t)1 << 40, "credit"},
        {LEAT_PACKING_CONCAT, 156, 8, 0, "sum of the credits"},
        {LEAT_PACKING_CONCAT, 172, 8, (uint64_t)1 << 63, "end of a dataset"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        leat_plan_spec spec = make_spec(rules[i].packing);
        leat_work_source *source = NULL;
        leat_error error;
        leat_plan_need need;
        leat_buffer cursors[2] = {{0}, {0}};
        CHECK_OK(leat_work_source_open(&source, &spec, (leat_bytes){NULL, 0}, &error), &error);
        go_on(source, 2, &need, cursors);
        leat_work_source_close(source);
        source = NULL;
        for (size_t b = 0; b < rules[i].bytes; b++) {
            cursors[1].data[rules[i].at + b] = (uint8_t)(rules[i].value >> 8 * b);
        }
        seal(&cursors[1]);
        leat_bytes bytes = {cursors[1].data, cursors[1].size};
        if (!CHECK(leat_work_source_open(&source, &spec, bytes, &error) == LEAT_CORRUPT) ||
            !CHECK_HAS("rule", error.text, rules[i].text)) {
            printf("rule %zu\n", i);
        }
        leat_work_source_close(source);
        leat_buffer_deinit(&cursors[0]);
        leat_buffer_deinit(&cursors[1]);
    }
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1, counts[8] = {0};
    test_sizes();
    test_rules();
    for (int packing = 0; packing < 3; packing++) {
        fuzz((leat_packing)packing, seed, 20000, counts);
    }
    printf("seed %" PRIu64 ": refused at open %" PRIu64 ", went on %" PRIu64 ", ended %" PRIu64
           ", refused later %" PRIu64 "\n",
           seed, counts[0], counts[1 + LEAT_PLAN_STEP], counts[1 + LEAT_PLAN_END],
           counts[1 + LEAT_PLAN_REFUSED]);
    CHECK(counts[1 + LEAT_PLAN_REFUSED] > 0);
    return check_done();
}
