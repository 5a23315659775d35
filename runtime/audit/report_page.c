/* report_page.c: the page of `leat report`: no scripts, nothing loaded from elsewhere, all text escaped. */
#include "audit/report.h"
#include "audit/report_draw.h"
#include "base/arith.h"
#include "base/memory.h"
#include <stdio.h>

enum { CHARTS_MAX = 24, TABLE_DATASETS_MAX = 200, STRIP_CELLS = 200, BINS_A_POINT = 4 };

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>leat report</title>\n<style>\n"
    ":root{--ink:#1c2430;--soft:#5b6675;--line:#d9dee5;--ground:#fff;--panel:#f5f7f9;"
    "--value:#1f6fb2;--target:#c2560c;--equal:#2f9e5b;--different:#d43a3a;--unknown:#e0a100;"
    "--alone:#a9b4c0;color-scheme:light dark}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e4e8ee;--soft:#9aa5b4;--line:#39424e;"
    "--ground:#14181e;--panel:#1d232b;--value:#5aa7e6;--target:#f0904c;--alone:#5b6675}}\n"
    "body{margin:0 auto;padding:24px;max-width:1000px;background:var(--ground);color:var(--ink);"
    "font:15px/1.5 system-ui,sans-serif}\n"
    "h1{font-size:24px;margin:0 0 4px}h2{font-size:19px;margin:36px 0 8px;"
    "border-bottom:1px solid var(--line);padding-bottom:4px;overflow-wrap:anywhere}"
    "h3{font-size:15px;margin:20px 0 6px}\n"
    "p{margin:6px 0}.soft,.unit{color:var(--soft);font-weight:normal}.unit{font-size:12px}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;width:100%}\n"
    "th,td{text-align:left;padding:4px 14px 4px 0;border-bottom:1px solid var(--line);"
    "vertical-align:top;overflow-wrap:anywhere}\n"
    "th{color:var(--soft);font-weight:600;font-size:13px;white-space:nowrap}"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\n"
    ".charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(400px,100%),1fr));gap:"
    "12px}\n"
    "figure{margin:0;background:var(--panel);border-radius:6px;padding:8px 10px}"
    "figcaption{font-size:13px;font-weight:600;overflow-wrap:anywhere}\n"
    "svg{display:block;width:100%;height:auto}svg text{font-size:11px;fill:var(--soft)}\n"
    "polyline{fill:none;stroke-width:1.6;stroke-linejoin:round}.value{stroke:var(--value)}"
    ".target{stroke:var(--target);stroke-dasharray:5 4}.grid{stroke:var(--line)}\n"
    ".strip{height:16px;border-radius:3px}.none{fill:transparent}.alone{fill:var(--alone)}"
    ".equal{fill:var(--equal)}.different{fill:var(--different)}.unknown{fill:var(--unknown)}\n"
    ".key i{display:inline-block;width:11px;height:11px;border-radius:2px;margin:0 4px 0 12px}\n"
    ".good{color:var(--equal);font-weight:600}.bad{color:var(--different);font-weight:600}\n"
    ".faults{border-left:4px solid var(--unknown);background:var(--panel);padding:6px 12px;"
    "margin:10px 0;overflow-wrap:anywhere}.faults ul{margin:2px 0;padding-left:20px}\n"
    "</style></head><body>\n";

static void add(leat_buffer *html, const char *markup)
{
    leat_buffer_add_text(html, markup);
}

static void cell_text(leat_buffer *html, const char *text)
{
    add(html, "<td>");
    leat_html_text(html, text);
    add(html, "</td>");
}

static void cell_count(leat_buffer *html, uint64_t number)
{
    add(html, "<td class=\"n\">");
    leat_html_count(html, number);
    add(html, "</td>");
}

static void cell_decimal(leat_buffer *html, uint64_t thousandths, int digits, const char *unit)
{
    add(html, "<td class=\"n\">");
    leat_html_decimal(html, thousandths, digits);
    add(html, unit);
    add(html, "</td>");
}

static void steps_text(leat_buffer *html, uint64_t first, uint64_t end)
{
    leat_html_count(html, first);
    add(html, " to ");
    leat_html_count(html, end);
}

/* ---- equality ---- */

