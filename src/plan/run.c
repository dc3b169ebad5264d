/* Running a plan: validation here, none in the kernels. */
#include "core/assemble.h"
#include "core/context.h"
#include "core/error.h"
#include "core/team.h"
#include "plan/plan.h"

#include <stdint.h>

static int64_t columns_of(const spry_vector *v)
{
    return v->columns == 0 ? 1 : v->columns;
}

static int64_t stride_of(const spry_vector *v)
{
    return v->stride == 0 ? v->length : v->stride;
}

/* Bytes from the first entry to past the last. */
static size_t span_of(const spry_spmv_plan *plan, const spry_vector *v)
{
    if (v->length == 0) return 0;
    const int64_t columns = columns_of(v);
    return (size_t)(columns == 1 ? v->length : stride_of(v) * (columns - 1) + v->length) * plan->number_bytes;
}

static spry_status check_vector(const spry_spmv_plan *plan, const spry_vector *v, const char *name, int64_t length,
                                spry_error *err)
{
    if (v->length != length)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, name, v->length, length,
                                "%s has %lld entries, the product needs %lld", name, (long long)v->length,
                                (long long)length);
    if (v->type != plan->vector_type)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, v->type, plan->vector_type,
                                "%s is %s, the plan was made for %s", name, spry_type_name(v->type),
                                spry_type_name(plan->vector_type));
    if (v->device != plan->options.vector_device)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, v->device, plan->options.vector_device,
                                "%s is on device %d, the plan was made for vectors on device %d", name, v->device,
                                plan->options.vector_device);
    if (!v->data && length > 0) return spryi_fail(err, SPRY_INVALID_ARGUMENT, name, "%s: data is NULL", name);
    if (((uintptr_t)v->data & (plan->number_bytes - 1)) != 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, name, "%s: data is not aligned to its type (%zu bytes)", name,
                          plan->number_bytes);
    if (v->columns < 0 || (columns_of(v) > 1 && stride_of(v) < length))
        return spryi_fail_value(err, SPRY_INVALID_SIZE, name, v->stride, length,
                                "%s: %lld columns with stride %lld, expected columns >= 0 and stride >= %lld", name,
                                (long long)v->columns, (long long)v->stride, (long long)length);
    /* what follows counts bytes from the first column to the last */
    if (columns_of(v) > 1 && stride_of(v) > (INT64_MAX / 8 - length) / (columns_of(v) - 1))
        return spryi_fail_value(err, SPRY_INVALID_SIZE, name, v->stride, INT64_MAX / 8,
                                "%s: %lld columns with stride %lld are past what can be addressed", name,
                                (long long)v->columns, (long long)stride_of(v));
    return SPRY_OK;
}

static int meet(const void *p, size_t p_bytes, const void *q, size_t q_bytes)
{
    const uintptr_t a = (uintptr_t)p, b = (uintptr_t)q;
    return p_bytes > 0 && q_bytes > 0 && a < b + q_bytes && b < a + p_bytes;
}

/* What a run reads beside x: the caller's arrays, which it promised to leave alone. */
static void list_read(spry_spmv_plan *plan)
{
    const spry_arrays *a = plan->order ? &plan->order->given->a : &plan->A->a;
    const size_t index_bytes = spry_index_type_bytes(a->index_type);
    const int64_t lines = a->layout == SPRY_CSC ? a->cols : a->rows;
    const spryi_span read[] = {
        {"A's values", a->values, (size_t)a->nnz * spry_type_bytes(a->value_type)},
        {a->layout == SPRY_CSC ? "A's row indices" : "A's columns", a->indices, (size_t)a->nnz * index_bytes},
        {"A's row indices", a->row_indices, (size_t)a->nnz * index_bytes},
        {"A's offsets", a->offsets, (size_t)(lines + 1) * spry_index_type_bytes(a->offset_type)},
        {"row_scaling", plan->options.row_scaling, (size_t)a->rows * plan->number_bytes},
        {"column_scaling", plan->options.column_scaling, (size_t)a->cols * plan->number_bytes},
    };
    _Static_assert(sizeof read == sizeof plan->read, "room for all");
    for (size_t r = 0; r < sizeof read / sizeof *read; r++)
        if (read[r].data && read[r].bytes > 0) plan->read[plan->read_count++] = read[r];
}

/* y would be written into what the product reads: x, or the plan's list. */
static spry_status check_apart(const spry_spmv_plan *plan, const spry_vector *x, const spry_vector *y, spry_error *err)
{
    const size_t y_bytes = span_of(plan, y);
    const char *met = meet(y->data, y_bytes, x->data, span_of(plan, x)) ? "x" : NULL;
    for (int r = 0; r < plan->read_count && !met; r++)
        if (meet(y->data, y_bytes, plan->read[r].data, plan->read[r].bytes)) met = plan->read[r].name;
    return met ? spryi_fail(err, SPRY_INVALID_ARGUMENT, "y", "%s and y overlap", met) : SPRY_OK;
}

