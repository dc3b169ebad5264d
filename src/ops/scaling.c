/*
 * diag(r) * A * diag(c) of a pattern A: x is scaled into the workspace before the product, y after it. That is two
 * passes over vectors instead of nnz values read, and every kernel serves, on every device that has one.
 */
#include "core/error.h"
#include "core/team.h"
#include "ops/plan.h"

static const void *rows_of(const spry_plan *plan)
{
    return plan->order ? plan->order->row_scaling : plan->options.row_scaling;
}

static const void *columns_of(const spry_plan *plan)
{
    return plan->order ? plan->order->column_scaling : plan->options.column_scaling;
}

static const void *scaling_of_x(const spry_plan *plan)
{
    return plan->op == SPRY_TRANSPOSE ? rows_of(plan) : columns_of(plan);
}

static const void *scaling_of_y(const spry_plan *plan)
{
    return plan->op == SPRY_TRANSPOSE ? columns_of(plan) : rows_of(plan);
}

/* Bytes of a vector in the workspace. */
static int64_t padded(const spry_plan *plan, int64_t length)
{
    return (length * (int64_t)spry_type_bytes(plan->vector_type) + 63) / 64 * 64;
}

spry_status spryi_add_scaling(spry_plan *plan, spry_error *err)
{
    if (!scaling_of_x(plan) && !scaling_of_y(plan)) return SPRY_OK;
    if (plan->A->a.value_type != SPRY_PATTERN)
        return spryi_fail(err, SPRY_UNSUPPORTED, plan->options.row_scaling ? "row_scaling" : "column_scaling",
                          "row_scaling and column_scaling are for patterns, this matrix has %s values",
                          spry_type_name(plan->A->a.value_type));
    plan->scaling_at = (plan->workspace_bytes + 63) / 64 * 64;
    plan->workspace_bytes = plan->scaling_at + (scaling_of_x(plan) ? padded(plan, plan->x_length) : 0) +
                            (scaling_of_y(plan) ? padded(plan, plan->y_length) : 0);
    return SPRY_OK;
}

/* to_i = scale_i * from_i */
static void scale(const spry_plan *plan, void *to, const void *from, const void *scaling, int64_t length)
{
    int f64 = plan->vector_type == SPRY_F64;
#pragma omp parallel for num_threads(spryi_team(plan->threads)) schedule(static) if (length > 65536)
    for (int64_t i = 0; i < length; i++)
        if (f64)
            ((double *)to)[i] = ((const double *)scaling)[i] * ((const double *)from)[i];
        else
            ((float *)to)[i] = ((const float *)scaling)[i] * ((const float *)from)[i];
}

/* y_i = scale_i * t_i + beta*y_i */
static void scale_and_add(const spry_plan *plan, void *y, const void *t, const void *scaling, const void *beta,
                          int64_t length)
{
    int f64 = plan->vector_type == SPRY_F64;
#pragma omp parallel for num_threads(spryi_team(plan->threads)) schedule(static) if (length > 65536)
    for (int64_t i = 0; i < length; i++)
        if (f64)
            ((double *)y)[i] = ((const double *)scaling)[i] * ((const double *)t)[i] +
                               *(const double *)beta * ((double *)y)[i];
        else
            ((float *)y)[i] = ((const float *)scaling)[i] * ((const float *)t)[i] +
                              *(const float *)beta * ((float *)y)[i];
}

spry_status spryi_run_scaled(const spry_plan *plan, spryi_run_args *args, spry_error *err)
{
    static const double zero = 0; /* of either type */
    if (!scaling_of_x(plan) && !scaling_of_y(plan)) return plan->run(args, err);
    if (!args->workspace) return plan->run(args, err); /* vectors that are scaled have no elements */
    char *free_space = (char *)args->workspace + plan->scaling_at;
    const void *x = args->x, *beta = args->beta;
    void *y = args->y;
    int writes = plan->vector_type == SPRY_F64 ? *(const double *)beta == 0 : *(const float *)beta == 0;
    if (scaling_of_x(plan)) {
        scale(plan, free_space, x, scaling_of_x(plan), plan->x_length);
        args->x = free_space;
        free_space += padded(plan, plan->x_length);
    }
    if (scaling_of_y(plan) && !writes) {
        args->y = free_space;
        args->beta = &zero;
    }
    spry_status status = plan->run(args, err);
    if (status == SPRY_OK && scaling_of_y(plan)) {
        if (writes)
            scale(plan, y, y, scaling_of_y(plan), plan->y_length);
        else
            scale_and_add(plan, y, args->y, scaling_of_y(plan), beta, plan->y_length);
    }
    args->x = x;
    args->y = y;
    args->beta = beta;
    return status;
}
