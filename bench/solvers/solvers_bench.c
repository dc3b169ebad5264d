/*
 * solvers_bench cg|pagerank [--device cuda] FILE...: iterations of the solvers beside what they are to be compared
 * with, in one run.
 *
 * cg, and both on a GPU: an iteration against one product (spry_spmv_plan_measure) plus the fewest bytes of vectors, 9
 * numbers a row (pagerank 4), at the copy bandwidth; and these bytes with the plan's beside the time. pagerank: an
 * iteration against a pull loop written by hand over the same CSR, normalised beforehand, on as many threads, the
 * better of two schedules; rounds alternate, medians count, and both results are compared. Files whose entries PageRank
 * cannot take (negative ones) are taken by their magnitudes.
 */
#include "common/copy_bandwidth.h"
#include "common/input.h"
#include "spry/io.h"
#include "spry/solve.h"
#include "spry/tools.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 9, CG_ITERATIONS = 40, RANK_ITERATIONS = 20 };

typedef struct spread {
    double quartile1, median, quartile3;
} spread;

static spread spread_of(double *times, int count)
{
    qsort(times, (size_t)count, sizeof *times, by_value);
    return (spread){times[count / 4], times[count / 2], times[count - 1 - count / 4]};
}

static void *room(int64_t count, size_t size)
{
    void *pointer = aligned_alloc(64, ((size_t)count * size + 127) / 64 * 64);
    if (!pointer) exit(1);
    memset(pointer, 0, (size_t)count * size);
    return pointer;
}

static int fail(const spry_error *err)
{
    fprintf(stderr, "%s\n", err->message);
    return 0;
}

/* ---- against the product and the fewest bytes ------------------------------------------------------ */

typedef enum method { CG, PAGERANK } method;

/* One solution of so many iterations; microseconds of all and of the products. */
static int iterate(spry_context *context, const spry_matrix *A, method what, int device, spry_vector x, spry_vector b,
                   double *us, double *product_us, spry_error *err)
{
    if (what == CG) {
        spry_cg_options o = SPRY_INIT(spry_cg_options);
        spry_cg_result result = SPRY_INIT(spry_cg_result);
        o.device = device;
        o.tolerance = 1e-300;
        o.max_iterations = CG_ITERATIONS;
        const spry_status ended = spry_cg(context, x, &result, A, spry_vector_as_const(b), &o, err);
        *us = result.solve_us;
        *product_us = result.product_us;
        return ended == SPRY_NOT_CONVERGED && result.iterations == CG_ITERATIONS;
    }
    spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
    spry_pagerank_result result = SPRY_INIT(spry_pagerank_result);
    o.device = device;
    o.tolerance = 1e-300;
    o.max_iterations = CG_ITERATIONS;
    o.edges = SPRY_COLUMN_TO_ROW;
    o.zero_columns = SPRY_ZERO_DROP;
    const spry_status ended = spry_pagerank(context, x, &result, A, &o, err);
    *us = result.solve_us;
    *product_us = result.product_us;
    return ended == SPRY_NOT_CONVERGED && result.iterations == CG_ITERATIONS;
}

/* Median microseconds of a product, on a GPU with vectors that lie there. */
static int time_product(spry_context *context, spry_spmv_plan *plan, int64_t n, int device, double *us, spry_error *err)
{
    enum { RUNS = 50 };
    spry_measurement m = SPRY_INIT(spry_measurement);
    if (device <= 0) {
        if (spry_spmv_plan_measure(plan, &m, err) != SPRY_OK) return 0;
        *us = m.median_us;
        return 1;
    }
    spry_vector x = {0}, y = {0};
    int good = spry_vector_create(context, &x, n, SPRY_F64, device, err) == SPRY_OK &&
               spry_vector_create(context, &y, n, SPRY_F64, device, err) == SPRY_OK;
    double start = 0;
    for (int r = -5; r < RUNS && good; r++) { /* below 0: warming up */
        if (r == 0) {
            good = spry_device_synchronize(context, device, NULL, err) == SPRY_OK;
            start = now_us();
        }
        good = good && spry_spmv_plan_run(plan, y, NULL, spry_vector_as_const(x), NULL, NULL, err) == SPRY_OK;
    }
    good = good && spry_device_synchronize(context, device, NULL, err) == SPRY_OK;
    *us = (now_us() - start) / RUNS;
    spry_vector_destroy(context, &x);
    spry_vector_destroy(context, &y);
    return good;
}

