/* The one bisection of the library, for sorted arrays of any type and for any condition; plain C, also for nvcc. */
#pragma once

#include <stdint.h>

/*
 * `at`, an int64_t of the caller, becomes the first of low .. high - 1 for which `condition` is false, or high where
 * there is none. The condition is an expression of `at` that is true up to some number and false from there on.
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
