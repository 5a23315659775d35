/* A checkpoint with a real cursor, described for people and as JSON; what is damaged is refused. */
#include "audit/checkpoint_print.h"
#include "base/json.h"
#include "base/memory.h"
#include "check.h"
#include "io/state/state_calls.h"
#include "plan/spec.h"
#include "plan/work_source.h"
#include <unistd.h>

static char folder[] = "/tmp/leat_print_XXXXXX";
static leat_error error;

/* The cursor of step 3 of a small plan; both datasets have 40 documents of 100 tokens. */
static void make_cursor(leat_buffer *out)
{
    const uint64_t ends[] = {40};
    leat_plan_dataset datasets[2] = {{.name = "text", .weight = 7}, {.name = "code", .weight = 3}};
    for (size_t d = 0; d < 2; d++) {
        datasets[d].documents = 40;
        datasets[d].unit = LEAT_UNIT_NONE;
        datasets[d].block = datasets[d].piece_window = 1;
        datasets[d].window_tokens = 1000;
        datasets[d].shards = 1;
        datasets[d].shard_ends = ends;
    }
    const leat_plan_batch_size size = {0, 4};
    const leat_plan_spec spec = {.seed = 1,
                                 .row_tokens = 33,
                                 .piece = 33,
                                 .pack_window = 4,
                                 .dataset_count = 2,
                                 .batch_size_count = 1,
                                 .datasets = datasets,
                                 .batch_sizes = &size};
    leat_work_source *source;
    leat_step_plan plan = {0};
    uint64_t counts[40];
    for (size_t i = 0; i < 40; i++) {
        counts[i] = 100;
    }
    if (!CHECK_OK(leat_work_source_open(&source, &spec, (leat_bytes){NULL, 0}, &error), &error)) {
        return;
    }
    leat_work_source_feed(source, 0, 0, counts, 40);
    leat_work_source_feed(source, 1, 0, counts, 40);
    leat_plan_need need;
    for (int step = 0; step < 3; step++) {
        CHECK(leat_work_source_next(source, &plan, &need) == LEAT_PLAN_STEP);
    }
    leat_work_source_cursor(source, out);
    leat_step_plan_deinit(&plan);
    leat_work_source_close(source);
}

static void check_json(const char *path)
{
    leat_buffer text = {0};
    uint64_t number = 0;
    leat_bytes name = {NULL, 0};
    leat_json *json = leat_json_open();
    leat_json_value root;
    CHECK_OK(leat_checkpoint_print(path, true, &text, &error), &error);
    CHECK_OK(leat_json_parse(json, (leat_bytes){text.data, text.size}, "json", &root, &error),
             &error);
    CHECK(leat_json_get_u64(leat_json_member(root, "step"), &number) && number == 3);
    CHECK(leat_json_get_u64(leat_json_member(root, "first_row"), &number) && number == 12);
    leat_json_value datasets = leat_json_member(root, "datasets");
    CHECK_U64("datasets", leat_json_count(datasets), 2);
    leat_json_value second = leat_json_after(leat_json_first(datasets, NULL), NULL);
    CHECK(leat_json_get_text(leat_json_member(second, "name"), &name) && name.size == 4 &&
          memcmp(name.data, "code", 4) == 0);
    CHECK(
        leat_json_get_u64(leat_json_member(leat_json_member(root, "settings"), "seed"), &number) &&
        number == 1);
    leat_json_close(json);
    leat_buffer_deinit(&text);
}

int main(void)
{
    CHECK(mkdtemp(folder) != NULL);
    leat_checkpoint checkpoint = {.step = 3};
    leat_buffer text = {0};
    char *path = leat_checkpoint_path(folder, 3);
    make_cursor(&checkpoint.cursor);
    leat_buffer_add_text(&checkpoint.settings, "{\"seed\":1}");
    leat_buffer_add_text(
        &checkpoint.info,
        "{\"leat\":\"0.1.0\",\"job\":\"job.yaml\",\"datasets\":[{\"name\":\"text\","
        "\"documents\":3},{\"name\":\"code\"}]}");
    CHECK_OK(leat_checkpoint_write(folder, &checkpoint, &error), &error);
    CHECK_OK(leat_checkpoint_print(path, false, &text, &error), &error);
    const char *wants[] = {
        ": whole",         "step           3\n",         "first row      12\n",
        "2 datasets\n",    "  0 text: stream position ", " of 3)\n",
        "job.yaml\n",      "  1 code: stream position ", "written by     0.1.0\n",
        "plan version   1"};
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
        CHECK_HAS("for people", leat_buffer_text(&text), wants[i]);
    }
    check_json(path);

    leat_buffer_clear(&checkpoint.info);
    leat_buffer_add_text(&checkpoint.info, "not JSON");
    leat_buffer_clear(&checkpoint.settings);
    CHECK_OK(leat_checkpoint_write(folder, &checkpoint, &error), &error);
    leat_buffer_clear(&text);
    CHECK_OK(leat_checkpoint_print(path, true, &text, &error), &error);
    CHECK_HAS("other content", leat_buffer_text(&text),
              "\"settings\":null,\"info\":\"not JSON\"}\n");
    CHECK_OK(leat_checkpoint_print(path, false, &text, &error), &error);

    checkpoint.step = 4;
    CHECK_OK(leat_checkpoint_write(folder, &checkpoint, &error), &error);
    path[strlen(path) - 4] = '4';
    CHECK(leat_checkpoint_print(path, false, &text, &error) == LEAT_CORRUPT);
    CHECK_HAS("steps differ", error.text, "is of step 3, the checkpoint of 4");
    checkpoint.cursor.data[20] ^= 1;
    CHECK_OK(leat_checkpoint_write(folder, &checkpoint, &error), &error);
    CHECK(leat_checkpoint_print(path, false, &text, &error) != LEAT_OK);
    CHECK(truncate(path, 77) == 0);
    CHECK(leat_checkpoint_print(path, true, &text, &error) == LEAT_CORRUPT);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
    leat_checkpoint_deinit(&checkpoint);
    leat_buffer_deinit(&text);
    leat_free(path);
    return check_done();
}