static leat_cell cell_of(const leat_report_run *first, const leat_report_run *run, uint64_t begin,
                         uint64_t end)
{
    leat_cell cell = LEAT_CELL_NONE;
    for (uint64_t s = begin; s < end; s++) {
        if (!run->has_log || s < run->first || s >= run->end) {
            continue;
        }
        uint64_t mine = run->batch_marks[s - run->first];
        bool common = first != run && first->has_log && s >= first->first && s < first->end;
        uint64_t theirs = common ? first->batch_marks[s - first->first] : 0;
        leat_cell now = mine == 0        ? LEAT_CELL_UNKNOWN
                        : !common        ? LEAT_CELL_ALONE
                        : theirs == 0    ? LEAT_CELL_UNKNOWN
                        : theirs == mine ? LEAT_CELL_EQUAL
                                         : LEAT_CELL_DIFFERENT;
        /* The worst shows: different, then unknown. */
        if (now == LEAT_CELL_DIFFERENT) {
            return now;
        }
        cell = now > cell ? now : cell;
    }
    return cell;
}

static void strip(leat_buffer *html, const leat_report *report, const leat_report_run *run,
                  uint64_t begin, uint64_t end)
{
    leat_cell cells[STRIP_CELLS];
    uint64_t steps = end - begin;
    size_t count = steps < STRIP_CELLS ? (size_t)steps : STRIP_CELLS;
    for (size_t i = 0; i < count; i++) {
        cells[i] = cell_of(&report->runs[0], run, begin + leat_mul_div_u64(steps, i, count),
                           begin + leat_mul_div_u64(steps, i + 1, count));
    }
    leat_strip_draw(html, run->folder, cells, count);
}

static void verdict(leat_buffer *html, const leat_report_run *run, size_t number)
{
    add(html, "<td>");
    if (number == 0) {
        add(html, "<span class=\"soft\">the others are compared with this run</span>");
    } else if (!run->compared) {
        add(html, "<span class=\"bad\">not compared</span>: ");
        leat_html_text(html, run->cause != NULL ? run->cause : "");
    } else if (run->comparison.different == run->comparison.end && run->different_batches == 0) {
        add(html, "<span class=\"good\">equal</span>, every batch of steps ");
        steps_text(html, run->comparison.first, run->comparison.end);
        if (run->unknown_batches != 0) {
            add(html, ", by their chains; steps without a line that can be read: ");
            leat_html_count(html, run->unknown_batches);
        }
    } else if (run->comparison.different == run->comparison.end) {
        add(html, "<span class=\"bad\">changed lines</span>: the chains are equal, but ");
        leat_html_count(html, run->different_batches);
        add(html, " batches are not");
    } else {
        add(html, "<span class=\"bad\">different</span> from step ");
        leat_html_count(html, run->comparison.different);
        add(html, " on; different batches: ");
        leat_html_count(html, run->different_batches);
        add(html, " of ");
        leat_html_count(html, run->comparison.end - run->comparison.first);
        if (run->cause != NULL) {
            add(html, "<br><span class=\"soft\">cause: ");
            leat_html_text(html, run->cause);
            add(html, "</span>");
        }
    }
    add(html, "</td>");
}

static void equality(leat_buffer *html, const leat_report *report)
{
    uint64_t begin = UINT64_MAX, end = 0;
    for (size_t i = 0; i < report->count; i++) {
        const leat_report_run *run = &report->runs[i];
        begin = run->has_log ? leat_min_u64(begin, run->first) : begin;
        end = run->has_log ? leat_max_u64(end, run->end) : end;
    }
    add(html, "<h2>Are the batches equal?</h2>\n<div class=\"wide\"><table><tr><th>run</th>"
              "<th>steps</th><th class=\"n\">tokens</th><th>verdict</th></tr>\n");
    for (size_t i = 0; i < report->count; i++) {
        const leat_report_run *run = &report->runs[i];
        add(html, "<tr>");
        cell_text(html, run->folder);
        add(html, "<td>");
        if (run->has_log) {
            steps_text(html, run->first, run->end);
        } else {
            add(html, "no log");
        }
        add(html, "</td>");
        cell_count(html, run->tokens);
        verdict(html, run, i);
        add(html, "</tr>\n");
        if (begin < end) {
            add(html, "<tr><td colspan=\"4\">");
            strip(html, report, run, begin, end);
            add(html, "</td></tr>\n");
        }
    }
    add(html, "</table></div>\n");
    if (begin >= end) {
        return;
    }
    add(html, "<p class=\"soft key\">bars: steps ");
    steps_text(html, begin, end);
    add(html, "<i style=\"background:var(--equal)\"></i>equal<i style=\"background:"
              "var(--different)\"></i>different<i style=\"background:var(--alone)\"></i>nothing "
              "to compare with<i style=\"background:var(--unknown)\"></i>line damaged</p>\n"
              "<p class=\"soft\">Equal chains at a step say that both runs assembled equal rows "
              "in equal order up to that step. A log is not signed: <code>leat replay</code> "
              "computes it anew from the corpus.</p>\n");
}

