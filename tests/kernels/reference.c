#include "reference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Neumaier's sum, in long double. */
typedef struct compensated {
    long double sum, lost;
} compensated;

static void add(compensated *c, long double value)
{
    long double next = c->sum + value;
    c->lost += fabsl(c->sum) >= fabsl(value) ? (c->sum - next) + value : (value - next) + c->sum;
    c->sum = next;
}

reference reference_make(const family *f, const double *values, const double *x, int transposed)
{
    int64_t rows = transposed ? f->cols : f->rows;
    reference r = {.rows = rows};
    compensated *sums = calloc((size_t)rows + 1, sizeof *sums);
    r.sum = calloc((size_t)rows + 1, sizeof *r.sum);
    r.absolute = calloc((size_t)rows + 1, sizeof *r.absolute);
    r.entries = calloc((size_t)rows + 1, sizeof *r.entries);
    if (!sums || !r.sum || !r.absolute || !r.entries) abort();
    for (int64_t i = 0; i < f->rows; i++)
        for (int64_t k = f->offsets[i]; k < f->offsets[i + 1]; k++) {
            int64_t to = transposed ? f->columns[k] : i, from = transposed ? i : f->columns[k];
            double value = values ? values[k] : 1, product = value * x[from];
            add(&sums[to], product);
            add(&sums[to], fma(value, x[from], -product));
            r.absolute[to] += fabsl((long double)value * x[from]);
            r.entries[to]++;
        }
    for (int64_t i = 0; i < rows; i++) r.sum[i] = sums[i].sum + sums[i].lost;
    free(sums);
    return r;
}

void reference_free(reference *r)
{
    free(r->sum);
    free(r->absolute);
    free(r->entries);
    memset(r, 0, sizeof *r);
}

double number_at(const void *data, spry_type type, int64_t i)
{
    return type == SPRY_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

void set_number(void *data, spry_type type, int64_t i, double value)
{
    if (type == SPRY_F64)
        ((double *)data)[i] = value;
    else
        ((float *)data)[i] = (float)value;
}

long double reference_value(const reference *r, int64_t i, double alpha, double beta, double y_before)
{
    return (alpha == 0 ? 0 : alpha * r->sum[i]) + (beta == 0 ? 0 : (long double)beta * y_before);
}

long double reference_bound(const reference *r, spry_type type, int64_t i, double alpha, double beta, double y_before)
{
    long double eps = type == SPRY_F64 ? DBL_EPSILON : FLT_EPSILON;
    long double scale = fabsl((long double)alpha) * r->absolute[i];
    if (beta != 0) scale += fabsl((long double)beta * y_before);
    return (long double)(r->entries[i] + 3) * eps * scale;
}

comparison reference_compare(const reference *r, spry_type type, double alpha, double beta, const void *y_before,
                             const void *y)
{
    comparison c = {.worst_row = -1};
    for (int64_t i = 0; i < r->rows; i++) {
        double before = beta == 0 ? 0 : number_at(y_before, type, i), got = number_at(y, type, i);
        long double error = fabsl(got - reference_value(r, i, alpha, beta, before));
        long double bound = reference_bound(r, type, i, alpha, beta, before);
        double share = error == 0 ? 0 : (double)(error / bound);
        if (!isfinite(got)) share = INFINITY;
        if (!(share <= 1)) c.wrong++;
        if (c.worst_row >= 0 && !(share > c.worst)) continue;
        c.worst = share;
        c.worst_row = i;
    }
    return c;
}
