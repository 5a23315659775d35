#include "cli/check_print.h"
#include "base/arith.h"
#include "base/json_out.h"
#include "base/memory.h"
#include <sched.h>
#include <string.h>

enum { EQUAL_SHOWN = 12, RANK_COUNTS = 3 };

typedef unsigned long long number;

static const char *name_of(const leat_check_report *report, size_t d)
{
    return report->loader->job->datasets[d].name;
}

/* "1.70": a ratio with two decimals, rounded. */
static const char *ratio(uint64_t a, uint64_t b, char out[32])
{
    uint64_t thousandths = b == 0 ? 0 : leat_mul_div_u64(a, 1000, b);
    uint64_t hundredths = (thousandths + 5) / 10;
    snprintf(out, 32, "%llu.%02llu", (number)(hundredths / 100), (number)(hundredths % 100));
    return out;
}

static const char *bytes_text(uint64_t bytes, char out[32])
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    uint64_t unit = 0, of = 1;
    while (unit < 5 && bytes / of >= 1024) {
        of *= 1024;
        unit++;
    }
    uint64_t tenths = leat_mul_div_u64(bytes, 10, of);
    if (unit == 0) {
        snprintf(out, 32, "%llu bytes", (number)bytes);
    } else {
        snprintf(out, 32, "%llu.%llu %s", (number)(tenths / 10), (number)(tenths % 10),
                 units[unit]);
    }
    return out;
}

static uint32_t threads_of(const leat_check_report *report)
{
    cpu_set_t mask;
    uint32_t threads = report->loader->job->threads;
    int cores = sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 1;
    return threads != 0 ? threads : cores > 3 ? (uint32_t)cores - 2 : 1;
}

static void rank_counts(const leat_check_report *report, uint64_t out[RANK_COUNTS])
{
    uint64_t most, equal;
    leat_check_ranks(&report->loader->spec, &most, &equal);
    out[0] = 1;
    out[1] = leat_min_u64(most, 8);
    out[2] = leat_min_u64(most, 64);
}

static void print_datasets(const leat_check_report *report, FILE *to)
{
    const leat_loader *loader = report->loader;
    const char *about = report->sample < LEAT_SAMPLE_ALL ? "about " : "";
    char text[2][32];
    for (size_t d = 0; d < loader->job->dataset_count; d++) {
        const leat_census_dataset *census = &report->census[d];
        fprintf(to,
                "%s: %zu files, %llu records, %llu documents (%s%llu with tokens), %s, "
                "%s%llu tokens (%s a document, the longest%s %llu)\n",
                name_of(report, d), loader->shards.lists[d].count,
                (number)loader->shards.records[d], (number)loader->shards.documents[d], about,
                (number)census->filled, bytes_text(loader->shards.text_bytes[d], text[0]), about,
                (number)census->tokens, ratio(census->tokens, census->filled, text[1]),
                about[0] != '\0' ? " seen" : "", (number)census->longest);
    }
}

static void print_bad(leat_check_report *report, FILE *to)
{
    static const char *const means[] = {
        [LEAT_BAD_FAIL] = "the job is refused: mend them, or set bad_records: skip",
        [LEAT_BAD_REPLACE] = "bad_records: replace mends invalid UTF-8 only; the job is refused",
        [LEAT_BAD_SKIP] = "they are skipped (bad_records: skip)"};
    if (report->bad == 0) {
        fprintf(to, "bad records: none\n");
        return;
    }
    fprintf(to, "bad records: %llu in %llu files; %s\n", (number)report->bad,
            (number)report->bad_files, means[report->loader->job->bad_records]);
    const char *lines = leat_buffer_text(&report->lines);
    for (const char *end; (end = strchr(lines, '\n')) != NULL; lines = end + 1) {
        fprintf(to, "  %.*s\n", (int)(end - lines), lines);
    }
    if (report->listed < report->bad) {
        fprintf(to, "  and %llu more (--most 0 lists all)\n",
                (number)(report->bad - report->listed));
    }
}

