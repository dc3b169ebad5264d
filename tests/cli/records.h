/* JSON records of the benchmark, for tests. */
#pragma once

#include <cjson/cJSON.h>

/* Runs the command, checks every field of its records, and returns the records as an array. */
cJSON *records_of(const char *command, int status);

/* Returns the first record whose text field has the value, or NULL. */
const cJSON *find(const cJSON *records, const char *field, const char *value);

const char *text_of(const cJSON *record, const char *name); /* "" if the field is no text */
double number_of(const cJSON *record, const char *name);    /* fails the test if the field is no number */

/* Compares doubles. cmocka's assertion compares floats. */
void assert_near(double value, double expected, double tolerance);
