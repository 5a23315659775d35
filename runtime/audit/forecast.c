#include "audit/forecast.h"
#include "base/arith.h"
#include "base/memory.h"

__extension__ typedef unsigned __int128 wide;

enum { SCALE = 1024, SHARE = 1000000 };

typedef struct forecaster {
    const leat_plan_spec *spec;
    const leat_census_dataset *census;
    leat_forecast *out;
    uint64_t row, row_limit, stage_row; /* stage_row: of the next stage */
    uint64_t *rates;                    /* [datasets] tokens of each of `total` tokens drawn */
    uint64_t total;
    bool *over; /* [datasets] */
} forecaster;

static uint64_t weight_of(const forecaster *of, uint32_t d)
{
    const leat_plan_spec *spec = of->spec;
    uint64_t weight = spec->datasets[d].weight;
    for (uint64_t s = 0; s < spec->stage_count && spec->stages[s].from_row <= of->row; s++) {
        weight = spec->stages[s].weights[d];
    }
    return weight;
}

/* Rates of the active datasets, made small enough that products with token counts fit in 128 bits. */
static void set_rates(forecaster *of)
{
    wide sum = 0, *rates = leat_alloc((size_t)of->spec->dataset_count, sizeof *rates);
    for (uint32_t d = 0; d < of->spec->dataset_count; d++) {
        const leat_census_dataset *census = &of->census[d];
        uint64_t weight = of->over[d] ? 0 : weight_of(of, d);
        if (weight != 0 && census->tokens == 0 && of->out->empty == LEAT_FORECAST_NOBODY) {
            of->out->empty = d;
        }
        rates[d] = census->tokens == 0 ? 0 : (wide)weight * SCALE;
        if (of->spec->mix_by_documents && census->filled != 0) {
            rates[d] = rates[d] * (census->tokens / census->filled + 1);
        }
        sum += rates[d];
    }
    int shift = 0;
    while (sum >> shift >= (wide)1 << 31) {
        shift++;
    }
    of->total = 0;
    for (uint32_t d = 0; d < of->spec->dataset_count; d++) {
        uint64_t rate = (uint64_t)(rates[d] >> shift);
        of->rates[d] = rates[d] != 0 && rate == 0 ? 1 : rate;
        of->total += of->rates[d];
    }
    of->stage_row = LEAT_FORECAST_NO_END;
    for (uint64_t s = of->spec->stage_count; s > 0; s--) {
        if (of->spec->stages[s - 1].from_row > of->row) {
            of->stage_row = of->spec->stages[s - 1].from_row;
        }
    }
    leat_free(rates);
}

/* Tokens in SCALE rows of the mixture in force; `single` gives every piece a row. */
static uint64_t row_fill(const forecaster *of)
{
    wide rows = 0;
    if (of->spec->packing != LEAT_PACKING_SINGLE) {
        return of->spec->row_tokens * SCALE;
    }
    for (uint32_t d = 0; d < of->spec->dataset_count; d++) {
        if (of->rates[d] != 0) {
            rows += (wide)of->rates[d] * SCALE * of->census[d].pieces / of->census[d].tokens;
        }
    }
    uint64_t fill = rows == 0 ? 0 : (uint64_t)((wide)of->total * SCALE * SCALE / rows);
    return leat_max_u64(fill, SCALE);
}

static uint64_t left_of(const forecaster *of, uint32_t d)
{
    uint64_t all, epochs = of->spec->datasets[d].epochs;
    if (epochs == 0 || !leat_mul_u64(of->census[d].tokens, epochs, &all)) {
        return UINT64_MAX;
    }
    return all - leat_min_u64(all, of->out->tokens[d]);
}

