/* Where two jobs differ: settings that define the order, and limits that may only grow. */
#include "base/json.h"
#include "base/memory.h"
#include "job/job.h"
#include "job/yaml.h"
#include <inttypes.h>
#include <stdio.h>

enum { DEPTH_MAX = 12 };

typedef struct comparison {
    const char *our_name, *their_name;
    uint64_t row;       /* stages that begin there or later may differ */
    leat_buffer *lines; /* not NULL: every difference becomes a line, and none is an error */
    leat_error *error;
} comparison;

static void show(leat_json_value value, char out[128])
{
    char text[96], quoted[96];
    leat_bytes bytes = {0};
    uint64_t number = 0;
    int64_t negative = 0;
    switch (leat_json_type_of(value)) {
    case LEAT_JSON_NONE:
        snprintf(out, 128, "nothing");
        return;
    case LEAT_JSON_NULL:
        snprintf(out, 128, "null");
        return;
    case LEAT_JSON_FALSE:
    case LEAT_JSON_TRUE:
        snprintf(out, 128, "%s", leat_json_type_of(value) == LEAT_JSON_TRUE ? "true" : "false");
        return;
    case LEAT_JSON_INTEGER:
        if (leat_json_get_u64(value, &number)) {
            snprintf(out, 128, "%" PRIu64, number);
        } else if (leat_json_get_i64(value, &negative)) {
            snprintf(out, 128, "%" PRId64, negative);
        }
        return;
    case LEAT_JSON_REAL:
        snprintf(out, 128, "a number that is no integer");
        return;
    case LEAT_JSON_TEXT:
        leat_json_get_text(value, &bytes);
        snprintf(text, sizeof text, "%.*s", (int)(bytes.size < 90 ? bytes.size : 90), bytes.data);
        leat_yaml_quote(text, quoted);
        snprintf(out, 128, "%s", quoted);
        return;
    case LEAT_JSON_ARRAY:
        snprintf(out, 128, "a list of %zu", leat_json_count(value));
        return;
    case LEAT_JSON_OBJECT:
        snprintf(out, 128, "a mapping of %zu", leat_json_count(value));
        return;
    }
}

static leat_status differs(const comparison *with, const char *path, const char *ours,
                           const char *theirs)
{
    if (with->lines != NULL) {
        leat_buffer_add_format(with->lines, "%s: %s in %s, %s in %s\n", path, ours, with->our_name,
                               theirs, with->their_name);
        return LEAT_OK;
    }
    LEAT_FAIL(with->error, LEAT_MISMATCH, "%s differs: %s in %.120s, %s in %.120s", path, ours,
              with->our_name, theirs, with->their_name);
    leat_error_where(with->error, "key %.80s, %.110s and %.110s", path, with->our_name,
                     with->their_name);
    leat_error_found(with->error, "%s in %.110s", ours, with->our_name);
    leat_error_wanted(with->error, "%s as in %.110s", theirs, with->their_name);
    leat_error_hint(with->error, "change it back to go on, or begin a new run folder from here "
                                 "with --fork");
    return LEAT_MISMATCH;
}

static leat_status differ_values(const comparison *with, const char *path, leat_json_value ours,
                                 leat_json_value theirs)
{
    char our_text[128] = "", their_text[128] = "";
    show(ours, our_text);
    show(theirs, their_text);
    return differs(with, path, our_text, their_text);
}

/* "datasets[3]", or "datasets.NAME" where both say the same name. */
static char *item_path(const char *path, size_t index, leat_json_value ours, leat_json_value theirs)
{
    leat_bytes a, b;
    if (leat_json_get_text(leat_json_member(ours, "name"), &a) &&
        leat_json_get_text(leat_json_member(theirs, "name"), &b) && a.size == b.size &&
        memcmp(a.data, b.data, a.size) == 0) {
        return leat_format("%s.%.*s", path, (int)a.size, (const char *)a.data);
    }
    return leat_format("%s[%zu]", path, index);
}

