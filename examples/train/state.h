/* state.h: the trainer's own checkpoint: model, optimizer, and the positions of the plain loader's ranks.
 *
 * Little-endian: magic, step, number of positions, parameters, mean, square, (document, byte) of each position, checksum.  A
 * file appears whole or not at all.  One rank calls these functions. */
#ifndef TRAIN_STATE_H
#define TRAIN_STATE_H
#include "model.h"

typedef struct train_position {
    uint64_t document; /* of this rank's: its 0th, 1st, … */
    uint64_t byte;
} train_position;

/* 0, or -1 after a message on stderr. */
int state_write(const char *path, const train_model *model, const train_position *positions,
                size_t count);
/* Positions are allocated for the caller to free. */
int state_read(const char *path, train_model *model, train_position **positions, size_t *count);

#endif
