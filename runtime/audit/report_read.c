/* report_read.c: manifest and log of each run, its mixture against the target, and the comparison with the first run. */
#include "audit/report.h"
#include "base/arith.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "digest/digest.h"
#include "loader/loader.h"
#include <stdarg.h>
#include <stdio.h>

enum { DATASETS_MAX = 4096, LOG_FAULTS_MAX = 16 };
static const uint64_t STEPS_MAX = (uint64_t)1 << 28; /* 2 GiB of marks; later steps are left out */

void leat_series_init(leat_series *series, uint64_t base, size_t columns)
{
    *series = (leat_series){.base = base, .width = 1, .columns = columns};
    series->values = leat_alloc(LEAT_SERIES_BINS * columns, sizeof *series->values);
}

void leat_series_deinit(leat_series *series)
{
    leat_free(series->values);
    *series = (leat_series){0};
}

static void halve(leat_series *series)
{
    size_t columns = series->columns;
    uint64_t *values = series->values;
    for (size_t bin = 0; bin < LEAT_SERIES_BINS; bin++) {
        uint64_t *to = values + bin / 2 * columns, *from = values + bin * columns;
        for (size_t c = 0; c < columns; c++) {
            to[c] = bin % 2 == 0 ? from[c] : to[c] + from[c];
        }
    }
    memset(values + LEAT_SERIES_BINS / 2 * columns, 0,
           LEAT_SERIES_BINS / 2 * columns * sizeof *values);
    series->width *= 2;
    series->bins = (series->bins + 1) / 2;
}

uint64_t *leat_series_at(leat_series *series, uint64_t step)
{
    if (step < series->base) {
        return NULL;
    }
    while ((step - series->base) / series->width >= LEAT_SERIES_BINS) {
        halve(series);
    }
    size_t bin = (size_t)((step - series->base) / series->width);
    series->bins = bin + 1 > series->bins ? bin + 1 : series->bins;
    return series->values + bin * series->columns;
}

void leat_report_fault(leat_report_run *run, const char *format, ...)
{
    char text[1602];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text - 1, format, arguments);
    va_end(arguments);
    /* A damaged line is met again by who looks for the next whole one. */
    size_t size = strlen(text);
    text[size++] = '\n';
    bool told = run->faults.size >= size &&
                memcmp(run->faults.data + run->faults.size - size, text, size) == 0;
    if (!told) {
        leat_buffer_add(&run->faults, text, size);
    }
}

void leat_report_fault_error(leat_report_run *run, const leat_error *error)
{
    const char *where = error->where[0] != '\0' ? error->where : NULL;
    leat_report_fault(run, "%s%s%s%s", error->text, where != NULL ? " (" : "",
                      where != NULL ? where : "", where != NULL ? ")" : "");
}

/* Integer weights in force, by mixture stage: the target of the mixture. */
typedef struct target_table {
    uint64_t **weights; /* [stages + 1][datasets]; 0: before the first stage */
    uint64_t *sums, *from_rows;
    size_t count, datasets;
} target_table;

static void targets_deinit(target_table *targets)
{
    for (size_t s = 0; s < targets->count; s++) {
        leat_free(targets->weights[s]);
    }
    leat_free(targets->weights);
    leat_free(targets->sums);
    leat_free(targets->from_rows);
}

static void targets_init(target_table *out, leat_report_run *run)
{
    *out = (target_table){0};
    if (run->job == NULL || run->manifest == NULL ||
        run->job->dataset_count != run->manifest->dataset_count) {
        return;
    }
    size_t datasets = run->manifest->dataset_count, count = run->job->stage_count + 1;
    uint64_t *text_bytes = leat_alloc(datasets, sizeof *text_bytes);
    out->weights = leat_alloc(count, sizeof *out->weights);
    out->sums = leat_alloc(count, sizeof *out->sums);
    out->from_rows = leat_alloc(count, sizeof *out->from_rows);
    out->datasets = datasets;
    out->count = count;
    for (size_t d = 0; d < datasets; d++) {
        text_bytes[d] = run->manifest->datasets[d].text_bytes;
    }
    for (size_t s = 0; s < count; s++) {
        leat_error error;
        out->weights[s] = leat_alloc(datasets, sizeof **out->weights);
        out->from_rows[s] = s == 0 ? 0 : leat_job_stage_row(run->job, s - 1);
        if (s != 0 &&
            leat_job_weights(run->job, s - 1, text_bytes, out->weights[s], &error) != LEAT_OK) {
            leat_report_fault_error(run, &error);
        }
        for (size_t d = 0; d < datasets; d++) {
            out->weights[s][d] = s == 0 ? run->manifest->datasets[d].weight : out->weights[s][d];
            out->sums[s] += out->weights[s][d];
        }
    }
    leat_free(text_bytes);
}