/* A stage that may change; also the end of the list, because stages ascend. */
static bool is_free_stage(const comparison *with, const char *path, leat_json_value stage)
{
    uint64_t from;
    return strcmp(path, "mixture_stages") == 0 &&
           leat_json_get_u64(leat_json_member(stage, "from_row"), &from) && from >= with->row;
}

static leat_status compare_values(const comparison *with, const char *path, leat_json_value ours,
                                  leat_json_value theirs, int depth);

/* The dataset of that name: the next one where both lists have one order, else it is searched for. */
static leat_json_value named_item(leat_json_value list, leat_json_value next, leat_bytes name)
{
    leat_json_value at = next;
    leat_bytes found;
    bool around = false;
    while (true) {
        if (leat_json_type_of(at) == LEAT_JSON_NONE) {
            if (around) {
                return at;
            }
            around = true;
            at = leat_json_first(list, NULL);
            continue;
        }
        if (leat_json_get_text(leat_json_member(at, "name"), &found) && found.size == name.size &&
            memcmp(found.data, name.data, name.size) == 0) {
            return at;
        }
        at = leat_json_after(at, NULL);
    }
}

/* Datasets of `ours` that `theirs` lacks are lines; those in both are compared where `inside`. */
static leat_status list_datasets(const comparison *with, leat_json_value ours,
                                 leat_json_value theirs, bool inside)
{
    leat_json_value next = leat_json_first(theirs, NULL);
    for (leat_json_value at = leat_json_first(ours, NULL); leat_json_type_of(at) != LEAT_JSON_NONE;
         at = leat_json_after(at, NULL)) {
        leat_bytes name = {(const uint8_t *)"", 0};
        leat_status status = LEAT_OK;
        bool named = leat_json_get_text(leat_json_member(at, "name"), &name);
        leat_json_value other = named ? named_item(theirs, next, name) : (leat_json_value){0};
        if (leat_json_type_of(other) == LEAT_JSON_NONE) {
            leat_buffer_add_format(with->lines, "datasets.%.*s: only in %s\n", (int)name.size,
                                   (const char *)name.data,
                                   inside ? with->our_name : with->their_name);
        } else {
            char *path = leat_format("datasets.%.*s", (int)name.size, (const char *)name.data);
            status = inside ? compare_values(with, path, at, other, 2) : LEAT_OK;
            leat_free(path);
            next = leat_json_after(other, NULL);
        }
        if (status != LEAT_OK) {
            return status;
        }
    }
    return LEAT_OK;
}

/* Names are matched, so that one dataset more does not make all that follow differ; another order is a line of its own. */
static leat_status list_all_datasets(const comparison *with, leat_json_value ours,
                                     leat_json_value theirs)
{
    size_t before = with->lines->size;
    leat_status status = list_datasets(with, ours, theirs, true);
    if (status == LEAT_OK) {
        status = list_datasets(with, theirs, ours, false);
    }
    leat_json_value a = leat_json_first(ours, NULL), b = leat_json_first(theirs, NULL);
    bool same_order = true;
    for (; leat_json_type_of(a) != LEAT_JSON_NONE && leat_json_type_of(b) != LEAT_JSON_NONE;
         a = leat_json_after(a, NULL), b = leat_json_after(b, NULL)) {
        leat_bytes x = {0}, y = {0};
        same_order = same_order && leat_json_get_text(leat_json_member(a, "name"), &x) &&
                     leat_json_get_text(leat_json_member(b, "name"), &y) && x.size == y.size &&
                     memcmp(x.data, y.data, x.size) == 0;
    }
    if (status == LEAT_OK && !same_order && with->lines->size == before) {
        leat_buffer_add_text(with->lines, "datasets: the same ones in another order\n");
    }
    return status;
}

