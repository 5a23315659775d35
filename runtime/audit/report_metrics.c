/* report_metrics.c: what metrics.jsonl says of waits, throughput and starts.  Lines may be missing or torn. */
#include "audit/report.h"
#include "base/json.h"
#include "base/memory.h"
#include "io/store/store.h"

static const uint64_t METRICS_BYTES_MAX = (uint64_t)1 << 30;

typedef struct metrics {
    leat_report_run *run;
    uint64_t time_ns, bad_lines, first_bad;
    bool has_time;
} metrics;

static uint64_t number(leat_json_value line, const char *key)
{
    uint64_t value = 0;
    return leat_json_get_u64(leat_json_member(line, key), &value) ? value : 0;
}

static leat_report_session *session_add(leat_report_run *run, uint64_t step)
{
    LEAT_GROW(run->sessions, run->session_capacity, run->session_count + 1);
    leat_report_session *session = &run->sessions[run->session_count++];
    *session = (leat_report_session){.step = step, .end_step = step};
    return session;
}

static leat_report_session *session_of(leat_report_run *run, uint64_t step)
{
    leat_report_session *last =
        run->session_count != 0 ? &run->sessions[run->session_count - 1] : NULL;
    /* Folders of runs that wrote no start lines: a step that does not follow is a new start. */
    bool follows = last != NULL && !last->ended &&
                   (last->marked ? step >= last->end_step : step == last->end_step);
    return follows ? last : session_add(run, step);
}

static uint64_t span(metrics *state, leat_json_value line)
{
    uint64_t time_ns = number(line, "time_ns");
    uint64_t ns = state->has_time && time_ns > state->time_ns ? time_ns - state->time_ns : 0;
    state->has_time = time_ns != 0;
    state->time_ns = time_ns;
    return ns;
}

static void take_step(metrics *state, leat_json_value line, uint64_t step)
{
    leat_report_run *run = state->run;
    if (run->metrics.values == NULL) {
        leat_series_init(&run->metrics, run->has_log ? run->first : step, LEAT_METRIC_COLUMNS);
    }
    size_t sessions = run->session_count;
    leat_report_session *session = session_of(run, step);
    state->has_time = state->has_time && sessions == run->session_count;
    uint64_t ns = span(state, line), wait = number(line, "wait_ns"),
             tokens = number(line, "tokens");
    session->end_step = step + 1;
    session->tokens += tokens;
    session->wait_ns += wait;
    session->span_ns += ns;
    uint64_t *bin = leat_series_at(&run->metrics, step);
    if (bin != NULL) {
        bin[LEAT_METRIC_STEPS]++;
        bin[LEAT_METRIC_TOKENS] += tokens;
        bin[LEAT_METRIC_WAIT_NS] += wait;
        bin[LEAT_METRIC_SPAN_NS] += ns;
        bin[LEAT_METRIC_READY] += number(line, "ready");
    }
}

static bool take_line(metrics *state, leat_json_value line)
{
    leat_bytes summary;
    uint64_t step = 0;
    bool has_step = leat_json_get_u64(leat_json_member(line, "step"), &step) &&
                    step < (uint64_t)1 << 62; /* so that sums of steps do not wrap */
    if (!leat_json_get_text(leat_json_member(line, "summary"), &summary)) {
        if (has_step) {
            take_step(state, line, step);
        }
        return has_step;
    }
    leat_report_run *run = state->run;
    if (summary.size == 5 && memcmp(summary.data, "start", 5) == 0 && has_step) {
        session_add(run, step)->marked = true;
        state->has_time = false;
        (void)span(state, line);
    } else if (summary.size == 3 && memcmp(summary.data, "end", 3) == 0 &&
               run->session_count != 0) {
        run->sessions[run->session_count - 1].ended = true;
        run->sessions[run->session_count - 1].span_ns += span(state, line);
    }
    return true;
}

void leat_report_metrics(leat_report_run *run)
{
    metrics state = {.run = run};
    leat_buffer text = {0};
    leat_error error;
    char *path = leat_format("%s/metrics.jsonl", run->folder);
    leat_json *json = leat_json_open();
    if (leat_store_read_whole(leat_store_posix(), path, METRICS_BYTES_MAX, &text, &error) !=
        LEAT_OK) {
        leat_report_fault_error(run, &error);
    }
    uint64_t number_of_line = 0;
    for (size_t at = 0; at < text.size;) {
        const uint8_t *end = memchr(text.data + at, '\n', text.size - at);
        size_t stop = end != NULL ? (size_t)(end - text.data) : text.size;
        leat_json_value line;
        number_of_line++;
        leat_bytes bytes = {text.data + at, stop - at};
        bool good = end != NULL && leat_json_parse(json, bytes, path, &line, &error) == LEAT_OK &&
                    leat_json_type_of(line) == LEAT_JSON_OBJECT && take_line(&state, line);
        if (!good && state.bad_lines++ == 0) {
            state.first_bad = number_of_line;
        }
        at = stop + 1;
    }
    if (state.bad_lines != 0) {
        leat_report_fault(run, "%s: %llu damaged lines are left out, the first is line %llu", path,
                          (unsigned long long)state.bad_lines, (unsigned long long)state.first_bad);
    }
    leat_json_close(json);
    leat_buffer_deinit(&text);
    leat_free(path);
}
