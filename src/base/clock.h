/* The monotonic clock in microseconds. Header-only, so that src/solve may use it. */
#pragma once

#include <time.h>

static inline double spryi_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}