/* ---- mixture ---- */

static const char *dataset_name(const leat_report_run *run, size_t dataset, char buffer[32])
{
    if (run->manifest != NULL) {
        return run->manifest->datasets[dataset].name;
    }
    snprintf(buffer, 32, "dataset %zu", dataset);
    return buffer;
}

static uint64_t share(uint64_t part, uint64_t whole) /* thousandths of a percent */
{
    return whole == 0 ? 0 : leat_mul_div_u64(part, 100000, whole);
}

static void mixture_row(leat_buffer *html, const leat_report_run *run, size_t d, bool target)
{
    char name[32];
    uint64_t have = share(run->dataset_tokens[d], run->tokens),
             want = share(run->dataset_wanted[d], run->tokens);
    add(html, "<tr>");
    cell_text(html, dataset_name(run, d, name));
    cell_count(html, run->dataset_tokens[d]);
    cell_decimal(html, have, 3, "&#8239;%");
    if (target) {
        cell_decimal(html, want, 3, "&#8239;%");
        cell_decimal(html, have > want ? have - want : want - have, 3,
                     have > want   ? "&#8239;% above"
                     : have < want ? "&#8239;% below"
                                   : "&#8239;%");
    }
    add(html, "</tr>\n");
}

static void mixture_chart(leat_buffer *html, const leat_report_run *run, size_t d, bool target)
{
    int64_t values[LEAT_SERIES_BINS], wanted[LEAT_SERIES_BINS];
    char name[32];
    const leat_series *log = &run->log;
    for (size_t i = 0; i < log->bins; i++) {
        const uint64_t *bin = log->values + i * log->columns;
        bool some = bin[LEAT_LOG_TOKENS] != 0;
        const uint64_t *pair = bin + LEAT_LOG_DATASETS + 2 * d;
        values[i] = some ? (int64_t)share(pair[0], bin[LEAT_LOG_TOKENS]) : LEAT_CHART_NOTHING;
        wanted[i] = some ? (int64_t)share(pair[1], bin[LEAT_LOG_TOKENS]) : LEAT_CHART_NOTHING;
    }
    leat_chart chart = {.title = dataset_name(run, d, name),
                        .unit = "% of the tokens",
                        .values = values,
                        .target = target ? wanted : NULL,
                        .bins = log->bins,
                        .first_step = run->first,
                        .end_step = run->end,
                        .least_span = 2000,
                        .digits = 1};
    leat_chart_draw(html, &chart);
}

static void mixture(leat_buffer *html, const leat_report_run *run)
{
    bool target = run->job != NULL && run->manifest != NULL;
    size_t shown = 0, rows = 0;
    add(html, "<h3>Mixture against target</h3>\n");
    if (!run->has_log) {
        add(html, "<p>There is no log to take it from.</p>\n");
        return;
    }
    if (target && run->job->mix_by_documents) {
        add(html, "<p class=\"soft\">The job mixes by documents; the target is of documents, the "
                  "shares are of tokens.</p>\n");
    }
    if (target && run->job->drop_exhausted) {
        add(html, "<p class=\"soft\">Datasets that have ended are dropped; the target below does "
                  "not take that into account.</p>\n");
    }
    add(html, "<div class=\"wide\"><table><tr><th>dataset</th><th class=\"n\">tokens</th>"
              "<th class=\"n\">share</th>");
    add(html,
        target ? "<th class=\"n\">target</th><th class=\"n\">difference</th></tr>\n" : "</tr>\n");
    for (size_t d = 0; d < run->datasets && rows < TABLE_DATASETS_MAX; d++) {
        if (run->manifest != NULL || run->dataset_tokens[d] != 0) {
            mixture_row(html, run, d, target);
            rows++;
        }
    }
    add(html, "</table></div>\n");
    if (rows == TABLE_DATASETS_MAX) {
        add(html, "<p class=\"soft\">Further datasets are left out of this page.</p>\n");
    }
    add(html, target ? "<p class=\"soft\">Charts: share of each dataset over the steps; dashed: "
                       "the target of the stage in force.</p>\n"
                     : "<p class=\"soft\">The manifest cannot be read, so no target is known."
                       "</p>\n");
    add(html, "<div class=\"charts\">");
    for (size_t d = 0; d < run->datasets && shown < CHARTS_MAX; d++) {
        if (run->dataset_tokens[d] != 0 || run->dataset_wanted[d] != 0) {
            mixture_chart(html, run, d, target);
            shown++;
        }
    }
    add(html, "</div>\n");
    if (shown == CHARTS_MAX) {
        add(html, "<p class=\"soft\">Charts of the first 24 datasets.</p>\n");
    }
}

