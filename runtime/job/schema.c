#include "job/schema.h"
#include <stdio.h>
#include <inttypes.h>

#define JOB(field) offsetof(leat_job, field)
#define DATASET(field) offsetof(leat_job_dataset, field)
#define ANY UINT64_MAX
#define U32_MAX UINT32_MAX
#define POW2(n) ((uint64_t)1 << (n))
#define COUNT_MAX POW2(40)
#define ROWS_MAX (POW2(31) - 1)
#define DERIVED LEAT_KEY_DERIVED
#define ORDER true
#define FREE false

/* path, type, required, order, default, min, max, choices, default as text, where it is kept, help */
/* clang-format off */
const leat_job_key leat_job_keys[] = {
    {"seed", LEAT_KEY_U64, true, ORDER, 0, 0, ANY, NULL, NULL, JOB(seed),
     "seed of every permutation; two jobs that differ in it alone see the same documents in another order"},
    {"sequence_length", LEAT_KEY_U64, false, ORDER, 2048, 1, POW2(31) - 2, NULL, "2048", JOB(sequence_length),
     "tokens a sequence; a row holds one more, so that every position has a label"},
    {"batch_size", LEAT_KEY_SIZES, false, FREE, 1024, 1, ROWS_MAX, NULL, "1024", JOB(batch_sizes),
     "sequences in a global batch: a number, or a list of {from_step, batch_size} in ascending order that begins with step 0"},
    {"batch_size[].from_step", LEAT_KEY_U64, true, FREE, 0, 0, COUNT_MAX, NULL, NULL,
     offsetof(leat_plan_batch_size, from_step), "first step with that batch size"},
    {"batch_size[].batch_size", LEAT_KEY_U64, true, FREE, 0, 1, ROWS_MAX, NULL, NULL,
     offsetof(leat_plan_batch_size, rows), "sequences in a global batch from that step on"},
    {"packing", LEAT_KEY_CHOICE, false, ORDER, LEAT_PACKING_CONCAT, 0, 0, "concat|best_fit|single", "concat", JOB(packing),
     "concat: pieces end to end, cut every row; best_fit: whole pieces, rows filled as well as they fit; single: one piece a row"},
    {"pack_window", LEAT_KEY_U64, false, ORDER, 1024, 1, ROWS_MAX, NULL, "1024", JOB(pack_window),
     "best_fit: about so many rows are packed at a time"},
    {"piece", LEAT_KEY_U64, false, ORDER, 0, 1, LEAT_JOB_PIECE_MAX, NULL, "sequence_length + 1", JOB(piece),
     "longest run of a document's tokens that is drawn at once; at most sequence_length + 1 for best_fit and single"},
    {"long_documents", LEAT_KEY_FLAG_CHOICE, false, ORDER, 0, 0, 0, "split|truncate", "split", JOB(truncate),
     "split: all pieces of a document are used; truncate: its first piece alone"},
    {"part_bytes", LEAT_KEY_U64, false, ORDER, DERIVED, 0, COUNT_MAX, NULL, "max(2^18, 16*(sequence_length + 1))",
     JOB(part_bytes), "longer records are cut into parts, each a document of its own; 0: never, else at least 64"},
    {"mix_by", LEAT_KEY_FLAG_CHOICE, false, ORDER, 0, 0, 0, "tokens|documents", "tokens", JOB(mix_by_documents),
     "what the weights of datasets count"},
    {"on_exhausted", LEAT_KEY_FLAG_CHOICE, false, ORDER, 0, 0, 0, "stop|drop", "stop", JOB(drop_exhausted),
     "when a dataset has no further epoch: stop ends the plan, drop goes on with the others"},
    {"passes", LEAT_KEY_U64, false, FREE, 0, 1, U32_MAX, NULL, "null", JOB(passes),
     "k: epochs k for every dataset, on_exhausted drop, and weights by bytes where none is given"},
    {"drop_last", LEAT_KEY_BOOL, false, FREE, 1, 0, 0, NULL, "true", JOB(drop_last),
     "when the plan ends, a row or batch that is not full is dropped; false: it is delivered short"},
    {"bad_records", LEAT_KEY_CHOICE, false, ORDER, LEAT_BAD_FAIL, 0, 0, "fail|replace|skip", "fail", JOB(bad_records),
     "fail: a bad record is an error; replace: invalid UTF-8 becomes U+FFFD; skip: counted, listed and left out"},
    {"pad_id", LEAT_KEY_U32, false, ORDER, 0, 0, U32_MAX, NULL, "0", JOB(pad_id), "token id of unfilled places"},
    {"tokenizer", LEAT_KEY_MAP, false, ORDER, 0, 0, 0, NULL, "null", 0, "what makes tokens of text"},
    {"tokenizer.file", LEAT_KEY_TEXT, false, ORDER, 0, 1, 4096, NULL, "null", JOB(tokenizer),
     "a tokenizer.json, relative to the job file; \"bytes\": id = byte, bos 256, eos 257.  Needed where a dataset holds text"},
    {"tokenizer.bos", LEAT_KEY_TOKEN, false, ORDER, 0, 0, U32_MAX, NULL, "null", JOB(bos),
     "token before each document, by its text or id"},
    {"tokenizer.eos", LEAT_KEY_TOKEN, false, ORDER, 0, 0, U32_MAX, NULL, "null", JOB(eos),
     "token after each document, by its text or id"},
    {"index_dir", LEAT_KEY_TEXT, false, FREE, 0, 1, 4096, NULL, "null", JOB(index_dir),
     "folder of side-car indexes; null: beside the data where that is writable"},
    {"collectives", LEAT_KEY_CHOICE, false, FREE, LEAT_COLLECTIVES_AUTO, 0, 0, "auto|mpi|nccl", "auto", JOB(collectives),
     "what carries device data between ranks"},
    {"tokens", LEAT_KEY_CHOICE, false, FREE, LEAT_TOKENS_AUTO, 0, 0, "auto|own|exchange", "auto", JOB(tokens_way),
     "own: a rank reads and tokenizes what its rows need; exchange: each document once in the job, tokens sent where needed"},
    {"record_bytes_max", LEAT_KEY_U64, false, ORDER, POW2(30), 1, POW2(40), NULL, "1073741824", JOB(record_bytes_max),
     "a larger record is a bad record"},
    {"read_cache", LEAT_KEY_U64, false, FREE, 0, 1, POW2(50), NULL, "null", JOB(read_cache),
     "bytes a rank keeps of what it read; null: an eighth of its share of memory"},
    {"threads", LEAT_KEY_U32, false, FREE, 0, 1, 4096, NULL, "null", JOB(threads),
     "worker threads a rank; null: the cores it may use less 2, at least 1"},
    {"look_ahead", LEAT_KEY_U32, false, FREE, 0, 1, 4096, NULL, "null", JOB(look_ahead),
     "windows of steps that are prepared ahead; null: chosen"},
    {"peer_timeout", LEAT_KEY_U64, false, FREE, 300, 1, ROWS_MAX, NULL, "300", JOB(peer_timeout_s),
     "seconds of silence after which a rank counts as lost"},
    {"mask_boundaries", LEAT_KEY_BOOL, false, FREE, 0, 0, 0, NULL, "false", JOB(mask_boundaries),
     "no label across the boundary of two documents in a row"},
    {"datasets", LEAT_KEY_DATASETS, true, ORDER, 0, 1, LEAT_JOB_DATASETS_MAX, NULL, NULL, JOB(datasets),
     "what is mixed; the order counts where credits tie"},
    {"datasets[].name", LEAT_KEY_TEXT, true, ORDER, 0, 1, 255, NULL, NULL, DATASET(name),
     "1 to 255 bytes; keys the dataset's own order"},
    {"datasets[].weight", LEAT_KEY_WEIGHT, false, ORDER, 0, 0, 0, NULL, "null", DATASET(weight_millionths),
     "share of the tokens: a decimal above 0 with at most 6 digits after the point.  None anywhere, or \"bytes\": by size"},
    {"datasets[].files", LEAT_KEY_TEXTS, true, FREE, 0, 1, 4096, NULL, NULL, DATASET(files),
     "one glob or a list of globs, relative to the job file"},
    {"datasets[].format", LEAT_KEY_TEXT, false, FREE, 0, 1, 64, NULL, "null", DATASET(format),
     "format of the files; null: from the file's name and first bytes"},
    {"datasets[].text", LEAT_KEY_TEXT, false, ORDER, 0, 1, 4096, NULL, "text", DATASET(text),
     "key or column of a record's text; \"a.b\" for a nested one"},
    {"datasets[].epochs", LEAT_KEY_U64, false, FREE, 0, 0, U32_MAX, NULL, "0", DATASET(epochs),
     "how often the dataset is gone through; 0: no limit"},
    {"datasets[].holdout", LEAT_KEY_FRACTION, false, ORDER, 0, 0, 1000000, NULL, "0", DATASET(holdout_millionths),
     "fraction of the documents that is set apart"},
    {"datasets[].use", LEAT_KEY_FLAG_CHOICE, false, ORDER, 0, 0, 0, "train|holdout", "train", DATASET(use_holdout),
     "which side of the holdout this job uses"},
    {"datasets[].shuffle", LEAT_KEY_MAP, false, ORDER, 0, 0, 0, NULL, "see below", 0, "order of the documents"},
    {"datasets[].shuffle.unit", LEAT_KEY_CHOICE, false, ORDER, LEAT_UNIT_BLOCK, 0, 0, "none|document|block|shard", "block",
     DATASET(unit), "what is put in random order; none with piece_window 1 is the corpus in its own order"},
    {"datasets[].shuffle.block", LEAT_KEY_U64, false, ORDER, 256, 1, COUNT_MAX, NULL, "256", DATASET(block),
     "documents in a block, which is read in one go"},
    {"datasets[].shuffle.buffer", LEAT_KEY_U64, false, ORDER, DERIVED, 0, POW2(32), NULL,
     "16384 for the units block and shard, else 0", DATASET(buffer), "documents that are shuffled among each other after that"},
    {"datasets[].shuffle.piece_window", LEAT_KEY_U64, false, ORDER, 256, 1, POW2(24), NULL, "256", DATASET(piece_window),
     "pieces that are shuffled among each other; 1: none"},
    {"datasets[].shuffle.window_tokens", LEAT_KEY_U64, false, ORDER, POW2(20), 1, COUNT_MAX, NULL, "1048576",
     DATASET(window_tokens), "a window of pieces also ends with so many tokens"},
    {"datasets[].add_special", LEAT_KEY_BOOL, false, ORDER, 0, 0, 0, NULL, "false", DATASET(add_special),
     "token data: add bos and eos to each document"},
    {"datasets[].tokens", LEAT_KEY_TEXT, false, ORDER, 0, 1, 4096, NULL, "null", DATASET(tokens),
     "column, dataset or file of a container that holds the tokens"},
    {"datasets[].offsets", LEAT_KEY_TEXT, false, FREE, 0, 1, 4096, NULL, "null", DATASET(offsets),
     "column, dataset or file of a container that holds where documents begin"},
    {"datasets[].dtype", LEAT_KEY_TEXT_CHOICE, false, FREE, 0, 1, 64, "uint8|uint16|uint32|uint64|int8|int16|int32|int64", "null",
     DATASET(dtype), "raw token files: type of a token"},
    {"datasets[].eos_id", LEAT_KEY_U32, false, FREE, 0, 0, U32_MAX, NULL, "null", DATASET(eos_id),
     "raw token files: id that ends a document"},
    {"datasets[].mask", LEAT_KEY_TEXT, false, ORDER, 0, 1, 4096, NULL, "null", DATASET(mask),
     "column or key of mask runs"},
    {"mixture_stages", LEAT_KEY_STAGES, false, ORDER, 0, 0, POW2(20), NULL, "[]", JOB(stages),
     "other weights from a row or step on, strictly ascending"},
    {"mixture_stages[].from_row", LEAT_KEY_U64, false, ORDER, DERIVED, 0, LEAT_JOB_ROWS_MAX, NULL, "null",
     offsetof(leat_job_raw_stage, from_row), "first row of the stage; this or from_step"},
    {"mixture_stages[].from_step", LEAT_KEY_U64, false, ORDER, DERIVED, 0, COUNT_MAX, NULL, "null",
     offsetof(leat_job_raw_stage, from_step), "the stage begins with the first row of that step"},
    {"mixture_stages[].weights", LEAT_KEY_WEIGHTS, true, ORDER, 0, 0, 0, NULL, NULL, offsetof(leat_job_raw_stage, weights),
     "dataset names and decimals, one above 0 at least; datasets that are not named have 0"},
};
/* clang-format on */
const size_t leat_job_key_count = sizeof leat_job_keys / sizeof *leat_job_keys;
_Static_assert(sizeof leat_job_keys / sizeof *leat_job_keys <= LEAT_JOB_KEYS_MAX, "grow it");

