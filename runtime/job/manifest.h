/* manifest.h: DIR/manifest.json: what a run is made of: the job in canonical form, its order-defining settings and their
 * digest, limits, per dataset the integer weight and every shard with record count and hash, the tokenizer, versions,
 * restarts and forks.  This is the text in memory; whoever owns the run folder reads and writes the file, whole.
 * A leat_manifest owns everything it points to.  LOCAL. */
#ifndef LEAT_JOB_MANIFEST_H
#define LEAT_JOB_MANIFEST_H
#include "job/job.h"

enum { LEAT_MANIFEST_VERSION = 1 };

typedef struct leat_manifest_shard {
    char *name;
    uint64_t records;
    uint8_t content_hash[16];
} leat_manifest_shard;

typedef struct leat_manifest_dataset {
    char *name;
    uint64_t weight; /* the integer in force before the first stage; a resume uses it */
    uint64_t documents, text_bytes;
    uint8_t fingerprint[32]; /* leat_job_shards_digest */
    leat_manifest_shard *shards;
    size_t shard_count;
} leat_manifest_dataset;

typedef struct leat_manifest_restart {
    uint64_t step, ranks;
    char **hosts;
    size_t host_count;
} leat_manifest_restart;

typedef struct leat_manifest_fork {
    char *parent; /* run folder */
    uint64_t step;
    char **differences, **restarted; /* in words; names of datasets that begin again */
    size_t difference_count, restarted_count;
} leat_manifest_fork;

typedef struct leat_manifest_version {
    char *name, *value;
} leat_manifest_version;

typedef struct leat_manifest {
    char *job_path;
    char *job, *settings, *limits; /* JSON texts: leat_job_canonical, _order_settings, _limits */
    uint8_t digest[32];            /* of `settings` */
    bool has_tokenizer;
    uint8_t tokenizer_sha256[32];
    leat_manifest_dataset *datasets;
    size_t dataset_count;
    leat_manifest_version *versions;
    size_t version_count, version_capacity;
    leat_manifest_restart *restarts;
    size_t restart_count, restart_capacity;
    leat_manifest_fork *forks;
    size_t fork_count, fork_capacity;
} leat_manifest;

leat_manifest *leat_manifest_make(const leat_job *job, const leat_job_identity *identity);
void leat_manifest_close(leat_manifest *manifest); /* accepts NULL */
/* The version of `name` (leat, MPI, HDF5 …), in place of what was there. */
void leat_manifest_set_version(leat_manifest *manifest, const char *name, const char *value);
void leat_manifest_add_restart(leat_manifest *manifest, uint64_t step, uint64_t ranks,
                               const char *const *hosts, size_t host_count);
/* Copies the fork's texts. */
void leat_manifest_add_fork(leat_manifest *manifest, const leat_manifest_fork *fork);

void leat_manifest_write(const leat_manifest *manifest, leat_buffer *json);
/* CORRUPT: no whole manifest; names what is missing or damaged.  MISMATCH: of a version that is not ours. */
leat_status leat_manifest_read(leat_manifest **out, leat_bytes text, const char *path,
                               leat_error *error) LEAT_MUST_USE;

/* First file in which two manifests differ: MISMATCH naming dataset, file, both record counts and both hashes; OK where all
 * shards are equal. */
leat_status leat_manifest_compare_shards(const leat_manifest *ours, const char *our_name,
                                         const leat_manifest *theirs, const char *their_name,
                                         leat_error *error) LEAT_MUST_USE;
#endif
