#include "audit/report_draw.h"
#include "base/memory.h"
#include "base/utf8.h"
#include <stdio.h>

enum { WIDTH = 460, HEIGHT = 120, LEFT = 62, RIGHT = 8, TOP = 8, BOTTOM = 20 };

void leat_html_text(leat_buffer *html, const char *text)
{
    leat_buffer valid = {0};
    leat_utf8_replace((const uint8_t *)text, strlen(text), &valid);
    for (size_t i = 0; i < valid.size; i++) {
        uint8_t byte = valid.data[i];
        switch (byte) {
        case '&':
            leat_buffer_add_text(html, "&amp;");
            break;
        case '<':
            leat_buffer_add_text(html, "&lt;");
            break;
        case '>':
            leat_buffer_add_text(html, "&gt;");
            break;
        case '"':
            leat_buffer_add_text(html, "&quot;");
            break;
        case '\'':
            leat_buffer_add_text(html, "&#39;");
            break;
        default:
            leat_buffer_add_u8(html, byte < 0x20 || byte == 0x7f ? ' ' : byte);
            break;
        }
    }
    leat_buffer_deinit(&valid);
}

void leat_html_count(leat_buffer *html, uint64_t number)
{
    char digits[24];
    int count = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    for (int i = 0; i < count; i++) {
        if (i != 0 && (count - i) % 3 == 0) {
            leat_buffer_add_text(html, "&#8239;");
        }
        leat_buffer_add_u8(html, (uint8_t)digits[i]);
    }
}

void leat_html_decimal(leat_buffer *html, uint64_t thousandths, int digits)
{
    leat_html_count(html, thousandths / 1000);
    if (digits > 0) {
        char rest[8];
        snprintf(rest, sizeof rest, "%03u", (unsigned)(thousandths % 1000));
        leat_buffer_add_format(html, ".%.*s", digits, rest);
    }
}

typedef struct chart_axis {
    int64_t low, high;
} chart_axis;

static chart_axis axis_of(const leat_chart *chart)
{
    int64_t low = INT64_MAX, high = 0;
    for (size_t i = 0; i < chart->bins; i++) {
        int64_t pair[2] = {chart->values[i], chart->target != NULL ? chart->target[i] : -1};
        for (int k = 0; k < 2; k++) {
            if (pair[k] >= 0) {
                low = pair[k] < low ? pair[k] : low;
                high = pair[k] > high ? pair[k] : high;
            }
        }
    }
    low = low == INT64_MAX || chart->from_zero ? 0 : low;
    if (high - low < chart->least_span) {
        int64_t missing = chart->least_span - (high - low);
        low = low > missing / 2 && !chart->from_zero ? low - missing / 2 : 0;
        high = low + chart->least_span;
    }
    return (chart_axis){low, high};
}

/* In tenths of a pixel, so that no floats are needed. */
static int64_t y_of(chart_axis axis, int64_t value)
{
    int64_t inner = (HEIGHT - TOP - BOTTOM) * 10;
    /* Divided down first where values are so large that the product would not fit. */
    int64_t span = axis.high - axis.low, at = value - axis.low;
    while (span > INT64_MAX / 100000) {
        span /= 2;
        at /= 2;
    }
    return TOP * 10 + inner - (span > 0 ? at * inner / span : 0);
}

static int64_t x_of(const leat_chart *chart, size_t bin)
{
    int64_t inner = (WIDTH - LEFT - RIGHT) * 10;
    return LEFT * 10 + ((int64_t)bin * 2 + 1) * inner / (2 * (int64_t)chart->bins);
}

static void add_line(leat_buffer *html, const leat_chart *chart, chart_axis axis,
                     const int64_t *values, const char *kind)
{
    bool open = false;
    for (size_t i = 0; i <= chart->bins; i++) {
        bool has = i < chart->bins && values[i] >= 0;
        if (has && !open) {
            leat_buffer_add_format(html, "<polyline class=\"%s\" points=\"", kind);
        }
        if (has) {
            int64_t x = x_of(chart, i), y = y_of(axis, values[i]);
            leat_buffer_add_format(html, "%lld.%lld,%lld.%lld ", (long long)(x / 10),
                                   (long long)(x % 10), (long long)(y / 10), (long long)(y % 10));
            /* A bin alone would be no line at all. */
            if (!open && (i + 1 == chart->bins || values[i + 1] < 0)) {
                leat_buffer_add_format(html, "%lld.%lld,%lld.%lld ", (long long)(x / 10 + 3),
                                       (long long)(x % 10), (long long)(y / 10),
                                       (long long)(y % 10));
            }
        }
        if (!has && open) {
            leat_buffer_add_text(html, "\"/>");
        }
        open = has;
    }
}

static void add_tick(leat_buffer *html, const leat_chart *chart, int y, int64_t value)
{
    leat_buffer_add_format(html, "<line class=\"grid\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>",
                           LEFT, y, WIDTH - RIGHT, y);
    leat_buffer_add_format(html, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 5, y + 4);
    leat_html_decimal(html, value > 0 ? (uint64_t)value : 0, chart->digits);
    leat_buffer_add_text(html, "</text>");
}

void leat_chart_draw(leat_buffer *html, const leat_chart *chart)
{
    chart_axis axis = axis_of(chart);
    leat_buffer_add_text(html, "<figure><figcaption>");
    leat_html_text(html, chart->title);
    leat_buffer_add_text(html, " <span class=\"unit\">");
    leat_html_text(html, chart->unit);
    leat_buffer_add_format(html,
                           "</span></figcaption><svg viewBox=\"0 0 %d %d\" role=\"img\" "
                           "aria-label=\"",
                           WIDTH, HEIGHT);
    leat_html_text(html, chart->title);
    leat_buffer_add_text(html, "\">");
    add_tick(html, chart, TOP, axis.high);
    add_tick(html, chart, TOP + (HEIGHT - TOP - BOTTOM) / 2, axis.low + (axis.high - axis.low) / 2);
    add_tick(html, chart, HEIGHT - BOTTOM, axis.low);
    add_line(html, chart, axis, chart->values, "value");
    if (chart->target != NULL) {
        add_line(html, chart, axis, chart->target, "target");
    }
    leat_buffer_add_format(html, "<text x=\"%d\" y=\"%d\">step ", LEFT, HEIGHT - 5);
    leat_html_count(html, chart->first_step);
    leat_buffer_add_format(html, "</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">",
                           WIDTH - RIGHT, HEIGHT - 5);
    leat_html_count(html, chart->end_step);
    leat_buffer_add_text(html, "</text></svg></figure>\n");
}

void leat_strip_draw(leat_buffer *html, const char *title, const leat_cell *cells, size_t count)
{
    static const char *const kinds[] = {"none", "alone", "equal", "different", "unknown"};
    leat_buffer_add_format(html,
                           "<svg class=\"strip\" viewBox=\"0 0 %zu 14\" "
                           "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"",
                           count);
    leat_html_text(html, title);
    leat_buffer_add_text(html, "\">");
    for (size_t i = 0, begin = 0; i < count; i++) {
        if (i + 1 == count || cells[i + 1] != cells[begin]) {
            leat_buffer_add_format(
                html, "<rect class=\"%s\" x=\"%zu\" y=\"0\" width=\"%zu\" height=\"14\"/>",
                kinds[cells[begin]], begin, i + 1 - begin);
            begin = i + 1;
        }
    }
    leat_buffer_add_text(html, "</svg>");
}
