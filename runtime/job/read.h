/* read.h: what the parts of reading a job file share.  Inside job/ only. */
#ifndef LEAT_JOB_READ_H
#define LEAT_JOB_READ_H
#include "job/schema.h"
#include "job/yaml.h"

typedef struct leat_job_reader {
    leat_yaml yaml;
    size_t root;
    leat_job *job;
    leat_job_raw_stage *raw_stages; /* [job->stage_count] */
    uint32_t *by_name;              /* [datasets] sorted by name */
    leat_error *error;
} leat_job_reader;

/* INVALID at a node: "PLACE+NAME: text", where "file:line, key PLACE+NAME", found the node in words. */
leat_status leat_job_fail_at(const leat_job_reader *reader, size_t node, const char *place,
                             const char *name, const char *format, ...) LEAT_PRINTF(5, 6);

/* --set key=value, onto the tree. */
leat_status leat_job_override(leat_job_reader *reader, const char *override) LEAT_MUST_USE;
/* The tree into reader->job, each value checked for itself. */
leat_status leat_job_read(leat_job_reader *reader) LEAT_MUST_USE;
/* One scalar of the types up to LEAT_KEY_WEIGHT, into `at`. */
leat_status leat_job_read_scalar(const leat_job_reader *reader, size_t node,
                                 const leat_job_key *key, const char *place,
                                 void *at) LEAT_MUST_USE;
/* A decimal with at most six digits after the point, as millionths. */
leat_status leat_job_read_decimal(const leat_job_reader *reader, size_t node, const char *place,
                                  const char *name, uint64_t *millionths) LEAT_MUST_USE;
/* Names sorted; two of one name are an error.  Fills reader->by_name. */
leat_status leat_job_sort_names(leat_job_reader *reader) LEAT_MUST_USE;
/* Number of the dataset of that name; SIZE_MAX where there is none. */
size_t leat_job_find_dataset(const leat_job_reader *reader, const char *name);
/* Defaults that follow from other keys, and everything that two keys decide together. */
leat_status leat_job_check(leat_job_reader *reader) LEAT_MUST_USE;
#endif