static void print_files(const leat_check_report *report, FILE *to)
{
    const leat_loader *loader = report->loader;
    const leat_check_shards *twice = &report->duplicates;
    for (size_t i = 0; i + 1 < twice->count; i++) {
        if (leat_check_same_content(loader, twice->items[i], twice->items[i + 1])) {
            fprintf(to, "the same content twice: %s (%s) and %s (%s)\n",
                    leat_check_shard_path(loader, twice->items[i]),
                    name_of(report, twice->items[i].dataset),
                    leat_check_shard_path(loader, twice->items[i + 1]),
                    name_of(report, twice->items[i + 1].dataset));
        }
    }
    for (size_t i = 0; i < report->near_empty.count; i++) {
        leat_check_shard shard = report->near_empty.items[i];
        const leat_shard_summary *summary = &loader->shards.summaries[shard.dataset][shard.shard];
        char text[32];
        fprintf(to, "nearly empty: %s (%s): %llu records, %s of text\n",
                leat_check_shard_path(loader, shard), name_of(report, shard.dataset),
                (number)summary->records, bytes_text(summary->text_bytes, text));
    }
}

static void print_mixture(const leat_check_report *report, FILE *to)
{
    const leat_forecast *forecast = &report->forecast;
    const leat_plan_spec *spec = &report->loader->spec;
    char text[32];
    for (size_t i = 0; i < forecast->count; i++) {
        const leat_forecast_span *span = &forecast->spans[i];
        fprintf(to, "mixture from step %llu ", (number)leat_forecast_step(spec, span->first_row));
        if (span->end_row == LEAT_FORECAST_NO_END) {
            fprintf(to, "for ever:");
        } else {
            fprintf(to, "to about step %llu:", (number)leat_forecast_step(spec, span->end_row));
        }
        for (size_t d = 0; d < forecast->datasets; d++) {
            fprintf(to, "%s %s %s %%", d == 0 ? "" : ",", name_of(report, d),
                    ratio(span->shares[d], 10000, text));
        }
        if (span->ended != LEAT_FORECAST_NOBODY) {
            fprintf(to, "; then %s has had all its epochs (%llu)", name_of(report, span->ended),
                    (number)spec->datasets[span->ended].epochs);
        }
        fputc('\n', to);
    }
    if (forecast->empty != LEAT_FORECAST_NOBODY) {
        fprintf(to, "dataset %s has no tokens: the job is refused when it is drawn from\n",
                name_of(report, forecast->empty));
    }
    if (forecast->plan_ends) {
        fprintf(
            to, "the plan ends after about %llu steps%s%s\n",
            (number)leat_forecast_step(spec, forecast->rows),
            forecast->ended_by != LEAT_FORECAST_NOBODY ? " (on_exhausted: stop), with the dataset "
                                                       : "",
            forecast->ended_by != LEAT_FORECAST_NOBODY ? name_of(report, forecast->ended_by) : "");
    }
}

/* Up to the end of the forecast; without an end, how long an epoch takes. */
static void print_epochs(const leat_check_report *report, FILE *to)
{
    const leat_forecast *forecast = &report->forecast;
    const leat_plan_spec *spec = &report->loader->spec;
    char text[32];
    if (forecast->rows != LEAT_FORECAST_NO_END) {
        fprintf(to, "epochs in %llu steps:", (number)leat_forecast_step(spec, forecast->rows));
        for (size_t d = 0; d < forecast->datasets; d++) {
            fprintf(to, "%s %s %s", d == 0 ? "" : ",", name_of(report, d),
                    ratio(forecast->tokens[d], report->census[d].tokens, text));
        }
        fputc('\n', to);
    } else if (forecast->count != 0) {
        const leat_forecast_span *last = &forecast->spans[forecast->count - 1];
        uint64_t step = leat_forecast_step(spec, last->first_row);
        uint64_t tokens =
            leat_plan_step_rows(spec->batch_sizes, spec->batch_size_count, step) * spec->row_tokens;
        fprintf(to, "steps an epoch takes:");
        for (size_t d = 0; d < forecast->datasets; d++) {
            uint64_t share = leat_mul_div_u64(tokens, last->shares[d], 1000000);
            fprintf(to, "%s %s %s", d == 0 ? "" : ",", name_of(report, d),
                    share == 0 ? "never" : ratio(report->census[d].tokens, share, text));
        }
        fprintf(to, " (--steps N: epochs in N steps)\n");
    }
}