const leat_job_key *leat_job_key_find(const char *level, const char *key)
{
    size_t length = strlen(level);
    for (size_t i = 0; i < leat_job_key_count; i++) {
        const char *path = leat_job_keys[i].path;
        if (strncmp(path, level, length) == 0 && strcmp(path + length, key) == 0 &&
            leat_job_key_is_at(&leat_job_keys[i], level)) {
            return &leat_job_keys[i];
        }
    }
    return NULL;
}

bool leat_job_key_is_at(const leat_job_key *key, const char *level)
{
    size_t length = strlen(level);
    return strncmp(key->path, level, length) == 0 && strpbrk(key->path + length, ".[") == NULL;
}

size_t leat_job_text_distance(const char *a, const char *b, size_t most)
{
    enum { LENGTH_MAX = 64 };
    size_t m = strlen(a), n = strlen(b), row[LENGTH_MAX + 1];
    if (m > LENGTH_MAX || n > LENGTH_MAX) {
        return strcmp(a, b) == 0 ? 0 : most + 1;
    }
    for (size_t j = 0; j <= n; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= m; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            size_t skip = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = change < skip ? change : skip;
        }
    }
    return row[n] <= most ? row[n] : most + 1;
}

static const char *last_part(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL ? dot + 1 : path;
}

