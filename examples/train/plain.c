#include "plain.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int plain_open(train_plain *plain, const char *path, uint64_t rank, uint64_t ranks)
{
    struct stat about;
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &about) != 0 || about.st_size == 0) {
        fprintf(stderr, "%s: cannot be read, or empty\n", path);
        return -1;
    }
    size_t size = (size_t)about.st_size;
    const uint8_t *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    uint64_t *starts = malloc((size + 1) * sizeof *starts); /* untouched pages cost nothing */
    if (bytes == MAP_FAILED || starts == NULL) {
        fprintf(stderr, "%s: no memory\n", path);
        return -1;
    }
    *plain = (train_plain){.bytes = bytes, .starts = starts, .ranks = ranks, .rank = rank};
    starts[0] = 0;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == 0) {
            starts[++plain->documents] = i + 1;
        }
    }
    if (plain->documents == 0) {
        fprintf(stderr, "%s: no document in it: each ends with a zero byte\n", path);
        return -1;
    }
    return 0;
}

void plain_row(train_plain *plain, uint32_t *tokens, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        train_position *at = &plain->position;
        uint64_t document = (at->document * plain->ranks + plain->rank) % plain->documents;
        uint8_t byte = plain->bytes[plain->starts[document] + at->byte];
        tokens[i] = byte != 0 ? byte : MODEL_VOCABULARY - 1;
        *at = byte != 0 ? (train_position){at->document, at->byte + 1}
                        : (train_position){at->document + 1, 0};
    }
}
