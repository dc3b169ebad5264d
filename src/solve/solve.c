/* Common parts of the iterative methods: checks of arguments, copies between memories, and setup of passes. */
#include "solve/solve.h"
#include "spry/cuda.h"
#include "spry/matrix.h"
#include "spry/solve.h"
#include "spry/tune.h"

#include "base/context.h"
#include "base/pool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

spry_status spryi_solve_check_square(const spry_arrays *a, const char *method, spry_error *err)
{
    if (a->rows != a->columns)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "A", a->columns, a->rows,
                                "%s: the matrix is %lld x %lld, expected a square one", method, (long long)a->rows,
                                (long long)a->columns);
    return SPRY_OK;
}

spry_status spryi_solve_check_values(const spry_arrays *a, spry_error *err)
{
    if (a->value_type == SPRY_PATTERN || spryi_value_slot(a->value_type) >= 0) return SPRY_OK;
    return spryi_fail_value(err, SPRY_UNSUPPORTED, "A", a->value_type, SPRY_F64,
                            "the values of A are %s, expected f32 or f64: convert the matrix with "
                            "spry_matrix_convert",
                            spry_type_name(a->value_type));
}

spry_status spryi_solve_check_columns(const spry_vector *v, const char *name, int64_t n, spry_type type, int device,
                                      spry_error *err)
{
    const int64_t columns = v->count > 1 ? v->count : 1;
    const spry_const_vector read = spry_vector_as_const(*v);
    SPRYI_OK_OR_RETURN(spryi_check_reserved(&read, name, err));
    if (v->length != n)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, name, v->length, n, "%s has %lld elements, expected %lld", name,
                                (long long)v->length, (long long)n);
    if (spryi_value_slot(v->type) < 0 || v->type != type)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, v->type, type, "%s is %s, expected %s", name,
                                spry_type_name(v->type),
                                spryi_value_slot(type) < 0 ? "f32 or f64" : spry_type_name(type));
    if (v->count < 0)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, name, v->count, 0, "%s: count is %lld, expected 0 or more",
                                name, (long long)v->count);
    SPRYI_OK_OR_RETURN(spryi_check_stride(v->row_stride, n, name, "row_stride", err));
    if (columns > 1 && v->row_stride > 1)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, name, v->row_stride, 1,
                                "%s has %lld vectors with row_stride %lld, expected column-major vectors "
                                "(row_stride 1)",
                                name, (long long)v->count, (long long)v->row_stride);
    if (columns > 1 && v->column_stride < n)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, name, v->column_stride, n,
                                "%s has column_stride %lld, expected %lld or more", name, (long long)v->column_stride,
                                (long long)n);
    if (columns > 1) SPRYI_OK_OR_RETURN(spryi_check_stride(v->column_stride, columns, name, "column_stride", err));
    if (v->device != 0 && v->device != device)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, v->device, device,
                                "%s is on device %d, but the work is done on device %d: expected host memory (0) or "
                                "that device",
                                name, v->device, device);
    if ((!v->data && n > 0) || (uintptr_t)v->data % spry_type_bytes(v->type) != 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, name, "%s: data is %s", name,
                          v->data ? "not aligned to its type" : "NULL");
    return SPRY_OK;
}

spry_status spryi_solve_check_vector(const spry_vector *v, const char *name, int64_t n, const spry_arrays *a,
                                     int device, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_solve_check_values(a, err));
    if (v->count > 1)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, name, v->count, 1, "%s has %lld vectors, expected one", name,
                                (long long)v->count);
    return spryi_solve_check_columns(v, name, n, a->value_type == SPRY_PATTERN ? v->type : a->value_type, device, err);
}

int64_t spryi_solve_span(const spry_vector *v)
{
    if (v->length == 0) return 0;
    const int64_t last = (v->length - 1) * v->row_stride + (v->count > 1 ? (v->count - 1) * v->column_stride : 0);
    return (last + 1) * (int64_t)spry_type_bytes(v->type);
}

