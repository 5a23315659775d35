/* Packing windows of best_fit (docs/plan.md, section 6) against the rule said plainly. */
#include "plan/packing.h"
#include "base/memory.h"
#include "check.h"
#include "plan/fit.h"
#include "plan/permute.h"

__extension__ typedef __int128 wide;

static void plain_fit(uint32_t row_tokens, const uint32_t *lengths, uint32_t count, uint32_t *rows,
                      uint32_t *row_count)
{
    uint32_t *room = leat_alloc((size_t)count + 1, sizeof *room), opened = 0;
    for (uint32_t length = row_tokens; length > 0; length--) {
        for (uint32_t i = 0; i < count; i++) {
            uint32_t best = UINT32_MAX;
            if (lengths[i] != length) {
                continue;
            }
            for (uint32_t row = 0; row < opened; row++) {
                if (room[row] >= length && (best == UINT32_MAX || room[row] < room[best])) {
                    best = row;
                }
            }
            if (best == UINT32_MAX) {
                best = opened++;
                room[best] = row_tokens;
            }
            room[best] -= length;
            rows[i] = best;
        }
    }
    *row_count = opened;
    leat_free(room);
}

static void test_fit(void)
{
    static const uint32_t row_tokens[] = {1, 2, 10, 63, 64, 65, 1000, 2049, 5000};
    static uint32_t lengths[600], got[600], want[600];
    uint64_t state = 4;
    for (size_t r = 0; r < sizeof row_tokens / sizeof row_tokens[0]; r++) {
        leat_fit *fit = leat_fit_open(row_tokens[r]);
        for (int round = 0; round < 20; round++) {
            uint32_t count = (uint32_t)(check_random(&state) % 600), rows, bad = 0;
            uint32_t longest = 1 + (uint32_t)(check_random(&state) % row_tokens[r]);
            for (uint32_t i = 0; i < count; i++) {
                lengths[i] = 1 + (uint32_t)(check_random(&state) % longest);
            }
            plain_fit(row_tokens[r], lengths, count, want, &rows);
            CHECK_U64("rows", leat_fit_run(fit, lengths, count, got), rows);
            for (uint32_t i = 0; i < count; i++) {
                bad += got[i] != want[i];
            }
            CHECK_U64("pieces in wrong rows", bad, 0);
        }
        leat_fit_close(fit);
    }
}

enum { DATASETS = 80 };
static char names[DATASETS][8];

/* The dealing rules over whole arrays: order[] holds the permuted order and becomes the final one. */
static void plain_deal(const leat_plan_spec *spec, const leat_packing_window *window,
                       uint64_t number, uint32_t *order)
{
    uint32_t rows = window->rows, owners = 0, left[DATASETS] = {0};
    uint64_t total[DATASETS] = {0}, (*of)[DATASETS] = leat_alloc(rows, sizeof *of), all = 0;
    uint32_t *owner = leat_alloc(rows, sizeof *owner), *out = leat_alloc(rows, sizeof *out);
    bool *given = leat_alloc(rows, sizeof *given);
    wide credit[DATASETS] = {0};
    for (uint32_t row = 0, i = 0; row < rows; row++) {
        for (; i < window->row_ends[row]; i++) {
            const leat_drawn *piece = &window->pieces[window->row_pieces[i]];
            of[row][piece->dataset] += piece->length;
            total[piece->dataset] += piece->length;
            all += piece->length;
        }
        for (uint32_t d = 0; d < DATASETS; d++) {
            owner[row] = of[row][d] > of[row][owner[row]] ? d : owner[row];
        }
        owners += left[owner[row]]++ == 0;
    }
    uint32_t have[DATASETS], next[DATASETS] = {0};
    memcpy(have, left, sizeof have);
    for (uint32_t place = 0; place < rows; place++) {
        uint32_t best = DATASETS;
        for (uint32_t d = 0; d < DATASETS; d++) {
            uint64_t u = leat_plan_key(spec->seed, "deal", names[d], number) >> 54;
            if (left[d] == 0) {
                continue;
            }
            if (best == DATASETS || (owners <= 32 && credit[d] > credit[best])) {
                best = d;
            } else if (owners > 32) {
                uint64_t v = leat_plan_key(spec->seed, "deal", names[best], number) >> 54;
                wide x = (wide)(1024 * (uint64_t)next[d] + u) * have[best];
                wide y = (wide)(1024 * (uint64_t)next[best] + v) * have[d];
                best = x < y ? d : best;
            }
        }
        uint32_t j = 0;
        while (given[j] || owner[order[j]] != best) {
            j++;
        }
        given[j] = true;
        left[best]--;
        next[best]++;
        out[place] = order[j];
        uint64_t t = 0;
        for (uint32_t d = 0; d < DATASETS; d++) {
            t += of[order[j]][d];
        }
        for (uint32_t d = 0; d < DATASETS; d++) {
            credit[d] += (wide)total[d] * t - (wide)all * of[order[j]][d];
        }
    }
    memcpy(order, out, rows * sizeof *out);
    leat_free(of);
    leat_free(owner);
    leat_free(out);
    leat_free(given);
}

static void check_window(leat_plan_spec *spec, uint32_t datasets, uint64_t number, uint64_t *state)
{
    leat_packing_window window;
    leat_packing_window_init(&window, spec);
    uint32_t bad = 0, count = 1 + (uint32_t)(check_random(state) % 400), before = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t d = (uint32_t)(check_random(state) % datasets), length;
        length = 1 + (uint32_t)(check_random(state) % spec->row_tokens);
        leat_packing_window_add(&window, (leat_drawn){d, length, i, 0});
    }
    leat_packing_window_pack(&window, number);
    uint32_t *order = leat_alloc(window.rows, sizeof *order), first = 0;
    leat_permutation permutation;
    leat_permutation_init(&permutation, leat_plan_key(spec->seed, "rows", "", number), window.rows);
    for (uint32_t row = 0, i = 0; row < window.rows; row++) {
        bad += i >= window.row_ends[row] || (row > 0 && window.row_pieces[i] <= first);
        first = window.row_pieces[i];
        for (before = first; i < window.row_ends[row]; i++) {
            bad += window.row_pieces[i] < before;
            before = window.row_pieces[i];
        }
        order[row] = (uint32_t)leat_permutation_at(&permutation, row);
    }
    CHECK_U64("rows and pieces out of draw order", bad, 0);
    CHECK_U64("all pieces are in rows", window.row_ends[window.rows - 1], count);
    plain_deal(spec, &window, number, order);
    for (uint32_t row = 0; row < window.rows; row++) {
        bad += order[row] != window.order[row];
    }
    CHECK_U64("rows dealt otherwise", bad, 0);
    leat_free(order);
    leat_packing_window_deinit(&window);
}

static void test_windows(void)
{
    leat_plan_dataset datasets[DATASETS] = {0};
    leat_plan_spec spec = {.seed = 11, .datasets = datasets, .dataset_count = DATASETS};
    uint64_t state = 8;
    for (uint32_t d = 0; d < DATASETS; d++) {
        snprintf(names[d], sizeof names[d], "n%" PRIu32, d);
        datasets[d].name = names[d];
    }
    static const uint32_t used[] = {1, 2, 5, 31, 32, 33, 34, 80};
    for (size_t i = 0; i < sizeof used / sizeof used[0]; i++) {
        for (uint64_t number = 0; number < 6; number++) {
            spec.row_tokens = 1 + check_random(&state) % 200;
            check_window(&spec, used[i], number, &state);
        }
    }
}

int main(void)
{
    test_fit();
    test_windows();
    return check_done();
}
