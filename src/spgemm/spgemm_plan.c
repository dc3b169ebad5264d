/*
 * Sparse times sparse: validates, selects a device and a kernel, and resolves the operands. The steps for host memory
 * (spgemm_host.c) or for a device with its own memory (spgemm_device.c) do the rest.
 */
#include "spgemm/spgemm_plan.h"
#include "base/clock.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "catalogue/catalogue.h"
#include "device/drivers.h"
#include "spry/matrix.h"
#include "spry/spgemm.h"
#include "spry/study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- validation ---------------------------------------------------------------------------------- */

spry_status spryi_spgemm_check_options(const spry_spgemm_options *o, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_check_ops(o, err));
    if (o->value_type != SPRY_TYPE_DEFAULT && spryi_value_slot(o->value_type) < 0)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "value_type", o->value_type, SPRY_F64,
                                "spgemm: value_type is %d, expected SPRY_F32 or SPRY_F64", (int)o->value_type);
    SPRYI_OK_OR_RETURN(spryi_check_index_type("spgemm", "offset_type", o->offset_type, err));
    SPRYI_OK_OR_RETURN(spryi_check_range("spgemm", "memory_limit_bytes", o->memory_limit_bytes, 0, INT64_MAX,
                                         "0 (no limit) or more", err));
    SPRYI_OK_OR_RETURN(spryi_check_struct(o->stages, "stages", err));
    SPRYI_OK_OR_RETURN(spryi_check_range("spgemm", "result_device", o->result_device, SPRY_CPU, INT64_MAX,
                                         "SPRY_DEVICE_DEFAULT, SPRY_CPU or a GPU's number", err));
    return spryi_check_threads(o->threads, "spgemm", err);
}

spry_status spryi_spgemm_check_operands(spry_type *type, const spry_matrix *A, const spry_matrix *B,
                                        const spry_spgemm_options *o, const char *right, spry_error *err)
{
    const bool a_transposed = o->op_a == SPRY_TRANSPOSE, b_transposed = o->op_b == SPRY_TRANSPOSE;
    const int64_t columns = a_transposed ? A->a.rows : A->a.columns, inner = b_transposed ? B->a.columns : B->a.rows;
    if (columns != inner)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "B", inner, columns,
                                "spgemm: %s has %lld columns, but %s has %lld rows",
                                a_transposed ? "the transpose of A" : "A", (long long)columns,
                                b_transposed ? "the transpose of B" : "B", (long long)inner);
    const spry_type a = A->a.value_type, b = B->a.value_type, types[] = {a, b};
    const spry_arrays *const operands[] = {&A->a, &B->a};
    for (int m = 0; m < 2; m++)
        if (operands[m]->layout == SPRY_BSR)
            return spryi_fail_value(err, SPRY_UNSUPPORTED, m == 0 ? "A" : right, SPRY_BSR, SPRY_CSR,
                                    "spgemm: the layout of %s is SPRY_BSR, expected SPRY_CSR, SPRY_COO or SPRY_CSC: "
                                    "convert it with spry_matrix_convert",
                                    m == 0 ? "A" : right);
    for (int m = 0; m < 2; m++)
        if (types[m] != SPRY_PATTERN && spryi_value_slot(types[m]) < 0)
            return spryi_fail_value(err, SPRY_UNSUPPORTED, m == 0 ? "A" : right, types[m], SPRY_F64,
                                    "spgemm: the values of %s are %s, expected f32, f64 or a pattern: convert them "
                                    "with spry_matrix_convert",
                                    m == 0 ? "A" : right, spry_type_name(types[m]));
    if (a != SPRY_PATTERN && b != SPRY_PATTERN && a != b)
        return spryi_fail(err, SPRY_UNSUPPORTED, right,
                          "spgemm: A has %s values and %s %s: convert one of them with spry_matrix_convert",
                          spry_type_name(a), right, spry_type_name(b));
    const spry_type stored = a != SPRY_PATTERN ? a : b;
    if (stored != SPRY_PATTERN && o->value_type != SPRY_TYPE_DEFAULT && o->value_type != stored)
        return spryi_fail(err, SPRY_UNSUPPORTED, "value_type",
                          "spgemm: value_type is %s, but the values of A and B are %s: convert them first",
                          spry_type_name(o->value_type), spry_type_name(stored));
    *type = stored != SPRY_PATTERN ? stored : o->value_type != SPRY_TYPE_DEFAULT ? o->value_type : SPRY_F64;
    return SPRY_OK;
}

