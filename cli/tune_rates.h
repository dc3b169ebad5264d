/* spry tune --what rates: the rates that "auto" predicts times by, fitted to times of this machine or of records. */
#ifndef SPRY_CLI_TUNE_RATES_H
#define SPRY_CLI_TUNE_RATES_H

#include "cli/cli.h"

#include "common/text_list.h"
#include "spry/spry.h"

typedef struct tune_rates_request {
    spry_context *context;
    char **paths; /* matrices; count 0: generated ones */
    int count;
    const char *device; /* "cpu", "cuda": what is timed */
    int types;          /* 0: f32, 1: f64, 2: both */
    int64_t runs, time_limit;
    const text_list *from;    /* JSON lines of spry bench in place of timing */
    const char *device_class; /* that they are of; NULL: of the device */
} tune_rates_request;

/* *text: the lines of the table, to be freed. Tells of the fit on standard output where `tell` is 1. */
int tune_rates(const tune_rates_request *request, char **text, int tell);

#endif
