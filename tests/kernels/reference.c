#include "reference.h"

#include <float.h>

/* Neumaier's compensated sum in long double. */
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

double element_at(const void *data, spry_type type, int64_t i)
{
    return type == SPRY_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

/* Returns the bits of a value that is a normal f16 number. */
static uint16_t bits_of_f16(double value)
{
    int exponent;
    const double half_to_one = frexp(fabs(value), &exponent); /* 0.1xxx in binary */
    const int fraction = (int)(half_to_one * 2048) - 1024;
    return (uint16_t)((value < 0) << 15 | (exponent + 14) << 10 | fraction);
}

void set_number(void *data, spry_type type, int64_t i, double value)
{
    const float single = (float)value;
    if (type == SPRY_F64)
        ((double *)data)[i] = value;
    else if (type == SPRY_F32)
        ((float *)data)[i] = single;
    else if (type == SPRY_BF16)
        memcpy((uint16_t *)data + i, (const char *)&single + 2, 2); /* the upper half, little-endian */
    else
        ((uint16_t *)data)[i] = value == 0 ? 0 : bits_of_f16(value);
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
        double before = beta == 0 ? 0 : element_at(y_before, type, i), got = element_at(y, type, i);
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