/* ---- the route ------------------------------------------------------------------------------------------ */

/* Sizes of a product that the prediction uses. */
typedef struct product_sizes {
    spry_type type;
    int64_t rows, cols, entries; /* rows and columns of C; entries of A */
    int64_t products, input_bytes;
    int threads;
    const spry_arrays *a;
} product_sizes;

/* Time of launches and synchronization on a GPU, for any product, in microseconds. */
static const double launch_us = 120;

/*
 * Returns true if rows of A (columns if A is CSC) span on average less than 1/narrow of A's width, and so select nearby
 * rows of B. Samples 64 rows.
 */
static bool is_local(const spry_arrays *a, int narrow)
{
    enum { ROWS = 64 };
    const int64_t rows = a->layout == SPRY_CSC ? a->columns : a->rows,
                  cols = a->layout == SPRY_CSC ? a->rows : a->columns;
    double span = 0, seen = 0;
    if (a->layout == SPRY_COO || !a->offsets) return false; /* containers of other formats have no offsets */
    for (int64_t r = 0; r < ROWS; r++) {
        const int64_t i = rows / ROWS * r + rows % ROWS * r / ROWS;
        if (i >= rows) continue;
        const int64_t begin = spryi_offset_of(a, i), end = spryi_offset_of(a, i + 1);
        if (end - begin < 2) continue;
        span += fabs((double)(spryi_index_at(a->indices, a->index_type, end - 1) -
                              spryi_index_at(a->indices, a->index_type, begin)));
        seen++;
    }
    return seen > 0 && span * narrow < seen * (double)cols;
}

/* Returns the expected entries of C if the products are at random positions. */
static double entries_of_result(const product_sizes *s)
{
    const double products = (double)s->products, positions = (double)s->rows * (double)s->cols;
    return products > 0 ? -positions * expm1(-products / positions) : 0;
}

static double bytes_of_result(const product_sizes *s)
{
    return entries_of_result(s) * (4 + (double)spry_type_bytes(s->type)) + 8 * (double)s->rows;
}

/*
 * Predicts microseconds on the CPU. The rates depend on the caches. Reading rows of B costs nothing extra if A selects
 * adjacent rows (is_local). Otherwise it costs less if the operands fit in the second-level cache. Summing products is
 * fast if operands and C fit in the second-level cache (small), or if a full row of C fits in the first-level cache
 * (narrow). The rates are fitted to products of random matrices and grids. Only the size at which the GPU becomes
 * faster has to be right.
 */
static double on_cpu(const product_sizes *s)
{
    const double products = (double)s->products, threads = s->threads;
    const double row_ns = s->input_bytes < 2 << 20 ? 20 : 40; /* time to read a row of B, for each entry of A */
    const bool small = (double)s->input_bytes + bytes_of_result(s) < 2 << 20;
    const bool narrow = s->cols * (int64_t)spry_type_bytes(s->type) <= 32 << 10;
    const double rows_ns = is_local(s->a, small ? 4 : 16) ? 0 : row_ns * (double)s->entries;
    const double products_ns = small || rows_ns == 0 ? 4 * products
                               : narrow              ? products + 8 * entries_of_result(s)
                                                     : 15 * products;
    const double work = 1e-3 * (5 * (double)s->rows + products_ns + rows_ns);
    return threads > 1 ? 100 + 40 * threads + work / (0.8 * threads) : 5 + work;
}

/*
 * Predicts microseconds on a GPU, for kernels and the bus. The bus moves the first MB at 5 GB/s, bytes up to 64 MB at
 * 10 GB/s, and the rest at 14 GB/s.
 */
static double on_gpu(const product_sizes *s)
{
    const double bytes = (double)s->input_bytes + bytes_of_result(s);
    const double bus = bytes / 14e3 + fmin(bytes, 64e6) / 35e3 + fmin(bytes, 1e6) / 10e3;
    return launch_us + bus + 6e-5 * (double)s->products + 5e-4 * (double)s->rows;
}