/* ---- waits and throughput ---- */

/* Lines are written a window of steps at a time, so that single bins jump. */
static int64_t metric_of(const leat_series *metrics, size_t first, int which)
{
    uint64_t bin[LEAT_METRIC_COLUMNS] = {0}, value;
    for (size_t i = first; i < first + BINS_A_POINT && i < metrics->bins; i++) {
        for (size_t c = 0; c < LEAT_METRIC_COLUMNS; c++) {
            bin[c] += metrics->values[i * metrics->columns + c];
        }
    }
    uint64_t span = bin[LEAT_METRIC_SPAN_NS], steps = bin[LEAT_METRIC_STEPS];
    if (steps == 0 || (which != 2 && span == 0)) {
        return LEAT_CHART_NOTHING;
    }
    if (which == 0) {
        value = leat_mul_div_u64(bin[LEAT_METRIC_TOKENS], 1000000000u, span) * 1000;
    } else if (which == 1) {
        value = leat_mul_div_u64(leat_min_u64(bin[LEAT_METRIC_WAIT_NS], span), 100000, span);
    } else {
        value = leat_mul_div_u64(bin[LEAT_METRIC_READY], 1000, steps);
    }
    return value < INT64_MAX ? (int64_t)value : INT64_MAX;
}

static void throughput(leat_buffer *html, const leat_report_run *run)
{
    static const char *const titles[3] = {"Tokens a second", "Trainer waits for data",
                                          "Batches ready"};
    static const char *const units[3] = {"all ranks, with the trainer's own time",
                                         "% of the time, rank 0", "mean, rank 0"};
    static const int64_t spans[3] = {1000, 5000, 1000};
    const leat_series *metrics = &run->metrics;
    add(html, "<h3>Waits and throughput</h3>\n");
    if (metrics->bins == 0) {
        add(html, "<p>There is no line in metrics.jsonl that can be read.</p>\n");
        return;
    }
    uint64_t end = metrics->base + metrics->bins * metrics->width;
    add(html, "<div class=\"charts\">");
    for (int which = 0; which < 3; which++) {
        int64_t values[LEAT_SERIES_BINS];
        bool any = false;
        size_t points = (metrics->bins + BINS_A_POINT - 1) / BINS_A_POINT;
        for (size_t i = 0; i < points; i++) {
            values[i] = metric_of(metrics, i * BINS_A_POINT, which);
            any = any || values[i] >= 0;
        }
        leat_chart chart = {.title = titles[which],
                            .unit = any ? units[which] : "the lines have no times",
                            .values = values,
                            .bins = points,
                            .first_step = metrics->base,
                            .end_step = run->has_log ? leat_min_u64(end, run->end) : end,
                            .from_zero = true,
                            .least_span = spans[which],
                            .digits = which == 0 ? 0 : 1};
        leat_chart_draw(html, &chart);
    }
    add(html, "</div>\n");
}

/* ---- starts ---- */

static void session_cells(leat_buffer *html, const leat_report_session *session)
{
    if (session == NULL) {
        add(html, "<td class=\"soft\" colspan=\"5\">not in metrics.jsonl</td>");
        return;
    }
    cell_count(html, session->end_step - session->step);
    cell_decimal(html, session->span_ns / 1000000u, 1, "&#8239;s");
    cell_count(html, session->span_ns == 0
                         ? 0
                         : leat_mul_div_u64(session->tokens, 1000000000u, session->span_ns));
    cell_decimal(html, session->wait_ns / 1000000u, 2, "&#8239;s");
    cell_text(html, session->ended ? "ended" : "killed, or goes on");
}

