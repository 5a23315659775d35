/* schema.h: every key of a job file, once: its path, type, default, range, whether it defines the order of batches, and its
 * help.  Reading, help texts and docs/job-file.md follow from this table. */
#ifndef LEAT_JOB_SCHEMA_H
#define LEAT_JOB_SCHEMA_H
#include "job/job.h"

typedef enum leat_key_type {
    LEAT_KEY_U64,
    LEAT_KEY_U32,
    LEAT_KEY_BOOL,
    LEAT_KEY_CHOICE,      /* an enum of int size, in the order of `choices` */
    LEAT_KEY_FLAG_CHOICE, /* two choices, kept as a bool */
    LEAT_KEY_TEXT,
    LEAT_KEY_TEXT_CHOICE, /* one of `choices`, kept as text */
    LEAT_KEY_TOKEN,       /* a token's text or id */
    LEAT_KEY_FRACTION,    /* a decimal from 0 to 1, kept as millionths */
    LEAT_KEY_WEIGHT,      /* a decimal above 0 or "bytes" */
    LEAT_KEY_TEXTS,       /* one text or a list of them */
    LEAT_KEY_SIZES,       /* a number or a list of {from_step, batch_size} */
    LEAT_KEY_WEIGHTS,     /* dataset names to decimals */
    LEAT_KEY_MAP,         /* further keys of the same object */
    LEAT_KEY_DATASETS,
    LEAT_KEY_STAGES
} leat_key_type;

/* A default that depends on other keys is one of these until the whole job was read. */
#define LEAT_KEY_DERIVED UINT64_MAX

typedef struct leat_job_key {
    const char *path; /* "datasets[].shuffle.unit" */
    leat_key_type type;
    bool required;
    bool order;               /* order-defining */
    uint64_t initial;         /* default of numbers and choices */
    uint64_t min, max;        /* of numbers; texts: bytes */
    const char *choices;      /* "a|b|c" */
    const char *default_text; /* as the help says it; NULL where it is required */
    size_t offset;            /* into leat_job, or what the path's list holds */
    const char *help;
} leat_job_key;

/* What an entry of mixture_stages holds while it is read. */
typedef struct leat_job_raw_stage {
    uint64_t from_row, from_step; /* LEAT_KEY_DERIVED: not given */
    size_t weights;               /* node */
} leat_job_raw_stage;

extern const leat_job_key leat_job_keys[];
extern const size_t leat_job_key_count;
enum { LEAT_JOB_KEYS_MAX = 96 };
#define LEAT_JOB_PIECE_MAX ((uint64_t)1 << 21)
#define LEAT_JOB_ROWS_MAX ((uint64_t)1 << 62)
#define LEAT_JOB_DATASETS_MAX ((size_t)1 << 20)

/* The row whose path is `level` + `key` ("datasets[]." + "weight"); NULL where there is none. */
const leat_job_key *leat_job_key_find(const char *level, const char *key);
/* true where the row belongs to that level itself and not to one below or above. */
bool leat_job_key_is_at(const leat_job_key *key, const char *level);
/* The nearest key of the level, or a row of another level with that very name; NULL where nothing is near. */
const leat_job_key *leat_job_key_nearest(const char *level, const char *key, bool *elsewhere);
/* Edits between two texts, `most` + 1 where there are more. */
size_t leat_job_text_distance(const char *a, const char *b, size_t most);
/* Name of choice `index` of "a|b|c" into out; false past the last. */
bool leat_job_choice(const char *choices, size_t index, char out[32]);
/* "an integer from 1 to 5", "one of a, b": what a value of that key looks like. */
void leat_job_key_wanted(const leat_job_key *key, char out[192]);
#endif
