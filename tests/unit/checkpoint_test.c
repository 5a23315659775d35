/* Checkpoints: round trip, size, and every kind of damage, which is refused in one line. */
#include "base/sha256.h"
#include "checkpoint_cases.h"
#include "io/state/hdf5_file.h"

static void test_round_trip(void)
{
    const size_t sizes[] = {1, 100, 256, 257, 5000, 70000, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        leat_checkpoint checkpoint = make(i, sizes[i]), back;
        CHECK_OK(leat_checkpoint_write(folder, &checkpoint, &error), &error);
        char *path = leat_checkpoint_path(folder, i);
        CHECK_OK(leat_checkpoint_read(path, &back, &error), &error);
        check_equal(&back, i, sizes[i]);
        leat_checkpoint_deinit(&back);
        leat_checkpoint_deinit(&checkpoint);
        leat_free(path);
    }
    leat_checkpoint empty = {.step = 1234567}, back;
    CHECK_OK(leat_checkpoint_write(folder, &empty, &error), &error);
    CHECK_OK(leat_checkpoint_newest(folder, UINT64_MAX, &back, NULL, &error), &error);
    CHECK_U64("seven digits", back.step, 1234567);
    CHECK_U64("empty fields", back.cursor.size + back.settings.size + back.info.size, 0);
    leat_checkpoint_deinit(&back);
    clear_folder();
}

/* Equal content, equal bytes (B48), and below 20 KB + 100 bytes a dataset with settings as they come. */
static void test_size(void)
{
    leat_checkpoint checkpoint = make(1, 100);
    leat_buffer files[2] = {{0}, {0}};
    char *path = leat_checkpoint_path(folder, 1);
    for (size_t i = 0; i < 2; i++) {
        CHECK_OK(leat_checkpoint_write(folder, &checkpoint, &error), &error);
        CHECK_OK(leat_state_read_file(path, 1 << 20, &files[i], &error), &error);
    }
    CHECK(files[0].size == files[1].size &&
          memcmp(files[0].data, files[1].data, files[0].size) == 0);
    printf("checkpoint with 100 bytes a part: %zu bytes\n", files[0].size);
    CHECK(files[0].size < 20 * 1024);
    leat_checkpoint_deinit(&checkpoint);
    uint64_t seed = 3;
    enum { DATASETS = 1000 };
    for (int i = 0; i < DATASETS; i++) {
        uint64_t row[5] = {check_random(&seed) >> 30, check_random(&seed) >> 50, 1234,
                           check_random(&seed) >> 56, check_random(&seed) >> 40};
        leat_buffer_add(&checkpoint.cursor, row, sizeof row);
        leat_buffer_add_format(
            &checkpoint.settings,
            "{\"name\":\"dataset_%03d\",\"weight\":%d,\"text\":\"text\",\"add_special\":false,"
            "\"holdout\":0,\"use\":\"train\",\"shuffle\":{\"unit\":\"block\",\"block\":256,"
            "\"buffer\":16384,\"piece_window\":256,\"window_tokens\":1048576},\"documents\":%d,"
            "\"shards\":\"%016" PRIx64 "%016" PRIx64 "%016" PRIx64 "%016" PRIx64 "\"},",
            i, i + 1, i * 77, check_random(&seed), check_random(&seed), check_random(&seed),
            check_random(&seed));
    }
    CHECK_OK(leat_checkpoint_write(folder, &checkpoint, &error), &error);
    path[strlen(path) - 4] = '0'; /* step 0 */
    CHECK_OK(leat_state_read_file(path, 1 << 20, &files[0], &error), &error);
    printf("checkpoint with %d datasets: %zu bytes\n", DATASETS, files[0].size);
    CHECK(files[0].size < 20 * 1024 + 100 * DATASETS);
    leat_buffer_deinit(&files[0]);
    leat_buffer_deinit(&files[1]);
    leat_checkpoint_deinit(&checkpoint);
    leat_free(path);
    clear_folder();
}

static void check_refused(const char *label, const char *path)
{
    leat_checkpoint checkpoint;
    leat_status status = leat_checkpoint_read(path, &checkpoint, &error);
    if (!CHECK(status == LEAT_CORRUPT)) {
        printf("  %s\n", label);
    }
    CHECK(strchr(error.text, '\n') == NULL && error.text[0] != '\0' && error.where[0] != '\0');
    leat_checkpoint_deinit(&checkpoint);
}

