#include "solve/solve.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

spry_status spryi_solve_fail(spry_error *err, spry_status status, const char *argument, int64_t value, int64_t limit,
                             const char *format, ...)
{
    if (!err) return status;
    *err = (spry_error){.status = status, .value = value, .limit = limit};
    if (argument) snprintf(err->argument, sizeof err->argument, "%s", argument);
    va_list list;
    va_start(list, format);
    vsnprintf(err->message, sizeof err->message, format, list);
    va_end(list);
    return status;
}

spry_status spryi_solve_check_struct(size_t struct_size, size_t our_size, const char *type, spry_error *err)
{
    if (struct_size == our_size) return SPRY_OK;
    return spryi_solve_fail(err, SPRY_INVALID_ARGUMENT, "struct_size", (int64_t)struct_size, (int64_t)our_size,
                            "%s: struct_size is %zu, expected %zu: set it with SPRY_INIT", type, struct_size, our_size);
}

spry_status spryi_solve_check_square(const spry_arrays *a, const char *method, spry_error *err)
{
    if (a->rows != a->cols)
        return spryi_solve_fail(err, SPRY_INVALID_SIZE, "A", a->cols, a->rows,
                                "%s: the matrix is %lld x %lld, expected a square one", method, (long long)a->rows,
                                (long long)a->cols);
    if (a->device != 0)
        return spryi_solve_fail(err, SPRY_UNSUPPORTED, "A", a->device, 0,
                                "%s: the matrix is in device memory, expected host memory", method);
    return SPRY_OK;
}

spry_status spryi_solve_check_vector(const spry_vector *v, const char *name, int64_t n, const spry_arrays *a,
                                     spry_error *err)
{
    if (v->length != n)
        return spryi_solve_fail(err, SPRY_INVALID_SIZE, name, v->length, n, "%s has %lld entries, expected %lld", name,
                                (long long)v->length, (long long)n);
    if (spry_type_bytes(v->type) == 0 || (a->value_type != SPRY_PATTERN && v->type != a->value_type))
        return spryi_solve_fail(err, SPRY_INVALID_ARGUMENT, name, v->type, a->value_type, "%s is %s, expected %s", name,
                                spry_type_name(v->type),
                                a->value_type == SPRY_PATTERN ? "f32 or f64" : spry_type_name(a->value_type));
    if (v->device != 0 || v->columns < 0 || v->columns > 1)
        return spryi_solve_fail(err, SPRY_INVALID_ARGUMENT, name, v->columns, 1,
                                "%s: expected one column in host memory", name);
    if ((!v->data && n > 0) || (uintptr_t)v->data % spry_type_bytes(v->type) != 0)
        return spryi_solve_fail(err, SPRY_INVALID_ARGUMENT, name, 0, 0, "%s: data is %s", name,
                                v->data ? "not aligned to its type" : "NULL");
    return SPRY_OK;
}

spry_status spryi_solve_make_plan(spry_context *context, spry_plan **plan, const spry_matrix *A, spry_type type,
                                  spryi_solve_plan *names, spry_error *err)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    spry_plan_info info = SPRY_INIT(spry_plan_info);
    options.device = names->device;
    options.format = names->format;
    options.kernel = names->kernel;
    options.vector_type = type;
    spry_status status = spry_plan_spmv(context, plan, A, &options, err);
    if (status == SPRY_OK) status = spry_plan_get_info(*plan, &info, err);
    if (status != SPRY_OK) return status;
    names->device = info.device;
    names->format = info.format;
    names->kernel = info.kernel;
    return SPRY_OK;
}

double spryi_solve_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

const char *spry_verdict_text(spry_verdict verdict)
{
    switch (verdict) {
    case SPRY_VERDICT_NONE: return "not begun";
    case SPRY_VERDICT_CONVERGED: return "converged";
    case SPRY_VERDICT_ITERATION_LIMIT: return "iteration limit";
    case SPRY_VERDICT_STAGNATION: return "stagnation";
    case SPRY_VERDICT_NOT_SYMMETRIC: return "not symmetric";
    case SPRY_VERDICT_NEGATIVE_CURVATURE: return "negative curvature";
    case SPRY_VERDICT_BAD_DIAGONAL: return "bad diagonal";
    case SPRY_VERDICT_ZERO_COLUMN: return "zero column";
    case SPRY_VERDICT_NOT_FINITE: return "not finite";
    case SPRY_VERDICT_STOPPED: return "stopped";
    }
    return "unknown verdict";
}
