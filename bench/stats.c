#include "bench/bench.h"

#include <stdlib.h>
#include <time.h>

double bench_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int compare_doubles(const void *a, const void *b)
{
    double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

/* The value below which a share of the sorted values lies, between neighbours by their distance. */
static double quantile(const double *sorted, int count, double share)
{
    double position = share * (double)(count - 1);
    int below = (int)position;
    if (below >= count - 1) return sorted[count - 1];
    double part = position - (double)below;
    return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

bench_summary bench_summarise(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    double sum = 0;
    for (int s = 0; s < count; s++) sum += values[s];
    return (bench_summary){.median = quantile(values, count, 0.5),
                           .mean = sum / count,
                           .min = values[0],
                           .spread = quantile(values, count, 0.75) - quantile(values, count, 0.25)};
}
