/* Timing a plan on vectors of its own. */
#include "base/clock.h"
#include "base/context.h"
#include "base/error.h"
#include "matrix/assemble.h"
#include "plan/plan.h"
#include "spry/tools.h"

#include <stdlib.h>

enum { BATCHES = 20, MOST_RUNS = 100000 };
static const double batch_us = 1000;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

spry_status spryi_time_runs(const spryi_plan *plan, spry_vector x, spry_vector y, int64_t runs, double *us,
                            spry_error *err)
{
    double start = spryi_now_us();
    spry_status status = SPRY_OK;
    for (int64_t r = 0; r < runs && status == SPRY_OK; r++)
        status = spryi_run(plan, y, NULL, spry_vector_as_const(x), NULL, NULL, err);
    if (status == SPRY_OK)
        status = plan->request.device->ops->synchronize(plan->request.device, NULL, err); /* runs may return early */
    *us = spryi_now_us() - start;
    return status;
}

static void fill_some(void *job, int64_t begin, int64_t end)
{
    const spry_vector *v = job;
    for (int64_t i = begin; i < end; i++) spryi_set_value(v->data, v->type, i, 0.5 + (double)(i % 1021) / 1021);
}

static void fill(const spry_context *context, spry_vector *v, int64_t count)
{
    spryi_loop(context, spryi_threads(context, count), count, 0, fill_some, v);
}

spry_status spryi_make_vector(const spryi_plan *plan, spry_vector *v, int64_t length, int64_t columns, bool filled,
                              spry_error *err)
{
    const spryi_device *d = plan->request.device;
    const spry_spmv_options *o = &plan->request.options;
    spry_vector host = {0};
    spry_status status = SPRY_OK;
    int64_t count;
    if (__builtin_mul_overflow(length, columns, &count))
        return spryi_fail(err, SPRY_TOO_LARGE, "columns", "%lld vectors of %lld entries overflow", (long long)columns,
                          (long long)length);
    SPRYI_TRY(spry_vector_create(plan->context, v, count, plan->request.vector_type, o->vector_device, err));
    if (filled && o->vector_device == 0) fill(plan->context, v, count);
    if (filled && o->vector_device != 0) {
        SPRYI_TRY(spry_vector_create(plan->context, &host, count, plan->request.vector_type, 0, err));
        fill(plan->context, &host, count);
        SPRYI_TRY(d->ops->copy(d, v->data, host.data, count * (int64_t)plan->request.element_bytes, SPRYI_TO_DEVICE,
                               NULL, err));
        SPRYI_TRY(d->ops->synchronize(d, NULL, err));
    }
    v->length = length;
    v->columns = columns;
    v->row_stride = o->row_major && columns > 1 ? columns : 1;
    v->column_stride = o->row_major && columns > 1 ? 1 : length;
done:
    spry_vector_destroy(plan->context, &host);
    return status;
}

/* Bytes that a product must move with the matrix in plain CSR. */
static double csr_bytes(const spryi_plan *plan)
{
    const spry_arrays *a = &plan->A->a;
    size_t value = spry_type_bytes(plan->request.vector_type);
    size_t offset = spry_index_type_bytes(a->offset_type != SPRY_INDEX_DEFAULT ? a->offset_type : a->index_type);
    return (double)plan->map.nnz * (double)(value + spry_index_type_bytes(a->index_type)) +
           (double)(a->rows + 1) * (double)offset +
           (double)(plan->request.x_length + plan->request.y_length) * (double)value;
}

/* Returns whether runs that took `us` are too few for a batch, and increases them if so. */
static bool lengthen(int64_t *runs, double us)
{
    if (us >= batch_us || *runs >= MOST_RUNS) return false;
    double more = us > 0 ? (double)*runs * batch_us * 1.2 / us + 1 : (double)*runs * 10;
    *runs = more < MOST_RUNS ? (int64_t)more : MOST_RUNS;
    return true;
}

static spry_status measure(const spryi_plan *plan, spry_vector x, spry_vector y, spry_measurement *m, spry_error *err)
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
    m->gflops = 2e-3 * (double)plan->map.nnz / m->median_us;
    m->gbps = 1e-3 * csr_bytes(plan) / m->median_us;
    return SPRY_OK;
}

spry_status spry_spmv_plan_measure(spry_spmv_plan *of, spry_measurement *measurement, spry_error *err)
{
    if (!of || !measurement) return spryi_fail_missing(err, !of ? "plan" : "measurement");
    const spryi_plan *plan = &of->forward;
    spry_status status = SPRY_OK;
    spry_vector x = {0}, y = {0};
    spry_measurement m = SPRY_INIT(spry_measurement);
    SPRYI_TRY(SPRYI_CHECK_OUTPUT(measurement, err));
    SPRYI_TRY(spryi_make_vector(plan, &x, plan->request.x_length, 1, true, err));
    SPRYI_TRY(spryi_make_vector(plan, &y, plan->request.y_length, 1, true, err));
    SPRYI_TRY(measure(plan, x, y, &m, err));
    SPRYI_GIVE(measurement, &m);
done:
    spry_vector_destroy(plan->context, &x);
    spry_vector_destroy(plan->context, &y);
    return status;
}
