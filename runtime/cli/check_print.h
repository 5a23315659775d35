/* check_print.h: how `leat check` shows what it found. */
#ifndef LEAT_CLI_CHECK_PRINT_H
#define LEAT_CLI_CHECK_PRINT_H
#include "audit/check.h"
#include "audit/forecast.h"
#include "cli/cli.h"
#include <stdio.h>

typedef struct leat_check_report {
    leat_loader *loader;
    uint32_t sample;                        /* millionths */
    uint64_t steps, bad, bad_files, listed; /* steps 0: not given */
    leat_buffer lines;                      /* "file:line: reason" of bad records */
    leat_census_dataset *census;            /* [datasets] */
    leat_check_reading *reading;            /* [datasets] */
    leat_check_shards duplicates, near_empty;
    leat_forecast forecast;
} leat_check_report;

void leat_check_print_text(leat_check_report *report, FILE *to);
void leat_check_print_json(leat_check_report *report, FILE *to);
#endif