static spry_status check_run(const spry_spmv_plan *plan, const spry_vector *x, const spry_vector *y,
                             const spry_run_options *options, spry_error *err)
{
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OPTIONS(options, err));
    SPRYI_OK_OR_RETURN(check_vector(plan, x, "x", plan->x_length, err));
    SPRYI_OK_OR_RETURN(check_vector(plan, y, "y", plan->y_length, err));
    if (columns_of(x) != columns_of(y))
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "y", columns_of(y), columns_of(x),
                                "y has %lld columns, x has %lld", (long long)columns_of(y), (long long)columns_of(x));
    SPRYI_OK_OR_RETURN(check_apart(plan, x, y, err));
    int scalar_device = options ? options->scalar_device : 0;
    if (scalar_device != 0 && scalar_device != plan->device->number)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "scalar_device", scalar_device, 0,
                                "alpha and beta are on device %d, expected the host (0) or the plan's GPU",
                                scalar_device);
    if (options && options->workspace &&
        (options->workspace_bytes < plan->workspace_bytes || (uintptr_t)options->workspace % 64 != 0))
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "workspace", options->workspace_bytes,
                                plan->workspace_bytes,
                                "workspace of %lld bytes, expected %lld or more, aligned to 64 bytes",
                                (long long)options->workspace_bytes, (long long)plan->workspace_bytes);
    return options ? spryi_check_threads(options->threads, "run", err) : SPRY_OK;
}

/* ---- vectors that are permuted or scaled -------------------------------------------------------------- */

static const void *scaling_of_x(const spry_spmv_plan *plan)
{
    return plan->op == SPRY_TRANSPOSE ? plan->options.row_scaling : plan->options.column_scaling;
}

static const void *scaling_of_y(const spry_spmv_plan *plan)
{
    return plan->op == SPRY_TRANSPOSE ? plan->options.column_scaling : plan->options.row_scaling;
}

static int maps_x(const spry_spmv_plan *plan)
{
    return (plan->order && plan->order->x_from) || scaling_of_x(plan);
}

static int maps_y(const spry_spmv_plan *plan)
{
    return (plan->order && plan->order->y_from) || scaling_of_y(plan);
}

/* Bytes of a vector in the workspace. */
static int64_t padded(const spry_spmv_plan *plan, int64_t length)
{
    return (length * (int64_t)spry_type_bytes(plan->vector_type) + 63) / 64 * 64;
}

spry_status spryi_add_maps(spry_spmv_plan *plan, spry_error *err)
{
    list_read(plan);
    if ((scaling_of_x(plan) || scaling_of_y(plan)) && plan->A->a.value_type != SPRY_PATTERN)
        return spryi_fail(err, SPRY_UNSUPPORTED, plan->options.row_scaling ? "row_scaling" : "column_scaling",
                          "row_scaling and column_scaling are for patterns, this matrix has %s values",
                          spry_type_name(plan->A->a.value_type));
    if (!maps_x(plan) && !maps_y(plan)) return SPRY_OK;
    plan->x_at = (plan->workspace_bytes + 63) / 64 * 64;
    plan->t_at = plan->x_at + (maps_x(plan) ? padded(plan, plan->x_length) : 0);
    plan->workspace_bytes = plan->t_at + (maps_y(plan) ? padded(plan, plan->y_length) : 0);
    return SPRY_OK;
}

/*
 * diag(r) A diag(c) of a pattern A costs a pass over x and one over y, in place of nnz values that are read, and serves
 * every kernel; an ordering permutes in the same passes.
 */
static spry_status run_mapped(const spry_spmv_plan *plan, const spryi_run_args *args, int overwrites, spry_error *err)
{
    static const double zero = 0; /* of any type */
    const spryi_device *d = plan->device;
    spryi_run_args inner = *args;
    spryi_vector_map map = {.type = plan->vector_type,
                            .threads = args->threads,
                            .pool = args->pool,
                            .stream = args->stream};
    if (maps_x(plan) && plan->x_length > 0) {
        inner.x = map.to = (char *)args->workspace + plan->x_at;
        map.from = args->x;
        map.permutation = plan->order ? plan->order->x_from : NULL;
        map.scaling = scaling_of_x(plan);
        map.length = plan->x_length;
        SPRYI_OK_OR_RETURN(d->ops->map(d, &map, err));
    }
    if (!maps_y(plan)) return plan->run(&inner, err);
    map.permutation = plan->order ? plan->order->y_from : NULL;
    if (map.permutation || !overwrites) {
        inner.y = (char *)args->workspace + plan->t_at;
        inner.beta = args->scalars_on_device ? plan->order->zero : &zero;
    }
    SPRYI_OK_OR_RETURN(plan->run(&inner, err));
    map.to = args->y;
    map.from = inner.y;
    map.scaling = scaling_of_y(plan);
    map.scaling_of_to = 1;
    map.length = plan->y_length;
    map.beta = args->beta;
    map.beta_on_device = args->scalars_on_device;
    return d->ops->map(d, &map, err);
}

