#include "base/status.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int exit_code, retry;
    const char *text;
} statuses[] = {
#define LEAT_STATUS_ROW(name, exit_code, retry, text) {#name, exit_code, retry, text},
    LEAT_STATUSES(LEAT_STATUS_ROW)
#undef LEAT_STATUS_ROW
};

const char *leat_status_name(leat_status status)
{
    return (unsigned)status < LEAT_STATUS_COUNT ? statuses[status].name : "?";
}

int leat_status_exit_code(leat_status status)
{
    return (unsigned)status < LEAT_STATUS_COUNT ? statuses[status].exit_code : 70;
}

int leat_status_retry(leat_status status)
{
    return (unsigned)status < LEAT_STATUS_COUNT ? statuses[status].retry : 0;
}

void leat_error_clear(leat_error *error)
{
    memset(error, 0, sizeof *error);
    error->rank = -1;
    error->code_file = "";
}

leat_status leat_fail(leat_error *error, leat_status status, const char *code_file, int code_line,
                      const char *format, ...)
{
    va_list arguments;
    leat_error_clear(error);
    error->status = status;
    error->code_file = code_file;
    error->code_line = code_line;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return status;
}

leat_status leat_fail_errno(leat_error *error, const char *doing, const char *path, int errno_value)
{
    char buffer[128];
    const char *reason = strerror_r(errno_value, buffer, sizeof buffer); /* the GNU one */
    leat_fail(error, errno_value == ENOENT ? LEAT_NOT_FOUND : LEAT_IO, __FILE__, __LINE__,
              "cannot %s %s: %s", doing, path, reason);
    leat_error_where(error, "%s", path);
    leat_error_found(error, "%s", reason);
    return error->status;
}

/* Five setters of one shape: each writes one field of the error. */
#define LEAT_ERROR_SETTER(field) \
    void leat_error_##field(leat_error *error, const char *format, ...) \
    { \
        va_list arguments; \
        va_start(arguments, format); \
        vsnprintf(error->field, sizeof error->field, format, arguments); \
        va_end(arguments); \
    }
LEAT_ERROR_SETTER(where)
LEAT_ERROR_SETTER(found)
LEAT_ERROR_SETTER(wanted)
LEAT_ERROR_SETTER(hint)

void leat_error_wrap(leat_error *error, const char *format, ...)
{
    char text[sizeof error->text];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t used = length < 0 ? 0 : (size_t)length;
    if (used >= sizeof text - 3) {
        return;
    }
    snprintf(text + used, sizeof text - used, ": %.*s", (int)(sizeof text - used - 3), error->text);
    memcpy(error->text, text, sizeof text);
}

void leat_error_format(const leat_error *error, char *out, size_t out_size)
{
    const struct {
        const char *label, *value;
    } lines[] = {{"where", error->where},
                 {"found", error->found},
                 {"wanted", error->wanted},
                 {"hint", error->hint}};
    size_t used = 0;
    int n = error->rank >= 0 ? snprintf(out, out_size, "rank %d: %s", error->rank, error->text)
                             : snprintf(out, out_size, "%s", error->text);
    for (size_t i = 0;; i++) {
        if (n < 0 || used + (size_t)n >= out_size) {
            return;
        }
        used += (size_t)n;
        n = 0;
        if (i == sizeof lines / sizeof *lines) {
            return;
        }
        if (lines[i].value[0] != '\0') {
            n = snprintf(out + used, out_size - used, "\n  %s: %s", lines[i].label, lines[i].value);
        }
    }
}

static void (*assert_handler)(const char *message);

void leat_assert_handler_set(void (*handler)(const char *message))
{
    assert_handler = handler;
}

_Noreturn void leat_assert_failed(const char *condition, const char *file, int line)
{
    char message[512];
    snprintf(message, sizeof message, "a defect of leat: %s:%d: %s does not hold", file, line,
             condition);
    if (assert_handler != NULL) {
        assert_handler(message);
    }
    fprintf(stderr, "%s\n", message);
    abort();
}
