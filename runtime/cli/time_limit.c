#include "cli/time_limit.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { MARGIN_S = 60 };
#define SECOND UINT64_C(1000000000)

static bool read_seconds(const char *text, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    *out = value;
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

/* A fixed margin would let a short job stop before its first step, again and again. */
static uint64_t margin(const leat_time_limit *limit, uint64_t left_s)
{
    if (limit->margin_given) {
        return limit->margin_s;
    }
    return left_s / 2 < MARGIN_S ? left_s / 2 : MARGIN_S;
}

static void say(leat_cli *cli, int warning, const char *line)
{
    if (leat_cli_root(cli)) {
        leat_cli_log(cli, warning, line);
    }
}

void leat_time_limit_begin(leat_time_limit *limit, leat_cli *cli, const leat_clock *clock)
{
    char line[256];
    const char *text = getenv("SLURM_JOB_END_TIME");
    limit->job_end_ns = UINT64_MAX;
    if (text == NULL) {
        return;
    }
    uint64_t end_s, now_s = clock->wall_ns(clock->context) / SECOND;
    if (!read_seconds(text, &end_s)) {
        snprintf(line, sizeof line,
                 "SLURM_JOB_END_TIME is \"%.40s\", wanted seconds since 1970: not used", text);
        say(cli, 1, line);
        return;
    }
    if (end_s <= now_s) {
        snprintf(line, sizeof line, "SLURM_JOB_END_TIME is %llu s in the past: not used",
                 (unsigned long long)(now_s - end_s));
        say(cli, 1, line);
        return;
    }
    uint64_t left_s = end_s - now_s, margin_s = margin(limit, left_s);
    left_s = left_s > margin_s ? left_s - margin_s : 0;
    if (left_s < UINT32_MAX) { /* else without a limit */
        limit->job_end_ns = clock->now_ns(clock->context) + left_s * SECOND;
        snprintf(line, sizeof line,
                 "stops and saves in %llu s, %llu s before the time limit of the Slurm job",
                 (unsigned long long)left_s, (unsigned long long)margin_s);
        say(cli, left_s == 0, line);
    }
}

bool leat_time_limit_over(const leat_time_limit *limit, const leat_clock *clock, uint64_t begin_ns)
{
    uint64_t now = clock->now_ns(clock->context);
    return (limit->max_s != 0 && (now - begin_ns) / SECOND >= limit->max_s) ||
           now >= limit->job_end_ns;
}
