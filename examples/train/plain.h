/* plain.h: the loader that leat is compared with, as many trainers have it: rank r of W reads documents r, r + W, r + 2W, …,
 * lays their bytes end to end, cuts rows, and remembers how far it came.  What a global batch holds depends on W, and a
 * position saved on one number of ranks means other documents on another. */
#ifndef TRAIN_PLAIN_H
#define TRAIN_PLAIN_H
#include "state.h"

typedef struct train_plain {
    const uint8_t *bytes; /* the documents, a zero byte after each */
    uint64_t *starts;     /* of the documents; [documents + 1] */
    uint64_t documents, ranks, rank;
    train_position position;
} train_plain;

/* 0, or -1 after a message on stderr.  The mapping lives as long as the process. */
int plain_open(train_plain *plain, const char *path, uint64_t rank, uint64_t ranks);
void plain_row(train_plain *plain, uint32_t *tokens, size_t count);

#endif