spry_status spryi_solve_check_result(const spry_vector *x, const spry_matrix *A, const char *method, spry_error *err)
{
    static const char *const names[SPRYI_ARRAYS] = {"values", "indices", "row_indices", "offsets"};
    spryi_array list[SPRYI_ARRAYS];
    if (!A) return SPRY_OK;
    spryi_list_arrays(list, &A->a);
    for (int n = 0; n < SPRYI_ARRAYS; n++)
        if (spryi_overlap(x->data, spryi_solve_span(x), list[n].data, list[n].bytes))
            return spryi_fail(err, SPRY_INVALID_ARGUMENT, "x", "%s: x and the %s of A overlap", method, names[n]);
    return SPRY_OK;
}

spry_status spryi_solve_tolerance(double *tolerance, double asked, double usual, const char *method, spry_error *err)
{
    *tolerance = asked == 0 ? usual : asked == SPRY_TOLERANCE_ZERO ? 0 : asked;
    if (asked == SPRY_TOLERANCE_ZERO || (asked >= 0 && isfinite(asked))) return SPRY_OK;
    return spryi_fail(err, SPRY_INVALID_ARGUMENT, "tolerance",
                      "%s: tolerance is %g, expected a number above 0, 0 for %g, or SPRY_TOLERANCE_ZERO", method, asked,
                      usual);
}

spry_status spryi_solve_check_choice(int value, int most, const char *name, const char *names, const char *method,
                                     spry_error *err)
{
    if (value >= 0 && value <= most) return SPRY_OK;
    return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, value, most, "%s: %s is %d, expected %s", method, name,
                            value, names);
}

spry_status spryi_solve_check_start(spry_start start, const char *method, spry_error *err)
{
    return spryi_solve_check_choice((int)start, SPRY_START_X, "start",
                                    "SPRY_START_DEFAULT (0), SPRY_START_ZERO (1) or SPRY_START_X (2)", method, err);
}

spry_vector spryi_solve_vector(spry_const_vector v)
{
    v = spryi_resolved(v);
    return (spry_vector){.data = (void *)(uintptr_t)v.data,
                         .length = v.length,
                         .count = v.count,
                         .row_stride = v.row_stride,
                         .column_stride = v.column_stride,
                         .type = v.type,
                         .device = v.device,
                         .reserved = {v.reserved[0], v.reserved[1]}};
}

spry_status spryi_solve_create_plan(spry_context *context, spry_spmv_plan **plan, const spry_matrix *A, spry_type type,
                                    spryi_solve_plan *names, void *stream, spry_error *err)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
    info.struct_size = offsetof(spry_spmv_plan_info, baseline); /* no predictions: they would measure the device */
    const int number = spryi_solve_device_number(context, names, &A->a);
    options.device = names->device;
    options.format = names->format;
    options.kernel = names->kernel;
    options.vector_type = type;
    options.count = names->columns;
    options.stream = stream;
    options.vector_device = number == 0 ? SPRY_CPU : number;
    SPRYI_OK_OR_RETURN(spry_spmv_plan_create(context, plan, A, &options, err));
    SPRYI_OK_OR_RETURN(spry_spmv_plan_get_info(*plan, &info, err));
    names->device = info.device;
    names->format = info.format;
    names->kernel = info.kernel;
    return SPRY_OK;
}

int spryi_solve_device_number(const spry_context *context, const spryi_solve_plan *names, const spry_arrays *a)
{
    int device = names->device;
    spry_kernel_info info = SPRY_INIT(spry_kernel_info);
    for (int k = 0;
         device == SPRY_DEVICE_DEFAULT && names->kernel && spry_kernel_get_info(context, &info, k, NULL) == SPRY_OK;
         k++)
        if (strcmp(info.name, names->kernel) == 0) (void)!spry_device_find(context, &device, info.device_kind, NULL);
    if (device == SPRY_DEVICE_DEFAULT) device = a->device;
    return device > 0 ? device : 0;
}

