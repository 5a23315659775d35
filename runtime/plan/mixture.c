#include "plan/mixture.h"
#include "base/memory.h"
#include "base/status.h"

void leat_mixture_init(leat_mixture *mixture, uint32_t datasets)
{
    *mixture = (leat_mixture){.count = datasets, .leaves = 1};
    while (mixture->leaves < datasets) {
        mixture->leaves *= 2;
    }
    mixture->datasets = leat_alloc(datasets, sizeof *mixture->datasets);
    mixture->nodes = leat_alloc(2 * (size_t)mixture->leaves, sizeof *mixture->nodes);
}

void leat_mixture_deinit(leat_mixture *mixture)
{
    leat_free(mixture->datasets);
    leat_free(mixture->nodes);
    *mixture = (leat_mixture){0};
}

static inline int64_t credit_of(const leat_mixture *mixture, uint32_t dataset)
{
    const leat_mixture_leaf *leaf = &mixture->datasets[dataset];
    return leaf->base + (int64_t)(leaf->weight * mixture->time);
}

int64_t leat_mixture_credit(const leat_mixture *mixture, uint32_t dataset)
{
    return credit_of(mixture, dataset);
}

/* The time at which `behind` takes the lead from `ahead`, as far as nothing but time changes. */
static uint64_t overtaking(const leat_mixture *mixture, uint32_t ahead, uint32_t behind)
{
    uint64_t fast = mixture->datasets[behind].weight, slow = mixture->datasets[ahead].weight;
    if (fast <= slow) {
        return UINT64_MAX;
    }
    uint64_t gap = (uint64_t)credit_of(mixture, ahead) - (uint64_t)credit_of(mixture, behind);
    /* An earlier dataset leads when it has as much (then gap > 0 now); a later one must have more. */
    uint64_t wait = behind < ahead ? (gap - 1) / (fast - slow) + 1 : gap / (fast - slow) + 1, at;
    return __builtin_add_overflow(mixture->time, wait, &at) ? UINT64_MAX : at;
}

/* Plays the match of an inner node from the winners of the two below it. */
static void play(leat_mixture *mixture, uint32_t node)
{
    const leat_mixture_node *left = &mixture->nodes[2 * node], *right = left + 1;
    leat_mixture_node *result = &mixture->nodes[node];
    result->until = left->until < right->until ? left->until : right->until;
    if (left->winner == LEAT_MIXTURE_NONE) {
        result->winner = right->winner;
        return;
    }
    result->winner = left->winner;
    if (right->winner == LEAT_MIXTURE_NONE) {
        return;
    }
    uint32_t behind = right->winner;
    if (credit_of(mixture, right->winner) > credit_of(mixture, left->winner)) {
        result->winner = right->winner;
        behind = left->winner;
    }
    uint64_t at = overtaking(mixture, result->winner, behind);
    result->until = at < result->until ? at : result->until;
}

static void play_leaf(leat_mixture *mixture, uint32_t leaf)
{
    leat_mixture_node *node = &mixture->nodes[mixture->leaves + leaf];
    node->until = UINT64_MAX;
    node->winner =
        leaf < mixture->count && mixture->datasets[leaf].weight > 0 ? leaf : LEAT_MIXTURE_NONE;
}

static void play_all(leat_mixture *mixture)
{
    for (uint32_t leaf = 0; leaf < mixture->leaves; leaf++) {
        play_leaf(mixture, leaf);
    }
    for (uint32_t node = mixture->leaves - 1; node > 0; node--) {
        play(mixture, node);
    }
}

/* Plays again what has become doubtful at and below `node`.  Depth: the levels of the tree, at most 31. */
static void renew(leat_mixture *mixture, uint32_t node)
{
    if (mixture->nodes[node].until <= mixture->time) {
        renew(mixture, 2 * node);
        renew(mixture, 2 * node + 1);
        play(mixture, node);
    }
}

/* Plays again all matches of `dataset`, and what has become doubtful elsewhere. */
static void renew_path(leat_mixture *mixture, uint32_t dataset)
{
    for (uint32_t node = mixture->leaves + dataset; node > 1; node /= 2) {
        renew(mixture, node ^ 1u);
        play(mixture, node / 2);
    }
}

void leat_mixture_set(leat_mixture *mixture, const uint64_t *weights, const int64_t *credits)
{
    mixture->active_weight = 0;
    mixture->time = 0;
    for (uint32_t d = 0; d < mixture->count; d++) {
        mixture->datasets[d] =
            (leat_mixture_leaf){credits != NULL && weights[d] > 0 ? credits[d] : 0, weights[d]};
        mixture->active_weight += weights[d];
    }
    uint64_t sum = mixture->active_weight > 0 ? mixture->active_weight : 1;
    mixture->time_end = (((uint64_t)1 << 61) - 1) / sum; /* ≥ P·D */
    play_all(mixture);
}

uint32_t leat_mixture_top(const leat_mixture *mixture)
{
    return mixture->nodes[1].winner;
}

void leat_mixture_draw(leat_mixture *mixture, uint32_t dataset, uint64_t n)
{
    if (n == 0) {
        return;
    }
    LEAT_ASSERT(n <= mixture->time_end);
    if (n > mixture->time_end - mixture->time) {
        for (uint32_t d = 0; d < mixture->count; d++) {
            mixture->datasets[d].base = credit_of(mixture, d);
        }
        mixture->time = 0;
        play_all(mixture);
    }
    mixture->time += n;
    mixture->datasets[dataset].base -= (int64_t)(mixture->active_weight * n);
    renew_path(mixture, dataset);
}

void leat_mixture_remove(leat_mixture *mixture, uint32_t dataset)
{
    mixture->active_weight -= mixture->datasets[dataset].weight;
    mixture->datasets[dataset] = (leat_mixture_leaf){0, 0};
    play_leaf(mixture, dataset);
    renew_path(mixture, dataset);
}
