/* init.h: texts for people about job files: a job file to begin with, and the help of every key. */
#ifndef LEAT_JOB_INIT_H
#define LEAT_JOB_INIT_H
#include "job/job.h"

/* What `leat init` found in a corpus. */
typedef struct leat_job_found {
    const char *name; /* distinct */
    const char *const *globs;
    size_t glob_count;
    const char *format; /* NULL: leave it to the files */
    const char *text;   /* key or column of the text; NULL: "text" */
    bool is_tokens;     /* token data: no text, no tokenizer needed */
    uint64_t files, bytes;
} leat_job_found;

typedef struct leat_job_init_options {
    const char *tokenizer; /* NULL: "bytes", with a comment that says how to name another */
    uint64_t seed;
} leat_job_init_options;

/* A commented job file that leat_job_open accepts. */
void leat_job_init_text(const leat_job_found *found, size_t count,
                        const leat_job_init_options *options, leat_buffer *text);

/* Every key with type, default and meaning, for a terminal. */
void leat_job_help(leat_buffer *text);
/* The same as a Markdown table; docs/job-file.md holds it between two marks, and a test compares. */
void leat_job_help_markdown(leat_buffer *text);
#endif
