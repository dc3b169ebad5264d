/* Runs a plan. Validates the vectors, since kernels validate nothing. */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "plan/plan.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Returns the bytes from the first entry to the end of the last. */
static size_t span_of(const spryi_plan *plan, const spry_const_vector *v)
{
    if (v->count == 1 && v->row_stride == 1) return (size_t)v->length * plan->request.element_bytes;
    if (v->length == 0 || v->count == 0) return 0;
    return (size_t)((v->length - 1) * v->row_stride + (v->count - 1) * v->column_stride + 1) *
           plan->request.element_bytes;
}

/* Checks that the vectors are column-major or row-major without overlap, and that byte offsets fit in 64 bits. */
static spry_status check_strides(const spry_const_vector *v, const char *name, spry_error *err)
{
    if (v->count == 1 && v->row_stride == 1 && v->column_stride >= 0) return SPRY_OK;
    const bool one = v->count <= 1;
    const bool fits = v->row_stride == 1 ? one || v->column_stride >= v->length
                                         : one || (v->column_stride == 1 && v->row_stride >= v->count);
    if (v->count < 0 || v->row_stride < 1 || v->column_stride < 0 || !fits)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, name, v->row_stride == 1 ? v->column_stride : v->row_stride,
                                v->row_stride == 1 ? v->length : v->count,
                                "%s: %lld vectors of %lld elements with row_stride %lld and column_stride %lld, "
                                "expected row_stride 1 and column_stride >= %lld, or column_stride 1 and row_stride "
                                ">= %lld",
                                name, (long long)v->count, (long long)v->length, (long long)v->row_stride,
                                (long long)v->column_stride, (long long)v->length, (long long)v->count);
    const int64_t most = INT64_MAX / 16;
    if ((v->length > 1 && v->row_stride > most / v->length) || (!one && v->column_stride > most / v->count))
        return spryi_fail_value(err, SPRY_INVALID_SIZE, name, v->row_stride == 1 ? v->column_stride : v->row_stride,
                                most, "%s: strides %lld and %lld are past what can be addressed", name,
                                (long long)v->row_stride, (long long)v->column_stride);
    return SPRY_OK;
}

static spry_status check_vector(const spryi_plan *plan, const spry_const_vector *v, const char *name, int64_t length,
                                spry_error *err)
{
    if (v->length != length)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, name, v->length, length,
                                "%s has %lld elements, the product needs %lld", name, (long long)v->length,
                                (long long)length);
    if (v->type == SPRY_TYPE_DEFAULT)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, v->type, plan->request.vector_type,
                                "%s.type is not set, expected %s", name, spry_type_name(plan->request.vector_type));
    if (v->type != plan->request.vector_type)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, v->type, plan->request.vector_type,
                                "%s is %s, expected %s", name, spry_type_name(v->type),
                                spry_type_name(plan->request.vector_type));
    if (v->device != plan->request.options.vector_device)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, v->device, plan->request.options.vector_device,
                                "%s is on device %d, expected device %d (vector_device)", name, v->device,
                                plan->request.options.vector_device);
    if (!v->data && length > 0) return spryi_fail(err, SPRY_INVALID_ARGUMENT, name, "%s: data is NULL", name);
    if (((uintptr_t)v->data & (plan->request.element_bytes - 1)) != 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, name, "%s: data is not aligned to its type (%zu bytes)", name,
                          plan->request.element_bytes);
    SPRYI_OK_OR_RETURN(spryi_check_reserved(v, name, err));
    SPRYI_OK_OR_RETURN(check_strides(v, name, err));
    if (v->count > 1 && v->row_stride != 1 && !plan->request.options.row_major)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, name, v->row_stride, 1,
                                "%s is row-major (row_stride %lld), expected row_stride 1 or a plan with row_major",
                                name, (long long)v->row_stride);
    return SPRY_OK;
}