const leat_job_key *leat_job_key_nearest(const char *level, const char *key, bool *elsewhere)
{
    const leat_job_key *best = NULL;
    size_t length = strlen(key),
           limit = length < 4   ? 1
                   : length < 8 ? 2
                                : 3,
           best_distance = limit + 1;
    *elsewhere = false;
    for (size_t i = 0; i < leat_job_key_count; i++) {
        const char *name = last_part(leat_job_keys[i].path);
        size_t distance = leat_job_key_is_at(&leat_job_keys[i], level)
                              ? leat_job_text_distance(key, name, limit)
                              : limit + 1;
        if (distance < best_distance) {
            best = &leat_job_keys[i];
            best_distance = distance;
        }
    }
    for (size_t i = 0; i < leat_job_key_count && best == NULL; i++) {
        if (strcmp(key, last_part(leat_job_keys[i].path)) == 0) {
            best = &leat_job_keys[i];
            *elsewhere = true;
        }
    }
    for (size_t i = 0; i < leat_job_key_count && best == NULL; i++) {
        const char *name = last_part(leat_job_keys[i].path);
        if (leat_job_key_is_at(&leat_job_keys[i], level) && strlen(name) >= 4 && length >= 4 &&
            (strstr(key, name) != NULL || strstr(name, key) != NULL)) {
            best = &leat_job_keys[i];
        }
    }
    return best;
}