static size_t stage_of(const target_table *targets, uint64_t row)
{
    size_t stage = 0;
    while (stage + 1 < targets->count && targets->from_rows[stage + 1] <= row) {
        stage++;
    }
    return stage;
}

static void add_entry(leat_report_run *run, const target_table *targets,
                      const leat_batch_entry *entry)
{
    uint64_t *bin = leat_series_at(&run->log, entry->step);
    if (bin == NULL) {
        return;
    }
    bin[LEAT_LOG_STEPS]++;
    bin[LEAT_LOG_ROWS] += entry->rows;
    bin[LEAT_LOG_TOKENS] += entry->tokens;
    run->rows += entry->rows;
    run->tokens += entry->tokens;
    for (size_t i = 0; i < entry->datasets; i++) {
        uint64_t dataset = entry->by_dataset[2 * i], tokens = entry->by_dataset[2 * i + 1];
        if (dataset < run->datasets) {
            bin[LEAT_LOG_DATASETS + 2 * dataset] += tokens;
            run->dataset_tokens[dataset] += tokens;
        }
    }
    if (targets->count == 0) {
        return;
    }
    uint64_t row =
        leat_plan_step_first_row(run->job->batch_sizes, run->job->batch_size_count, entry->step);
    size_t stage = stage_of(targets, row);
    for (size_t d = 0; d < targets->datasets && targets->sums[stage] != 0; d++) {
        uint64_t wanted =
            leat_mul_div_u64(entry->tokens, targets->weights[stage][d], targets->sums[stage]);
        bin[LEAT_LOG_DATASETS + 2 * d + 1] += wanted;
        run->dataset_wanted[d] += wanted;
    }
}

/* Keeps the mark of the batch and follows the chain; false: the chain does not hold. */
static bool follow(leat_report_run *run, const leat_batch_entry *entry, leat_sha256 *hash,
                   uint8_t chain[32], bool *known)
{
    uint8_t wanted[32];
    bool holds = true;
    if (*known || entry->step == 0) {
        leat_digest_chain(hash, chain, entry->batch, wanted);
        holds = memcmp(wanted, entry->chain, 32) == 0;
    }
    memcpy(chain, entry->chain, 32);
    *known = true;
    size_t at = (size_t)(entry->step - run->first);
    LEAT_GROW(run->batch_marks, run->batch_mark_capacity, at + 1);
    for (size_t i = (size_t)(run->end - run->first); i < at; i++) {
        run->batch_marks[i] = 0; /* steps whose lines are damaged */
    }
    run->batch_marks[at] = leat_get_u64(entry->batch);
    return holds;
}

static void take_line(leat_report_run *run, const target_table *targets,
                      const leat_batch_entry *entry, leat_sha256 *hash, uint8_t chain[32],
                      bool *known, size_t *faults)
{
    if (!run->has_log) {
        run->has_log = true;
        run->first = run->end = entry->step;
        leat_series_init(&run->log, entry->step, LEAT_LOG_DATASETS + 2 * run->datasets);
    }
    if (!follow(run, entry, hash, chain, known) && (*faults)++ < LOG_FAULTS_MAX) {
        leat_report_fault(run,
                          "the chain of batches.jsonl does not hold at step %llu: this line "
                          "or the one before was changed",
                          (unsigned long long)entry->step);
    }
    run->end = entry->step + 1;
    add_entry(run, targets, entry);
}

/* Goes on behind damaged lines where that is possible. */
static void read_log(leat_report_run *run)
{
    char *path = leat_format("%s/batches.jsonl", run->folder);
    leat_batch_reader *reader = NULL;
    leat_batch_entry entry;
    leat_error error;
    target_table targets;
    uint8_t chain[32] = {0};
    bool known = false;
    size_t faults = 0;
    uint64_t skip = 1;
    targets_init(&targets, run);
    leat_sha256 *hash = leat_sha256_open();
    leat_status status = leat_batch_reader_open(&reader, path, &error);
    while (status == LEAT_OK || (reader != NULL && run->has_log && faults++ < LOG_FAULTS_MAX)) {
        if (status != LEAT_OK) {
            leat_report_fault_error(run, &error);
            known = false;
            status = leat_batch_reader_seek(reader, run->end + skip++, &error);
            if (status != LEAT_OK) {
                continue;
            }
        }
        status = leat_batch_reader_next(reader, &entry, &error);
        if (status == LEAT_OK && entry.end) {
            break;
        }
        if (status == LEAT_OK && (entry.step >= (uint64_t)1 << 62 ||
                                  (run->has_log && entry.step - run->first > STEPS_MAX))) {
            leat_report_fault(run, "steps from %llu on are left out: more than a page can show",
                              (unsigned long long)entry.step);
            break;
        }
        if (status == LEAT_OK && (!run->has_log || entry.step >= run->end)) {
            take_line(run, &targets, &entry, hash, chain, &known, &faults);
            skip = 1;
        }
    }
    if (status != LEAT_OK) {
        leat_report_fault_error(run, &error);
    } else if (!run->has_log) {
        leat_report_fault(run, "batches.jsonl has no line yet");
    }
    leat_sha256_close(hash);
    targets_deinit(&targets);
    leat_batch_reader_close(reader);
    leat_free(path);
}

