/* Keys, permutations, schedules and slices (docs/plan.md, sections 2, 7 and 8). */
#include "plan/permute.h"
#include "check.h"
#include "plan/spec.h"

/* Every n up to 4096: a bijection of 0 … n-1, the inverse undoes it, many at once give the same. */
static void test_small(void)
{
    static uint64_t seen[4096], many[4096];
    for (uint64_t n = 0; n <= 4096; n++) {
        leat_permutation permutation;
        leat_permutation_init(&permutation, leat_plan_key(n, "test", "small", n), n);
        int bad = 0;
        memset(seen, 0, sizeof seen);
        for (uint64_t x = 0; x < n; x++) {
            uint64_t y = leat_permutation_at(&permutation, x);
            bad += y >= n || seen[y]++ != 0 || leat_permutation_inverse(&permutation, y) != x;
            many[x] = x;
            if (bad > 0) {
                break;
            }
        }
        if (bad == 0) {
            leat_permutation_apply(&permutation, many, n);
            for (uint64_t x = 0; x < n; x++) {
                bad += many[x] != leat_permutation_at(&permutation, x);
            }
        }
        CHECK_U64("faults of a small permutation", (uint64_t)bad, 0);
    }
}

static void test_large(void)
{
    static const uint64_t sizes[] = {65535,
                                     65536,
                                     65537,
                                     1000003,
                                     ((uint64_t)1 << 32) - 1,
                                     ((uint64_t)1 << 32) + 1,
                                     (uint64_t)1 << 61,
                                     ((uint64_t)1 << 62) - 1};
    uint64_t state = 1;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        leat_permutation permutation;
        leat_permutation_init(&permutation, 77, sizes[i]);
        for (int round = 0; round < 200; round++) {
            uint64_t x = check_random(&state) % sizes[i];
            uint64_t y = leat_permutation_at(&permutation, x), lanes[7] = {x, 0, x, 1, x, 2, x};
            leat_permutation_apply(&permutation, lanes, 7);
            CHECK(y < sizes[i]);
            CHECK_U64("inverse", leat_permutation_inverse(&permutation, y), x);
            CHECK_U64("lane", lanes[2], y);
            CHECK_U64("last lane", lanes[6], y);
        }
    }
}

/* Computed from docs/plan.md by a program of ten lines in another language. */
static void test_golden(void)
{
    static const struct {
        const char *label;
        uint64_t seed;
        const char *purpose, *name;
        uint64_t number, key;
    } keys[] = {
        {"plain", 7u, "unit", "docs", 0u, 0x7149f90672e81f26u},
        {"empty name", 0u, "rows", "", 12u, 0x5c955cbc63d6babau},
        {"large numbers", 18446744073709551615u, "buffer",
         "a rather long name of a data set with UTF-8 in it: \xc3\xa9", 21474836489u,
         0x3047e0e69a8dc21au},
    };
    static const struct {
        uint64_t key, n, x, y;
    } values[] = {
        {1u, 2u, 0u, 1u},
        {1u, 3u, 2u, 1u},
        {5u, 100u, 41u, 43u},
        {8163329605678669606u, 65536u, 12345u, 2530u},
        {18446744073709551615u, 65537u, 65536u, 23122u},
        {9u, 1000000000000u, 123456789012u, 822775469886u},
        {3u, 4611686018427387903u, 2305843009213693969u, 303049983318450771u},
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        CHECK_U64(keys[i].label,
                  leat_plan_key(keys[i].seed, keys[i].purpose, keys[i].name, keys[i].number),
                  keys[i].key);
    }
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        leat_permutation permutation;
        leat_permutation_init(&permutation, values[i].key, values[i].n);
        CHECK_U64("permuted", leat_permutation_at(&permutation, values[i].x), values[i].y);
    }
}

static void test_batches(void)
{
    static const leat_plan_batch_size sizes[] = {{0, 4}, {10, 8}, {11, 1}};
    static const struct {
        uint64_t step, first_row, rows;
    } cases[] = {{0, 0, 4}, {9, 36, 4}, {10, 40, 8}, {11, 48, 1}, {12, 49, 1}, {1011, 1048, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_U64("first row", leat_plan_step_first_row(sizes, 3, cases[i].step),
                  cases[i].first_row);
        CHECK_U64("rows", leat_plan_step_rows(sizes, 3, cases[i].step), cases[i].rows);
    }
    CHECK_U64("beyond any plan", leat_plan_step_first_row(sizes, 1, UINT64_MAX), UINT64_MAX);
    for (uint64_t ranks = 1; ranks <= 20; ranks++) {
        for (uint64_t rows = 0; rows <= 40; rows++) {
            uint64_t at = 0, first, end;
            for (uint64_t rank = 0; rank < ranks; rank++) {
                leat_plan_slice(rows, rank, ranks, &first, &end);
                CHECK_U64("slices join", first, at);
                CHECK(end - first == rows / ranks || end - first == (rows + ranks - 1) / ranks);
                at = end;
            }
            CHECK_U64("slices cover", at, rows);
        }
    }
}

int main(void)
{
    test_small();
    test_large();
    test_golden();
    test_batches();
    return check_done();
}