/* ---- running ------------------------------------------------------------------------------------------ */

/* One column where the device reads and writes it. */
static spry_status run_column(const spry_spmv_plan *plan, const spryi_run_args *args, spry_error *err)
{
    const spryi_device *d = plan->device;
    const int known = !args->scalars_on_device;
    if (known && spryi_value_at(args->alpha, plan->vector_type, 0) == 0) /* the rule of the BLAS */
        return d->ops->scale(d, args->y, plan->vector_type, plan->y_length, args->beta, args->stream, err);
    if (!maps_x(plan) && !maps_y(plan)) return plan->run(args, err);
    return run_mapped(plan, args, known && spryi_value_at(args->beta, plan->vector_type, 0) == 0, err);
}

/* Host vectors of a device with memory of its own: there, product, back. */
static spry_status run_staged(const spry_spmv_plan *plan, spryi_run_args *args, spry_error *err)
{
    const spryi_device *d = plan->device;
    const int64_t size = (int64_t)spry_type_bytes(plan->vector_type);
    const int reads_y = args->scalars_on_device || spryi_value_at(args->beta, plan->vector_type, 0) != 0;
    void *y = args->y;
    SPRYI_OK_OR_RETURN(d->ops->copy(d, plan->x, args->x, plan->x_length * size, SPRYI_TO_DEVICE, args->stream, err));
    if (reads_y)
        SPRYI_OK_OR_RETURN(d->ops->copy(d, plan->y, y, plan->y_length * size, SPRYI_TO_DEVICE, args->stream, err));
    args->x = plan->x;
    args->y = plan->y;
    SPRYI_OK_OR_RETURN(run_column(plan, args, err));
    SPRYI_OK_OR_RETURN(d->ops->copy(d, y, plan->y, plan->y_length * size, SPRYI_FROM_DEVICE, args->stream, err));
    return d->ops->synchronize(d, args->stream, err);
}

spry_status spry_spmv_plan_run(const spry_spmv_plan *plan, const void *alpha, spry_vector x, const void *beta, spry_vector y,
                          const spry_run_options *options, spry_error *err)
{
    static const double zero = 0; /* of any type */
    if (!plan) return spryi_fail(err, SPRY_INVALID_ARGUMENT, "plan", "plan must not be NULL");
    spry_status status = check_run(plan, &x, &y, options, err);
    if (status != SPRY_OK || plan->y_length == 0) return status; /* kernels never meet a y that may be NULL */

    const spryi_device *d = plan->device;
    const size_t size = plan->number_bytes;
    const int threads = options && options->threads > 0 ? options->threads : plan->threads;
    spryi_run_args args = {
        .storage = plan->stored.storage,
        .alpha = alpha ? alpha : spryi_one_of(plan->vector_type),
        .beta = beta ? beta : &zero,
        .workspace = options && options->workspace ? options->workspace : plan->workspace,
        .vector_type = plan->vector_type,
        .threads = threads > 1 ? spryi_team(threads) : threads,
        .pool = &plan->context->pool,
        .scalars_on_device = options && options->scalar_device > 0,
        .device = d->ordinal,
        .auxiliary = plan->auxiliary,
        .stream = options ? options->stream : NULL,
    };
    int previous;
    status = d->ops->enter(d, &previous, err);
    if (status != SPRY_OK) return status;
    for (int64_t c = 0; c < columns_of(&x) && status == SPRY_OK; c++) {
        args.x = c == 0 ? x.data : (const char *)x.data + (size_t)(c * stride_of(&x)) * size;
        args.y = c == 0 ? y.data : (char *)y.data + (size_t)(c * stride_of(&y)) * size;
        status = plan->y ? run_staged(plan, &args, err) : run_column(plan, &args, err);
    }
    d->ops->leave(d, previous);
    return status;
}

spry_status spry_spmv(spry_context *context, const void *alpha, const spry_matrix *A, spry_vector x, const void *beta,
                      spry_vector y, spry_error *err)
{
    spry_spmv_plan *plan = NULL;
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.expected_calls = 1;
    options.vector_type = spryi_value_slot(x.type) >= 0 ? x.type : SPRY_F64;
    spry_status status = spry_spmv_plan_create(context, &plan, A, &options, err);
    if (status == SPRY_OK) status = spry_spmv_plan_run(plan, alpha, x, beta, y, NULL, err);
    spry_spmv_plan_destroy(plan);
    return status;
}