static void print_ranks(const leat_check_report *report, FILE *to)
{
    uint64_t most, equal, counts[RANK_COUNTS], shown = 0;
    char text[32];
    leat_check_ranks(&report->loader->spec, &most, &equal);
    fprintf(to, "ranks: any number from 1 to %llu; equal slices with", (number)most);
    for (uint64_t r = 1; r <= equal && shown <= EQUAL_SHOWN; r++) {
        if (equal % r == 0) {
            fprintf(to, shown == EQUAL_SHOWN ? " …" : " %llu", (number)r);
            shown++;
        }
    }
    fputc('\n', to);
    rank_counts(report, counts);
    fprintf(to, "memory a rank, at most about:");
    for (int i = 0; i < RANK_COUNTS && (i == 0 || counts[i] > counts[i - 1]); i++) {
        fprintf(to, "%s %s with %llu", i == 0 ? "" : ",",
                bytes_text(leat_check_memory(report->loader, counts[i], threads_of(report)), text),
                (number)counts[i]);
    }
    fprintf(to, " (ranks on this machine have %u threads)\n", threads_of(report));
}

static void print_reading(const leat_check_report *report, FILE *to)
{
    for (size_t d = 0; d < report->loader->job->dataset_count; d++) {
        const leat_check_reading *reading = &report->reading[d];
        char text[32];
        if (reading->runs != 0) {
            fprintf(
                to,
                "reading %s: %llu documents ahead lie in %llu runs of about %s, in %llu files\n",
                name_of(report, d), (number)reading->documents, (number)reading->runs,
                bytes_text(reading->bytes / reading->runs, text), (number)reading->files);
        }
    }
}

void leat_check_print_text(leat_check_report *report, FILE *to)
{
    print_datasets(report, to);
    print_bad(report, to);
    print_files(report, to);
    print_mixture(report, to);
    print_epochs(report, to);
    print_ranks(report, to);
    print_reading(report, to);
}

static void json_datasets(const leat_check_report *report, leat_json_out *out)
{
    const leat_loader *loader = report->loader;
    leat_json_key(out, "datasets");
    leat_json_array(out);
    for (size_t d = 0; d < loader->job->dataset_count; d++) {
        const leat_census_dataset *census = &report->census[d];
        leat_json_object(out);
        leat_json_key_text(out, "name", name_of(report, d));
        leat_json_key_u64(out, "weight", loader->weights[d]);
        leat_json_key_u64(out, "files", loader->shards.lists[d].count);
        leat_json_key_u64(out, "records", loader->shards.records[d]);
        leat_json_key_u64(out, "documents", loader->shards.documents[d]);
        leat_json_key_u64(out, "documents_counted", census->documents);
        leat_json_key_u64(out, "documents_with_tokens", census->filled);
        leat_json_key_u64(out, "text_bytes", loader->shards.text_bytes[d]);
        leat_json_key_u64(out, "tokens", census->tokens);
        leat_json_key_u64(out, "pieces", census->pieces);
        leat_json_key_u64(out, "longest_document", census->longest);
        if (report->forecast.rows != LEAT_FORECAST_NO_END && census->tokens != 0) {
            leat_json_key_u64(
                out, "epoch_millionths",
                leat_mul_div_u64(report->forecast.tokens[d], 1000000, census->tokens));
        }
        leat_json_key_u64(out, "run_documents", report->reading[d].documents);
        leat_json_key_u64(out, "runs", report->reading[d].runs);
        leat_json_key_u64(out, "run_bytes", report->reading[d].bytes);
        leat_json_object_end(out);
    }
    leat_json_array_end(out);
}

static void json_step(leat_json_out *out, const char *key, const leat_plan_spec *spec, uint64_t row)
{
    leat_json_key(out, key);
    if (row == LEAT_FORECAST_NO_END) {
        leat_json_null(out);
    } else {
        leat_json_u64(out, leat_forecast_step(spec, row));
    }
}