static leat_status compare_lists(const comparison *with, const char *path, leat_json_value ours,
                                 leat_json_value theirs, int depth)
{
    if (with->lines != NULL && strcmp(path, "datasets") == 0) {
        return list_all_datasets(with, ours, theirs);
    }
    leat_json_value a = leat_json_first(ours, NULL), b = leat_json_first(theirs, NULL);
    for (size_t i = 0;; i++) {
        bool a_ends = leat_json_type_of(a) == LEAT_JSON_NONE || is_free_stage(with, path, a);
        bool b_ends = leat_json_type_of(b) == LEAT_JSON_NONE || is_free_stage(with, path, b);
        if (a_ends && b_ends) {
            return LEAT_OK;
        }
        char *inner = item_path(path, i, a, b);
        leat_status status = LEAT_OK;
        if (a_ends || b_ends) {
            status = differ_values(with, inner, a, b);
            if (a_ends != b_ends && strcmp(path, "datasets") == 0) {
                leat_json_value more = leat_json_member(a_ends ? b : a, "name");
                leat_json_value none = {0};
                leat_free(inner);
                inner = leat_format("%s[%zu].name", path, i);
                status = differ_values(with, inner, a_ends ? none : more, a_ends ? more : none);
            }
        } else {
            status = compare_values(with, inner, a, b, depth);
        }
        leat_free(inner);
        if (status != LEAT_OK) {
            return status;
        }
        a = leat_json_after(a, NULL);
        b = leat_json_after(b, NULL);
    }
}

/* Canonical documents have their keys in one order, so members are compared side by side. */
static leat_status compare_maps(const comparison *with, const char *path, leat_json_value ours,
                                leat_json_value theirs, int depth)
{
    leat_bytes a_key = {0}, b_key = {0};
    leat_json_value a = leat_json_first(ours, &a_key), b = leat_json_first(theirs, &b_key);
    while (leat_json_type_of(a) != LEAT_JSON_NONE || leat_json_type_of(b) != LEAT_JSON_NONE) {
        bool only_b = leat_json_type_of(a) == LEAT_JSON_NONE;
        bool both = !only_b && leat_json_type_of(b) != LEAT_JSON_NONE && a_key.size == b_key.size &&
                    memcmp(a_key.data, b_key.data, a_key.size) == 0;
        leat_bytes key = only_b ? b_key : a_key;
        char *inner = leat_format("%s%s%.*s", path, *path != '\0' ? "." : "",
                                  (int)(key.size < 300 ? key.size : 300), (const char *)key.data);
        leat_json_value none = {0};
        leat_status status = both     ? compare_values(with, inner, a, b, depth)
                             : only_b ? differ_values(with, inner, none, b)
                                      : differ_values(with, inner, a, none);
        leat_free(inner);
        if (status != LEAT_OK) {
            return status;
        }
        a = leat_json_after(a, &a_key);
        b = leat_json_after(b, &b_key);
    }
    return LEAT_OK;
}

/* Recursion: bounded by DEPTH_MAX, and settings have five levels. */
static leat_status compare_values(const comparison *with, const char *path, leat_json_value ours,
                                  leat_json_value theirs, int depth)
{
    leat_json_type type = leat_json_type_of(ours);
    if (type != leat_json_type_of(theirs) || depth == DEPTH_MAX) {
        return differ_values(with, path, ours, theirs);
    }
    if (type == LEAT_JSON_OBJECT) {
        return compare_maps(with, path, ours, theirs, depth + 1);
    }
    if (type == LEAT_JSON_ARRAY) {
        return compare_lists(with, path, ours, theirs, depth + 1);
    }
    uint64_t a = 0, b = 0;
    int64_t c = 0, d = 0;
    leat_bytes s = {0}, t = {0};
    bool equal = type == LEAT_JSON_NULL || type == LEAT_JSON_TRUE || type == LEAT_JSON_FALSE;
    if (type == LEAT_JSON_TEXT) {
        equal = leat_json_get_text(ours, &s) && leat_json_get_text(theirs, &t) &&
                s.size == t.size && memcmp(s.data, t.data, s.size) == 0;
    } else if (type == LEAT_JSON_INTEGER) {
        equal = (leat_json_get_u64(ours, &a) && leat_json_get_u64(theirs, &b) && a == b) ||
                (leat_json_get_i64(ours, &c) && leat_json_get_i64(theirs, &d) && c == d);
    }
    return equal ? LEAT_OK : differ_values(with, path, ours, theirs);
}