/* B45: cut at every length, one bit changed at every byte, random bytes in random places: always refused. */
static void test_damage(void)
{
    leat_buffer file = {0};
    char label[64], *path = leat_checkpoint_path(folder, 5);
    uint64_t seed = 45;
    write_step(5);
    CHECK_OK(leat_state_read_file(path, 1 << 20, &file, &error), &error);
    for (size_t size = 0; size < file.size; size += size < 64 || size + 64 > file.size ? 1 : 41) {
        snprintf(label, sizeof label, "cut to %zu bytes", size);
        put_file(path, file.data, size);
        check_refused(label, path);
    }
    for (size_t at = 0; at < file.size; at++) {
        snprintf(label, sizeof label, "bit changed in byte %zu", at);
        uint8_t old = file.data[at];
        file.data[at] ^= (uint8_t)(1u << (check_random(&seed) % 8));
        put_file(path, file.data, file.size);
        check_refused(label, path);
        file.data[at] = old;
    }
    for (int i = 0; i < 200; i++) {
        leat_buffer noise = {0};
        leat_buffer_add(&noise, file.data, file.size);
        for (uint64_t n = 1 + check_random(&seed) % 64; n > 0; n--) {
            noise.data[check_random(&seed) % noise.size] ^=
                (uint8_t)(1 + check_random(&seed) % 255);
        }
        put_file(path, noise.data, noise.size);
        check_refused("noise", path);
        leat_buffer_deinit(&noise);
    }
    leat_buffer_add_u8(&file, 0);
    put_file(path, file.data, file.size);
    check_refused("one byte more", path);
    check_refused("a folder", folder);
    check_refused("a device", "/dev/zero");
    leat_checkpoint checkpoint;
    CHECK(leat_checkpoint_read("/nowhere/x.h5", &checkpoint, &error) == LEAT_NOT_FOUND);
    leat_buffer_deinit(&file);
    leat_free(path);
    clear_folder();
}

/* Writes fields as a file with a right footer: what HDF5 itself then finds wrong is one line too. */
static void put_fields(const char *path, const leat_hdf5_field *fields, size_t count)
{
    leat_buffer bytes = {0};
    uint8_t digest[32];
    CHECK_OK(leat_hdf5_write(fields, count, &bytes, &error), &error);
    leat_sha256_of(bytes.data, bytes.size, digest);
    uint64_t size = bytes.size;
    leat_buffer_add(&bytes, "LEATCKP1", 8);
    leat_buffer_add_u64(&bytes, size);
    leat_buffer_add(&bytes, digest, 32);
    put_file(path, bytes.data, bytes.size);
    leat_buffer_deinit(&bytes);
}

static void test_fields(void)
{
    uint8_t bytes[32] = {0};
    const leat_hdf5_field format = {
        "format", LEAT_HDF5_TEXT, 0, {(const uint8_t *)"leat checkpoint 1", 17}, NULL};
    const leat_hdf5_field other = {
        "format", LEAT_HDF5_TEXT, 0, {(const uint8_t *)"leat checkpoint 2", 17}, NULL};
    const leat_hdf5_field step = {"step", LEAT_HDF5_NUMBER, 7, {NULL, 0}, NULL};
    const leat_hdf5_field step_text = {"step", LEAT_HDF5_TEXT, 7, {bytes, 1}, NULL};
    const leat_hdf5_field chain = {"chain", LEAT_HDF5_BYTES, 0, {bytes, 32}, NULL};
    const leat_hdf5_field chain_short = {"chain", LEAT_HDF5_BYTES, 0, {bytes, 31}, NULL};
    const leat_hdf5_field cursor = {"cursor", LEAT_HDF5_BYTES, 0, {bytes, 5}, NULL};
    const leat_hdf5_field cursor_number = {"cursor", LEAT_HDF5_NUMBER, 0, {NULL, 0}, NULL};
    const leat_hdf5_field settings = {"settings", LEAT_HDF5_TEXT, 0, {bytes, 0}, NULL};
    const leat_hdf5_field info = {"info", LEAT_HDF5_TEXT, 0, {bytes, 0}, NULL};
    const leat_hdf5_field info_bytes = {"info", LEAT_HDF5_BYTES, 0, {bytes, 4}, NULL};
    const leat_hdf5_field sha256 = {"sha256", LEAT_HDF5_BYTES, 0, {bytes, 32}, NULL};
    const struct {
        const char *label;
        leat_hdf5_field fields[7];
        size_t count;
        const char *want;
    } cases[] = {
        {"nothing", {step}, 1, "the field format is missing"},
        {"other format", {other}, 1, "a format that is not ours"},
        {"no step",
         {format, chain, cursor, settings, info, sha256},
         6,
         "the field step is missing"},
        {"step is text", {format, step_text, chain, cursor, settings, info, sha256}, 7, "step"},
        {"short chain", {format, step, chain_short, cursor, settings, info, sha256}, 7, "32 bytes"},
        {"number", {format, step, chain, cursor_number, settings, info, sha256}, 7, "cursor"},
        {"bytes", {format, step, chain, cursor, settings, info_bytes, sha256}, 7, "field info"},
        {"digest", {format, step, chain, cursor, settings, info, sha256}, 7, "fields differ"},
    };
    char path[128];
    snprintf(path, sizeof path, "%s/x.h5", folder);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_checkpoint checkpoint;
        put_fields(path, cases[i].fields, cases[i].count);
        CHECK(leat_checkpoint_read(path, &checkpoint, &error) ==
              (i == 1 ? LEAT_MISMATCH : LEAT_CORRUPT));
        CHECK_HAS(cases[i].label, error.text, cases[i].want);
        CHECK_HAS(cases[i].label, error.where, path);
    }
    clear_folder();
}

int main(void)
{
    CHECK(mkdtemp(folder) != NULL);
    test_round_trip();
    test_size();
    test_damage();
    test_fields();
    rmdir(folder);
    return check_done();
}
