/* Assertions for functions that return 1 or 0, in children and threads that cmocka's would not come back from. */
#pragma once

#include "testing.h"

static spry_error fault = SPRY_ERROR_INIT; /* that calls are given, for the message */

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s; %s\n", __FILE__, __LINE__, #condition, fault.message);                         \
            return 0;                                                                                                  \
        }                                                                                                              \
    } while (0)
#define OK(call) EXPECT((call) == SPRY_OK)
