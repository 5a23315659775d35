/* Digests of rows, batches and chains against values computed from docs/plan.md, section 9, by Python's hashlib. */
#include "base/bytes.h"
#include "check.h"
#include "digest/digest.h"

enum { BIG = 5000, BIG_MASKS = 2000 };

static void check_digest(const char *label, const uint8_t digest[32], const char *want)
{
    char text[65];
    leat_hex(digest, 32, text);
    CHECK_TEXT(label, text, want);
}

static void test_golden(leat_sha256 *hash)
{
    static uint32_t tokens[BIG], ends[BIG], mask[2 * BIG_MASKS];
    for (uint32_t i = 0; i < BIG; i++) {
        tokens[i] = i * 2654435761u;
        ends[i] = i + 1;
    }
    for (uint32_t i = 0; i < BIG_MASKS; i++) {
        mask[2 * i] = 2 * i;
        mask[2 * i + 1] = 2 * i + 1;
    }
    const struct {
        const char *label;
        leat_row_view row;
        const char *want;
    } cases[] = {
        {"two segments",
         {5, (const uint32_t[]){1, 2, 3, 4, 0xdeadbeefu}, (const uint32_t[]){2, 5}, 2, NULL, 0},
         "bb13204975e2b7b6c669e81e83dd68dfb442e90fccc026485e80da7e76a50412"},
        {"one token, masked",
         {1, (const uint32_t[]){7}, (const uint32_t[]){1}, 1, (const uint32_t[]){0, 1}, 1},
         "e6e1bcf6e8bc369725626e60a041867013147a8818fe1cc89d52a733dd9bf96a"},
        {"padding alone",
         {2, (const uint32_t[]){0, 0}, NULL, 0, NULL, 0},
         "132bb510799f82794f83850d8da18a65acdfd978ac4578d1468a72a9291a0960"},
        {"many of all",
         {BIG, tokens, ends, BIG, mask, BIG_MASKS},
         "cee0d5b5a4d8546e6ab2065b1cc08a3c17ca8a553ac92c8989793469f43cd7d1"},
    };
    uint8_t digests[4][32], batch[32], empty[32], chain[32];
    for (size_t i = 0; i < 4; i++) {
        leat_digest_row(hash, &cases[i].row, digests[i]);
        check_digest(cases[i].label, digests[i], cases[i].want);
    }
    leat_digest_batch(hash, digests[0], 4, batch);
    check_digest("batch", batch,
                 "759f9cf38daca3644c2c1ffd28ecfcc0134002cb675ea0ca60db87c28a54633c");
    leat_digest_batch(hash, NULL, 0, empty);
    check_digest("batch without rows", empty,
                 "9dadc2a208afae9b727395718874614203048c8e680cf5285007f771fba0bf04");
    memset(chain, 0, sizeof chain);
    leat_digest_chain(hash, chain, batch, chain);
    check_digest("first chain", chain,
                 "4c703883237399f513f7893dcde447110234a12f52deb1591413a8e29c4e8f2a");
    leat_digest_chain(hash, chain, empty, chain);
    check_digest("second chain", chain,
                 "2e7ba00fa4596ebe1c9b08d0e93c795c597ac4d734a4b2d77d9b4ffff26e071c");
}

/* Any change of a row's content or of its division changes its digest. */
static void test_differs(leat_sha256 *hash)
{
    uint32_t tokens[] = {1, 2, 3, 4}, ends[] = {2, 4}, mask[] = {0, 1};
    leat_row_view row = {4, tokens, ends, 2, mask, 1};
    uint8_t first[32], other[32];
    leat_digest_row(hash, &row, first);
    uint32_t *fields[] = {tokens, tokens + 3, ends, mask, mask + 1};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        (*fields[i])++;
        leat_digest_row(hash, &row, other);
        CHECK(memcmp(first, other, 32) != 0);
        (*fields[i])--;
    }
    row.masks = 0;
    leat_digest_row(hash, &row, other);
    CHECK(memcmp(first, other, 32) != 0);
}

int main(void)
{
    leat_sha256 *hash = leat_sha256_open();
    test_golden(hash);
    test_differs(hash);
    leat_sha256_close(hash);
    return check_done();
}