/* Checks that y overlaps neither x nor an array in plan->reads, which the product reads. */
static spry_status check_overlap(const spryi_plan *plan, const spry_const_vector *x, const spry_const_vector *y,
                                 spry_error *err)
{
    const size_t y_bytes = span_of(plan, y);
    const char *met = spryi_overlap(y->data, (int64_t)y_bytes, x->data, (int64_t)span_of(plan, x)) ? "x" : NULL;
    for (int r = 0; r < plan->reads.count && !met; r++)
        if (spryi_overlap(y->data, (int64_t)y_bytes, plan->reads.list[r].array.data, plan->reads.list[r].array.bytes))
            met = plan->reads.list[r].name;
    return met ? spryi_fail(err, SPRY_INVALID_ARGUMENT, "y", "%s and y overlap", met) : SPRY_OK;
}

static spry_status check_run(const spryi_plan *plan, const spry_const_vector *x, const spry_const_vector *y,
                             const spry_spmv_run_options *options, spry_error *err)
{
    SPRYI_OK_OR_RETURN(check_vector(plan, x, "x", plan->request.x_length, err));
    SPRYI_OK_OR_RETURN(check_vector(plan, y, "y", plan->request.y_length, err));
    if (x->count != y->count)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "y", y->count, x->count, "y has %lld vectors, x has %lld",
                                (long long)y->count, (long long)x->count);
    SPRYI_OK_OR_RETURN(check_overlap(plan, x, y, err));
    const int scalar_device = options ? spryi_device_number(options->scalar_device) : 0;
    if (scalar_device != 0 && scalar_device != plan->request.device->number)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "scalar_device", scalar_device, 0,
                                "alpha and beta are on device %d, expected the host (0) or the plan's GPU",
                                scalar_device);
    if (options)
        SPRYI_OK_OR_RETURN(
            spryi_check_range(NULL, "workspace_bytes", options->workspace_bytes, 0, INT64_MAX, "0 or more", err));
    if (options && options->workspace &&
        (options->workspace_bytes < plan->work.bytes || (uintptr_t)options->workspace % 64 != 0))
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "workspace", options->workspace_bytes, plan->work.bytes,
                                "workspace of %lld bytes, expected %lld or more, aligned to 64 bytes",
                                (long long)options->workspace_bytes, (long long)plan->work.bytes);
    return options ? spryi_check_threads(options->threads, "run", err) : SPRY_OK;
}

/* One column of a run, and the strides of its entries. */
typedef struct column {
    spryi_run_args args;
    int64_t x_stride, y_stride;
} column;

static bool alpha_is_zero(const spryi_plan *plan, const spryi_run_args *args)
{
    return !args->scalars_on_device && spryi_value_at(args->alpha, plan->request.vector_type, 0) == 0;
}

/* Returns a vector map for a run. The caller must still set its vectors. */
static spryi_vector_map map_of(const spryi_plan *plan, const spryi_run_args *args, int64_t length)
{
    return (spryi_vector_map){.length = length,
                              .type = plan->request.vector_type,
                              .threads = args->threads,
                              .pool = args->pool,
                              .stream = args->stream};
}

/* ---- vectors that are permuted or scaled -------------------------------------------------------------- */

/*
 * Runs one column. If y has a stride, the kernel writes to a contiguous copy of y in the workspace, so that the result
 * has the same bits as for a contiguous y. If alpha is 0, only scales y.
 */
static spry_status run_spread(const spryi_plan *plan, const column *c, const spryi_run_args *args, bool overwrites,
                              spry_error *err)
{
    const spryi_device *d = plan->request.device;
    spryi_run_args inner = *args;
    spryi_vector_map map = map_of(plan, args, plan->request.y_length);
    if (c->y_stride == 1) return plan->product.run(&inner, err);
    map.from = c->args.y;
    map.from_stride = c->y_stride;
    inner.y = map.to = (char *)inner.workspace + plan->work.t_at;
    if (!overwrites) SPRYI_OK_OR_RETURN(d->ops->map(d, &map, err));
    SPRYI_OK_OR_RETURN(alpha_is_zero(plan, args) ? d->ops->scale(d, inner.y, plan->request.vector_type,
                                                                 plan->request.y_length, inner.beta, inner.stream, err)
                                                 : plan->product.run(&inner, err));
    map.from = inner.y;
    map.from_stride = 1;
    map.to = c->args.y;
    map.to_stride = c->y_stride;
    return d->ops->map(d, &map, err);
}

