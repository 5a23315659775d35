/* doctor.h: what `leat doctor` found, one finding a subject. */
#ifndef LEAT_CLI_DOCTOR_H
#define LEAT_CLI_DOCTOR_H
#include "cli/cli.h"

typedef enum leat_doctor_level {
    LEAT_DOCTOR_OK,
    LEAT_DOCTOR_ABSENT, /* not here, and not needed */
    LEAT_DOCTOR_WARN,   /* works, badly */
    LEAT_DOCTOR_FAIL    /* will not do */
} leat_doctor_level;

typedef struct leat_doctor_finding {
    char subject[32];
    leat_doctor_level level;
    char found[640], remedy[320];
} leat_doctor_finding;

enum { LEAT_DOCTOR_FINDINGS_MAX = 64 };

typedef struct leat_doctor {
    leat_cli *cli;
    leat_doctor_finding findings[LEAT_DOCTOR_FINDINGS_MAX];
    size_t count;
} leat_doctor;

/* A finding to be filled in further; the last one is used again where there are too many. */
leat_doctor_finding *leat_doctor_add(leat_doctor *doctor, const char *subject,
                                     leat_doctor_level level, const char *format, ...)
    LEAT_PRINTF(4, 5);
void leat_doctor_remedy(leat_doctor_finding *finding, const char *format, ...) LEAT_PRINTF(2, 3);
/* doctor_path.c: the file system of a path: its kind, and whether what a run folder needs works there. */
void leat_doctor_path(leat_doctor *doctor, const char *path);
/* doctor_ranks.c, COLLECTIVE: MPI, cores and binding against the ranks on each host. */
leat_status leat_doctor_ranks(leat_doctor *doctor, leat_error *error) LEAT_MUST_USE;
#endif