/* A canonical job holds decimals; as texts they are compared and shown digit by digit, without floats. */
static void quote_decimals(leat_bytes text, leat_buffer *out)
{
    for (size_t at = 0; at < text.size;) {
        size_t end = at + 1;
        bool decimal = false;
        if (text.data[at] == '"') {
            while (end < text.size && text.data[end] != '"') {
                end += text.data[end] == '\\' ? 2 : 1;
            }
            end = end < text.size ? end + 1 : text.size;
        } else if (text.data[at] != '\0' && strchr("-0123456789", text.data[at]) != NULL) {
            while (end < text.size && text.data[end] != '\0' &&
                   strchr("+-.0123456789eE", text.data[end]) != NULL) {
                end++;
            }
            decimal = memchr(text.data + at, '.', end - at) != NULL;
        }
        leat_buffer_add_text(out, decimal ? "\"" : "");
        leat_buffer_add(out, text.data + at, end - at);
        leat_buffer_add_text(out, decimal ? "\"" : "");
        at = end;
    }
}

static leat_status compare_documents(const comparison *with, leat_bytes ours, leat_bytes theirs)
{
    leat_json *a = leat_json_open(), *b = leat_json_open();
    leat_json_value our_root, their_root;
    leat_status status;
    LEAT_TRY(leat_json_parse(a, ours, with->our_name, &our_root, with->error));
    LEAT_TRY(leat_json_parse(b, theirs, with->their_name, &their_root, with->error));
    LEAT_TRY(compare_values(with, "", our_root, their_root, 0));
done:
    leat_json_close(a);
    leat_json_close(b);
    return status;
}

leat_status leat_job_compare_settings_at(leat_bytes ours, const char *our_name, leat_bytes theirs,
                                         const char *their_name, uint64_t row, leat_error *error)
{
    const comparison with = {our_name, their_name, row, NULL, error};
    return compare_documents(&with, ours, theirs);
}

leat_status leat_job_list_differences(leat_bytes ours, const char *our_name, leat_bytes theirs,
                                      const char *their_name, leat_buffer *lines, leat_error *error)
{
    const comparison with = {our_name, their_name, UINT64_MAX, lines, error};
    leat_buffer a = {0}, b = {0};
    quote_decimals(ours, &a);
    quote_decimals(theirs, &b);
    leat_status status =
        compare_documents(&with, (leat_bytes){a.data, a.size}, (leat_bytes){b.data, b.size});
    leat_buffer_deinit(&a);
    leat_buffer_deinit(&b);
    return status;
}

leat_status leat_job_compare_settings(leat_bytes ours, const char *our_name, leat_bytes theirs,
                                      const char *their_name, leat_error *error)
{
    return leat_job_compare_settings_at(ours, our_name, theirs, their_name, UINT64_MAX, error);
}

static leat_status compare_epochs(const comparison *with, leat_json_value ours,
                                  leat_json_value theirs, bool any_ended)
{
    leat_bytes a_key = {0}, b_key = {0};
    leat_json_value a = leat_json_first(ours, &a_key), b = leat_json_first(theirs, &b_key);
    for (;; a = leat_json_after(a, &a_key), b = leat_json_after(b, &b_key)) {
        uint64_t our_epochs, their_epochs;
        if (leat_json_type_of(a) == LEAT_JSON_NONE && leat_json_type_of(b) == LEAT_JSON_NONE) {
            return LEAT_OK;
        }
        if (!leat_json_get_u64(a, &our_epochs) || !leat_json_get_u64(b, &their_epochs) ||
            a_key.size != b_key.size || memcmp(a_key.data, b_key.data, a_key.size) != 0) {
            return differ_values(with, "datasets", ours, theirs);
        }
        /* 0 is no limit: as a wrapped 0 - 1 it is above all others */
        bool grows = our_epochs - 1 > their_epochs - 1;
        if (our_epochs == their_epochs || (grows && !any_ended)) {
            continue;
        }
        char *path = leat_format("datasets.%.*s.epochs", (int)(a_key.size < 300 ? a_key.size : 300),
                                 (const char *)a_key.data);
        leat_status status = differ_values(with, path, a, b);
        leat_free(path);
        if (grows) {
            leat_error_hint(with->error, "a dataset was already found ended, or a packing window "
                                         "has met the end: epochs can no longer be raised; resume "
                                         "from an earlier step, or use --fork");
        } else {
            leat_error_hint(with->error, "epochs may only be raised (0: no limit); change it back, "
                                         "or use --fork");
        }
        return status;
    }
}