/*
 * Runs a column with an ordering or scalings. The product with diag(r) A diag(c) costs an additional pass over x and
 * one over y, works with every kernel, and needs no scaled copy of A's values. The same passes also permute x and y,
 * and copy columns with strides.
 */
static spry_status run_mapped(const spryi_plan *plan, const column *c, bool overwrites, spry_error *err)
{
    static const double zero = 0; /* the value 0 of any type */
    const spryi_device *d = plan->request.device;
    spryi_run_args inner = c->args;
    spryi_vector_map map = map_of(plan, &c->args, plan->request.x_length);
    if (spryi_maps_x(plan, &plan->map) && plan->request.x_length > 0) {
        inner.x = map.to = (char *)inner.workspace + plan->work.x_at;
        map.from = c->args.x;
        map.from_stride = c->x_stride;
        map.permutation = plan->map.x_from;
        map.scaling = plan->map.x_scaling;
        SPRYI_OK_OR_RETURN(d->ops->map(d, &map, err));
    }
    if (!spryi_maps_y(plan, &plan->map)) return plan->product.run(&inner, err);
    if (!spryi_changes_y(&plan->map)) return run_spread(plan, c, &inner, overwrites, err);
    map.permutation = plan->map.y_from;
    if (map.permutation || c->y_stride != 1 || !overwrites) {
        inner.y = (char *)inner.workspace + plan->work.t_at;
        inner.beta = inner.scalars_on_device ? plan->work.zero : &zero;
    }
    SPRYI_OK_OR_RETURN(plan->product.run(&inner, err));
    map.to = c->args.y;
    map.to_stride = c->y_stride;
    map.from = inner.y;
    map.from_stride = 1;
    map.scaling = plan->map.y_scaling;
    map.scaling_of_to = 1;
    map.length = plan->request.y_length;
    map.beta = c->args.beta;
    map.beta_on_device = inner.scalars_on_device;
    return d->ops->map(d, &map, err);
}

/* ---- running ------------------------------------------------------------------------------------------ */

/* Runs one column that the device can read and write. */
static spry_status run_column(const spryi_plan *plan, column *c, spry_error *err)
{
    const spryi_device *d = plan->request.device;
    const bool overwrites = !c->args.scalars_on_device &&
                            spryi_value_at(c->args.beta, plan->request.vector_type, 0) == 0;
    const bool nothing = alpha_is_zero(plan, &c->args); /* then neither A nor x is read, as in the BLAS */
    if (nothing && c->y_stride == 1)
        return d->ops->scale(d, c->args.y, plan->request.vector_type, plan->request.y_length, c->args.beta,
                             c->args.stream, err);
    if (nothing) return run_spread(plan, c, &c->args, overwrites, err);
    if (!spryi_maps_x(plan, &plan->map) && !spryi_maps_y(plan, &plan->map)) return plan->product.run(&c->args, err);
    return run_mapped(plan, c, overwrites, err);
}

static bool runs_together(const spryi_plan *plan, const spryi_run_args *args, const spry_const_vector *x,
                          const spry_const_vector *y)
{
    const bool by_rows = x->column_stride == 1 && y->column_stride == 1;
    /* Vectors of one element may be row-major and column-major; with column_stride 1 they count as row-major. */
    const bool strided = x->column_stride != 1 && y->column_stride != 1;
    const bool by_columns = strided && x->row_stride == 1 && y->row_stride == 1;
    /* kernels multiply indices of rows by the bytes between rows, in 32 bits */
    const int64_t most = INT32_MAX / (int64_t)plan->request.element_bytes;
    const bool strides_fit = x->row_stride <= most && y->row_stride <= most;
    return x->count > 1 && (by_rows || by_columns) && strides_fit && spryi_takes_columns(plan, &plan->map, by_rows) &&
           !alpha_is_zero(plan, args);
}

