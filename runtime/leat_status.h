/* leat_status.h: how every fallible call of leat says what happened.
 *
 * A call returns a leat_status; on anything but LEAT_OK it has filled the caller's leat_error.  The status says what the
 * caller can do, the error says what was found, what was wanted, where, and what to do about it.  A leat_error is a plain
 * value: it owns nothing and needs no release.  One thread at a time writes one leat_error. */
#ifndef LEAT_STATUS_H
#define LEAT_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LEAT_MUST_USE __attribute__((warn_unused_result))
#define LEAT_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#define LEAT_PUBLIC __attribute__((visibility("default")))
#else
#define LEAT_MUST_USE
#define LEAT_PRINTF(format_index, first)
#define LEAT_PUBLIC
#endif

/* X(name, exit code of the command, 1 where starting the same job again can help, text) */
#define LEAT_STATUSES(X) \
    X(OK, 0, 0, "done") \
    X(INVALID, 2, 0, "wrong use or job file") \
    X(NOT_FOUND, 3, 0, "not found") \
    X(IO, 3, 0, "cannot read or write") \
    X(CORRUPT, 3, 0, "corrupt data") \
    X(MISMATCH, 4, 0, "does not match") \
    X(PEER, 5, 1, "a peer failed") \
    X(ENVIRONMENT, 6, 0, "this environment will not do") \
    X(LIMIT, 7, 0, "a limit was met") \
    X(DEFECT, 70, 0, "a defect of leat")

typedef enum leat_status {
#define LEAT_STATUS_ENUM(name, exit_code, retry, text) LEAT_##name,
    LEAT_STATUSES(LEAT_STATUS_ENUM)
#undef LEAT_STATUS_ENUM
        LEAT_STATUS_COUNT
} leat_status;

typedef struct leat_error {
    leat_status status;
    int rank;        /* the rank that decided the error, -1 where there are no ranks */
    char text[480];  /* what went wrong, one sentence without a final stop */
    char where[320]; /* file:line, file:byte, or the key; "" where there is none */
    char found[192];
    char wanted[192];
    char hint[320];        /* what to do */
    const char *code_file; /* where in leat it was decided; a string literal */
    int code_line;
} leat_error;

/* "LEAT_CORRUPT" -> "CORRUPT" and so on; never NULL. */
LEAT_PUBLIC const char *leat_status_name(leat_status status);
/* The exit code that the command `leat` gives for it. */
LEAT_PUBLIC int leat_status_exit_code(leat_status status);
/* 1 where starting the same job again can help. */
LEAT_PUBLIC int leat_status_retry(leat_status status);

#ifdef __cplusplus
}
#endif
#endif
