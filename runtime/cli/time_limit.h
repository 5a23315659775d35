/* time_limit.h: when a run stops by itself, so that it saves before the batch system ends it. */
#ifndef LEAT_CLI_TIME_LIMIT_H
#define LEAT_CLI_TIME_LIMIT_H
#include "base/clock.h"
#include "cli/cli.h"

typedef struct leat_time_limit {
    uint64_t max_s;    /* --max-time, counted from the first step; 0: none */
    uint64_t margin_s; /* --max-time-margin: so long before the end of the Slurm job */
    bool margin_given;
    uint64_t job_end_ns; /* on the monotonic clock; UINT64_MAX: no end is known */
} leat_time_limit;

/* Takes the end of the job from SLURM_JOB_END_TIME (seconds since 1970).  Says so on rank 0; what makes no sense there is
 * named in a warning and left aside. */
void leat_time_limit_begin(leat_time_limit *limit, leat_cli *cli, const leat_clock *clock);
/* Is it time to stop?  begin_ns: when the first step began. */
bool leat_time_limit_over(const leat_time_limit *limit, const leat_clock *clock, uint64_t begin_ns);
#endif