/*
 * Runs column-major vectors, plan->work.joined of them at a time: copies them to row-major, multiplies, and copies
 * back. On a GPU the product also multiplies the columns that pad a row. They have any values, and nothing reads their
 * results.
 */
static spry_status run_joined(const spryi_plan *plan, const spryi_run_args *args, const spry_const_vector *x,
                              const spry_const_vector *y, void *into, spry_error *err)
{
    static const double zero = 0; /* the value 0 of any type */
    const spryi_device *d = plan->request.device;
    const int64_t size = (int64_t)plan->request.element_bytes,
                  passes = (x->count + plan->work.joined - 1) / plan->work.joined;
    spryi_run_args rows = *args;
    rows.x = (char *)args->workspace + plan->work.x_at;
    rows.y = (char *)args->workspace + plan->work.t_at;
    rows.beta = args->scalars_on_device ? plan->work.zero : &zero;
    rows.x_column_stride = rows.y_column_stride = 1;
    for (int64_t pass = 0; pass < passes; pass++) {
        const int64_t c = x->count * pass / passes, columns = x->count * (pass + 1) / passes - c;
        const int64_t stride = spryi_joined_stride(plan, columns);
        spryi_vector_map map = map_of(plan, args, plan->request.x_length);
        map.to = (char *)args->workspace + plan->work.x_at;
        map.from = (const char *)x->data + c * x->column_stride * size;
        map.columns = columns;
        map.to_stride = stride;
        map.to_column_stride = 1;
        map.from_column_stride = x->column_stride;
        if (plan->request.x_length > 0) SPRYI_OK_OR_RETURN(d->ops->map(d, &map, err));
        rows.columns = rows.x_stride = rows.y_stride = stride;
        SPRYI_OK_OR_RETURN(plan->product.run(&rows, err));
        map.to = (char *)into + c * y->column_stride * size;
        map.from = rows.y;
        map.to_stride = 1;
        map.from_stride = stride;
        map.to_column_stride = y->column_stride;
        map.from_column_stride = 1;
        map.length = plan->request.y_length;
        map.beta = args->beta;
        map.beta_on_device = args->scalars_on_device;
        SPRYI_OK_OR_RETURN(d->ops->map(d, &map, err));
    }
    return SPRY_OK;
}

static spry_status run_together(const spryi_plan *plan, spryi_run_args args, const spry_const_vector *x,
                                const spry_const_vector *y, void *into, spry_error *err)
{
    if (x->column_stride != 1 && plan->work.joined > 0) return run_joined(plan, &args, x, y, into, err);
    args.x = x->data;
    args.y = into;
    args.columns = x->count;
    args.x_stride = x->row_stride;
    args.y_stride = y->row_stride;
    args.x_column_stride = x->column_stride;
    args.y_column_stride = y->column_stride;
    return plan->product.run(&args, err);
}

/* Copies entries of a host vector from one stride to another. */
static spry_status pack(const spryi_plan *plan, void *to, int64_t to_stride, const void *from, int64_t from_stride,
                        int64_t length, spry_error *err)
{
    const spryi_device *cpu = spryi_device_at(plan->context, 0);
    const spryi_vector_map map = {.to = to,
                                  .to_stride = to_stride,
                                  .from = from,
                                  .from_stride = from_stride,
                                  .length = length,
                                  .type = plan->request.vector_type,
                                  .threads = plan->product.threads,
                                  .pool = &plan->context->pool};
    return cpu->ops->map(cpu, &map, err);
}

