/* JSON records of the benchmark, for tests. */
#pragma once

#include <cjson/cJSON.h>

/* Runs the command, checks every field of all its records, and returns them as an array. */
cJSON *records_of(const char *command, int status);

/* The first record whose text field has the value; NULL: none. */
const cJSON *find(const cJSON *records, const char *field, const char *value);

const char *text_of(const cJSON *record, const char *name); /* "" when it is no text */
double number_of(const cJSON *record, const char *name);    /* fails the test when it is no number */

/* cmocka compares floats; these are doubles. */
void assert_near(double value, double expected, double tolerance);
