/* clock.h: time reaches the code through this struct, so that a simulator can stand in.  Time never decides a batch. */
#ifndef LEAT_BASE_CLOCK_H
#define LEAT_BASE_CLOCK_H
#include <stdint.h>

typedef struct leat_clock {
    uint64_t (*now_ns)(void *context);  /* monotonic */
    uint64_t (*wall_ns)(void *context); /* since 1970 */
    void (*sleep_ns)(void *context, uint64_t ns);
    void *context;
} leat_clock;

const leat_clock *leat_clock_system(void);
#endif
