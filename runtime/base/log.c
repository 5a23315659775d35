#include "base/log.h"
#include <stdarg.h>
#include <stdio.h>

void leat_log_say(const leat_log *log, leat_log_level level, const char *format, ...)
{
    if (log == NULL || log->say == NULL) {
        return;
    }
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    log->say(log->context, level, line);
}