/*
 * Chooses the first GPU if it is predicted to be faster than the CPU. Operands and result are in host memory.
 * starts_for_one_run: the GPU must also save more time than its start takes.
 */
static void choose_gpu(spryi_route *r, spry_context *context, const product_sizes *s, bool starts_for_one_run)
{
    const spryi_driver *kind = spryi_driver_count > 1 ? spryi_drivers[1] : NULL;
    r->why = "predicted to be the faster one";
    /* If one thread at its slowest finishes before a GPU kernel can be launched, A need not be sampled. */
    if (1e-3 * (5 * (double)s->rows + 80 * (double)s->entries + 14 * (double)s->products) < launch_us) return;
    const double cpu = on_cpu(s), gpu = on_gpu(s);
    if (s->a->columns > INT32_MAX || s->a->rows > INT32_MAX || s->cols > INT32_MAX || gpu >= cpu) return;
    r->why = "no GPU is available";
    if (!kind) return;
    /* A plan is for many products, which outweigh the start of the GPU. */
    r->why = "a GPU would take longer to start than it saves";
    if (starts_for_one_run && cpu - gpu < kind->start_us) return;
    r->why = "no GPU is available";
    const spryi_device *first = spryi_device_of_kind(context, kind->name);
    if (!first->ops || !first->ops->spgemm) return;
    *r = (spryi_route){.device = first, .why = "predicted to be the faster one", .chosen = true};
}

static int64_t input_bytes(const spryi_spgemm_request *q)
{
    return spryi_arrays_bytes(&q->A->a) + (q->A == q->B ? 0 : spryi_arrays_bytes(&q->B->a));
}

static spryi_selection_request selection_for(const spryi_spgemm_request *q)
{
    return (spryi_selection_request){
        .operation = SPRYI_OP_SPGEMM,
        .device = q->o->device == SPRY_DEVICE_AUTO ? SPRY_DEVICE_DEFAULT : q->o->device,
        .kernel = q->o->kernel,
        .operand_device = q->A->a.device > 0 ? q->A->a.device : q->B->a.device,
        .result_device = q->o->result_device,
        .operand = "spgemm: a matrix",
        .result_argument = "result_device",
        .result = "spgemm: result_device",
        .result_place = "the device that computes",
    };
}

/* Finds the device: the named device, else the device of A, B or C, else the kernel's device. */
static spry_status select_device(const spryi_device **device, const spryi_spgemm_request *q, spry_error *err)
{
    const int a = q->A->a.device, b = q->B->a.device, result = q->o->result_device;
    spryi_selection_request request = selection_for(q);
    if (result > 0) {
        const spryi_device *of_result = spryi_device_at(q->context, result);
        if (!of_result) return spryi_device_usable(q->context, NULL, result, err);
        if (request.device == SPRY_DEVICE_DEFAULT && request.operand_device == 0) request.device = of_result->number;
    }
    if (request.operand_device > 0) request.kernel = NULL;
    SPRYI_OK_OR_RETURN(spryi_select_device(q->context, device, &request, err));
    if (a > 0 && b > 0 && a != b)
        return spryi_fail_value(err, SPRY_UNSUPPORTED, "device", b, (*device)->number,
                                "spgemm: a matrix is in memory of device %d, the product was asked for on %s", b,
                                (*device)->name);
    return SPRY_OK;
}

spry_status spryi_spgemm_find_route(spryi_route *r, const spryi_spgemm_request *q, spry_error *err)
{
    const spry_spgemm_options *o = q->o;
    const spry_arrays *a = &q->A->a, *b = &q->B->a;
    SPRYI_OK_OR_RETURN(select_device(&r->device, q, err));
    if (o->device != SPRY_DEVICE_AUTO || o->kernel || a->device != 0 || b->device != 0 || o->result_device != 0)
        return SPRY_OK;
    product_sizes s = {.type = q->type,
                       .rows = o->op_a == SPRY_TRANSPOSE ? a->columns : a->rows,
                       .cols = o->op_b == SPRY_TRANSPOSE ? b->rows : b->columns,
                       .entries = a->nnz,
                       .products = spryi_spgemm_guess_products(q->A, q->B, o),
                       .input_bytes = input_bytes(q),
                       .a = a};
    s.threads = spryi_spgemm_threads(q->context, o->threads, s.rows, s.products);
    choose_gpu(r, q->context, &s, q->use != SPRYI_FOR_RUNS);
    return SPRY_OK;
}

