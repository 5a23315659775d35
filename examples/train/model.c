#include "model.h"
#include <math.h>
#include <string.h>

/* A row's gradient, zeroed for each row: its additions do not depend on the rows before it. */
typedef struct row_sums {
    double gradient[MODEL_PARAMETERS];
    double loss, count;
} row_sums;

void model_init(train_model *model)
{
    memset(model, 0, sizeof *model);
    uint64_t state = 0x9e3779b97f4a7c15U;
    for (size_t i = 0; i < MODEL_PARAMETERS; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        double uniform = (double)(state >> 11) * 0x1p-53 - 0.5;
        int bias = (i >= MODEL_IN_BIAS_AT && i < MODEL_OUT_AT) || i >= MODEL_OUT_BIAS_AT;
        model->parameters[i] = bias ? 0 : 0.4 * uniform;
    }
}

/* The embeddings of the tokens up to place `at`; before the row's beginning stands the id of the end of a document. */
static void gather_context(const uint32_t *tokens, size_t at, uint32_t *context)
{
    for (size_t c = 0; c < MODEL_CONTEXT; c++) {
        uint32_t token = at >= c ? tokens[at - c] : MODEL_VOCABULARY - 1;
        context[c] = token < MODEL_VOCABULARY ? token : MODEL_VOCABULARY - 1;
    }
}

static void forward(const double *p, const uint32_t *context, double *input, double *hidden,
                    double *chances)
{
    for (size_t c = 0; c < MODEL_CONTEXT; c++) {
        memcpy(input + c * MODEL_WIDTH, p + MODEL_EMBEDDING_AT + context[c] * MODEL_WIDTH,
               MODEL_WIDTH * sizeof *input);
    }
    memcpy(hidden, p + MODEL_IN_BIAS_AT, MODEL_HIDDEN * sizeof *hidden);
    for (size_t i = 0; i < MODEL_INPUT; i++) {
        for (size_t h = 0; h < MODEL_HIDDEN; h++) {
            hidden[h] += input[i] * p[MODEL_IN_AT + i * MODEL_HIDDEN + h];
        }
    }
    memcpy(chances, p + MODEL_OUT_BIAS_AT, MODEL_VOCABULARY * sizeof *chances);
    for (size_t h = 0; h < MODEL_HIDDEN; h++) {
        hidden[h] = tanh(hidden[h]);
        const double *out = p + MODEL_OUT_AT + h * MODEL_VOCABULARY;
        for (size_t v = 0; v < MODEL_VOCABULARY; v++) {
            chances[v] += hidden[h] * out[v];
        }
    }
    double most = chances[0], sum = 0;
    for (size_t v = 1; v < MODEL_VOCABULARY; v++) {
        most = chances[v] > most ? chances[v] : most;
    }
    for (size_t v = 0; v < MODEL_VOCABULARY; v++) {
        chances[v] = exp(chances[v] - most);
        sum += chances[v];
    }
    for (size_t v = 0; v < MODEL_VOCABULARY; v++) {
        chances[v] /= sum;
    }
}

/* d: the derivative of the loss by the logits. */
static void backward(const double *p, const uint32_t *context, const double *input,
                     const double *hidden, const double *d, double *g)
{
    double d_hidden[MODEL_HIDDEN];
    for (size_t v = 0; v < MODEL_VOCABULARY; v++) {
        g[MODEL_OUT_BIAS_AT + v] += d[v];
    }
    for (size_t h = 0; h < MODEL_HIDDEN; h++) {
        const double *out = p + MODEL_OUT_AT + h * MODEL_VOCABULARY;
        double *g_out = g + MODEL_OUT_AT + h * MODEL_VOCABULARY;
        double even = 0, odd = 0; /* two chains of additions: twice as fast, one fixed order */
        for (size_t v = 0; v < MODEL_VOCABULARY; v += 2) {
            even += d[v] * out[v];
            odd += d[v + 1] * out[v + 1];
            g_out[v] += hidden[h] * d[v];
            g_out[v + 1] += hidden[h] * d[v + 1];
        }
        d_hidden[h] = (even + odd) * (1 - hidden[h] * hidden[h]);
        g[MODEL_IN_BIAS_AT + h] += d_hidden[h];
    }
    for (size_t i = 0; i < MODEL_INPUT; i++) {
        double d_input = 0;
        for (size_t h = 0; h < MODEL_HIDDEN; h++) {
            d_input += d_hidden[h] * p[MODEL_IN_AT + i * MODEL_HIDDEN + h];
            g[MODEL_IN_AT + i * MODEL_HIDDEN + h] += input[i] * d_hidden[h];
        }
        g[MODEL_EMBEDDING_AT + context[i / MODEL_WIDTH] * MODEL_WIDTH + i % MODEL_WIDTH] += d_input;
    }
}

/* 40 bits: the sum over some thousand rows is exact in a double. */
static double fingerprint(const uint32_t *tokens, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325U;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ tokens[i]) * 0x100000001b3U;
    }
    hash ^= hash >> 32;
    hash *= 0x9e3779b97f4a7c15U;
    return (double)(hash >> 24);
}

void model_row(const train_model *model, const uint32_t *tokens, const int64_t *labels,
               size_t count, double *sums)
{
    double input[MODEL_INPUT], hidden[MODEL_HIDDEN], chances[MODEL_VOCABULARY];
    uint32_t context[MODEL_CONTEXT];
    row_sums row;
    memset(&row, 0, sizeof row);
    for (size_t i = 0; i < count; i++) {
        if (labels[i] < 0 || labels[i] >= MODEL_VOCABULARY) {
            continue;
        }
        gather_context(tokens, i, context);
        forward(model->parameters, context, input, hidden, chances);
        row.loss -= log(chances[labels[i]]);
        row.count += 1;
        chances[labels[i]] -= 1;
        backward(model->parameters, context, input, hidden, chances, row.gradient);
    }
    for (size_t i = 0; i < MODEL_PARAMETERS; i++) {
        sums[i] += row.gradient[i];
    }
    sums[MODEL_LOSS_AT] += row.loss;
    sums[MODEL_COUNT_AT] += row.count;
    sums[MODEL_FINGERPRINT_AT] += fingerprint(tokens, count + 1);
}

void model_update(train_model *model, const double *sums)
{
    const double rate = 0.01, keep_mean = 0.9, keep_square = 0.99;
    double count = sums[MODEL_COUNT_AT] > 0 ? sums[MODEL_COUNT_AT] : 1;
    double updates = (double)++model->step;
    double mean_part = 1 - pow(keep_mean, updates), square_part = 1 - pow(keep_square, updates);
    for (size_t i = 0; i < MODEL_PARAMETERS; i++) {
        double g = sums[i] / count;
        model->mean[i] = keep_mean * model->mean[i] + (1 - keep_mean) * g;
        model->square[i] = keep_square * model->square[i] + (1 - keep_square) * g * g;
        model->parameters[i] -=
            rate * (model->mean[i] / mean_part) / (sqrt(model->square[i] / square_part) + 1e-8);
    }
}
