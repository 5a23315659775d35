/* drive.c: the state machine's turn, and who runs it: a loader thread, or the caller. */
#include "base/memory.h"
#include "feed/drive.h"
#include <errno.h>
#include <signal.h>
#include <time.h>

static const uint64_t NAP_LEAST_NS = 10000, NAP_MOST_NS = 1000000;
/* With nothing under way a signal handler's wish is looked for this often. */
static const uint64_t NAP_IDLE_NS = 50000000;

void leat_feed_wake_driver(leat_feed *feed)
{
    pthread_mutex_lock(&feed->mutex);
    feed->wake_pending = true;
    pthread_cond_signal(&feed->driver_wake);
    pthread_mutex_unlock(&feed->mutex);
}

void leat_feed_fail(leat_feed *feed, const leat_error *error, uint64_t step)
{
    pthread_mutex_lock(&feed->mutex);
    if (feed->verdict == LEAT_OK) {
        feed->error = *error;
        feed->error_step = step;
        feed->verdict = error->status;
    }
    feed->hold = false;
    pthread_cond_broadcast(&feed->trainer_wake);
    pthread_mutex_unlock(&feed->mutex);
}

void leat_feed_fail_here(leat_feed *feed, const leat_error *error, uint64_t step)
{
    if (feed->local_status != LEAT_OK) {
        return;
    }
    feed->local_status = error->status;
    feed->local_error = *error;
    feed->local_error.rank = feed->wire->rank;
    feed->wire->ops->poke(feed->wire);
    leat_verdict_begin(feed, step);
}

/* A gather that nobody answers: silence is an error only after peer_timeout. */
static void check_silence(leat_feed *feed)
{
    if (!feed->tick_open || feed->verdict != LEAT_OK || feed->options.timeout_ns == 0) {
        return;
    }
    uint64_t waited = feed->wire->clock->now_ns(feed->wire->clock->context) - feed->tick_since_ns;
    if (waited > feed->options.timeout_ns) {
        leat_error error;
        LEAT_FAIL(&error, LEAT_PEER, "some rank has been silent for %llu s",
                  (unsigned long long)(waited / 1000000000u));
        leat_error_wanted(&error, "an answer of all %d ranks within peer_timeout",
                          feed->wire->size);
        leat_error_hint(&error, "look at the other ranks' output; start again with --resume");
        error.rank = feed->wire->rank;
        leat_feed_fail(feed, &error, 0);
    }
}

static void advance_call(leat_feed *feed)
{
    pthread_mutex_lock(&feed->mutex);
    bool start = feed->call.asked && !feed->call.open;
    bool finished = feed->call.open && feed->call.group.pending == 0;
    if (finished) {
        feed->call.open = feed->call.asked = false;
        feed->call.done = true;
        pthread_cond_broadcast(&feed->trainer_wake);
    }
    feed->call.open = feed->call.open || start;
    pthread_mutex_unlock(&feed->mutex);
    if (start) {
        leat_error error;
        if (feed->wire->ops->gather(feed->wire, &feed->call.group, LEAT_CHANNEL_CALL,
                                    feed->call.mine, feed->call.all, feed->call.sizes,
                                    feed->call.offsets, &error) != LEAT_OK) {
            leat_feed_fail(feed, &error, 0);
        }
    }
}

/* Nothing will come from the others any more.  Steps before the failing one are finished from what is here; when nothing is
 * left to be done and a step still lacks something, the error is given at once. */
static bool turn_alone(leat_feed *feed)
{
    bool ran = leat_pool_run_one(feed->pool);
    bool collected = leat_feed_collect(feed);
    leat_steps_advance(feed);
    if (feed->tasks_out == 0) {
        pthread_mutex_lock(&feed->mutex);
        if (feed->error_step > feed->ready_steps) {
            feed->error_step = feed->ready_steps;
            pthread_cond_broadcast(&feed->trainer_wake);
        }
        pthread_mutex_unlock(&feed->mutex);
    }
    return ran || collected;
}

