/* Timing a plan on vectors of its own. */
#include "core/clock.h"
#include "core/error.h"
#include "core/random.h"
#include "plan/plan.h"
#include "spry/tools.h"

#include <stdlib.h>

enum { BATCHES = 20, MOST_RUNS = 100000 };
static const double batch_us = 1000;

/* Distinct numbers in (-1, 1): zeros or ones would hide wrong indices, and may run faster than real data. */
static void fill(void *data, spry_type type, int64_t length, uint64_t seed)
{
    for (int64_t i = 0; i < length; i++) spryi_set_value(data, type, i, 2 * spryi_uniform(seed, (uint64_t)i) - 1);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

spry_status spryi_time_runs(const spry_spmv_plan *plan, spry_vector x, spry_vector y, int64_t runs, double *us,
                            spry_error *err)
{
    double start = spryi_now_us();
    spry_status status = SPRY_OK;
    for (int64_t r = 0; r < runs && status == SPRY_OK; r++)
        status = spry_spmv_plan_run(plan, y, NULL, spry_vector_as_const(x), NULL, NULL, err);
    if (status == SPRY_OK) status = plan->device->ops->synchronize(plan->device, NULL, err); /* runs may return early */
    *us = spryi_now_us() - start;
    return status;
}

/* A vector with numbers, where the plan's vectors are. */
static spry_status make_vector(const spry_spmv_plan *plan, spry_vector *v, int64_t length, uint64_t seed,
                               spry_error *err)
{
    const spryi_device *d = plan->device;
    const int device = plan->options.vector_device;
    spry_vector host = {0};
    spry_status status = SPRY_OK;
    SPRYI_TRY(spry_vector_create(plan->context, v, length, plan->vector_type, device, err));
    if (device == 0) {
        fill(v->data, v->type, length, seed);
        return SPRY_OK;
    }
    SPRYI_TRY(spry_vector_create(plan->context, &host, length, plan->vector_type, 0, err));
    fill(host.data, host.type, length, seed);
    SPRYI_TRY(d->ops->copy(d, v->data, host.data, length * (int64_t)spry_type_bytes(plan->vector_type), SPRYI_TO_DEVICE,
                           NULL, err));
    SPRYI_TRY(d->ops->synchronize(d, NULL, err));
done:
    spry_vector_destroy(plan->context, &host);
    return status;
}

/* Bytes that a product must move with the matrix in plain CSR. */
static double csr_bytes(const spry_spmv_plan *plan)
{
    const spry_arrays *a = &plan->A->a;
    size_t value = spry_type_bytes(plan->vector_type);
    size_t offset = spry_index_type_bytes(a->offset_type != SPRY_INDEX_DEFAULT ? a->offset_type : a->index_type);
    return (double)plan->nnz * (double)(value + spry_index_type_bytes(a->index_type)) +
           (double)(a->rows + 1) * (double)offset + (double)(plan->x_length + plan->y_length) * (double)value;
}

/* 1 if runs that took `us` are too few for a batch; then they have become more. */
static int lengthen(int64_t *runs, double us)
{
    if (us >= batch_us || *runs >= MOST_RUNS) return 0;
    double more = us > 0 ? (double)*runs * batch_us * 1.2 / us + 1 : (double)*runs * 10;
    *runs = more < MOST_RUNS ? (int64_t)more : MOST_RUNS;
    return 1;
}

static spry_status measure(spry_spmv_plan *plan, spry_vector x, spry_vector y, spry_measurement *m, spry_error *err)
{
    double us, batch[BATCHES];
    int64_t runs = 1;
    SPRYI_OK_OR_RETURN(spryi_time_runs(plan, x, y, 1, &m->first_us, err));
    do { /* warms up, too */
        SPRYI_OK_OR_RETURN(spryi_time_runs(plan, x, y, runs, &us, err));
    } while (lengthen(&runs, us));
    double sum = 0;
    for (int b = 0; b < BATCHES; b++) {
        SPRYI_OK_OR_RETURN(spryi_time_runs(plan, x, y, runs, &us, err));
        batch[b] = us / (double)runs;
        sum += batch[b];
        if (!lengthen(&runs, us)) continue;
        /* something slowed the warm-up down, so that batches are too short: from the start */
        b = -1;
        sum = 0;
    }
    qsort(batch, BATCHES, sizeof *batch, by_value);
    m->median_us = (batch[BATCHES / 2 - 1] + batch[BATCHES / 2]) / 2;
    m->mean_us = sum / (double)BATCHES;
    m->min_us = batch[0];
    m->spread_us = batch[3 * BATCHES / 4] - batch[BATCHES / 4];
    m->runs = runs * BATCHES;
    m->gflops = 2e-3 * (double)plan->nnz / m->median_us;
    m->gbps = 1e-3 * csr_bytes(plan) / m->median_us;
    return SPRY_OK;
}

spry_status spry_spmv_plan_measure(spry_spmv_plan *plan, spry_measurement *measurement, spry_error *err)
{
    if (!plan || !measurement) return spryi_fail_missing(err, !plan ? "plan" : "measurement");
    spry_status status = SPRY_OK;
    spry_vector x = {0}, y = {0};
    spry_measurement m = SPRY_INIT(spry_measurement);
    SPRYI_TRY(SPRYI_CHECK_OUTPUT(measurement, err));
    SPRYI_TRY(make_vector(plan, &x, plan->x_length, 1, err));
    SPRYI_TRY(make_vector(plan, &y, plan->y_length, 2, err));
    SPRYI_TRY(measure(plan, x, y, &m, err));
    SPRYI_GIVE(measurement, &m);
done:
    spry_vector_destroy(plan->context, &x);
    spry_vector_destroy(plan->context, &y);
    return status;
}
