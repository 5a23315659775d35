/* status.h: making and passing on errors (the public types are in leat_status.h).
 *
 * Who decides an error writes it, once; callers only add where it happened.  Use:
 *
 *     return LEAT_FAIL(error, LEAT_CORRUPT, "the index of shard %s is damaged", path);
 *
 *     LEAT_FAIL(error, LEAT_CORRUPT, "bad magic number");
 *     leat_error_where(error, "%s:%" PRIu64, path, line);
 *     leat_error_found(error, "0x%08x", found);
 *     return error->status;
 *
 * LOCAL; thread-safe on different errors. */
#ifndef LEAT_BASE_STATUS_H
#define LEAT_BASE_STATUS_H
#include "leat_status.h"
#include <stddef.h>

leat_status leat_fail(leat_error *error, leat_status status, const char *code_file, int code_line,
                      const char *format, ...) LEAT_PRINTF(5, 6);
#define LEAT_FAIL(error, status, ...) leat_fail((error), (status), __FILE__, __LINE__, __VA_ARGS__)

/* LEAT_IO with the text of errno; NOT_FOUND for ENOENT. */
leat_status leat_fail_errno(leat_error *error, const char *doing, const char *path,
                            int errno_value);

void leat_error_clear(leat_error *error);
void leat_error_where(leat_error *error, const char *format, ...) LEAT_PRINTF(2, 3);
void leat_error_found(leat_error *error, const char *format, ...) LEAT_PRINTF(2, 3);
void leat_error_wanted(leat_error *error, const char *format, ...) LEAT_PRINTF(2, 3);
void leat_error_hint(leat_error *error, const char *format, ...) LEAT_PRINTF(2, 3);
/* Puts "prefix: " in front of the text. */
void leat_error_wrap(leat_error *error, const char *format, ...) LEAT_PRINTF(2, 3);
/* The whole error as lines for people, always ended by NUL; what does not fit is cut. */
void leat_error_format(const leat_error *error, char *out, size_t out_size);

/* Goes to the label `done` with `status` set where the expression fails. */
#define LEAT_TRY(expression) \
    do { \
        status = (expression); \
        if (status != LEAT_OK) { \
            goto done; \
        } \
    } while (0)

/* An invariant of ours, on in every build.  Calls the handler (default: print and abort). */
#define LEAT_ASSERT(condition) \
    ((condition) ? (void)0 : leat_assert_failed(#condition, __FILE__, __LINE__))
_Noreturn void leat_assert_failed(const char *condition, const char *file, int line);
/* `handler` ends the process; it is set once, by main, before threads exist. */
void leat_assert_handler_set(void (*handler)(const char *message));
#endif
