#include "audit/checkpoint_print.h"
#include "base/json.h"
#include "base/json_out.h"
#include "io/state/checkpoint.h"
#include "plan/cursor.h"
#include <inttypes.h>

typedef struct subject {
    const char *path;
    leat_checkpoint checkpoint;
    leat_cursor_info cursor;
    leat_json *json;
    leat_json_value info; /* NONE where the field is no JSON */
} subject;

static leat_bytes cursor_bytes(const subject *picture)
{
    return (leat_bytes){picture->checkpoint.cursor.data, picture->checkpoint.cursor.size};
}

/* Member of the d-th entry of info.datasets. */
static leat_json_value dataset_member(const subject *picture, uint32_t dataset, const char *key)
{
    leat_json_value at = leat_json_first(leat_json_member(picture->info, "datasets"), NULL);
    for (uint32_t d = 0; d < dataset && leat_json_type_of(at) != LEAT_JSON_NONE; d++) {
        at = leat_json_after(at, NULL);
    }
    return leat_json_member(at, key);
}

static void print_field(leat_buffer *out, const char *name, leat_bytes text)
{
    leat_buffer_add_format(out, "%-14s ", name);
    leat_buffer_add(out, text.data, text.size);
    leat_buffer_add_u8(out, '\n');
}

static leat_status print_dataset(const subject *picture, uint32_t d, leat_buffer *out,
                                 leat_error *error)
{
    uint64_t position, documents = 0;
    bool ended;
    leat_bytes name = {(const uint8_t *)"?", 1};
    leat_status status = leat_cursor_dataset(cursor_bytes(picture), d, &position, &ended, error);
    if (status != LEAT_OK) {
        return status;
    }
    leat_json_get_text(dataset_member(picture, d, "name"), &name);
    leat_json_get_u64(dataset_member(picture, d, "documents"), &documents);
    leat_buffer_add_format(out, "  %" PRIu32 " %.*s: stream position %" PRIu64, d, (int)name.size,
                           (const char *)name.data, position);
    if (documents > 0) {
        leat_buffer_add_format(out, " (epoch %" PRIu64 ", document %" PRIu64 " of %" PRIu64 ")",
                               position / documents, position % documents, documents);
    }
    leat_buffer_add_text(out, ended ? ", ended\n" : "\n");
    return LEAT_OK;
}

static leat_status print_text(const subject *picture, leat_buffer *out, leat_error *error)
{
    char digest[65], chain[65];
    leat_bytes text;
    leat_hex(picture->checkpoint.chain, 32, chain);
    leat_hex(picture->cursor.digest, 32, digest);
    leat_buffer_add_format(out, "%s: whole (SHA-256 of the file and of its fields are right)\n",
                           picture->path);
    leat_buffer_add_format(out, "%-14s %" PRIu64 "\n", "step", picture->checkpoint.step);
    leat_buffer_add_format(out, "%-14s %" PRIu64 "\n", "first row", picture->cursor.first_row);
    leat_buffer_add_format(out, "%-14s %s\n", "chain", chain);
    leat_buffer_add_format(out, "%-14s %s\n", "settings", digest);
    leat_buffer_add_format(out, "%-14s %" PRIu32 "\n", "plan version",
                           picture->cursor.plan_version);
    leat_buffer_add_format(out, "%-14s %zu bytes\n", "cursor", picture->checkpoint.cursor.size);
    if (leat_json_get_text(leat_json_member(picture->info, "job"), &text)) {
        print_field(out, "job", text);
    }
    if (leat_json_get_text(leat_json_member(picture->info, "leat"), &text)) {
        print_field(out, "written by", text);
    }
    if (picture->cursor.ended) {
        leat_buffer_add_text(out, "the plan's end was found\n");
    }
    leat_buffer_add_format(out, "%" PRIu32 " datasets\n", picture->cursor.datasets);
    leat_status status = LEAT_OK;
    for (uint32_t d = 0; d < picture->cursor.datasets && status == LEAT_OK; d++) {
        status = print_dataset(picture, d, out, error);
    }
    return status;
}

