/* replay.c: runs a fuzz target without a fuzzer: every seed, and some thousand seeded mutations of them.
 *     fuzz_NAME FOLDER [MUTATIONS]          (environment: LEAT_TEST_SEED) */
#include "check.h"
#include "fuzz/fuzz.h"
#include <dirent.h>

enum { FILES_MAX = 1000, SIZE_MAX_BYTES = 1 << 20 };

typedef struct seed_file {
    uint8_t *data;
    size_t size;
} seed_file;

static seed_file seeds[FILES_MAX];
static size_t seed_count;

static void read_seed(const char *folder, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL || seed_count == FILES_MAX) {
        return;
    }
    seed_file *seed = &seeds[seed_count];
    seed->data = malloc(SIZE_MAX_BYTES);
    seed->size = fread(seed->data, 1, SIZE_MAX_BYTES, file);
    seed_count += 1;
    fclose(file);
}

/* Cuts, flips, repeats and joins, as a damaged disk or a mean person would. */
static size_t mutate(uint64_t *random, uint8_t *out)
{
    const seed_file *seed = &seeds[check_random(random) % seed_count];
    size_t size = seed->size;
    memcpy(out, seed->data, size);
    for (uint64_t n = 1 + check_random(random) % 6; n > 0 && size > 0; n--) {
        size_t at = check_random(random) % size;
        switch (check_random(random) % 6) {
        case 0:
            out[at] ^= (uint8_t)(1u << check_random(random) % 8);
            break;
        case 1:
            out[at] = (uint8_t)check_random(random);
            break;
        case 2:
            size = at;
            break;
        case 3: {
            size_t length = check_random(random) % (size - at) + 1;
            memmove(out + at, out + at + length, size - at - length);
            size -= length;
            break;
        }
        case 4: {
            const seed_file *other = &seeds[check_random(random) % seed_count];
            size_t length = other->size == 0 ? 0 : check_random(random) % other->size;
            length = length < SIZE_MAX_BYTES - at ? length : SIZE_MAX_BYTES - at;
            memcpy(out + at, other->data, length);
            size = at + length > size ? at + length : size;
            break;
        }
        default:
            out[at] = (uint8_t) "\"{}[]:,\\\n-0\xff"[check_random(random) % 12];
            break;
        }
    }
    return size;
}

int main(int argc, char **argv)
{
    const char *text = getenv("LEAT_TEST_SEED");
    uint64_t random = text != NULL ? strtoull(text, NULL, 10) : 1;
    long mutations = argc > 2 ? strtol(argv[2], NULL, 10) : 3000;
    DIR *folder = argc > 1 ? opendir(argv[1]) : NULL;
    if (folder == NULL) {
        printf("usage: %s FOLDER-WITH-SEEDS [MUTATIONS]\n", argv[0]);
        return 2;
    }
    printf("LEAT_TEST_SEED=%" PRIu64 "\n", random);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] != '.') {
            read_seed(argv[1], entry->d_name);
        }
    }
    closedir(folder);
    for (size_t i = 0; i < seed_count; i++) {
        LLVMFuzzerTestOneInput(seeds[i].data, seeds[i].size);
        check_count++;
    }
    uint8_t *bytes = malloc(2 * SIZE_MAX_BYTES);
    for (long i = 0; i < mutations && seed_count > 0; i++) {
        size_t size = mutate(&random, bytes);
        uint8_t *exact =
            malloc(size + 1); /* of its own size, so that a sanitizer sees one byte too far */
        memcpy(exact, bytes, size);
        LLVMFuzzerTestOneInput(exact, size);
        free(exact);
        check_count++;
    }
    free(bytes);
    for (size_t i = 0; i < seed_count; i++) {
        free(seeds[i].data);
    }
    return check_done();
}
