/* check.h: what a test program needs.  A case is a row {label, input, want}; a check prints file:line, label, got and want
 * and counts; main ends with `return check_done();`. */
#ifndef LEAT_TESTS_CHECK_H
#define LEAT_TESTS_CHECK_H
#include "leat_status.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic int check_failures, check_count; /* some tests check on several threads */

static inline int check_done(void)
{
    printf("%d checks, %d failed\n", check_count, check_failures);
    return check_failures == 0 && check_count > 0 ? 0 : 1;
}

static inline int check_true_at(const char *file, int line, int ok, const char *what)
{
    check_count++;
    if (!ok) {
        check_failures++;
        printf("%s:%d: %s\n", file, line, what);
    }
    return ok;
}

static inline int check_u64_at(const char *file, int line, const char *label, uint64_t got,
                               uint64_t want)
{
    check_count++;
    if (got != want) {
        check_failures++;
        printf("%s:%d: %s: got %" PRIu64 ", want %" PRIu64 "\n", file, line, label, got, want);
    }
    return got == want;
}

static inline int check_text_at(const char *file, int line, const char *label, const char *got,
                                const char *want)
{
    check_count++;
    if (strcmp(got, want) != 0) {
        check_failures++;
        printf("%s:%d: %s: got \"%s\", want \"%s\"\n", file, line, label, got, want);
        return 0;
    }
    return 1;
}

/* got contains want */
static inline int check_has_at(const char *file, int line, const char *label, const char *got,
                               const char *want)
{
    check_count++;
    if (strstr(got, want) == NULL) {
        check_failures++;
        printf("%s:%d: %s: got \"%s\", want \"%s\" in it\n", file, line, label, got, want);
        return 0;
    }
    return 1;
}

static inline int check_ok_at(const char *file, int line, leat_status status,
                              const leat_error *error)
{
    check_count++;
    if (status != LEAT_OK) {
        check_failures++;
        printf("%s:%d: %s: %s (%s; found %s; wanted %s) at %s:%d\n", file, line,
               leat_status_name(status), error->text, error->where, error->found, error->wanted,
               error->code_file, error->code_line);
    }
    return status == LEAT_OK;
}

#define CHECK(condition) check_true_at(__FILE__, __LINE__, (condition) ? 1 : 0, #condition)
#define CHECK_U64(label, got, want) check_u64_at(__FILE__, __LINE__, label, got, want)
#define CHECK_TEXT(label, got, want) check_text_at(__FILE__, __LINE__, label, got, want)
#define CHECK_HAS(label, got, want) check_has_at(__FILE__, __LINE__, label, got, want)
#define CHECK_OK(status, error) check_ok_at(__FILE__, __LINE__, status, error)

/* A seeded generator for tests (SplitMix64). */
static inline uint64_t check_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
#endif
