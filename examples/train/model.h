/* model.h: a language model of some thousand numbers: embeddings of the last tokens, one hidden layer, a softmax over bytes.
 *
 * All sums are in double.  The gradient of a row is a function of that row alone; a rank adds up its rows in order, so only
 * the last additions, across ranks, depend on the number of ranks: about 1e-16 of a gradient, not more. */
#ifndef TRAIN_MODEL_H
#define TRAIN_MODEL_H
#include <stddef.h>
#include <stdint.h>

enum {
    MODEL_VOCABULARY = 258, /* of leat's byte tokenizer: bytes, beginning, end */
    MODEL_CONTEXT = 4,      /* tokens that a prediction sees */
    MODEL_WIDTH = 8,        /* of an embedding */
    MODEL_HIDDEN = 16,
    MODEL_INPUT = MODEL_CONTEXT * MODEL_WIDTH,
    MODEL_EMBEDDING_AT = 0,
    MODEL_IN_AT = MODEL_EMBEDDING_AT + MODEL_VOCABULARY * MODEL_WIDTH,
    MODEL_IN_BIAS_AT = MODEL_IN_AT + MODEL_INPUT * MODEL_HIDDEN,
    MODEL_OUT_AT = MODEL_IN_BIAS_AT + MODEL_HIDDEN,
    MODEL_OUT_BIAS_AT = MODEL_OUT_AT + MODEL_HIDDEN * MODEL_VOCABULARY,
    MODEL_PARAMETERS = MODEL_OUT_BIAS_AT + MODEL_VOCABULARY,
    /* What ranks add up beside the gradient. */
    MODEL_LOSS_AT = MODEL_PARAMETERS,
    MODEL_COUNT_AT,       /* labels that count */
    MODEL_FINGERPRINT_AT, /* of the rows, whatever their order: whole numbers below 2^53 add exactly */
    MODEL_SUMS
};

typedef struct train_model {
    uint64_t step; /* of the next update */
    double parameters[MODEL_PARAMETERS];
    double mean[MODEL_PARAMETERS];   /* Adam's state */
    double square[MODEL_PARAMETERS]; /* Adam's state */
} train_model;

/* The same numbers everywhere. */
void model_init(train_model *model);
/* Adds loss, count, fingerprint and gradient of one row to sums[MODEL_SUMS].  labels[count], negative where a label does not
 * count; tokens[count + 1]. */
void model_row(const train_model *model, const uint32_t *tokens, const int64_t *labels,
               size_t count, double *sums);
/* One step of Adam with the sums of all ranks. */
void model_update(train_model *model, const double *sums);

#endif