/* Selects the kernel, and writes the reason. */
static spry_status select_kernel(spry_spgemm_plan *plan, const spryi_spgemm_request *q, const char *why,
                                 spry_error *err)
{
    const spry_spgemm_options *o = q->o;
    const spryi_selection_request request = selection_for(q);
    SPRYI_OK_OR_RETURN(
        o->kernel ? spryi_select_named_kernel(plan->device, &plan->kernel, plan->kernel_parameters, &request, err)
                  : spryi_select_kernel(plan->device, &plan->kernel, spryi_find_format("csr"), NULL, &request, err));
    if (!why)
        why = request.device != SPRY_DEVICE_DEFAULT ? "it was asked for"
              : plan->device->number > 0            ? "A, B or C is in its memory"
                                                    : "A is in host memory";
    if (o->kernel)
        snprintf(plan->reason, sizeof plan->reason, "kernel %s was asked for", o->kernel);
    else
        snprintf(plan->reason, sizeof plan->reason, "%s: %s", plan->device->driver->name, why);
    return SPRY_OK;
}

/* ---- C's arrays ------------------------------------------------------------------------------------------ */

spry_status spryi_size_result(spry_spgemm_plan *plan, int64_t *result_bytes, spry_error *err)
{
    const spryi_spgemm_job *job = &plan->job;
    spry_index_type index_type = job->b.index_type;
    plan->result.offset_type = plan->options.offset_type;
    SPRYI_OK_OR_RETURN(spryi_pick_index_types(&plan->result.offset_type, &index_type, plan->result.rows,
                                              plan->result.columns, plan->result.nnz, err));
    const int64_t entry = (int64_t)(spry_type_bytes(job->type) + spryi_index_type_bytes(index_type));
    *result_bytes = plan->result.nnz * entry +
                    (plan->result.rows + 1) * (int64_t)spryi_index_type_bytes(plan->result.offset_type);
    return SPRY_OK;
}

enum { PAGE = 4096 };

static void touch_pages(void *memory, int64_t begin, int64_t end)
{
    char *pages = memory;
    for (int64_t p = begin; p < end; p++) pages[p * PAGE] = 0;
}

void spryi_spgemm_touch_pages(const spry_context *context, void *memory, int64_t bytes)
{
    spryi_loop(context, spryi_threads(context, bytes), bytes / PAGE, 0, touch_pages, memory);
}

#define DROP(V, J)                                                                                                     \
    static int64_t drop_##V##_##J(const spry_arrays *c, int64_t to, int64_t begin, int64_t end)                        \
    {                                                                                                                  \
        J *columns = (J *)(uintptr_t)c->indices;                                                                       \
        V *values = (V *)(uintptr_t)c->values;                                                                         \
        for (int64_t k = begin; k < end; k++) {                                                                        \
            columns[to] = columns[k];                                                                                  \
            values[to] = values[k];                                                                                    \
            to += values[k] != 0;                                                                                      \
        }                                                                                                              \
        return to;                                                                                                     \
    }
DROP(float, int32_t)
DROP(float, int64_t)
DROP(double, int32_t)
DROP(double, int64_t)

void spryi_drop_zeros(spry_matrix *C)
{
    int64_t (*const drop[2][2])(const spry_arrays *, int64_t, int64_t,
                                int64_t) = {{drop_float_int32_t, drop_float_int64_t},
                                            {drop_double_int32_t, drop_double_int64_t}};
    spry_arrays *c = &C->a;
    void *offsets = (void *)(uintptr_t)c->offsets;
    int64_t to = 0, begin = 0;
    for (int64_t i = 0; i < c->rows; i++) {
        const int64_t end = spryi_index_at(offsets, c->offset_type, i + 1);
        to = drop[spryi_value_slot(c->value_type)][c->index_type == SPRY_I64](c, to, begin, end);
        begin = end;
        spryi_set_index(offsets, c->offset_type, i + 1, to);
    }
    c->nnz = to;
}