static int measure_against_bytes(spry_context *context, const spry_matrix *A, method what, int device, const char *path,
                                 double copy_gbps)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_error err = {0};
    spry_spmv_plan *plan = NULL;
    spry_spmv_options on = SPRY_INIT(spry_spmv_options);
    spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
    spry_matrix_get_arrays(A, &a, NULL);
    double *x = room(a.rows, 8), *b = room(a.rows, 8), iteration[ROUNDS], product[ROUNDS], vectors[ROUNDS];
    for (int64_t i = 0; i < a.rows; i++) b[i] = 1 + 0.001 * (double)(i % 13);
    on.device = device;
    on.vector_device = device > 0 ? device : SPRY_CPU;
    if (spry_spmv_plan_create(context, &plan, A, &on, &err) != SPRY_OK) return fail(&err);
    if (spry_spmv_plan_get_info(plan, &info, &err) != SPRY_OK) return fail(&err);
    for (int r = 0; r < ROUNDS; r++) {
        double us, product_us;
        if (!time_product(context, plan, a.rows, on.vector_device, &product[r], &err)) return fail(&err);
        if (!iterate(context, A, what, device, spry_vector_f64(x, a.rows), spry_vector_f64(b, a.rows), &us, &product_us,
                     &err))
            return fail(&err);
        iteration[r] = us / CG_ITERATIONS;
        vectors[r] = (us - product_us) / CG_ITERATIONS;
    }
    spread i = spread_of(iteration, ROUNDS), p = spread_of(product, ROUNDS), v = spread_of(vectors, ROUNDS);
    int numbers = what == CG ? 9 : 4;
    double fewest_us = numbers * 8 * (double)a.rows / copy_gbps * 1e-3;
    double bytes = (double)info.storage_bytes + (numbers + 2) * 8 * (double)a.rows;
    printf("%s %s on %s, %s: iteration %.1f us (%.1f .. %.1f), of which vectors %.1f us (%.1f .. %.1f); product %.1f "
           "us "
           "(%.1f .. %.1f), %dn numbers at %.1f GB/s %.1f us: ratio %.3f; %.1f MB an iteration, by copy bandwidth %.1f "
           "us\n",
           what == CG ? "cg" : "pagerank", path, info.device_name, info.kernel, i.median, i.quartile1, i.quartile3,
           v.median, v.quartile1, v.quartile3, p.median, p.quartile1, p.quartile3, numbers, copy_gbps, fewest_us,
           i.median / (p.median + fewest_us), bytes * 1e-6, bytes / copy_gbps * 1e-3);
    spry_spmv_plan_destroy(plan);
    free(x);
    free(b);
    return 1;
}

/* ---- PageRank against a loop written by hand ------------------------------------------------------ */

/* The loop that anyone would write: new = alpha*B*old + rest, and how far it went; by the schedule that is set. */
static double pull(int64_t n, const int32_t *Ap, const int32_t *Aj, const double *Bx, const double *old, double *new,
                   double alpha, double rest)
{
    double distance = 0;
#pragma omp parallel for schedule(runtime) reduction(+ : distance)
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int32_t k = Ap[i]; k < Ap[i + 1]; k++) sum += Bx[k] * old[Aj[k]];
        new[i] = alpha *sum + rest;
        distance += fabs(new[i] - old[i]);
    }
    return distance;
}

/* Microseconds an iteration; the result lies in u. */
static double time_loop(omp_sched_t schedule, int chunk, const spry_arrays *a, const double *Bx, double *u, double *v)
{
    double last = 0, start = 0;
    omp_set_schedule(schedule, chunk);
    for (int64_t i = 0; i < a->rows; i++) u[i] = 1 / (double)a->rows;
    start = now_us();
    for (int k = 0; k < RANK_ITERATIONS; k++) {
        last += pull(a->rows, a->offsets, a->indices, Bx, u, v, 0.85, 0.15 / (double)a->rows);
        double *swap = u;
        u = v;
        v = swap;
    }
    return last < 0 ? 0 : (now_us() - start) / RANK_ITERATIONS;
}

