/* The order of documents (docs/plan.md, section 3): each document once an epoch, and the inverse. */
#include "plan/order.h"
#include "base/memory.h"
#include "check.h"

static const leat_unit units[] = {LEAT_UNIT_NONE, LEAT_UNIT_DOCUMENT, LEAT_UNIT_BLOCK,
                                  LEAT_UNIT_SHARD};

static void check_epoch(const leat_plan_dataset *dataset, uint64_t seed, uint64_t epoch)
{
    uint64_t n = dataset->documents, bad = 0;
    uint64_t *documents = leat_alloc(n, sizeof *documents), *seen = leat_alloc(n, sizeof *seen);
    leat_order *order = leat_order_open(seed, dataset), *other = leat_order_open(seed, dataset);
    leat_order_documents(order, epoch * n, documents, n);
    for (uint64_t p = 0; p < n; p++) {
        bad += documents[p] >= n || seen[documents[p]]++ != 0;
        if (bad > 0) {
            break;
        }
        bad += leat_order_place(other, epoch, documents[p]) != p;
        uint64_t q = (p * 7 + 3) % n; /* another way through the caches */
        bad += leat_order_document(order, epoch * n + q) != documents[q];
    }
    if (!CHECK_U64("faults of an epoch", bad, 0)) {
        printf("unit %d, %" PRIu64 " documents, block %" PRIu64 ", buffer %" PRIu64
               ", epoch %" PRIu64 "\n",
               (int)dataset->unit, n, dataset->block, dataset->buffer, epoch);
    }
    leat_order_close(order);
    leat_order_close(other);
    leat_free(documents);
    leat_free(seen);
}

static void test_each_once(void)
{
    static const uint64_t sizes[] = {1, 2, 3, 63, 64, 65, 127, 128, 129, 1000, 4099};
    static const uint64_t blocks[] = {1, 2, 7, 256}, buffers[] = {0, 1, 2, 100, 5000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint64_t n = sizes[i], ends[] = {0, n / 5, n / 3, n / 3, n / 2, n, n};
        for (size_t u = 0; u < 4; u++) {
            for (size_t b = 0; b < 4; b++) {
                for (size_t g = 0; g < 5; g++) {
                    leat_plan_dataset dataset = {.name = "docs",
                                                 .documents = n,
                                                 .unit = units[u],
                                                 .block = blocks[b],
                                                 .buffer = buffers[g],
                                                 .shards = 7,
                                                 .shard_ends = ends};
                    check_epoch(&dataset, 3, g % 2 == 0 ? 0 : 5);
                }
            }
        }
    }
}

/* A run over epoch ends and buffer ends in steps of every size gives what single positions give. */
static void test_runs(void)
{
    uint64_t ends[] = {10, 30, 100}, run[40], state = 5;
    for (size_t u = 0; u < 4; u++) {
        leat_plan_dataset dataset = {.name = "runs",
                                     .documents = 100,
                                     .unit = units[u],
                                     .block = 8,
                                     .buffer = 17,
                                     .shards = 3,
                                     .shard_ends = ends};
        leat_order *order = leat_order_open(9, &dataset), *single = leat_order_open(9, &dataset);
        for (uint64_t position = 0; position < 1000;) {
            size_t count = 1 + check_random(&state) % 40;
            leat_order_documents(order, position, run, count);
            for (size_t i = 0; i < count; i++) {
                CHECK_U64("run", run[i], leat_order_document(single, position + i));
            }
            position += count;
        }
        leat_order_close(order);
        leat_order_close(single);
    }
}

static void test_holdout(void)
{
    static const struct {
        const char *label;
        uint32_t millionths;
        uint64_t documents, held_out;
    } cases[] = {{"none", 0, 1000, 0},
                 {"all", 1000000, 1000, 1000},
                 {"a quarter", 250000, 1001, 250},
                 {"a millionth", 1, 999999, 0},
                 {"one", 1, 1000000, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        leat_plan_dataset train = {.name = "h",
                                   .documents = cases[i].documents,
                                   .holdout_millionths = cases[i].millionths};
        leat_plan_dataset holdout = train;
        holdout.use_holdout = true;
        leat_order *a = leat_order_open(1, &train), *b = leat_order_open(1, &holdout);
        uint64_t apart = 0, both = 0;
        for (uint64_t d = 0; d < cases[i].documents; d++) {
            apart += leat_order_set_apart(a, d);
            both += leat_order_set_apart(a, d) == leat_order_set_apart(b, d);
        }
        CHECK_U64(cases[i].label, apart, cases[i].held_out);
        CHECK_U64("each document is on one side", both, 0);
        leat_order_close(a);
        leat_order_close(b);
    }
}

int main(void)
{
    test_each_once();
    test_runs();
    test_holdout();
    return check_done();
}