/* ---- plans --------------------------------------------------------------------------------------------- */

spry_status spryi_spgemm_new_plan(spry_spgemm_plan **plan, const spryi_spgemm_request *q, spry_error *err)
{
    const spry_spgemm_options *o = q->o;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(q->context, plan, 1, "plan", err));
    spry_spgemm_plan *created = *plan;
    *created = (spry_spgemm_plan){
        .context = spryi_context_retain(q->context),
        .options = *o,
        .single_run = q->use != SPRYI_FOR_RUNS,
        .job = {.type = q->type, .alpha = &created->alpha},
        .shown = {&q->A->a, &q->B->a},
        .result.chunks = 1,
        .stages = SPRYI_NO_STAGES,
        .costs.input_bytes = input_bytes(q) + q->outside_bytes,
        .costs.outside_bytes = q->outside_bytes,
        .a.given = spryi_matrix_retain(q->A),
        .b.given = spryi_matrix_retain(q->B),
    };
    spryi_set_value(&created->alpha, q->type, 0, o->alpha ? spryi_value_at(o->alpha, q->type, 0) : 1);
    const spryi_kernel *named = o->kernel ? spryi_find_kernel(o->kernel) : NULL;
    if (named && named->spgemm) {
        created->named.needs_csc = named->spgemm->needs_csc;
        created->named.sequential = named->spgemm->sequential;
    }
    created->options.alpha = created->options.kernel = NULL;
    return SPRY_OK;
}

void spryi_spgemm_report_stages(const spry_spgemm_plan *plan)
{
    const spry_spgemm_stages reported = {.struct_size = sizeof reported,
                                         .convert_us = plan->stages.convert_us,
                                         .count_us = plan->stages.count_us,
                                         .scan_us = plan->stages.scan_us,
                                         .fill_us = plan->stages.fill_us,
                                         .sort_us = plan->stages.sort_us};
    if (plan->options.stages) SPRYI_GIVE(plan->options.stages, &reported);
}

/* Runs the steps for the plan's purpose. */
static spry_status take_steps(spry_spgemm_plan *plan, spryi_plan_use use, spry_error *err)
{
    plan->steps = plan->device->driver->host_memory ? &spryi_spgemm_on_host : &spryi_spgemm_on_device;
    if (use == SPRYI_FOR_ONE_RUN) return plan->steps->multiply(plan, err);
    SPRYI_OK_OR_RETURN(plan->steps->count(plan, err));
    return use == SPRYI_FOR_RUNS ? plan->steps->ready(plan, err) : SPRY_OK;
}

spry_status spryi_spgemm_create_plan(const spryi_route *r, spry_spgemm_plan **plan, const spryi_spgemm_request *q,
                                     spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_spgemm_plan *created = NULL;
    const double start = spryi_now_us();
    SPRYI_TRY(spryi_spgemm_new_plan(&created, q, err));
    created->device = r->device;
    if (q->o->stream) SPRYI_TRY(spryi_wait_for(created->device, q->o->stream, err));
    SPRYI_TRY(spryi_build_operands(created, err));
    created->result.rows = created->job.a.rows;
    created->result.columns = created->job.b.columns;
    if (created->job.a.device == 0 && created->job.b.device == 0)
        SPRYI_TRY(spryi_spgemm_cut(q->context, &created->job, err));
    SPRYI_TRY(select_kernel(created, q, r->why, err));
    SPRYI_TRY(take_steps(created, q->use, err));
    if (q->o->stream || q->use == SPRYI_FOR_RUNS)
        SPRYI_TRY(spryi_wait_for(created->device, NULL, err)); /* work is in the default stream */
    created->shown[0] = created->shown[1] = NULL;
    created->costs.setup_us = spryi_now_us() - start - created->costs.run_us;
    spryi_spgemm_report_stages(created);
    *plan = created;
    created = NULL;
done:
    spry_spgemm_plan_destroy(created);
    return status;
}