bool leat_feed_turn(leat_feed *feed)
{
    leat_error error;
    uint64_t tick = feed->tick, assembled = feed->assembled, digested = feed->digested;
    if (!feed->wire_failed && feed->wire->ops->test(feed->wire, &error) != LEAT_OK) {
        /* A rank that has the verdict may leave before this one has looked: what came with the failure counts first. */
        leat_verdict_take(feed);
        feed->wire_failed = true;
        leat_feed_fail(feed, &error, 0);
    }
    if (feed->wire_failed) {
        return turn_alone(feed);
    }
    bool ran = leat_pool_run_one(feed->pool);
    bool collected = leat_feed_collect(feed);
    leat_tick_advance(feed);
    bool moved = feed->exchange != NULL && leat_exchange_advance(feed);
    if (collected || moved || tick != feed->tick) {
        leat_steps_advance(feed);
    }
    leat_digests_advance(feed);
    pthread_mutex_lock(&feed->mutex);
    bool idle = feed->digest_count == 0 && !feed->digest_open &&
                (feed->exchange == NULL || !leat_exchange_under_way(feed));
    if (feed->settled != feed->tick || feed->messages_idle != idle) {
        feed->settled = feed->tick;
        feed->messages_idle = idle;
        pthread_cond_broadcast(&feed->trainer_wake);
    }
    pthread_mutex_unlock(&feed->mutex);
    advance_call(feed);
    check_silence(feed);
    return ran || collected || moved || tick != feed->tick || assembled != feed->assembled ||
           digested != feed->digested;
}

/* Is an operation of the wire under way, so that it must be tested? */
static bool under_way(const leat_feed *feed)
{
    return feed->tick_open || feed->digest_open || feed->call.open || feed->verdict_open ||
           (feed->exchange != NULL && leat_exchange_under_way(feed));
}

static void nap(leat_feed *feed, uint64_t ns)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    uint64_t sum = (uint64_t)until.tv_nsec + ns;
    until.tv_sec += (time_t)(sum / 1000000000u);
    until.tv_nsec = (long)(sum % 1000000000u);
    pthread_mutex_lock(&feed->mutex);
    if (!feed->wake_pending && !feed->closing) {
        pthread_cond_timedwait(&feed->driver_wake, &feed->mutex, &until);
    }
    feed->wake_pending = false;
    pthread_mutex_unlock(&feed->mutex);
}

static void *drive(void *argument)
{
    leat_feed *feed = argument;
    uint64_t ns = NAP_LEAST_NS;
    for (;;) {
        pthread_mutex_lock(&feed->mutex);
        bool closing = feed->closing;
        pthread_mutex_unlock(&feed->mutex);
        if (closing) {
            return NULL;
        }
        if (leat_feed_turn(feed)) {
            ns = NAP_LEAST_NS;
            continue;
        }
        nap(feed, under_way(feed) ? ns : NAP_IDLE_NS);
        ns = ns * 2 < NAP_MOST_NS ? ns * 2 : NAP_MOST_NS;
    }
}

void leat_feed_thread_start(leat_feed *feed)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    LEAT_ASSERT(pthread_create(&feed->thread, NULL, drive, feed) == 0);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    feed->thread_runs = true;
}

void leat_feed_thread_stop(leat_feed *feed)
{
    if (!feed->thread_runs) {
        return;
    }
    pthread_mutex_lock(&feed->mutex);
    feed->closing = true;
    pthread_cond_signal(&feed->driver_wake);
    pthread_mutex_unlock(&feed->mutex);
    pthread_join(feed->thread, NULL);
    feed->thread_runs = false;
}

void leat_feed_wait(leat_feed *feed, uint64_t *ns)
{
    if (feed->threaded) {
        pthread_cond_wait(&feed->trainer_wake, &feed->mutex);
        return;
    }
    pthread_mutex_unlock(&feed->mutex);
    if (leat_feed_turn(feed)) {
        *ns = NAP_LEAST_NS;
    } else {
        nap(feed, *ns);
        *ns = *ns * 2 < NAP_MOST_NS ? *ns * 2 : NAP_MOST_NS;
    }
    pthread_mutex_lock(&feed->mutex);
}
