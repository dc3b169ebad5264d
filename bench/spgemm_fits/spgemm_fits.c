/*
 * spgemm_fits DENSITY BYTES [KERNEL]: the largest size n for which A*A, gen:random of n x n, fits into so many bytes of
 * the first GPU, inputs, C and workspace together (BYTES 0: 97 % of its memory); a JSON line. KERNEL: not the library's
 * choice.
 *
 * From the size at which A and C alone would fill the limit downwards, 2 % each time, until the product is done under
 * it, A and C in device memory; then it is done once more, and C*x compared with A*(A*x).
 */
#include "common/input.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP = 64 }; /* sizes are multiples of it */
static const double smaller = 0.98, smallest = 0.5;

typedef struct search {
    spry_context *context;
    double density;
    int64_t limit;
    const char *kernel;
} search;

static spry_status generate(const search *s, spry_matrix **A, int64_t n, spry_error *err)
{
    char spec[128];
    snprintf(spec, sizeof spec, "gen:random,rows=%lld,cols=%lld,density=%g", (long long)n, (long long)n, s->density);
    return spry_matrix_generate(s->context, A, spec, NULL, err);
}

/* A on the first GPU; its arrays there are the caller's. */
static spry_status to_device(const search *s, spry_matrix **there, void *arrays[3], const spry_matrix *A,
                             spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_status status = spry_matrix_get_arrays(A, &a, err);
    const void **from[3] = {&a.offsets, &a.indices, &a.values};
    for (int i = 0; i < 3 && status == SPRY_OK; i++) {
        const int64_t bytes = csr_part_bytes(&a, i);
        status = spry_device_allocate(s->context, &arrays[i], 1, bytes, err);
        if (status == SPRY_OK) status = spry_device_copy(s->context, arrays[i], 1, *from[i], 0, bytes, NULL, err);
        *from[i] = arrays[i];
    }
    if (status == SPRY_OK) status = spry_device_synchronize(s->context, 1, NULL, err);
    a.device = 1;
    a.ownership = SPRY_BORROW;
    return status == SPRY_OK ? spry_matrix_create(s->context, there, &a, err) : status;
}

/* Bytes of A and C as long as products meet by chance. */
static double predicted(double n, double density)
{
    const double places = n * n;
    return 12 * (places * density - places * expm1(-n * density * density)) + 20 * n;
}

/* Where A and C fill the limit. */
static double bound(const search *s)
{
    double low = 1, high = 1e9;
    for (int k = 0; k < 60; k++) {
        const double n = 0.5 * (low + high);
        if (predicted(n, s->density) > (double)s->limit)
            high = n;
        else
            low = n;
    }
    return low;
}

/* y = M*x, all in device memory. */
static spry_status times(const search *s, const spry_matrix *M, spry_vector x, spry_vector y, spry_error *err)
{
    spry_spmv_plan *plan = NULL;
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.format = "csr";
    o.vector_device = 1;
    o.expected_calls = 1;
    spry_status status = spry_spmv_plan_create(s->context, &plan, M, &o, err);
    if (status == SPRY_OK) status = spry_spmv_plan_run(plan, NULL, x, NULL, y, NULL, err);
    if (status == SPRY_OK) status = spry_device_synchronize(s->context, 1, NULL, err);
    spry_spmv_plan_destroy(plan);
    return status;
}

/* The largest difference of C*x and A*(A*x), as a share of the largest number there. */
static spry_status compare(const search *s, const spry_matrix *C, const spry_matrix *A, int64_t n, double *error,
                           spry_error *err)
{
    enum { X, AX, AAX, CX, VECTORS };
    spry_vector there[VECTORS] = {{0}};
    double *host = malloc(2 * (size_t)n * sizeof *host), most = 0, largest = 0;
    spry_status status = SPRY_OK;
    if (!host) return SPRY_OUT_OF_MEMORY;
    for (int64_t i = 0; i < n; i++) host[i] = 1 + (double)(i * 37 % 101) / 101;
    for (int v = 0; v < VECTORS && status == SPRY_OK; v++)
        status = spry_vector_create(s->context, &there[v], n, SPRY_F64, 1, err);
    if (status == SPRY_OK) status = spry_device_copy(s->context, there[X].data, 1, host, 0, n * 8, NULL, err);
    if (status == SPRY_OK) status = times(s, A, there[X], there[AX], err);
    if (status == SPRY_OK) status = times(s, A, there[AX], there[AAX], err);
    if (status == SPRY_OK) status = times(s, C, there[X], there[CX], err);
    for (int v = 0; v < 2 && status == SPRY_OK; v++)
        status = spry_device_copy(s->context, host + v * n, 0, there[AAX + v].data, 1, n * 8, NULL, err);
    if (status == SPRY_OK) status = spry_device_synchronize(s->context, 1, NULL, err);
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(host[i]));
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(host[i] - host[n + i]));
    for (int v = 0; v < VECTORS; v++) spry_vector_destroy(s->context, &there[v]);
    free(host);
    *error = most / largest;
    return status;
}

