/* The file: an HDF5 image (hdf5_file.h) and behind it, where HDF5 does not look, a footer of 48 bytes: "LEATCKP1", the image's
 * size as LE64, the image's SHA-256.  So every byte of the file is checked before HDF5 sees any.  The field sha256 covers the
 * fields themselves, for who reads the file with other tools. */
#include "base/memory.h"
#include "base/sha256.h"
#include "io/state/hdf5_file.h"
#include "io/state/state_calls.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT "leat checkpoint 1"
static const char footer_magic[8] = {'L', 'E', 'A', 'T', 'C', 'K', 'P', '1'};
static const uint8_t hdf5_magic[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
enum { FOOTER_BYTES = 48 };
#define FILE_BYTES_MAX ((uint64_t)1 << 31)

void leat_checkpoint_deinit(leat_checkpoint *checkpoint)
{
    leat_buffer_deinit(&checkpoint->cursor);
    leat_buffer_deinit(&checkpoint->settings);
    leat_buffer_deinit(&checkpoint->info);
    *checkpoint = (leat_checkpoint){0};
}

char *leat_checkpoint_path(const char *run_folder, uint64_t step)
{
    return leat_format("%s/checkpoints/step-%06" PRIu64 ".h5", run_folder, step);
}

static leat_bytes view(const leat_buffer *buffer)
{
    return (leat_bytes){buffer->data, buffer->size};
}

/* SHA-256("leat-checkpoint-1\0" ‖ LE64(step) ‖ chain ‖ LE64(size), content of cursor, settings and info) */
static void fields_digest(const leat_checkpoint *checkpoint, uint8_t out[32])
{
    const leat_buffer *parts[] = {&checkpoint->cursor, &checkpoint->settings, &checkpoint->info};
    uint8_t number[8];
    leat_sha256 *hash = leat_sha256_open();
    leat_sha256_begin(hash);
    leat_sha256_add(hash, "leat-checkpoint-1", sizeof "leat-checkpoint-1");
    leat_put_u64(number, checkpoint->step);
    leat_sha256_add(hash, number, 8);
    leat_sha256_add(hash, checkpoint->chain, 32);
    for (size_t i = 0; i < 3; i++) {
        leat_put_u64(number, parts[i]->size);
        leat_sha256_add(hash, number, 8);
        leat_sha256_add(hash, parts[i]->data, parts[i]->size);
    }
    leat_sha256_end(hash, out);
    leat_sha256_close(hash);
}

static leat_status encode(const leat_checkpoint *checkpoint, leat_buffer *out, leat_error *error)
{
    uint8_t digest[32];
    fields_digest(checkpoint, digest);
    const leat_hdf5_field fields[] = {
        {"format", LEAT_HDF5_TEXT, 0, {(const uint8_t *)FORMAT, sizeof FORMAT - 1}, NULL},
        {"step", LEAT_HDF5_NUMBER, checkpoint->step, {NULL, 0}, NULL},
        {"chain", LEAT_HDF5_BYTES, 0, {checkpoint->chain, 32}, NULL},
        {"cursor", LEAT_HDF5_BYTES, 0, view(&checkpoint->cursor), NULL},
        {"settings", LEAT_HDF5_TEXT, 0, view(&checkpoint->settings), NULL},
        {"info", LEAT_HDF5_TEXT, 0, view(&checkpoint->info), NULL},
        {"sha256", LEAT_HDF5_BYTES, 0, {digest, 32}, NULL},
    };
    leat_status status = leat_hdf5_write(fields, sizeof fields / sizeof *fields, out, error);
    if (status == LEAT_OK) {
        leat_sha256_of(out->data, out->size, digest);
        uint64_t size = out->size;
        leat_buffer_add(out, footer_magic, 8);
        leat_buffer_add_u64(out, size);
        leat_buffer_add(out, digest, 32);
    }
    return status;
}

leat_status leat_checkpoint_write_with(const leat_file_ops *ops, const char *run_folder,
                                       const leat_checkpoint *checkpoint, leat_error *error)
{
    char *folder = leat_format("%s/checkpoints", run_folder);
    char *path = leat_checkpoint_path(run_folder, checkpoint->step);
    leat_buffer bytes = {0};
    leat_status status = LEAT_OK;
    if (mkdir(folder, 0777) == 0) {
        LEAT_TRY(leat_file_ops_sync_folder(ops, folder, error));
    } else if (errno != EEXIST) {
        leat_fail_errno(error, "make the folder", folder, errno);
        error->status = status = LEAT_IO;
        goto done;
    }
    LEAT_TRY(encode(checkpoint, &bytes, error));
    LEAT_TRY(leat_file_ops_write_whole(ops, path, (leat_bytes){bytes.data, bytes.size}, error));
done:
    if (status != LEAT_OK) {
        leat_error_wrap(error, "the checkpoint of step %" PRIu64 " was not written",
                        checkpoint->step);
    }
    leat_buffer_deinit(&bytes);
    leat_free(path);
    leat_free(folder);
    return status;
}

leat_status leat_checkpoint_write(const char *run_folder, const leat_checkpoint *checkpoint,
                                  leat_error *error)
{
    return leat_checkpoint_write_with(leat_file_ops_posix(), run_folder, checkpoint, error);
}

leat_status leat_state_read_file(const char *path, uint64_t bytes_max, leat_buffer *out,
                                 leat_error *error)
{
    /* O_NONBLOCK: a pipe or a device under that name must not make us wait. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    if (file < 0) {
        return leat_fail_errno(error, "open", path, errno);
    }
    leat_status status = LEAT_OK;
    leat_buffer_clear(out);
    if (fstat(file, &info) != 0) {
        status = leat_fail_errno(error, "look at", path, errno);
    } else if (!S_ISREG(info.st_mode) || (uint64_t)info.st_size > bytes_max) {
        status = LEAT_FAIL(error, LEAT_CORRUPT, "%s %s", path,
                           S_ISREG(info.st_mode) ? "is too large to be such a file"
                                                 : "is not a plain file");
        leat_error_where(error, "%s", path);
    }
    while (status == LEAT_OK && out->size < (uint64_t)info.st_size) {
        size_t before = out->size, left = (size_t)info.st_size - before;
        ssize_t got = pread(file, leat_buffer_extend(out, left), left, (off_t)before);
        out->size = before + (got > 0 ? (size_t)got : 0);
        if (got == 0) {
            break; /* it became shorter; who reads finds that out from its checksum */
        }
        if (got < 0 && errno != EINTR) {
            status = leat_fail_errno(error, "read", path, errno);
        }
    }
    close(file);
    return status;
}

