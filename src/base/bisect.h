/* The library's only bisection, for sorted arrays of any type and any condition. Plain C, also for nvcc. */
#pragma once

#include <stdint.h>

/*
 * Sets `at`, an int64_t variable of the caller, to the first of low .. high - 1 for which `condition` is false, or to
 * high if `condition` is true for all. The condition is an expression of `at` that is true up to some index and false
 * after it.
 *
 *     SPRYI_BISECT(i, 0, m, Ap[i + 1] <= k);   i is the row of entry k
 */
#define SPRYI_BISECT(at, low, high, condition)                                                                         \
    do {                                                                                                               \
        int64_t spryi_from = (low), spryi_to = (high);                                                                 \
        while (spryi_from < spryi_to) {                                                                                \
            (at) = spryi_from + (spryi_to - spryi_from) / 2;                                                           \
            if (condition)                                                                                             \
                spryi_from = (at) + 1;                                                                                 \
            else                                                                                                       \
                spryi_to = (at);                                                                                       \
        }                                                                                                              \
        (at) = spryi_from;                                                                                             \
    } while (0)
