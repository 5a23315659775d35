#include "base/clock.h"
#include <time.h>

static uint64_t read_clock(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t system_now(void *context)
{
    (void)context;
    return read_clock(CLOCK_MONOTONIC);
}

static uint64_t system_wall(void *context)
{
    (void)context;
    return read_clock(CLOCK_REALTIME);
}

static void system_sleep(void *context, uint64_t ns)
{
    (void)context;
    struct timespec left = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    nanosleep(&left, NULL);
}

const leat_clock *leat_clock_system(void)
{
    static const leat_clock clock = {system_now, system_wall, system_sleep, 0};
    return &clock;
}