static leat_status refuse(const char *path, const char *what, leat_error *error)
{
    LEAT_FAIL(error, LEAT_CORRUPT, "%s is no whole checkpoint: %s", path, what);
    leat_error_where(error, "%s", path);
    return error->status;
}

/* *image: the verified HDF5 bytes inside `file`. */
static leat_status verify_bytes(const char *path, const leat_buffer *file, leat_bytes *image,
                                leat_error *error)
{
    uint8_t digest[32];
    if (file->size == 0) {
        return refuse(path, "it is empty", error);
    }
    if (file->size < sizeof hdf5_magic || memcmp(file->data, hdf5_magic, sizeof hdf5_magic) != 0) {
        return refuse(path, "it does not begin as an HDF5 file", error);
    }
    if (file->size < FOOTER_BYTES + sizeof hdf5_magic ||
        memcmp(file->data + file->size - FOOTER_BYTES, footer_magic, 8) != 0) {
        return refuse(path, "its end is missing (cut short, or written by another program)", error);
    }
    const uint8_t *footer = file->data + file->size - FOOTER_BYTES;
    *image = (leat_bytes){file->data, file->size - FOOTER_BYTES};
    if (leat_get_u64(footer + 8) != image->size) {
        refuse(path, "it has another size than its end says", error);
        leat_error_found(error, "%zu bytes", image->size);
        leat_error_wanted(error, "%" PRIu64 " bytes", leat_get_u64(footer + 8));
        return error->status;
    }
    leat_sha256_of(image->data, image->size, digest);
    if (memcmp(digest, footer + 16, 32) != 0) {
        return refuse(path, "its content differs from its SHA-256", error);
    }
    return LEAT_OK;
}

static leat_status decode(const char *path, leat_bytes image, leat_checkpoint *out,
                          leat_error *error)
{
    leat_buffer format = {0}, chain = {0}, sha256 = {0};
    uint8_t digest[32];
    leat_hdf5_field fields[] = {
        {"format", LEAT_HDF5_TEXT, 0, {NULL, 0}, &format},
        {"step", LEAT_HDF5_NUMBER, 0, {NULL, 0}, NULL},
        {"chain", LEAT_HDF5_BYTES, 0, {NULL, 0}, &chain},
        {"cursor", LEAT_HDF5_BYTES, 0, {NULL, 0}, &out->cursor},
        {"settings", LEAT_HDF5_TEXT, 0, {NULL, 0}, &out->settings},
        {"info", LEAT_HDF5_TEXT, 0, {NULL, 0}, &out->info},
        {"sha256", LEAT_HDF5_BYTES, 0, {NULL, 0}, &sha256},
    };
    leat_status status = LEAT_OK;
    LEAT_TRY(leat_hdf5_read(image, fields, 1, error));
    if (strcmp(leat_buffer_text(&format), FORMAT) != 0) {
        status = LEAT_FAIL(error, LEAT_MISMATCH, "%s has a format that is not ours", path);
        leat_error_where(error, "%s", path);
        leat_error_found(error, "%.60s", leat_buffer_text(&format));
        leat_error_wanted(error, "%s", FORMAT);
        goto done;
    }
    LEAT_TRY(leat_hdf5_read(image, fields + 1, sizeof fields / sizeof *fields - 1, error));
    if (chain.size != 32 || sha256.size != 32) {
        status = refuse(path, "chain or sha256 has not 32 bytes", error);
        goto done;
    }
    out->step = fields[1].number;
    memcpy(out->chain, chain.data, 32);
    fields_digest(out, digest);
    if (memcmp(digest, sha256.data, 32) != 0) {
        status = refuse(path, "its fields differ from their SHA-256", error);
    }
done:
    leat_buffer_deinit(&format);
    leat_buffer_deinit(&chain);
    leat_buffer_deinit(&sha256);
    return status;
}

leat_status leat_checkpoint_read(const char *path, leat_checkpoint *out, leat_error *error)
{
    leat_buffer file = {0};
    leat_bytes image = {NULL, 0};
    *out = (leat_checkpoint){0};
    leat_status status = leat_state_read_file(path, FILE_BYTES_MAX, &file, error);
    if (status == LEAT_OK) {
        status = verify_bytes(path, &file, &image, error);
    }
    if (status == LEAT_OK) {
        status = decode(path, image, out, error);
        if (status != LEAT_OK && error->where[0] == '\0') {
            leat_error_wrap(error, "%s", path);
            leat_error_where(error, "%s", path);
        }
    }
    if (status != LEAT_OK) {
        leat_checkpoint_deinit(out);
        leat_error_hint(error, "resume from an older one, or from cursors.bin (--resume --step K)");
    }
    leat_buffer_deinit(&file);
    return status;
}
