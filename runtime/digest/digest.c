#include "digest/digest.h"
#include "base/bytes.h"

/* Adds `count` numbers as LE32.  On a little-endian host the array already is those bytes, and goes to SHA-256 as it stands. */
static void add_numbers(leat_sha256 *hash, const uint32_t *numbers, size_t count)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    leat_sha256_add(hash, numbers, count * 4);
#else
    uint8_t bytes[4096];
    while (count > 0) {
        size_t some = count < sizeof bytes / 4 ? count : sizeof bytes / 4;
        for (size_t i = 0; i < some; i++) {
            leat_put_u32(bytes + 4 * i, numbers[i]);
        }
        leat_sha256_add(hash, bytes, some * 4);
        numbers += some;
        count -= some;
    }
#endif
}

void leat_digest_row(leat_sha256 *hash, const leat_row_view *row, uint8_t out[32])
{
    /* "leat-row-1" with its NUL, then R */
    uint8_t head[11 + 4] = "leat-row-1", number[4];
    leat_put_u32(head + 11, row->row_tokens);
    leat_sha256_begin(hash);
    leat_sha256_add(hash, head, sizeof head);
    add_numbers(hash, row->tokens, row->row_tokens);
    leat_put_u32(number, row->segments);
    leat_sha256_add(hash, number, 4);
    if (row->segments > 0) {
        add_numbers(hash, row->segment_ends, row->segments);
    }
    leat_put_u32(number, row->masks);
    leat_sha256_add(hash, number, 4);
    if (row->masks > 0) {
        add_numbers(hash, row->mask, (size_t)row->masks * 2);
    }
    leat_sha256_end(hash, out);
}

void leat_digest_batch(leat_sha256 *hash, const uint8_t *row_digests, uint64_t rows,
                       uint8_t out[32])
{
    leat_sha256_begin(hash);
    leat_sha256_add(hash, "leat-batch-1", sizeof "leat-batch-1");
    if (rows > 0) {
        leat_sha256_add(hash, row_digests, rows * 32);
    }
    leat_sha256_end(hash, out);
}

void leat_digest_chain(leat_sha256 *hash, const uint8_t previous[32], const uint8_t batch[32],
                       uint8_t out[32])
{
    leat_sha256_begin(hash);
    leat_sha256_add(hash, "leat-chain-1", sizeof "leat-chain-1");
    leat_sha256_add(hash, previous, 32);
    leat_sha256_add(hash, batch, 32);
    leat_sha256_end(hash, out);
}
