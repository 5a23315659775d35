/* forecast.h: which mixture a job can keep, and for how long, from the tokens of its datasets.  An estimate in whole tokens:
 * the plan itself deals in pieces and rows. */
#ifndef LEAT_AUDIT_FORECAST_H
#define LEAT_AUDIT_FORECAST_H
#include "audit/census.h"

#define LEAT_FORECAST_NO_END UINT64_MAX
#define LEAT_FORECAST_NOBODY UINT32_MAX

/* Rows over which the mixture stays the same. */
typedef struct leat_forecast_span {
    uint64_t first_row, end_row; /* end LEAT_FORECAST_NO_END: for ever */
    uint32_t *shares;            /* [datasets] millionths of the tokens */
    uint32_t ended;              /* the dataset that is over at the end, or NOBODY */
} leat_forecast_span;

typedef struct leat_forecast {
    leat_forecast_span *spans;
    size_t count, capacity, datasets;
    uint64_t
        *tokens;   /* [datasets] drawn up to the end, or to the last change where there is no end */
    uint64_t rows; /* of the whole run; NO_END: it goes on for ever */
    uint32_t ended_by; /* the dataset whose end is the plan's end (on_exhausted: stop), or NOBODY */
    uint32_t
        empty; /* a dataset without tokens that would be drawn: the job is refused; or NOBODY */
    bool plan_ends; /* rows is where the plan ends, not the limit asked for */
} leat_forecast;

/* `rows` limits the look (NO_END: none). */
void leat_forecast_make(leat_forecast *out, const leat_plan_spec *spec,
                        const leat_census_dataset *census, uint64_t rows);
void leat_forecast_deinit(leat_forecast *forecast);
/* The step in which row `row` lies. */
uint64_t leat_forecast_step(const leat_plan_spec *spec, uint64_t row);
#endif
