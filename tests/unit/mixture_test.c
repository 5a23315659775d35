/* The tournament of credits against the rule said plainly: look at all, in wide integers. */
#include "plan/mixture.h"
#include "base/memory.h"
#include "check.h"
#include <time.h>

__extension__ typedef __int128 wide;

typedef struct plain {
    uint32_t count;
    uint64_t *weights;
    wide *credits;
} plain;

static uint32_t plain_top(const plain *p)
{
    uint32_t best = LEAT_MIXTURE_NONE;
    for (uint32_t d = 0; d < p->count; d++) {
        if (p->weights[d] > 0 && (best == LEAT_MIXTURE_NONE || p->credits[d] > p->credits[best])) {
            best = d;
        }
    }
    return best;
}

static void plain_draw(plain *p, uint32_t dataset, uint64_t n)
{
    wide sum = 0;
    for (uint32_t d = 0; d < p->count; d++) {
        p->credits[d] += (wide)p->weights[d] * n;
        sum += p->weights[d];
    }
    p->credits[dataset] -= sum * n;
}

typedef struct mixture_case {
    const char *label;
    uint32_t datasets;
    uint64_t piece, weight_below; /* weights 0 … weight_below-1 */
    int draws, one_in;            /* a dataset ends at one draw in `one_in`; 0 never */
} mixture_case;

static void check_case(const mixture_case *c, uint64_t seed)
{
    uint64_t state = seed, bad = 0;
    plain p = {c->datasets, leat_alloc(c->datasets, sizeof(uint64_t)),
               leat_alloc(c->datasets, sizeof(wide))};
    leat_mixture mixture;
    leat_mixture_init(&mixture, c->datasets);
    for (uint32_t d = 0; d < c->datasets; d++) {
        p.weights[d] = check_random(&state) % c->weight_below;
    }
    leat_mixture_set(&mixture, p.weights, NULL);
    for (int i = 0; i < c->draws && bad == 0; i++) {
        uint32_t top = plain_top(&p);
        bad += leat_mixture_top(&mixture) != top;
        if (top == LEAT_MIXTURE_NONE || bad > 0) {
            break;
        }
        if (c->one_in > 0 && check_random(&state) % (uint64_t)c->one_in == 0) {
            p.weights[top] = 0;
            p.credits[top] = 0;
            leat_mixture_remove(&mixture, top);
            continue;
        }
        uint64_t n = check_random(&state) % 3 == 0 ? c->piece : check_random(&state) % c->piece;
        plain_draw(&p, top, n);
        leat_mixture_draw(&mixture, top, n);
        for (uint32_t d = 0; i % 16 == 0 && d < c->datasets; d++) {
            bad += leat_mixture_credit(&mixture, d) != p.credits[d] && p.weights[d] > 0;
        }
        if (i % 1000 == 999) { /* a restore: the same credits set anew */
            int64_t *credits = leat_alloc(c->datasets, sizeof *credits);
            for (uint32_t d = 0; d < c->datasets; d++) {
                credits[d] = leat_mixture_credit(&mixture, d);
            }
            leat_mixture_set(&mixture, p.weights, credits);
            leat_free(credits);
        }
    }
    if (!CHECK_U64(c->label, bad, 0)) {
        printf("seed %" PRIu64 "\n", seed);
    }
    leat_mixture_deinit(&mixture);
    leat_free(p.weights);
    leat_free(p.credits);
}

/* No cliff: draws among thousands of datasets cost little more than among a few.  The bound is wide: it is to catch a draw
 * that looks at all datasets' matches, not a slow machine. */
static void test_many(void)
{
    static const uint32_t sizes[] = {4, 1000, 5000, 50000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint64_t *weights = leat_alloc(sizes[i], sizeof *weights), state = 3;
        leat_mixture mixture;
        leat_mixture_init(&mixture, sizes[i]);
        for (uint32_t d = 0; d < sizes[i]; d++) {
            weights[d] = 1 + check_random(&state) % 1000;
        }
        leat_mixture_set(&mixture, weights, NULL);
        enum { DRAWS = 200000 };
        clock_t begin = clock();
        for (int draw = 0; draw < DRAWS; draw++) {
            leat_mixture_draw(&mixture, leat_mixture_top(&mixture),
                              1 + check_random(&state) % 2049);
        }
        uint64_t ns = (uint64_t)(clock() - begin) * (1000000000 / CLOCKS_PER_SEC) / DRAWS;
        printf("%" PRIu32 " datasets: %" PRIu64 " ns a draw\n", sizes[i], ns);
        CHECK(ns < 20000);
        leat_mixture_deinit(&mixture);
        leat_free(weights);
    }
}

int main(void)
{
    test_many();
    static const mixture_case cases[] = {
        {"one", 1, 100, 10, 100, 0},
        {"two", 2, 7, 4, 3000, 0},
        {"ties", 9, 3, 2, 3000, 0},
        {"equal and 0", 16, 1, 2, 3000, 0},
        {"some", 5, 2049, 1000, 5000, 0},
        {"ends", 33, 2049, 1000000, 5000, 100},
        {"a thousand", 1000, 2049, 1000000, 5000, 0},
        {"ends of many", 300, 64, 50, 3000, 10},
        /* close to the bound: sum·P·D just below 2^61 */
        {"wide weights", 4, 1 << 21, ((uint64_t)1 << 36), 20000, 0},
        {"wide weights that end", 64, 1 << 21, ((uint64_t)1 << 28), 20000, 400},
        {"wide and short", 3, 1, (uint64_t)1 << 57, 20000, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (uint64_t seed = 1; seed <= 20; seed++) {
            check_case(&cases[i], seed);
        }
    }
    return check_done();
}