static void starts(leat_buffer *html, const leat_report_run *run)
{
    size_t next = 0, count = run->manifest != NULL ? run->manifest->restart_count : 0;
    add(html, "<h3>Starts</h3>\n");
    if (count == 0 && run->session_count == 0) {
        add(html, "<p>Neither the manifest nor the metrics know of any.</p>\n");
        return;
    }
    add(html, "<div class=\"wide\"><table><tr><th class=\"n\">from step</th><th class=\"n\">ranks"
              "</th><th>hosts</th><th class=\"n\">steps</th><th class=\"n\">time</th>"
              "<th class=\"n\">tokens/s</th><th class=\"n\">waited</th><th>end</th></tr>\n");
    size_t rows = count != 0 ? count : run->session_count;
    for (size_t i = 0; i < rows; i++) {
        const leat_manifest_restart *restart = count != 0 ? &run->manifest->restarts[i] : NULL;
        const leat_report_session *session = NULL;
        /* A start that failed before the manifest was written has a line in the metrics alone. */
        for (size_t s = next; s < run->session_count && session == NULL; s++) {
            if (restart == NULL || run->sessions[s].step == restart->step) {
                session = &run->sessions[s];
                next = s + 1;
            }
        }
        add(html, "<tr>");
        cell_count(html, restart != NULL ? restart->step : session != NULL ? session->step : 0);
        if (restart != NULL) {
            cell_count(html, restart->ranks);
            add(html, "<td>");
            for (size_t h = 0; h < restart->host_count && h < 8; h++) {
                add(html, h == 0 ? "" : ", ");
                leat_html_text(html, restart->hosts[h]);
            }
            add(html, restart->host_count > 8 ? ", …</td>" : "</td>");
        } else {
            add(html, "<td class=\"n\">?</td><td>?</td>");
        }
        session_cells(html, session);
        add(html, "</tr>\n");
    }
    add(html, "</table></div>\n");
    for (size_t i = 0; run->manifest != NULL && i < run->manifest->fork_count; i++) {
        const leat_manifest_fork *fork = &run->manifest->forks[i];
        add(html, "<p>Forked from ");
        leat_html_text(html, fork->parent);
        add(html, " at step ");
        leat_html_count(html, fork->step);
        for (size_t k = 0; k < fork->difference_count; k++) {
            add(html, k == 0 ? ": " : "; ");
            leat_html_text(html, fork->differences[k]);
        }
        add(html, "</p>\n");
    }
}

static void faults(leat_buffer *html, leat_report_run *run)
{
    char *text = leat_strdup(leat_buffer_text(&run->faults)), *rest = text;
    if (text[0] != '\0') {
        add(html, "<div class=\"faults\">Missing or damaged:<ul>");
        for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
            if (line[0] != '\0') {
                add(html, "<li>");
                leat_html_text(html, line);
                add(html, "</li>");
            }
        }
        add(html, "</ul></div>\n");
    }
    leat_free(text);
}

static void facts(leat_buffer *html, const leat_report_run *run)
{
    add(html, "<p class=\"soft\">");
    if (run->manifest != NULL) {
        char digest[65];
        leat_hex(run->manifest->digest, 32, digest);
        add(html, "job ");
        leat_html_text(html, run->manifest->job_path);
        leat_buffer_add_format(html, " · plan digest <code>%.16s…</code> · ", digest);
        for (size_t i = 0; i < run->manifest->version_count; i++) {
            leat_html_text(html, run->manifest->versions[i].name);
            add(html, " ");
            leat_html_text(html, run->manifest->versions[i].value);
            add(html, " · ");
        }
    }
    leat_html_count(html, run->rows);
    add(html, " rows · ");
    leat_html_count(html, run->tokens);
    add(html, " tokens</p>\n");
}

void leat_report_page(const leat_report *report, leat_buffer *html)
{
    add(html, head);
    add(html, "<h1>leat report</h1>\n<p class=\"soft\">runs: ");
    leat_html_count(html, report->count);
    add(html, " · made by leat " LEAT_VERSION "</p>\n");
    equality(html, report);
    for (size_t i = 0; i < report->count; i++) {
        leat_report_run *run = &report->runs[i];
        add(html, "<h2>");
        leat_html_text(html, run->folder);
        add(html, "</h2>\n");
        facts(html, run);
        faults(html, run);
        starts(html, run);
        mixture(html, run);
        throughput(html, run);
    }
    add(html, "</body></html>\n");
}