void spryi_spgemm_report_failure(spry_spgemm_plan *plan, const spry_error *cause)
{
    const int size = (int)sizeof plan->reason;
    if (snprintf(plan->reason, sizeof plan->reason, "cpu: the GPU could not: %s", cause->message) >= size)
        snprintf(plan->reason, sizeof plan->reason, "cpu: the GPU could not: %s", spry_status_text(cause->status));
}

/* Finds the route and creates the plan. If a chosen GPU fails, mostly for lack of memory, the CPU computes. */
static spry_status create_plan(spry_context *context, spry_spgemm_plan **plan, const spry_matrix *A,
                               const spry_matrix *B, const spry_spgemm_options *o, spryi_plan_use use, spry_error *err)
{
    spry_error cause = SPRY_ERROR_INIT;
    spryi_spgemm_request q = {.context = context, .A = A, .B = B, .o = o, .type = SPRY_F64, .use = use};
    spryi_route r = {0};
    const double start = spryi_now_us();
    SPRYI_OK_OR_RETURN(spryi_spgemm_check_options(o, err));
    SPRYI_OK_OR_RETURN(spryi_spgemm_check_operands(&q.type, A, B, o, "B", err));
    SPRYI_OK_OR_RETURN(spryi_spgemm_find_route(&r, &q, err));
    const double routed_us = spryi_now_us() - start;
    spry_status status = spryi_spgemm_create_plan(&r, plan, &q, r.chosen ? &cause : err);
    if (status != SPRY_OK && r.chosen) {
        r = (spryi_route){.device = spryi_device_at(context, 0)};
        status = spryi_spgemm_create_plan(&r, plan, &q, err);
        if (status == SPRY_OK) spryi_spgemm_report_failure(*plan, &cause);
    }
    if (status == SPRY_OK) (*plan)->costs.setup_us += routed_us;
    return status;
}

spry_status spryi_spgemm_take_options(spry_spgemm_options *o, const spry_spgemm_options *options, const spry_matrix *A,
                                      spry_error *err)
{
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(o, options, err));
    if (o->result_device == SPRY_DEVICE_DEFAULT) o->result_device = A->a.device;
    if (o->result_device == SPRY_CPU) o->result_device = 0;
    return SPRY_OK;
}

/* Checks the arguments of a public function. *o = the options, or the defaults. */
static spry_status check_arguments(const void *context, const void *out, const char *name, const spry_matrix *A,
                                   const spry_matrix *B, const spry_spgemm_options *options, spry_spgemm_options *o,
                                   spry_error *err)
{
    const char *missing = !context ? "context" : !out ? name : !A ? "A" : !B ? "B" : NULL;
    if (missing) return spryi_fail_missing(err, missing);
    return spryi_spgemm_take_options(o, options, A, err);
}

spry_status spry_spgemm_plan_create(spry_context *context, spry_spgemm_plan **plan, const spry_matrix *A,
                                    const spry_matrix *B, const spry_spgemm_options *options, spry_error *err)
{
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    SPRYI_OK_OR_RETURN(check_arguments(context, plan, "plan", A, B, options, &o, err));
    if (o.drop_zeros)
        return spryi_fail(err, SPRY_UNSUPPORTED, "drop_zeros",
                          "spgemm: a plan keeps one structure, which must not depend on values: drop_zeros is for "
                          "spry_spgemm");
    return create_plan(context, plan, A, B, &o, SPRYI_FOR_RUNS, err);
}

/*
 * Allocates C's own values if the run writes to them. Frees them if the run writes elsewhere and no earlier run has
 * filled them.
 */
static spry_status keep_values(spry_spgemm_plan *plan, bool wanted, spry_error *err)
{
    spry_matrix *C = plan->result.C;
    void **values = &C->owned[3];
    const int64_t bytes = C->a.nnz * (int64_t)spry_type_bytes(C->a.value_type);
    const spryi_device *device = spryi_device_at(plan->context, C->a.device);
    if (wanted && !*values) {
        SPRYI_OK_OR_RETURN(device->ops->allocate(device, values, bytes, "values of C", err));
    } else if (!wanted && *values && plan->result.runs == 0 && atomic_load(&C->references) == 1) {
        device->ops->release(device, *values);
        *values = NULL;
    }
    C->a.values = *values;
    return SPRY_OK;
}

