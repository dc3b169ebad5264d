/*
 * Assertions for functions that return 1 or 0. For child processes and threads, where cmocka's assertions cannot return
 * to the test.
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