/* Returns whether beta may differ from 0. */
static bool reads_its_y(const spryi_plan *plan, bool beta_on_device, const void *beta)
{
    return beta_on_device || spryi_value_at(beta, plan->request.vector_type, 0) != 0;
}

/*
 * Runs one column of host vectors on a device with its own memory: copies x and y to the device, multiplies, copies y
 * back.
 */
static spry_status run_staged(const spryi_plan *plan, column *c, spry_error *err)
{
    const spryi_device *d = plan->request.device;
    const int64_t size = (int64_t)spry_type_bytes(plan->request.vector_type);
    const bool reads_y = reads_its_y(plan, c->args.scalars_on_device, c->args.beta);
    const int64_t y_stride = c->y_stride;
    const void *x = c->args.x;
    void *given = c->args.y, *y = y_stride == 1 ? given : plan->work.host_y, *stream = c->args.stream;
    if (c->x_stride != 1) {
        SPRYI_OK_OR_RETURN(pack(plan, plan->work.host_x, 1, x, c->x_stride, plan->request.x_length, err));
        x = plan->work.host_x;
    }
    if (reads_y && y != given) SPRYI_OK_OR_RETURN(pack(plan, y, 1, given, y_stride, plan->request.y_length, err));
    SPRYI_OK_OR_RETURN(d->ops->copy(d, plan->work.x, x, plan->request.x_length * size, SPRYI_TO_DEVICE, stream, err));
    if (reads_y)
        SPRYI_OK_OR_RETURN(
            d->ops->copy(d, plan->work.y, y, plan->request.y_length * size, SPRYI_TO_DEVICE, stream, err));
    c->args.x = plan->work.x;
    c->args.y = plan->work.y;
    c->x_stride = c->y_stride = 1;
    SPRYI_OK_OR_RETURN(run_column(plan, c, err));
    SPRYI_OK_OR_RETURN(d->ops->copy(d, y, plan->work.y, plan->request.y_length * size, SPRYI_FROM_DEVICE, stream, err));
    SPRYI_OK_OR_RETURN(d->ops->synchronize(d, stream, err));
    return y == given ? SPRY_OK : pack(plan, given, y_stride, y, 1, plan->request.y_length, err);
}

/* Plan resources that a run holds exclusively. */
typedef struct holding {
    bool locked;
    void *made; /* workspace of this run, if another run holds the plan's */
} holding;

/*
 * Finds a workspace, unless the caller has given one. On a CPU, if runs of the plan overlap in time, one uses the
 * plan's workspace and each other run allocates its own. If host vectors are copied to a device, runs that overlap wait
 * for each other. For vectors on the device, the caller must prevent overlap.
 */
static spry_status take_workspace(const spryi_plan *plan, holding *h, void **workspace, spry_error *err)
{
    const spryi_device *d = plan->request.device;
    pthread_mutex_t *in_use = (pthread_mutex_t *)(uintptr_t)&plan->in_use; /* only the lock of the plan changes */
    const bool shared = !*workspace && plan->work.bytes > 0 && d->driver->host_memory;
    if (plan->work.y)
        h->locked = pthread_mutex_lock(in_use) == 0;
    else if (shared)
        h->locked = pthread_mutex_trylock(in_use) == 0;
    if (shared && !h->locked) {
        SPRYI_OK_OR_RETURN(d->ops->allocate(d, &h->made, plan->work.bytes, "workspace", err));
        *workspace = h->made;
    }
    if (!*workspace) *workspace = plan->work.memory;
    return SPRY_OK;
}

static void return_workspace(const spryi_plan *plan, const holding *h)
{
    if (h->made) plan->request.device->ops->release(plan->request.device, h->made);
    if (h->locked) (void)pthread_mutex_unlock((pthread_mutex_t *)(uintptr_t)&plan->in_use);
}

/*
 * Runs a plan without row_major on one vector with strides: copies x and y to contiguous memory, runs, and copies y
 * back. A plan with row_major needs no such allocations, since its workspace has space for the copies.
 */