static void json_mixture(const leat_check_report *report, leat_json_out *out)
{
    const leat_forecast *forecast = &report->forecast;
    const leat_plan_spec *spec = &report->loader->spec;
    leat_json_key(out, "mixture");
    leat_json_array(out);
    for (size_t i = 0; i < forecast->count; i++) {
        const leat_forecast_span *span = &forecast->spans[i];
        leat_json_object(out);
        json_step(out, "from_step", spec, span->first_row);
        json_step(out, "to_step", spec, span->end_row);
        leat_json_key(out, "share_millionths");
        leat_json_array(out);
        for (size_t d = 0; d < forecast->datasets; d++) {
            leat_json_u64(out, span->shares[d]);
        }
        leat_json_array_end(out);
        leat_json_object_end(out);
    }
    leat_json_array_end(out);
    leat_json_key_bool(out, "plan_ends", forecast->plan_ends);
    json_step(out, "steps", spec, forecast->rows);
    leat_json_key_text(
        out, "ended_by",
        forecast->ended_by == LEAT_FORECAST_NOBODY ? NULL : name_of(report, forecast->ended_by));
    leat_json_key_text(out, "without_tokens",
                       forecast->empty == LEAT_FORECAST_NOBODY ? NULL
                                                               : name_of(report, forecast->empty));
}

static void json_files(leat_check_report *report, leat_json_out *out)
{
    const leat_loader *loader = report->loader;
    const leat_check_shards *twice = &report->duplicates;
    leat_json_key_u64(out, "bad_records", report->bad);
    leat_json_key(out, "bad");
    leat_json_array(out);
    const char *lines = leat_buffer_text(&report->lines);
    for (const char *end; (end = strchr(lines, '\n')) != NULL; lines = end + 1) {
        leat_json_text_sized(out, lines, (size_t)(end - lines));
    }
    leat_json_array_end(out);
    leat_json_key(out, "duplicates");
    leat_json_array(out);
    for (size_t i = 0; i < twice->count;) {
        size_t first = i;
        leat_json_array(out);
        for (; i < twice->count &&
               leat_check_same_content(loader, twice->items[first], twice->items[i]);
             i++) {
            leat_json_text(out, leat_check_shard_path(loader, twice->items[i]));
        }
        leat_json_array_end(out);
    }
    leat_json_array_end(out);
    leat_json_key(out, "nearly_empty");
    leat_json_array(out);
    for (size_t i = 0; i < report->near_empty.count; i++) {
        leat_json_text(out, leat_check_shard_path(loader, report->near_empty.items[i]));
    }
    leat_json_array_end(out);
}

void leat_check_print_json(leat_check_report *report, FILE *to)
{
    leat_buffer buffer = {0};
    leat_json_out out = {&buffer, false};
    uint64_t most, equal, counts[RANK_COUNTS];
    leat_check_ranks(&report->loader->spec, &most, &equal);
    rank_counts(report, counts);
    leat_json_object(&out);
    leat_json_key_text(&out, "job", report->loader->job->path);
    leat_json_key_u64(&out, "sample_millionths", report->sample);
    json_datasets(report, &out);
    json_files(report, &out);
    json_mixture(report, &out);
    leat_json_key_u64(&out, "ranks_most", most);
    leat_json_key_u64(&out, "ranks_equal_divide", equal);
    leat_json_key(&out, "memory");
    leat_json_array(&out);
    for (int i = 0; i < RANK_COUNTS && (i == 0 || counts[i] > counts[i - 1]); i++) {
        leat_json_object(&out);
        leat_json_key_u64(&out, "ranks", counts[i]);
        leat_json_key_u64(&out, "bytes",
                          leat_check_memory(report->loader, counts[i], threads_of(report)));
        leat_json_object_end(&out);
    }
    leat_json_array_end(&out);
    leat_json_object_end(&out);
    fprintf(to, "%s\n", leat_buffer_text(&buffer));
    leat_buffer_deinit(&buffer);
}