static int measure_pagerank(spry_context *context, const spry_matrix *A, const char *path)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_error err = {0};
    spry_matrix_get_arrays(A, &a, NULL);
    const int32_t *Aj = a.indices;
    double *weights = room(a.nnz, 8), *Bx = room(a.nnz, 8), *sums = room(a.cols, 8);
    double *x = room(a.rows, 8), *u = room(a.rows, 8), *v = room(a.rows, 8);
    for (int64_t k = 0; k < a.nnz; k++) sums[Aj[k]] += weights[k] = fabs(((const double *)a.values)[k]);
    for (int64_t k = 0; k < a.nnz; k++) Bx[k] = sums[Aj[k]] > 0 ? weights[k] / sums[Aj[k]] : 0;
    spry_matrix *W = NULL;
    if (spry_matrix_borrow_csr_f64(context, &W, a.rows, a.cols, a.offsets, a.indices, weights, &err) != SPRY_OK)
        return fail(&err);
    spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
    o.tolerance = 1e-300;
    o.max_iterations = RANK_ITERATIONS;
    o.edges = SPRY_COLUMN_TO_ROW;
    o.zero_columns = SPRY_ZERO_DROP;
    spry_pagerank_result result = SPRY_INIT(spry_pagerank_result);
    double ours[ROUNDS], loops[2][ROUNDS], away = 0;
    for (int r = 0; r < ROUNDS; r++) {
        const spry_status ended = spry_pagerank(context, spry_vector_f64(x, a.rows), &result, W, &o, &err);
        if (ended != SPRY_NOT_CONVERGED || result.iterations != RANK_ITERATIONS) return fail(&err);
        ours[r] = result.solve_us / RANK_ITERATIONS;
        loops[0][r] = time_loop(omp_sched_dynamic, 512, &a, Bx, u, v);
        loops[1][r] = time_loop(omp_sched_static, 0, &a, Bx, u, v);
    }
    for (int64_t i = 0; i < a.rows; i++) away += fabs(x[i] - u[i]);
    spread s = spread_of(ours, ROUNDS), d = spread_of(loops[0], ROUNDS), t = spread_of(loops[1], ROUNDS);
    double best = d.median < t.median ? d.median : t.median;
    printf("pagerank %s: iteration %.0f us (%.0f .. %.0f), of which the product %.0f us, set-up %.0f us, %s; by hand "
           "%.0f us (%.0f .. %.0f) dynamic, "
           "%.0f us (%.0f .. %.0f) static: %.2f times as fast; ||difference||_1 %.1e\n",
           path, s.median, s.quartile1, s.quartile3, result.product_us / RANK_ITERATIONS, result.setup_us,
           result.kernel, d.median, d.quartile1, d.quartile3, t.median, t.quartile1, t.quartile3, best / s.median,
           away);
    spry_matrix_destroy(W);
    void *blocks[] = {weights, Bx, sums, x, u, v};
    for (int b = 0; b < 6; b++) free(blocks[b]);
    return away < 1e-9;
}

int main(int argc, char **argv)
{
    int cg = argc > 1 && strcmp(argv[1], "cg") == 0, good = 1, first = 2;
    int gpu = argc > 3 && strcmp(argv[2], "--device") == 0 && strcmp(argv[3], "cuda") == 0;
    if (gpu) first = 4;
    if (argc <= first || argv[first][0] == '-' || (!cg && strcmp(argv[1], "pagerank") != 0)) {
        fprintf(stderr, "Usage: solvers_bench cg|pagerank [--device cuda] FILE...\n");
        return 2;
    }
    spry_context *context = NULL;
    spry_error err = {0};
    if (spry_context_create(&context, NULL, &err) != SPRY_OK) return !fail(&err);
    copy_bandwidth copy;
    if (measure_device_copy(context, &copy, gpu ? 1 : SPRY_CPU, 0, &err) != SPRY_OK) return !fail(&err);
    for (int f = first; f < argc; f++) {
        spry_matrix *A = NULL;
        spry_read_options reading = SPRY_INIT(spry_read_options);
        if (gpu && !cg) reading.value_type = SPRY_PATTERN;
        if (spry_matrix_open(context, &A, argv[f], &reading, &err) != SPRY_OK) return !fail(&err);
        good &= cg || gpu
                    ? measure_against_bytes(context, A, cg ? CG : PAGERANK, gpu ? 1 : SPRY_CPU, argv[f], copy.gbps)
                    : measure_pagerank(context, A, argv[f]);
        spry_matrix_destroy(A);
    }
    spry_context_destroy(context);
    return !good;
}