/* Refuses an array for C's values that overlaps arrays that the run reads: the operands, or C's structure. */
static spry_status check_values(const spry_spgemm_plan *plan, const void *values, spry_error *err)
{
    const spry_arrays *const read[] = {&plan->a.given->a, &plan->b.given->a, &plan->result.C->a};
    static const char *const names[] = {"A", "B", "C"};
    static const char *const arrays[] = {"values", "indices", "row indices", "offsets"};
    const int64_t number = (int64_t)spry_type_bytes(plan->job.type), bytes = plan->result.C->a.nnz * number;
    if ((uintptr_t)values % (uintptr_t)number != 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "values", "spgemm: values are not aligned to their type");
    for (int m = 0; m < 3; m++) {
        spryi_array list[SPRYI_ARRAYS];
        spryi_list_arrays(list, read[m]);
        for (int n = m < 2 ? SPRYI_VALUES : SPRYI_INDICES; n < SPRYI_ARRAYS; n++) /* C's values are not read */
            if (spryi_overlap(values, bytes, list[n].data, list[n].bytes))
                return spryi_fail(err, SPRY_INVALID_ARGUMENT, "values",
                                  "spgemm: values overlap the %s of %s, expected an array of their own", arrays[n],
                                  names[m]);
    }
    return SPRY_OK;
}

spry_status spry_spgemm_plan_run(spry_spgemm_plan *plan, void *values, const spry_spgemm_run_options *options,
                                 spry_error *err)
{
    spry_spgemm_run_options o = SPRY_INIT(spry_spgemm_run_options);
    spry_status status = SPRY_OK;
    if (!plan) return spryi_fail_missing(err, "plan");
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(&o, options, err));
    if (values) SPRYI_OK_OR_RETURN(check_values(plan, values, err));
    const double start = spryi_now_us();
    SPRYI_TRY(keep_values(plan, !values, err));
    if (!o.stream) o.stream = plan->options.stream;
    if (o.stream) SPRYI_TRY(spryi_wait_for(plan->device, o.stream, err));
    spryi_refresh_operands(plan); /* before the first run as well: values may have changed since the plan was created */
    if (o.alpha) plan->job.alpha = o.alpha;
    plan->result.values = values;
    status = plan->steps->fill(plan, err);
    plan->job.alpha = &plan->alpha;
    if (status == SPRY_OK && !values) plan->result.runs = true;
    plan->costs.run_us = spryi_now_us() - start;
    spryi_spgemm_report_stages(plan);
done:
    return status;
}

spry_status spry_spgemm_plan_get_structure(const spry_spgemm_plan *plan, spry_arrays *structure, spry_error *err)
{
    if (!plan || !structure) return spryi_fail_missing(err, !plan ? "plan" : "structure");
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(structure, err));
    spry_arrays shown = plan->result.C->a;
    shown.values = NULL;
    shown.ownership = SPRY_BORROW;
    SPRYI_GIVE(structure, &shown);
    return SPRY_OK;
}

spry_status spry_spgemm_plan_get_result(const spry_spgemm_plan *plan, spry_matrix **C, spry_error *err)
{
    if (!plan || !C) return spryi_fail_missing(err, !plan ? "plan" : "C");
    if (plan->result.runs == 0 && !(plan->triple && plan->result.C->a.values))
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "plan",
                          "spgemm: the plan has no result before its first run into its own arrays");
    *C = spryi_matrix_retain(plan->result.C);
    return SPRY_OK;
}

static double compression_of(const spry_spgemm_plan *plan, int64_t products)
{
    return plan->result.nnz > 0 ? (double)products / (double)plan->result.nnz : 0;
}

