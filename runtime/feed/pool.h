/* pool.h: the worker threads of a rank.  Tasks are started in order of urgency, then of submission; finished tasks are
 * collected by the one thread that drives the feed.  A worker writes only its own task.  With 0 threads the driving thread
 * runs tasks itself, one a call of leat_pool_run_one. */
#ifndef LEAT_FEED_POOL_H
#define LEAT_FEED_POOL_H
#include "base/sha256.h"
#include "io/index/corpus.h"
#include "tokenize/tokenizer.h"

/* What one thread works with. */
typedef struct leat_worker {
    leat_corpus_reader *reader;
    leat_encoder *encoder; /* NULL where the job has no text */
    leat_sha256 *hash;
    leat_text *texts;
    size_t text_capacity;
} leat_worker;

typedef enum leat_urgency {
    LEAT_URGENT_ASSEMBLE,
    LEAT_URGENT_FETCH,
    LEAT_URGENT_COUNT,
    LEAT_URGENCIES
} leat_urgency;

typedef struct leat_task leat_task;
struct leat_task {
    leat_task *next;
    leat_urgency urgency;
    void (*run)(leat_task *task, leat_worker *worker);
};

typedef struct leat_pool leat_pool;

typedef struct leat_pool_options {
    leat_corpus *corpus;
    const leat_tokenizer *tokenizer; /* may be NULL */
    uint32_t threads;
    void (*wake)(void *context); /* called by workers after each task */
    void *context;
} leat_pool_options;

leat_pool *leat_pool_open(const leat_pool_options *options);
/* Tasks that have not begun are left undone; those that run are waited for.  Gives all tasks that were not collected. */
leat_task *leat_pool_close(leat_pool *pool);
void leat_pool_submit(leat_pool *pool, leat_task *task);
/* All finished tasks as a list in the order they finished, or NULL. */
leat_task *leat_pool_collect(leat_pool *pool);
/* 0 threads: runs the most urgent task on the calling thread; false where there is none. */
bool leat_pool_run_one(leat_pool *pool);
#endif