/* A field that holds JSON is put in as it is; anything else as a text. */
static void print_nested(leat_json_out *out, const char *key, const leat_buffer *field)
{
    leat_json *json = leat_json_open();
    leat_json_value root;
    leat_error ignored;
    leat_json_key(out, key);
    if (leat_json_parse(json, (leat_bytes){field->data, field->size}, key, &root, &ignored) ==
        LEAT_OK) {
        leat_buffer copy = {0};
        leat_buffer_add(&copy, field->data, field->size);
        leat_json_raw(out, leat_buffer_text(&copy));
        leat_buffer_deinit(&copy);
    } else if (field->size == 0) {
        leat_json_null(out);
    } else {
        leat_json_text_sized(out, (const char *)field->data, field->size);
    }
    leat_json_close(json);
}

static leat_status print_json(const subject *picture, leat_buffer *buffer, leat_error *error)
{
    leat_json_out out = {buffer, false};
    const leat_checkpoint *checkpoint = &picture->checkpoint;
    leat_status status = LEAT_OK;
    leat_json_object(&out);
    leat_json_key_text(&out, "path", picture->path);
    leat_json_key_bool(&out, "whole", true);
    leat_json_key_u64(&out, "step", checkpoint->step);
    leat_json_key_u64(&out, "first_row", picture->cursor.first_row);
    leat_json_key_hex(&out, "chain", checkpoint->chain, 32);
    leat_json_key_u64(&out, "plan_version", picture->cursor.plan_version);
    leat_json_key_hex(&out, "settings_digest", picture->cursor.digest, 32);
    leat_json_key_bool(&out, "ended", picture->cursor.ended);
    leat_json_key(&out, "datasets");
    leat_json_array(&out);
    for (uint32_t d = 0; d < picture->cursor.datasets && status == LEAT_OK; d++) {
        uint64_t position = 0;
        bool ended = false;
        leat_bytes name;
        status = leat_cursor_dataset(cursor_bytes(picture), d, &position, &ended, error);
        leat_json_object(&out);
        if (leat_json_get_text(dataset_member(picture, d, "name"), &name)) {
            leat_json_key(&out, "name");
            leat_json_text_sized(&out, (const char *)name.data, name.size);
        }
        leat_json_key_u64(&out, "position", position);
        leat_json_key_bool(&out, "ended", ended);
        leat_json_object_end(&out);
    }
    leat_json_array_end(&out);
    leat_json_key_hex(&out, "cursor", checkpoint->cursor.data, checkpoint->cursor.size);
    print_nested(&out, "settings", &checkpoint->settings);
    print_nested(&out, "info", &checkpoint->info);
    leat_json_object_end(&out);
    leat_buffer_add_u8(buffer, '\n');
    return status;
}

leat_status leat_checkpoint_print(const char *path, bool json, leat_buffer *out, leat_error *error)
{
    subject picture = {.path = path, .json = leat_json_open()};
    leat_error ignored;
    leat_status status = LEAT_OK;
    LEAT_TRY(leat_checkpoint_read(path, &picture.checkpoint, error));
    LEAT_TRY(leat_cursor_inspect(cursor_bytes(&picture), &picture.cursor, error));
    if (picture.cursor.step != picture.checkpoint.step) {
        status = LEAT_FAIL(error, LEAT_CORRUPT,
                           "the cursor in %s is of step %" PRIu64 ", the checkpoint of %" PRIu64,
                           path, picture.cursor.step, picture.checkpoint.step);
        leat_error_where(error, "%s", path);
        goto done;
    }
    const leat_buffer *info = &picture.checkpoint.info;
    if (leat_json_parse(picture.json, (leat_bytes){info->data, info->size}, "info", &picture.info,
                        &ignored) != LEAT_OK) {
        picture.info = (leat_json_value){0};
    }
    status = json ? print_json(&picture, out, error) : print_text(&picture, out, error);
done:
    leat_checkpoint_deinit(&picture.checkpoint);
    leat_json_close(picture.json);
    return status;
}