static leat_forecast_span *add_span(forecaster *of)
{
    leat_forecast *out = of->out;
    LEAT_GROW(out->spans, out->capacity, out->count + 1);
    leat_forecast_span *span = &out->spans[out->count++];
    *span =
        (leat_forecast_span){of->row, LEAT_FORECAST_NO_END,
                             leat_alloc(out->datasets, sizeof *span->shares), LEAT_FORECAST_NOBODY};
    for (size_t d = 0; d < out->datasets; d++) {
        span->shares[d] = (uint32_t)(((wide)of->rates[d] * SHARE + of->total / 2) / of->total);
    }
    return span;
}

/* One span: up to the next stage, the limit, or the end of a dataset.  false: nothing comes after it. */
static bool advance(forecaster *of)
{
    leat_forecast *out = of->out;
    set_rates(of);
    out->plan_ends = of->total == 0;
    if (of->total == 0 || of->row >= of->row_limit || out->empty != LEAT_FORECAST_NOBODY) {
        out->rows = of->row;
        return false;
    }
    leat_forecast_span *span = add_span(of);
    uint64_t fill = row_fill(of), until = leat_min_u64(of->stage_row, of->row_limit);
    wide drawn = until == LEAT_FORECAST_NO_END ? ~(wide)0 : (wide)(until - of->row) * fill / SCALE;
    for (uint32_t d = 0; d < out->datasets; d++) {
        uint64_t left = of->rates[d] != 0 ? left_of(of, d) : UINT64_MAX;
        wide mine = (wide)left * of->total / leat_max_u64(of->rates[d], 1);
        if (left != UINT64_MAX && mine < drawn) {
            drawn = mine;
            span->ended = d;
        }
    }
    if (drawn == ~(wide)0) {
        return false;
    }
    of->row =
        span->ended == LEAT_FORECAST_NOBODY ? until : of->row + (uint64_t)(drawn * SCALE / fill);
    span->end_row = of->row;
    for (uint32_t d = 0; d < out->datasets; d++) {
        out->tokens[d] += (uint64_t)(drawn * of->rates[d] / of->total);
    }
    if (span->ended != LEAT_FORECAST_NOBODY) {
        of->over[span->ended] = true;
        out->tokens[span->ended] += left_of(of, span->ended); /* what division has left over */
        if (!of->spec->drop_exhausted) {
            out->ended_by = span->ended;
            out->rows = of->row;
            out->plan_ends = true;
            return false;
        }
    }
    return true;
}

void leat_forecast_make(leat_forecast *out, const leat_plan_spec *spec,
                        const leat_census_dataset *census, uint64_t rows)
{
    size_t datasets = (size_t)spec->dataset_count;
    *out = (leat_forecast){.datasets = datasets,
                           .tokens = leat_alloc(datasets, sizeof *out->tokens),
                           .rows = LEAT_FORECAST_NO_END,
                           .ended_by = LEAT_FORECAST_NOBODY,
                           .empty = LEAT_FORECAST_NOBODY};
    forecaster of = {.spec = spec, .census = census, .out = out, .row_limit = rows};
    of.rates = leat_alloc(datasets, sizeof *of.rates);
    of.over = leat_alloc(datasets, sizeof *of.over);
    while (advance(&of)) {
    }
    leat_free(of.rates);
    leat_free(of.over);
}

void leat_forecast_deinit(leat_forecast *forecast)
{
    for (size_t i = 0; i < forecast->count; i++) {
        leat_free(forecast->spans[i].shares);
    }
    leat_free(forecast->spans);
    leat_free(forecast->tokens);
    *forecast = (leat_forecast){0};
}

uint64_t leat_forecast_step(const leat_plan_spec *spec, uint64_t row)
{
    uint64_t low = 0, rows = 0;
    for (uint64_t i = 0; i < spec->batch_size_count; i++) {
        const leat_plan_batch_size *size = &spec->batch_sizes[i];
        uint64_t first =
            leat_plan_step_first_row(spec->batch_sizes, spec->batch_size_count, size->from_step);
        if (first > row) {
            break;
        }
        low = size->from_step + (row - first) / size->rows;
        rows = size->rows;
    }
    LEAT_ASSERT(rows != 0);
    return low;
}