static void read_run(leat_report_run *run, const char *folder)
{
    leat_error error;
    run->folder = leat_strdup(folder);
    if (leat_loader_read_manifest(folder, &run->manifest, &error) != LEAT_OK) {
        leat_report_fault_error(run, &error);
    } else if (leat_job_open(
                   &run->job,
                   (leat_bytes){(const uint8_t *)run->manifest->job, strlen(run->manifest->job)},
                   run->manifest->job_path, NULL, 0, &error) != LEAT_OK) {
        leat_report_fault_error(run, &error);
    }
    run->datasets = run->manifest != NULL ? run->manifest->dataset_count : 32;
    if (run->datasets > DATASETS_MAX) {
        leat_report_fault(run, "only the first %d of %zu datasets are shown", DATASETS_MAX,
                          run->datasets);
        run->datasets = DATASETS_MAX;
        leat_job_close(run->job); /* no targets then */
        run->job = NULL;
    }
    run->dataset_tokens = leat_alloc(run->datasets + 1, sizeof *run->dataset_tokens);
    run->dataset_wanted = leat_alloc(run->datasets + 1, sizeof *run->dataset_wanted);
    read_log(run);
    leat_report_metrics(run);
}

static void compare(leat_report_run *first, leat_report_run *run)
{
    leat_error error;
    if (!first->has_log || !run->has_log) {
        run->cause = leat_strdup("one of the two has no log that can be read");
        return;
    }
    char *paths[2] = {leat_format("%s/batches.jsonl", first->folder),
                      leat_format("%s/batches.jsonl", run->folder)};
    if (leat_audit_compare_logs(paths[0], paths[1], &run->comparison, &error) == LEAT_OK) {
        run->compared = true;
    } else {
        run->cause = leat_format("%s %s", error.text, error.found);
    }
    if (run->compared && run->comparison.different < run->comparison.end &&
        leat_audit_cause(first->folder, run->folder, &error) != LEAT_OK) {
        bool said = strstr(error.text, error.found) != NULL;
        run->cause = said ? leat_strdup(error.text)
                          : leat_format("%s: %s; %s", error.text, error.found, error.wanted);
    }
    uint64_t begin = leat_max_u64(first->first, run->first),
             end = leat_min_u64(first->end, run->end);
    for (uint64_t s = begin; s < end; s++) {
        uint64_t ours = first->batch_marks[s - first->first],
                 theirs = run->batch_marks[s - run->first];
        run->unknown_batches += ours == 0 || theirs == 0;
        run->different_batches += ours != 0 && theirs != 0 && ours != theirs;
    }
    leat_free(paths[0]);
    leat_free(paths[1]);
}

void leat_report_read(leat_report *report, const char *const *folders, size_t count)
{
    report->runs = leat_alloc(count, sizeof *report->runs);
    report->count = count;
    for (size_t i = 0; i < count; i++) {
        read_run(&report->runs[i], folders[i]);
        if (i != 0) {
            compare(&report->runs[0], &report->runs[i]);
        }
    }
}

void leat_report_deinit(leat_report *report)
{
    for (size_t i = 0; i < report->count; i++) {
        leat_report_run *run = &report->runs[i];
        leat_manifest_close(run->manifest);
        leat_job_close(run->job);
        leat_buffer_deinit(&run->faults);
        leat_series_deinit(&run->log);
        leat_series_deinit(&run->metrics);
        leat_free(run->folder);
        leat_free(run->dataset_tokens);
        leat_free(run->dataset_wanted);
        leat_free(run->batch_marks);
        leat_free(run->sessions);
        leat_free(run->cause);
    }
    leat_free(report->runs);
    *report = (leat_report){0};
}
