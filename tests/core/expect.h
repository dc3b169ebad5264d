/*
 * Assertions for functions that return 1 or 0. Child processes and threads use them, because cmocka's assertions cannot
 * return to the test from there.
 */
#pragma once

#include "testing.h"

static spry_error fault = SPRY_ERROR_INIT; /* calls store their error in fault, for the message */

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s; %s\n", __FILE__, __LINE__, #condition, fault.message);                         \
            return 0;                                                                                                  \
        }                                                                                                              \
    } while (0)
#define OK(call) EXPECT((call) == SPRY_OK)