bool leat_job_choice(const char *choices, size_t index, char out[32])
{
    const char *at = choices;
    while (index > 0 && at != NULL) {
        at = strchr(at, '|');
        at = at != NULL ? at + 1 : NULL;
        index--;
    }
    if (at == NULL) {
        return false;
    }
    snprintf(out, 32, "%.*s", (int)strcspn(at, "|"), at);
    return true;
}

static void wanted_choice(const leat_job_key *key, char out[192])
{
    char name[32], next[32];
    size_t used = 0;
    for (size_t i = 0; leat_job_choice(key->choices, i, name); i++) {
        const char *joint = i == 0                                       ? ""
                            : leat_job_choice(key->choices, i + 1, next) ? ", "
                                                                         : " or ";
        used += (size_t)snprintf(out + used, 192 - used, "%s%s", joint, name);
    }
}

void leat_job_key_wanted(const leat_job_key *key, char out[192])
{
    static const char *const words[] = {
        [LEAT_KEY_BOOL] = "true or false",
        [LEAT_KEY_TOKEN] = "a token's text, its id (0 to 4294967295) or null",
        [LEAT_KEY_FRACTION] = "a decimal from 0 to 1 with at most 6 digits after the point",
        [LEAT_KEY_WEIGHT] = "a decimal above 0 with at most 6 digits after the point, or bytes",
        [LEAT_KEY_TEXTS] = "a text or a list of texts",
        [LEAT_KEY_SIZES] = "an integer of at least 1, or a list of {from_step, batch_size}",
        [LEAT_KEY_WEIGHTS] = "a mapping of dataset names to weights",
        [LEAT_KEY_MAP] = "a mapping of keys to values",
        [LEAT_KEY_DATASETS] = "a list of datasets",
        [LEAT_KEY_STAGES] = "a list of {from_row or from_step, weights}",
    };
    switch (key->type) {
    case LEAT_KEY_U64:
    case LEAT_KEY_U32:
        snprintf(out, 192, "an integer from %" PRIu64 " to %" PRIu64, key->min, key->max);
        return;
    case LEAT_KEY_CHOICE:
    case LEAT_KEY_FLAG_CHOICE:
    case LEAT_KEY_TEXT_CHOICE:
        wanted_choice(key, out);
        return;
    case LEAT_KEY_TEXT:
        snprintf(out, 192, "a text of %" PRIu64 " to %" PRIu64 " bytes", key->min, key->max);
        return;
    case LEAT_KEY_BOOL:
    case LEAT_KEY_TOKEN:
    case LEAT_KEY_FRACTION:
    case LEAT_KEY_WEIGHT:
    case LEAT_KEY_TEXTS:
    case LEAT_KEY_SIZES:
    case LEAT_KEY_WEIGHTS:
    case LEAT_KEY_MAP:
    case LEAT_KEY_DATASETS:
    case LEAT_KEY_STAGES:
        break;
    }
    snprintf(out, 192, "%s", words[key->type]);
}
