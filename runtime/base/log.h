/* log.h: the one sink for messages of the library.  The library never prints; it says a line to the sink given at open.
 * A line is one sentence without a line end; warnings reach people, info lines are for logs. */
#ifndef LEAT_BASE_LOG_H
#define LEAT_BASE_LOG_H
#include "leat_status.h"

typedef enum leat_log_level { LEAT_LOG_INFO, LEAT_LOG_WARNING } leat_log_level;

typedef struct leat_log {
    void (*say)(void *context, leat_log_level level,
                const char *line); /* any thread; may be NULL */
    void *context;
} leat_log;

void leat_log_say(const leat_log *log, leat_log_level level, const char *format, ...)
    LEAT_PRINTF(3, 4);
#endif