/* ---- copies --------------------------------------------------------------------------------------- */

/* Copies within the memory of the host or of a device. */
static spry_status copy_strided(const spry_context *context, const spry_vector *to, const spry_vector *from,
                                void *stream, spry_error *err)
{
    const spryi_device *d = spryi_device_at(context, to->device);
    const spryi_vector_map map = {.to = to->data,
                                  .from = from->data,
                                  .to_stride = to->row_stride,
                                  .from_stride = from->row_stride,
                                  .length = from->length,
                                  .type = from->type,
                                  .threads = 1,
                                  .stream = stream};
    int previous;
    SPRYI_OK_OR_RETURN(d->ops->enter(d, &previous, err));
    const spry_status status = d->ops->map(d, &map, err);
    d->ops->leave(d, previous);
    return status;
}

/* Copies between two memories if a vector is strided. Uses a contiguous copy in the memory of the strided vector. */
static spry_status move_strided(const spry_context *context, const spry_vector *to, const spry_vector *from,
                                void *stream, spry_error *err)
{
    spry_context *owner = (spry_context *)(uintptr_t)context; /* counts the copy's bytes */
    spry_vector copy = {0};
    spry_status status = SPRY_OK;
    SPRYI_TRY(spry_vector_create(owner, &copy, from->length, from->type,
                                 from->row_stride > 1 ? from->device : to->device, err));
    SPRYI_TRY(spryi_solve_copy_to(context, &copy, from, stream, err));
    SPRYI_TRY(spryi_solve_copy_to(context, to, &copy, stream, err));
    SPRYI_TRY(spry_device_synchronize(context, to->device > 0 ? to->device : from->device, stream, err));
done:
    spry_vector_destroy(owner, &copy);
    return status;
}

spry_status spryi_solve_copy_to(const spry_context *context, const spry_vector *to, const spry_vector *from,
                                void *stream, spry_error *err)
{
    int64_t bytes = from->length * (int64_t)spry_type_bytes(from->type);
    if (bytes == 0) return SPRY_OK;
    if (to->row_stride > 1 || from->row_stride > 1)
        return to->device == from->device ? copy_strided(context, to, from, stream, err)
                                          : move_strided(context, to, from, stream, err);
    if (to->device > 0 || from->device > 0)
        return spry_device_copy(context, to->data, to->device, from->data, from->device, bytes, stream, err);
    memcpy(to->data, from->data, (size_t)bytes);
    return SPRY_OK;
}

spry_status spryi_solve_copy(spry_context *context, spry_vector *made, const spry_vector *v, int device, void *stream,
                             spry_error *err)
{
    spry_status status = spry_vector_create(context, made, v->length, v->type, device, err);
    return status == SPRY_OK ? spryi_solve_copy_to(context, made, v, stream, err) : status;
}

spry_status spryi_solve_move(spry_context *context, spry_vector *v, int device, void *stream, spry_error *err)
{
    spry_vector made = {0};
    if (!v->data || v->device == device) return SPRY_OK;
    spry_status status = spryi_solve_copy(context, &made, v, device, stream, err);
    spry_vector_destroy(context, status == SPRY_OK ? v : &made);
    if (status == SPRY_OK) *v = made;
    return status;
}

spry_status spryi_solve_fetch(const spry_context *context, spry_matrix **host, const spry_matrix *A, void *stream,
                              spry_error *err)
{
    if (A->a.device > 0) {
        SPRYI_OK_OR_RETURN(spry_device_synchronize(context, A->a.device, stream, err));
        return spryi_matrix_fetch(spryi_device_at(context, A->a.device), host, A, err);
    }
    *host = spryi_matrix_retain(A);
    return SPRY_OK;
}

