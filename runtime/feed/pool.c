#include "feed/pool.h"
#include "base/memory.h"
#include <pthread.h>
#include <signal.h>

typedef struct task_list {
    leat_task *first, *last;
} task_list;

struct leat_pool {
    pthread_mutex_t mutex;
    pthread_cond_t work;
    task_list waiting[LEAT_URGENCIES];
    task_list finished;
    bool closing;
    uint32_t threads;
    pthread_t *ids;
    leat_worker *workers; /* [max(threads, 1)] */
    leat_pool_options options;
};

typedef struct worker_start {
    leat_pool *pool;
    leat_worker *worker;
} worker_start;

static void list_add(task_list *list, leat_task *task)
{
    task->next = NULL;
    if (list->last != NULL) {
        list->last->next = task;
    } else {
        list->first = task;
    }
    list->last = task;
}

/* The most urgent waiting task; the mutex is held. */
static leat_task *take(leat_pool *pool)
{
    for (int i = 0; i < LEAT_URGENCIES; i++) {
        task_list *list = &pool->waiting[i];
        leat_task *task = list->first;
        if (task != NULL) {
            list->first = task->next;
            if (list->first == NULL) {
                list->last = NULL;
            }
            return task;
        }
    }
    return NULL;
}

static void *work(void *argument)
{
    worker_start start = *(worker_start *)argument;
    leat_free(argument);
    leat_pool *pool = start.pool;
    pthread_mutex_lock(&pool->mutex);
    while (!pool->closing) {
        leat_task *task = take(pool);
        if (task == NULL) {
            pthread_cond_wait(&pool->work, &pool->mutex);
            continue;
        }
        pthread_mutex_unlock(&pool->mutex);
        task->run(task, start.worker);
        pthread_mutex_lock(&pool->mutex);
        list_add(&pool->finished, task);
        pthread_mutex_unlock(&pool->mutex);
        pool->options.wake(pool->options.context);
        pthread_mutex_lock(&pool->mutex);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

/* Signals belong to the program's own threads: a worker that caught one would only delay it. */
static void start_threads(leat_pool *pool)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (uint32_t i = 0; i < pool->threads; i++) {
        worker_start *start = leat_alloc(1, sizeof *start);
        *start = (worker_start){pool, &pool->workers[i]};
        LEAT_ASSERT(pthread_create(&pool->ids[i], NULL, work, start) == 0);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

leat_pool *leat_pool_open(const leat_pool_options *options)
{
    leat_pool *pool = leat_alloc(1, sizeof *pool);
    uint32_t workers = options->threads != 0 ? options->threads : 1;
    pool->options = *options;
    pool->threads = options->threads;
    pool->workers = leat_alloc(workers, sizeof *pool->workers);
    pool->ids = leat_alloc(workers, sizeof *pool->ids);
    for (uint32_t i = 0; i < workers; i++) {
        pool->workers[i].reader = leat_corpus_reader_open(options->corpus);
        pool->workers[i].hash = leat_sha256_open();
        if (options->tokenizer != NULL) {
            pool->workers[i].encoder = leat_encoder_open(options->tokenizer, 0);
        }
    }
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->work, NULL);
    start_threads(pool);
    return pool;
}

leat_task *leat_pool_close(leat_pool *pool)
{
    if (pool == NULL) {
        return NULL;
    }
    pthread_mutex_lock(&pool->mutex);
    pool->closing = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->mutex);
    for (uint32_t i = 0; i < pool->threads; i++) {
        pthread_join(pool->ids[i], NULL);
    }
    for (leat_task *task; (task = take(pool)) != NULL;) {
        list_add(&pool->finished, task);
    }
    leat_task *left = pool->finished.first;
    uint32_t workers = pool->threads != 0 ? pool->threads : 1;
    for (uint32_t i = 0; i < workers; i++) {
        leat_corpus_reader_close(pool->workers[i].reader);
        leat_encoder_close(pool->workers[i].encoder);
        leat_sha256_close(pool->workers[i].hash);
        leat_free(pool->workers[i].texts);
    }
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->mutex);
    leat_free(pool->workers);
    leat_free(pool->ids);
    leat_free(pool);
    return left;
}

void leat_pool_submit(leat_pool *pool, leat_task *task)
{
    pthread_mutex_lock(&pool->mutex);
    list_add(&pool->waiting[task->urgency], task);
    pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->mutex);
}

leat_task *leat_pool_collect(leat_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    leat_task *first = pool->finished.first;
    pool->finished = (task_list){NULL, NULL};
    pthread_mutex_unlock(&pool->mutex);
    return first;
}

bool leat_pool_run_one(leat_pool *pool)
{
    if (pool->threads != 0) {
        return false;
    }
    leat_task *task = take(pool);
    if (task == NULL) {
        return false;
    }
    task->run(task, &pool->workers[0]);
    list_add(&pool->finished, task);
    return true;
}