static spry_status run_strided(const spryi_plan *plan, spry_vector y, const void *alpha, spry_const_vector x,
                               const void *beta, const spry_spmv_run_options *options, spry_error *err)
{
    const spryi_device *d = spryi_device_at(plan->context, plan->request.options.vector_device);
    const int64_t size = (int64_t)plan->request.element_bytes;
    const bool reads_y = beta && reads_its_y(plan, options && options->scalar_device > 0, beta);
    spryi_vector_map map = {.type = plan->request.vector_type,
                            .threads = plan->product.threads,
                            .pool = &plan->context->pool,
                            .stream = options ? options->stream : NULL};
    void *x_copy = NULL, *y_copy = NULL;
    int previous;
    spry_status status = SPRY_OK;
    SPRYI_OK_OR_RETURN(d->ops->enter(d, &previous, err));
    SPRYI_TRY(d->ops->allocate(d, &x_copy, x.length * size, "contiguous x", err));
    SPRYI_TRY(d->ops->allocate(d, &y_copy, y.length * size, "contiguous y", err));
    map.from = x.data, map.from_stride = x.row_stride, map.to = x_copy, map.to_stride = 1, map.length = x.length;
    if (x.length > 0) SPRYI_TRY(d->ops->map(d, &map, err));
    map.from = y.data, map.from_stride = y.row_stride, map.to = y_copy, map.length = y.length;
    if (reads_y) SPRYI_TRY(d->ops->map(d, &map, err));
    SPRYI_TRY(spryi_run(plan, (spry_vector){.data = y_copy, .length = y.length, .type = y.type, .device = y.device},
                        alpha,
                        (spry_const_vector){.data = x_copy, .length = x.length, .type = x.type, .device = x.device},
                        beta, options, err));
    map.from = y_copy, map.from_stride = 1, map.to = y.data, map.to_stride = y.row_stride;
    SPRYI_TRY(d->ops->map(d, &map, err));
    SPRYI_TRY(d->ops->synchronize(d, map.stream, err));
done:
    d->ops->release(d, x_copy);
    d->ops->release(d, y_copy);
    d->ops->leave(d, previous);
    return status;
}

/* Copies an element of 4 or 8 bytes. Constant sizes are copied without a call. */
static inline const void *copy_scalar(double *to, const void *from, int64_t size)
{
    return size == 8 ? memcpy(to, from, 8) : memcpy(to, from, 4);
}

