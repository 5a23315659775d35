#include "state.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORD = 8, HEADER_WORDS = 3, POSITIONS_MOST = 1 << 20 };
static const char magic[] = "leattrn1"; /* WORD bytes and the end */

static void put(uint8_t *at, uint64_t value)
{
    for (int i = 0; i < WORD; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

static uint64_t get(const uint8_t *at)
{
    uint64_t value = 0;
    for (int i = 0; i < WORD; i++) {
        value |= (uint64_t)at[i] << (8 * i);
    }
    return value;
}

static uint8_t *put_doubles(uint8_t *at, const double *values)
{
    for (size_t i = 0; i < MODEL_PARAMETERS; i++, at += WORD) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        put(at, bits);
    }
    return at;
}

static const uint8_t *get_doubles(const uint8_t *at, double *values)
{
    for (size_t i = 0; i < MODEL_PARAMETERS; i++, at += WORD) {
        uint64_t bits = get(at);
        memcpy(&values[i], &bits, sizeof bits);
    }
    return at;
}

static uint64_t checksum(const uint8_t *bytes, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325U;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ bytes[i]) * 0x100000001b3U;
    }
    return hash;
}

static size_t words(size_t positions)
{
    return HEADER_WORDS + 3 * (size_t)MODEL_PARAMETERS + 2 * positions + 1;
}

static int failed(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", path, what, errno != 0 ? strerror(errno) : "not as it must be");
    return -1;
}

/* Written beside the file, then renamed: whoever reads finds a whole file or none. */
static int write_whole(const char *path, const uint8_t *bytes, size_t count)
{
    char temporary[4096], folder[4096];
    snprintf(temporary, sizeof temporary, "%s.new", path);
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    snprintf(slash != NULL ? slash : folder, 3, slash != NULL ? "/." : ".");
    int file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0) {
        return failed(temporary, "cannot be made");
    }
    int bad = 0;
    for (size_t done = 0; done < count && !bad;) {
        ssize_t wrote = write(file, bytes + done, count - done);
        bad = wrote <= 0;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    bad |= fsync(file) != 0;
    bad |= close(file) != 0;
    if (bad || rename(temporary, path) != 0) {
        return failed(path, "cannot be written");
    }
    file = open(folder, O_RDONLY);
    bad = file < 0 || fsync(file) != 0;
    if (file >= 0) {
        close(file);
    }
    return bad ? failed(folder, "cannot be synchronised") : 0;
}

int state_write(const char *path, const train_model *model, const train_position *positions,
                size_t count)
{
    size_t size = words(count) * WORD;
    uint8_t *bytes = malloc(size);
    if (bytes == NULL) {
        return failed(path, "no memory");
    }
    memcpy(bytes, magic, WORD);
    put(bytes + WORD, model->step);
    put(bytes + 2 * (size_t)WORD, count);
    uint8_t *at = put_doubles(bytes + HEADER_WORDS * (size_t)WORD, model->parameters);
    at = put_doubles(put_doubles(at, model->mean), model->square);
    for (size_t i = 0; i < count; i++, at += 2 * (size_t)WORD) {
        put(at, positions[i].document);
        put(at + WORD, positions[i].byte);
    }
    put(at, checksum(bytes, size - WORD));
    int result = write_whole(path, bytes, size);
    free(bytes);
    return result;
}

/* The file's bytes, which are as many as its header says, with the checksum that they have. */
static uint8_t *read_checked(const char *path, size_t *positions)
{
    uint8_t header[HEADER_WORDS * WORD], *bytes = NULL;
    errno = 0;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        failed(path, "cannot be opened");
        return NULL;
    }
    if (fread(header, 1, sizeof header, file) == sizeof header &&
        memcmp(header, magic, WORD) == 0 && get(header + 2 * (size_t)WORD) <= POSITIONS_MOST) {
        *positions = (size_t)get(header + 2 * (size_t)WORD);
        size_t size = words(*positions) * WORD, rest = size - sizeof header;
        bytes = malloc(size);
        if (bytes != NULL) {
            memcpy(bytes, header, sizeof header);
            if (fread(bytes + sizeof header, 1, rest, file) != rest || fgetc(file) != EOF ||
                get(bytes + size - WORD) != checksum(bytes, size - WORD)) {
                free(bytes);
                bytes = NULL;
            }
        }
    }
    fclose(file);
    if (bytes == NULL) {
        failed(path, "is damaged, or no checkpoint of this trainer");
    }
    return bytes;
}

int state_read(const char *path, train_model *model, train_position **positions, size_t *count)
{
    uint8_t *bytes = read_checked(path, count);
    if (bytes == NULL) {
        return -1;
    }
    model->step = get(bytes + WORD);
    const uint8_t *at = get_doubles(bytes + HEADER_WORDS * (size_t)WORD, model->parameters);
    at = get_doubles(get_doubles(at, model->mean), model->square);
    *positions = calloc(*count + 1, sizeof **positions);
    for (size_t i = 0; i < *count && *positions != NULL; i++, at += 2 * (size_t)WORD) {
        (*positions)[i] = (train_position){get(at), get(at + WORD)};
    }
    free(bytes);
    return *positions != NULL ? 0 : failed(path, "no memory");
}