static void report(const spry_spgemm_plan *plan, spry_spgemm_info *info)
{
    const spryi_spgemm_job *job = &plan->job;
    const int64_t products = plan->triple ? spryi_triple_count_products(plan) : job->products;
    spry_spgemm_info reported = {
        .struct_size = sizeof reported,
        .device = spryi_reported_device(plan->device),
        .device_name = plan->device->name,
        .kernel = plan->kernel->name,
        .deterministic = !plan->kernel->nondeterministic,
        .threads = job->sizes.threads > 0 ? spryi_team(job->sizes.threads) : 0,
        .rows = plan->result.rows,
        .columns = plan->result.columns,
        .nnz = plan->result.C ? plan->result.C->a.nnz : plan->result.nnz,
        .products = products,
        .compression = compression_of(plan, products),
        .chunks = plan->result.chunks,
        .peak_bytes = plan->costs.peak_bytes,
        .workspace_bytes = plan->costs.workspace_bytes,
        .setup_us = plan->costs.setup_us,
        .upload_us = plan->costs.upload_us,
        .run_us = plan->costs.run_us,
        .download_us = plan->costs.download_us,
    };
    snprintf(reported.reason, sizeof reported.reason, "%s", plan->reason);
    SPRYI_GIVE(info, &reported);
}

spry_status spry_spgemm_plan_get_info(const spry_spgemm_plan *plan, spry_spgemm_info *info, spry_error *err)
{
    if (!plan || !info) return spryi_fail_missing(err, !plan ? "plan" : "info");
    spry_status status = SPRYI_CHECK_OUTPUT(info, err);
    if (status == SPRY_OK) report(plan, info);
    return status;
}

void spry_spgemm_plan_destroy(spry_spgemm_plan *plan)
{
    if (!plan) return;
    if (plan->steps) plan->steps->close(plan);
    spryi_drop_operands(plan);
    spry_matrix_destroy(plan->result.C);
    spryi_release(plan->context, plan->job.pieces.rows);
    spryi_release(plan->context, plan->triple);
    spry_context *context = plan->context;
    spryi_release(context, plan);
    spryi_context_release(context);
}

/* ---- one product --------------------------------------------------------------------------------------- */

spry_status spry_spgemm(spry_context *context, spry_matrix **C, spry_spgemm_info *info, const spry_matrix *A,
                        const spry_matrix *B, const spry_spgemm_options *options, spry_error *err)
{
    spry_spgemm_plan *plan = NULL;
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    SPRYI_OK_OR_RETURN(check_arguments(context, C, "C", A, B, options, &o, err));
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(info, err));
    SPRYI_OK_OR_RETURN(create_plan(context, &plan, A, B, &o, SPRYI_FOR_ONE_RUN, err));
    if (info) report(plan, info);
    *C = plan->result.C;
    plan->result.C = NULL;
    spry_spgemm_plan_destroy(plan);
    return SPRY_OK;
}

spry_status spry_spgemm_estimate(spry_context *context, spry_spgemm_estimate_info *estimate, const spry_matrix *A,
                                 const spry_matrix *B, const spry_spgemm_options *options, spry_error *err)
{
    spry_spgemm_plan *plan = NULL;
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    spry_status status = check_arguments(context, estimate, "estimate", A, B, options, &o, err);
    if (status != SPRY_OK) return status;
    SPRYI_TRY(SPRYI_CHECK_OUTPUT(estimate, err));
    o.memory_limit_bytes = 0;
    SPRYI_TRY(create_plan(context, &plan, A, B, &o, SPRYI_FOR_ESTIMATE, err));
    spry_spgemm_estimate_info found = {
        .struct_size = sizeof found,
        .rows = plan->result.rows,
        .columns = plan->result.columns,
        .products = plan->job.products,
        .nnz = plan->result.nnz,
        .nnz_bound = plan->result.nnz,
        .exact = true,
        .compression = compression_of(plan, plan->job.products),
        .input_bytes = plan->costs.input_bytes,
        .device = spryi_reported_device(plan->device),
        .device_name = plan->device->name,
        .kernel = plan->kernel->name,
    };
    SPRYI_TRY(spryi_size_result(plan, &found.result_bytes, err));
    SPRYI_TRY(plan->steps->estimate(plan, &found, err));
    SPRYI_GIVE(estimate, &found);
done:
    spry_spgemm_plan_destroy(plan);
    return status;
}