spry_status spryi_solve_time_product(const spry_context *context, const spry_spmv_plan *plan, spry_vector x,
                                     spry_vector y, void *stream, double *us, spry_error *err)
{
    enum { PRODUCTS = 10 };
    spry_spmv_run_options options = SPRY_INIT(spry_spmv_run_options);
    options.stream = stream;
    spry_status status = spry_device_synchronize(context, x.device, stream, err);
    double start = spryi_now_us();
    for (int p = 0; p < PRODUCTS && status == SPRY_OK; p++)
        status = spry_spmv_plan_run(plan, y, NULL, spry_vector_as_const(x), NULL, &options, err);
    if (status == SPRY_OK) status = spry_device_synchronize(context, x.device, stream, err);
    *us = (spryi_now_us() - start) / PRODUCTS;
    return status;
}

/* ---- passes over vectors ------------------------------------------------------------------------ */

spry_status spryi_vector_work_init(spry_context *context, spryi_vector_work *w, int device, void *stream, int64_t n,
                                   int64_t columns, spry_type type, spry_error *err)
{
    const spryi_device *on = spryi_device_at(context, device);
    *w = (spryi_vector_work){.ops = on && on->ops && on->ops->vector_ops ? on->ops->vector_ops(on) : NULL,
                             .context = context,
                             .device = device,
                             .stream = stream,
                             .type = type,
                             .n = n,
                             .columns = columns};
    if (!w->ops)
        return spryi_fail_value(err, SPRY_UNSUPPORTED, "device", device, 0, "device %d has no passes over vectors",
                                device);
    w->ordinal = on->ordinal;
    w->blocks = (n + w->ops->block - 1) / w->ops->block;
    if (w->blocks > w->ops->most_blocks) w->blocks = w->ops->most_blocks;
    w->threads = spryi_team(context->threads);
    if (w->threads > w->blocks / 4) w->threads = w->blocks < 8 ? 1 : (int)(w->blocks / 4);
    const int64_t blocks = w->blocks > 0 ? w->blocks : 1; /* a GPU starts one block even without elements */
    const int64_t partials = columns * blocks * SPRYI_MOST_SUMS, states = columns * ((SPRYI_STATE_BYTES + 7) / 8);
    SPRYI_OK_OR_RETURN(spry_vector_create(context, &w->partials, partials, SPRY_F64, device, err));
    return spry_vector_create(context, &w->state, states, SPRY_F64, device, err);
}

void spryi_vector_work_clear(spryi_vector_work *w)
{
    spry_vector_destroy(w->context, &w->partials);
    spry_vector_destroy(w->context, &w->state);
}

spry_status spryi_vector_put(const spryi_vector_work *w, const void *state, size_t bytes, spry_error *err)
{
    if (w->device > 0)
        return spry_device_copy(w->context, w->state.data, w->device, state, 0, (int64_t)bytes, w->stream, err);
    memcpy(w->state.data, state, bytes);
    return SPRY_OK;
}

spry_status spryi_vector_get(const spryi_vector_work *w, void *state, size_t bytes, spry_error *err)
{
    if (w->device == 0) {
        memcpy(state, w->state.data, bytes);
        return SPRY_OK;
    }
    spry_status status =
        spry_device_copy(w->context, state, 0, w->state.data, w->device, (int64_t)bytes, w->stream, err);
    return status == SPRY_OK ? spry_device_synchronize(w->context, w->device, w->stream, err) : status;
}

int64_t spryi_vector_ahead(const spryi_vector_work *w, int64_t iterations)
{
    int64_t ahead = iterations / 8 < 1 ? 1 : iterations / 8;
    return ahead > w->ops->ahead ? w->ops->ahead : ahead;
}

int64_t spryi_vector_left(double residual, double before, int64_t back, double goal, int64_t most)
{
    if (back < 1) return most < SPRYI_FEW_ROUNDS ? most : SPRYI_FEW_ROUNDS; /* no rate yet */
    const double ratio = residual / before, left = (double)back * log(goal / residual) / log(ratio);
    if (!(ratio < 1 && left < (double)most)) return most;
    return left > 1 ? (int64_t)ceil(left) : 1;
}