spry_status spryi_run(const spryi_plan *plan, spry_vector into, const void *alpha, spry_const_vector from,
                      const void *beta, const spry_spmv_run_options *options, spry_error *err)
{
    static const double zero = 0; /* the value 0 of any type */
    double scalars[2];            /* copies, because alpha and beta may be elements of y */
    const spry_const_vector x = spryi_resolved(from), y = spryi_resolved(spry_vector_as_const(into));
    spry_status status = check_run(plan, &x, &y, options, err);
    if (status != SPRY_OK || plan->request.y_length == 0) return status; /* an empty y may be NULL */

    if (!plan->request.options.row_major && x.count == 1 && (x.row_stride != 1 || y.row_stride != 1)) {
        into.row_stride = y.row_stride;
        return run_strided(plan, into, alpha, x, beta, options, err);
    }

    const spryi_device *d = plan->request.device;
    const spry_type type = plan->request.vector_type;
    const int64_t size = (int64_t)plan->request.element_bytes;
    const int threads = options && options->threads > 0 ? options->threads : plan->product.threads;
    const bool on_device = options && options->scalar_device > 0;
    if (alpha && !on_device) alpha = copy_scalar(&scalars[0], alpha, size);
    if (beta && !on_device) beta = copy_scalar(&scalars[1], beta, size);
    spryi_run_args args = {
        .storage = plan->stored.storage,
        .alpha = alpha ? alpha : spryi_one_of(type),
        .beta = beta ? beta : &zero,
        .workspace = options ? options->workspace : NULL,
        .vector_type = type,
        .threads = threads > 1 ? spryi_team(threads) : threads,
        .pool = &plan->context->pool,
        .scalars_on_device = on_device,
        .device = d->ordinal,
        .auxiliary = plan->product.auxiliary,
        .kernel_parameters = plan->target.kernel_parameters,
        .stream = options ? options->stream : NULL,
    };
    int previous;
    holding held = {0};
    SPRYI_OK_OR_RETURN(d->ops->enter(d, &previous, err));
    if (plan->stored.widening > 0 && args.stream && d->ops->is_capturing && d->ops->is_capturing(args.stream))
        *(_Atomic bool *)(uintptr_t)&plan->is_captured = true; /* changes despite const, like the lock */
    status = take_workspace(plan, &held, &args.workspace, err);
    const bool together = status == SPRY_OK && runs_together(plan, &args, &x, &y);
    if (together) status = run_together(plan, args, &x, &y, into.data, err);
    for (int64_t k = 0; k < x.count && status == SPRY_OK && !together; k++) {
        column c = {args, .x_stride = x.row_stride, .y_stride = y.row_stride};
        c.args.x = k == 0 ? x.data : (const char *)x.data + k * x.column_stride * size;
        c.args.y = k == 0 ? into.data : (char *)into.data + k * y.column_stride * size;
        status = plan->work.y ? run_staged(plan, &c, err) : run_column(plan, &c, err);
    }
    return_workspace(plan, &held);
    d->ops->leave(d, previous);
    return status;
}

/* ---- the caller's runs -------------------------------------------------------------------------------- */

static spry_status check_direction(const spry_spmv_plan *plan, bool transpose, spry_error *err)
{
    if (plan->is_stale)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "plan",
                          "the values that changed in place are not symmetric, but one storage serves both directions: "
                          "update the plan with symmetric values before the next run");
    if (!transpose || plan->backward) return SPRY_OK;
    return spryi_fail(err, SPRY_INVALID_ARGUMENT, "transpose",
                      "transpose: the plan has one direction, expected a plan with both_directions");
}

spry_status spry_spmv_plan_run(const spry_spmv_plan *plan, spry_vector y, const void *alpha, spry_const_vector x,
                               const void *beta, const spry_spmv_run_options *options, spry_error *err)
{
    if (!plan) return spryi_fail_missing(err, "plan");
    void *stream = plan->forward.request.options.stream;
    if (!options && !stream && !plan->is_stale) return spryi_run(&plan->forward, y, alpha, x, beta, NULL, err);
    spry_spmv_run_options o;
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(&o, options, err));
    if (!o.stream) o.stream = stream;
    SPRYI_OK_OR_RETURN(check_direction(plan, o.transpose, err));
    return spryi_run(o.transpose ? plan->backward : &plan->forward, y, alpha, x, beta, &o, err);
}

spry_status spry_spmv(spry_context *context, spry_vector y, const void *alpha, const spry_matrix *A,
                      spry_const_vector x, const void *beta, spry_error *err)
{
    spry_spmv_plan *plan = NULL;
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.expected_calls = 1;
    options.vector_type = spryi_value_slot(x.type) >= 0 ? x.type : SPRY_F64;
    options.vector_device = x.device == SPRY_DEVICE_DEFAULT ? SPRY_CPU : x.device;
    options.row_major = x.row_stride > 1 || y.row_stride > 1;
    spry_error why = SPRY_ERROR_INIT;
    spry_status status = spry_spmv_plan_create(context, &plan, A, &options, &why);
    if (strcmp(why.argument, "vector_type") == 0) snprintf(why.argument, sizeof why.argument, "x");
    status = status == SPRY_OK ? spry_spmv_plan_run(plan, y, alpha, x, beta, NULL, err) : spryi_hand_on(err, &why);
    spry_spmv_plan_destroy(plan);
    return status;
}
