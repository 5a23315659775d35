/* loader.h: the inside of a leat_loader, shared by the files of this folder: job, tokenizer, corpus and feed joined. */
#ifndef LEAT_LOADER_LOADER_H
#define LEAT_LOADER_LOADER_H
#include "digest/batch_log.h"
#include "feed/feed.h"
#include "io/state/checkpoint.h"
#include "job/manifest.h"
#include "loader/run_folder.h"

/* The shards of all datasets, one after another in the order of the job. */
typedef struct leat_shards {
    leat_path_list *lists;          /* [datasets] paths and names */
    leat_shard_summary **summaries; /* [datasets][shards] */
    uint64_t **ends;                /* [datasets][shards] documents up to and with the shard */
    uint64_t *documents, *records, *text_bytes; /* [datasets] */
    size_t datasets, count;
} leat_shards;

struct leat_loader {
    leat_wire *wire;  /* of this loader alone where the caller's wire can dup, else the caller's */
    leat_wire *given; /* the caller's */
    leat_options options;
    leat_log log;
    leat_job *job;
    leat_tokenizer *tokenizer;
    bool has_bos, has_eos;
    uint32_t bos, eos;
    leat_shards shards;
    leat_corpus *corpus;
    leat_corpus_reader *reader; /* of the audit, opened when first used */

    leat_plan_spec spec;
    leat_plan_dataset *plan_datasets;
    leat_plan_stage *plan_stages;
    uint64_t **stage_weights;
    uint64_t *weights;
    bool *add_special;
    leat_buffer settings;    /* order-defining settings, canonical JSON */
    leat_manifest *manifest; /* of this run, as far as it is known */

    leat_checkpoint start; /* where this run goes on from; cursor empty: the beginning */
    uint64_t first_step;   /* first step delivered */
    int slice, slices, *slice_owner, *rank_slices;

    leat_run_folder *folder; /* rank 0 with a run folder; else NULL */
    leat_feed *feed;
    bool failed; /* an error was given: close is LOCAL */
};

/* corpus_set.c, COLLECTIVE: globs on rank 0, side-cars shared out, summaries gathered, corpus opened. */
leat_status leat_loader_open_corpus(leat_loader *loader, leat_error *error) LEAT_MUST_USE;
void leat_shards_deinit(leat_shards *shards);
leat_record_rules leat_loader_record_rules(const leat_job *job, size_t dataset);
/* identity.c, LOCAL: weights, plan spec, order-defining settings and digest. */
leat_status leat_loader_open_spec(leat_loader *loader, leat_error *error) LEAT_MUST_USE;
/* resume.c, COLLECTIVE: the state to go on from reaches every rank and is compared with the job. */
leat_status leat_loader_open_start(leat_loader *loader, leat_error *error) LEAT_MUST_USE;
/* manifest.c.  open is COLLECTIVE: compares what the run folder holds, adds this start, writes. */
leat_status leat_loader_open_manifest(leat_loader *loader, leat_error *error) LEAT_MUST_USE;
leat_status leat_loader_read_manifest(const char *folder, leat_manifest **out,
                                      leat_error *error) LEAT_MUST_USE;
/* slices.c, COLLECTIVE: which rank takes which rows. */
leat_status leat_loader_open_slices(leat_loader *loader, leat_error *error) LEAT_MUST_USE;
/* collectives.c, COLLECTIVE: ENVIRONMENT where the job asks for NCCL by name and a rank cannot use it. */
leat_status leat_loader_check_collectives(leat_loader *loader, leat_error *error) LEAT_MUST_USE;
/* Everything but the feed: what `leat index` and the audit commands need.  COLLECTIVE. */
leat_status leat_loader_open_job(leat_loader **out, leat_wire *wire, const char *job_path,
                                 const leat_options *options, leat_error *error) LEAT_MUST_USE;
#endif