/* Rows of step `step`, 0 where the list does not say; `at` is where the last call stopped looking. */
typedef struct schedule {
    leat_json_value entry; /* the one in force */
    uint64_t rows, until;  /* until: first step of the next entry */
} schedule;

static void schedule_advance(schedule *from, leat_json_value next)
{
    leat_json_value after;
    from->rows = 0;
    from->until = UINT64_MAX;
    from->entry = next;
    if (!leat_json_get_u64(leat_json_member(next, "batch_size"), &from->rows)) {
        from->rows = 0;
    }
    after = leat_json_after(next, NULL);
    if (!leat_json_get_u64(leat_json_member(after, "from_step"), &from->until)) {
        from->until = UINT64_MAX;
    }
}

static leat_status compare_sizes(const comparison *with, leat_json_value ours,
                                 leat_json_value theirs, uint64_t step)
{
    schedule a, b;
    schedule_advance(&a, leat_json_first(ours, NULL));
    schedule_advance(&b, leat_json_first(theirs, NULL));
    for (uint64_t at = 0; at < step;) {
        if (a.rows != b.rows) {
            char path[64], our_text[32], their_text[32];
            snprintf(path, sizeof path, "batch_size at step %" PRIu64, at);
            snprintf(our_text, sizeof our_text, "%" PRIu64, a.rows);
            snprintf(their_text, sizeof their_text, "%" PRIu64, b.rows);
            differs(with, path, our_text, their_text);
            leat_error_hint(with->error,
                            "batch sizes may change from step %" PRIu64
                            " on: write them as a list of {from_step, batch_size}",
                            step);
            return LEAT_MISMATCH;
        }
        uint64_t next = a.until < b.until ? a.until : b.until;
        if (next <= at) {
            return differ_values(with, "batch_size", ours, theirs); /* not ascending */
        }
        at = next;
        if (a.until == at && at != UINT64_MAX) {
            schedule_advance(&a, leat_json_after(a.entry, NULL));
        }
        if (b.until == at && at != UINT64_MAX) {
            schedule_advance(&b, leat_json_after(b.entry, NULL));
        }
    }
    return LEAT_OK;
}

leat_status leat_job_compare_limits(leat_bytes ours, const char *our_name, leat_bytes theirs,
                                    const char *their_name, uint64_t step, bool any_ended,
                                    leat_error *error)
{
    const comparison with = {our_name, their_name, UINT64_MAX, NULL, error};
    leat_json *a = leat_json_open(), *b = leat_json_open();
    leat_json_value our_root, their_root;
    leat_status status;
    LEAT_TRY(leat_json_parse(a, ours, our_name, &our_root, error));
    LEAT_TRY(leat_json_parse(b, theirs, their_name, &their_root, error));
    LEAT_TRY(compare_epochs(&with, leat_json_member(our_root, "epochs"),
                            leat_json_member(their_root, "epochs"), any_ended));
    LEAT_TRY(compare_sizes(&with, leat_json_member(our_root, "batch_size"),
                           leat_json_member(their_root, "batch_size"), step));
done:
    leat_json_close(a);
    leat_json_close(b);
    return status;
}