/* The product under the limit. */
static spry_status multiply(const search *s, spry_matrix **C, const spry_matrix *A, spry_spgemm_info *info, double *ms,
                            spry_error *err)
{
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    *info = SPRY_INIT(spry_spgemm_info);
    o.kernel = s->kernel;
    o.result_device = 1;
    o.memory_limit_bytes = s->limit;
    o.info = info;
    const double start = now_us();
    spry_status status = spry_spgemm(s->context, C, A, A, &o, err);
    if (status == SPRY_OK) status = spry_device_synchronize(s->context, 1, NULL, err);
    *ms = 1e-3 * (now_us() - start);
    return status;
}

/* SPRY_TOO_LARGE or SPRY_OUT_OF_MEMORY: this size does not fit. */
static spry_status try_size(const search *s, int64_t n, spry_error *err)
{
    spry_matrix *A = NULL, *there = NULL, *C = NULL;
    void *arrays[3] = {NULL, NULL, NULL};
    spry_spgemm_info info;
    double first = 0, again = 0, error = NAN;
    spry_status status = generate(s, &A, n, err);
    if (status == SPRY_OK) status = to_device(s, &there, arrays, A, err);
    if (status == SPRY_OK) status = multiply(s, &C, there, &info, &first, err);
    if (status == SPRY_OK) {
        spry_matrix_destroy(C);
        C = NULL;
        status = multiply(s, &C, there, &info, &again, err);
    }
    if (status == SPRY_OK) status = compare(s, C, there, n, &error, err);
    if (status == SPRY_OK)
        printf("{\"density\":%g,\"limit_bytes\":%lld,\"rows\":%lld,\"kernel\":\"%s\",\"products\":%lld,\"nnz_c\":%lld,"
               "\"peak_bytes\":%lld,\"chunks\":%lld,\"first_ms\":%.3f,\"ms\":%.3f,\"error\":%.3g}\n",
               s->density, (long long)s->limit, (long long)n, info.kernel, (long long)info.products,
               (long long)info.nnz, (long long)info.peak_bytes, (long long)info.chunks, first, again, error);
    spry_matrix_destroy(C);
    spry_matrix_destroy(there);
    spry_matrix_destroy(A);
    for (int i = 0; i < 3; i++) spry_device_free(s->context, 1, arrays[i]);
    (void)spry_context_trim(s->context); /* for the next size */
    return status;
}

static int find(const search *s)
{
    spry_error err = SPRY_ERROR_INIT;
    const double most = bound(s);
    int64_t before = 0;
    for (double n = smaller * most; n > smallest * most; n *= smaller) {
        const int64_t size = (int64_t)(n / STEP) * STEP;
        if (size < STEP || size == before) continue;
        before = size;
        spry_status status = try_size(s, size, &err);
        if (status == SPRY_OK) return 1;
        fprintf(stderr, "%lld: %s\n", (long long)size, err.message);
        if (status != SPRY_TOO_LARGE && status != SPRY_OUT_OF_MEMORY) return 0;
    }
    return 0;
}

int main(int argc, char **argv)
{
    spry_error err = SPRY_ERROR_INIT;
    search s = {.density = argc > 2 ? strtod(argv[1], NULL) : 0,
                .limit = argc > 2 ? strtoll(argv[2], NULL, 10) : -1,
                .kernel = argc > 3 ? argv[3] : NULL};
    spry_device_info gpu = SPRY_INIT(spry_device_info);
    if (!(s.density > 0 && s.density <= 1) || s.limit < 0 || argc > 4) {
        fprintf(stderr, "usage: spgemm_fits DENSITY BYTES [KERNEL], a density in (0, 1], BYTES 0: the GPU's\n");
        return 2;
    }
    spry_status status = spry_context_create(&s.context, NULL, &err);
    if (status == SPRY_OK) status = spry_device_get_info(s.context, 1, &gpu, &err);
    if (status != SPRY_OK || !gpu.available) {
        fprintf(stderr, "spgemm_fits: %s\n", status == SPRY_OK ? gpu.reason : err.message);
        return 1;
    }
    if (s.limit == 0) s.limit = (int64_t)(0.97 * (double)gpu.memory_bytes);
    const int good = find(&s);
    spry_context_destroy(s.context);
    return good ? 0 : 1;
}
