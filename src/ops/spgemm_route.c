/*
 * Device "auto" of a sparse product with operands in host memory, and a result that is to be there: the first GPU or
 * the CPU, by a model of both in microseconds. Its numbers are fitted to products of random matrices and grids;
 * no more than the turning point has to be right, where both take as long.
 */
#include "device/drivers.h"
#include "ops/spgemm_plan.h"

#include <math.h>
#include <stdlib.h>

/* What is launched and waited for on a GPU, whatever the product. */
static const double launch_us = 120;

/* Whether A's rows span little of B, so that the rows of B they read are near each other: by a look at a few. */
static int is_local(const spry_arrays *a, int narrow)
{
    enum { ROWS = 64 };
    double span = 0, seen = 0;
    for (int64_t r = 0; r < ROWS; r++) {
        const int64_t i = a->rows / ROWS * r + a->rows % ROWS * r / ROWS;
        if (i >= a->rows) continue;
        const int64_t begin = spryi_index_at(a->offsets, a->offset_type, i);
        const int64_t end = spryi_index_at(a->offsets, a->offset_type, i + 1);
        if (end - begin < 2) continue;
        span += fabs((double)(spryi_index_at(a->indices, a->index_type, end - 1) -
                              spryi_index_at(a->indices, a->index_type, begin)));
        seen++;
    }
    return seen > 0 && span * narrow < seen * (double)a->cols;
}

/* Entries of C as long as products meet by chance, and their bytes. */
static double entries_of_result(const spryi_spgemm_job *job)
{
    const double products = (double)job->products, positions = (double)job->a.rows * (double)job->b.cols;
    return products > 0 ? -positions * expm1(-products / positions) : 0;
}

static double bytes_of_result(const spryi_spgemm_job *job)
{
    return entries_of_result(job) * (4 + (double)spry_type_bytes(job->type)) + 8 * (double)job->a.rows;
}

/*
 * A thread's pace is a matter of the caches: rows of B that are local, or all in the second level, or neither; products
 * that are all there with C; and rows of C that are summed in the first level, where entries count and not products.
 */
static double on_cpu(const spry_spgemm_plan *plan)
{
    const spryi_spgemm_job *job = &plan->job;
    const double products = (double)job->products, threads = spryi_spgemm_threads(plan);
    const double row_ns = plan->input_bytes < 2 << 20 ? 20 : 40; /* of B, read for an entry of A */
    const int small = (double)plan->input_bytes + bytes_of_result(job) < 2 << 20;
    const int narrow = job->b.cols * (int64_t)spry_type_bytes(job->type) <= 32 << 10;
    const double rows_ns = is_local(&job->a, small ? 4 : 16) ? 0 : row_ns * (double)job->a.nnz;
    const double products_ns = small || rows_ns == 0 ? 4 * products
                               : narrow              ? products + 8 * entries_of_result(job)
                                                     : 15 * products;
    const double work = 1e-3 * (5 * (double)job->a.rows + products_ns + rows_ns);
    return threads > 1 ? 100 + 40 * threads + work / (0.8 * threads) : 5 + work;
}

/* The bus both ways, 5 GB/s up to a megabyte, 10 up to 64 and 14 from there on; the kernels. */
static double on_gpu(const spry_spgemm_plan *plan)
{
    const spryi_spgemm_job *job = &plan->job;
    const double bytes = (double)plan->input_bytes + bytes_of_result(job);
    const double bus = bytes / 14e3 + fmin(bytes, 64e6) / 35e3 + fmin(bytes, 1e6) / 10e3;
    return launch_us + bus + 6e-5 * (double)job->products + 5e-4 * (double)job->a.rows;
}

/* The first kind of device that is no CPU, and has sparse products where it is there. */
static const spryi_driver *other_kind(void)
{
    return spryi_driver_count > 1 ? spryi_drivers[1] : NULL;
}

int spryi_spgemm_route(const spry_spgemm_plan *plan, const spryi_device **device, const char **why)
{
    const spryi_spgemm_job *job = &plan->job;
    const spryi_driver *kind = other_kind();
    *why = "predicted to be the faster one";
    /* A thread at its slowest is done before a GPU has begun: not even A is looked at. */
    if (1e-3 * (5 * (double)job->a.rows + 80 * (double)job->a.nnz + 14 * (double)job->products) < launch_us) return 0;
    const double cpu = on_cpu(plan), gpu = on_gpu(plan);
    if (job->a.cols > INT32_MAX || job->b.cols > INT32_MAX || gpu >= cpu) return 0;
    *why = "there is no GPU to choose";
    if (!kind) return 0;
    /* a plan is for many products, which pay for it; whether the device has been started already does not matter */
    *why = "a GPU, were there one, would take longer to start than it saves";
    if (plan->single_run && cpu - gpu < kind->start_us) return 0;
    *why = "there is no GPU to choose";
    const spryi_device *first = spryi_device_of_kind(plan->context, kind->name);
    if (!first->ops || !first->ops->spgemm) return 0;
    *device = first;
    *why = "predicted to be the faster one";
    return 1;
}
