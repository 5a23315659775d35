/* report_draw.h: text and pictures of the report, as HTML and inline SVG.  All text given here is escaped here. */
#ifndef LEAT_AUDIT_REPORT_DRAW_H
#define LEAT_AUDIT_REPORT_DRAW_H
#include "base/bytes.h"

/* Text as HTML: escaped, valid UTF-8, no control characters. */
void leat_html_text(leat_buffer *html, const char *text);
/* 1234567 as "1 234 567" with narrow spaces. */
void leat_html_count(leat_buffer *html, uint64_t number);
/* `thousandths` as "12.3", with `digits` (0 to 3) after the point, cut. */
void leat_html_decimal(leat_buffer *html, uint64_t thousandths, int digits);

enum { LEAT_CHART_NOTHING = -1 }; /* a bin without a value */

typedef struct leat_chart {
    const char *title, *unit; /* of the y axis */
    const int64_t *values;    /* [bins], thousandths of the unit, or LEAT_CHART_NOTHING */
    const int64_t *target;    /* [bins] drawn dashed; NULL: none */
    size_t bins;
    uint64_t first_step, end_step;
    bool from_zero;     /* the y axis begins with 0 */
    int64_t least_span; /* of the y axis, thousandths */
    int digits;         /* of the y axis' numbers, after the point */
} leat_chart;
void leat_chart_draw(leat_buffer *html, const leat_chart *chart);

typedef enum leat_cell {
    LEAT_CELL_NONE,
    LEAT_CELL_ALONE,
    LEAT_CELL_EQUAL,
    LEAT_CELL_DIFFERENT,
    LEAT_CELL_UNKNOWN
} leat_cell;
/* A bar of cells, one after another. */
void leat_strip_draw(leat_buffer *html, const char *title, const leat_cell *cells, size_t count);
#endif