static spry_status start_recording(void *user, void *stream, spry_error *err)
{
    const spryi_recording *r = user;
    return r->start(r->user, r->count, stream, err);
}

spry_status spryi_vector_record(const spryi_vector_work *w, spryi_recorded *recorded, spryi_start_rounds_fn start,
                                void *user, spry_error *err)
{
    for (int k = 0; k < 2; k++) {
        spryi_recording *of = &recorded->of[k];
        *of = (spryi_recording){start, user, k == 0 ? SPRYI_MANY_ROUNDS : SPRYI_FEW_ROUNDS, NULL};
        SPRYI_OK_OR_RETURN(w->ops->record(w, start_recording, of, &of->rounds, err));
    }
    return SPRY_OK;
}

static spry_status read_oldest(const spryi_vector_work *w, spryi_recorded *recorded, void *states, size_t bytes,
                               spry_error *err)
{
    const int chosen = recorded->in_flight[recorded->seen++ % 2];
    return w->ops->see(recorded->of[chosen].rounds, states, bytes, err);
}

spry_status spryi_vector_advance(const spryi_vector_work *w, spryi_recorded *recorded, int64_t left, void *states,
                                 size_t bytes, bool (*have_stopped)(const void *states, int64_t columns),
                                 spry_error *err)
{
    for (int64_t k = recorded->seen; k < recorded->started; k++) left -= recorded->of[recorded->in_flight[k % 2]].count;
    while (recorded->started - recorded->seen < 2 && (left > 0 || recorded->started == recorded->seen)) {
        const int chosen = left >= SPRYI_MANY_ROUNDS ? 0 : 1;
        SPRYI_OK_OR_RETURN(w->ops->replay(w, recorded->of[chosen].rounds, err));
        recorded->in_flight[recorded->started++ % 2] = chosen;
        left -= recorded->of[chosen].count;
    }
    SPRYI_OK_OR_RETURN(read_oldest(w, recorded, states, bytes, err));
    return have_stopped(states, w->columns) ? spryi_vector_drain(w, recorded, states, bytes, err) : SPRY_OK;
}

spry_status spryi_vector_drain(const spryi_vector_work *w, spryi_recorded *recorded, void *states, size_t bytes,
                               spry_error *err)
{
    while (recorded->seen < recorded->started) SPRYI_OK_OR_RETURN(read_oldest(w, recorded, states, bytes, err));
    return SPRY_OK;
}

void spryi_vector_forget(const spryi_vector_work *w, spryi_recorded *recorded)
{
    for (int k = 0; k < 2; k++)
        if (recorded->of[k].rounds) w->ops->forget(recorded->of[k].rounds);
    *recorded = (spryi_recorded){.started = 0};
}

/* ---- verdicts ------------------------------------------------------------------------------------ */

const char *spry_verdict_text(spry_verdict verdict)
{
    static const char *const texts[] = {
        [SPRY_VERDICT_NONE] = "no result",
        [SPRY_VERDICT_CONVERGED] = "converged",
        [SPRY_VERDICT_ITERATION_LIMIT] = "iteration limit",
        [SPRY_VERDICT_STAGNATION] = "stagnation",
        [SPRY_VERDICT_NOT_SYMMETRIC] = "not symmetric",
        [SPRY_VERDICT_NEGATIVE_CURVATURE] = "negative curvature",
        [SPRY_VERDICT_BAD_DIAGONAL] = "bad diagonal",
        [SPRY_VERDICT_DANGLING] = "dangling node",
        [SPRY_VERDICT_NOT_FINITE] = "not finite",
        [SPRY_VERDICT_STOPPED] = "stopped",
        [SPRY_VERDICT_OUT_OF_RANGE] = "out of range",
        [SPRY_VERDICT_BAD_PRECONDITIONER] = "bad preconditioner",
    };
    return (unsigned)verdict < sizeof texts / sizeof *texts ? texts[verdict] : "unknown verdict";
}
