/* batch.c: what a trainer wants to know of a row besides its tokens. */
#include "leat.h"

leat_batch leat_batch_part(const leat_batch *batch, uint64_t m, uint64_t parts)
{
    uint64_t first = batch->rows * m / parts, end = batch->rows * (m + 1) / parts;
    leat_batch part = *batch;
    part.first_row = batch->first_row + first;
    part.rows = end - first;
    part.tokens = batch->tokens + first * batch->row_tokens;
    part.row_segments = batch->row_segments + first;
    part.segment_first = first == 0 ? batch->segment_first : batch->row_segments[first - 1];
    return part;
}

static uint64_t first_segment(const leat_batch *batch, uint64_t row)
{
    return row == 0 ? batch->segment_first : batch->row_segments[row - 1];
}

void leat_batch_positions(const leat_batch *batch, uint64_t row, uint32_t *out)
{
    uint32_t at = 0;
    for (uint64_t s = first_segment(batch, row); s < batch->row_segments[row]; s++) {
        for (uint32_t i = 0; i < batch->segments[s].length; i++) {
            out[at++] = i;
        }
    }
    while (at < batch->row_tokens) {
        out[at++] = 0;
    }
}

void leat_batch_loss_mask(const leat_batch *batch, uint64_t row, uint8_t *out)
{
    uint32_t at = 0; /* token whose label is looked at; label j is token j+1 */
    for (uint64_t s = first_segment(batch, row); s < batch->row_segments[row]; s++) {
        uint32_t end = batch->segments[s].row_start + batch->segments[s].length;
        for (; at + 1 < end; at++) {
            out[at] = 1;
        }
        if (at + 1 < batch->row_tokens) {
            bool last = s + 1 == batch->row_segments[row];
            out[at++] = !last && !batch->mask_boundaries;
        }
    }
    for (; at + 1 < batch->row_tokens; at++) {
        out[at] = 0;
    }
}

void leat_batch_labels(const leat_batch *batch, uint64_t row, int64_t ignore, int64_t *out)
{
    const uint32_t *tokens = batch->tokens + row * batch->row_tokens;
    uint32_t at = 0;
    for (uint64_t s = first_segment(batch, row); s < batch->row_segments[row]; s++) {
        uint32_t end = batch->segments[s].row_start + batch->segments[s].length;
        for (; at + 1 < end; at++) {
            out[at] = tokens[at + 1];
        }
        if (at + 1 < batch->row_tokens) {
            bool last = s + 1 == batch->row_segments[row];
            out[at] = !last && !batch->mask_boundaries ? (int64_t)tokens[at + 1] : ignore;
            at++;
        }
    }
    for (; at + 1 < batch->row_tokens; at++) {
        out[at] = ignore;
    }
}

size_t leat_batch_cumulative_lengths(const leat_batch *batch, uint64_t row, uint32_t *out)
{
    size_t count = 0;
    uint32_t end = 0;
    out[count++] = 0;
    for (uint64_t s = first_segment(batch, row); s < batch->row_segments[row]; s++) {
        end = batch->segments[s].row_start + batch->segments[s].length;
        out[count++] = end;
    }
    if (end < batch->row_tokens) {
        out[count++] = batch->row_tokens;
    }
    return count;
}

void leat_batch_document_ids(const leat_batch *batch, uint64_t row, uint32_t *out)
{
    uint32_t at = 0, number = 0;
    for (uint64_t s = first_segment(batch, row); s < batch->row_segments[row]; s++, number++) {
        for (uint32_t i = 0; i < batch->segments[s].length; i++) {
            out[at++] = number;
        }
    }
    while (at < batch->row_tokens) {
        out[at++] = UINT32_MAX;
    }
}
