/* Conjugate Gradient as it is called: options, a system made ready, its runs. */
#include "solve/cg.h"

#include "base/context.h"
#include "base/memory.h"
#include "matrix/matrix.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Share of rz below which the predicted rz is not trusted: about the root of the rounding error. */
static const double PREDICTABLE_F64 = 1e-6, PREDICTABLE_F32 = 1e-2;

/* 2^REACH: the guards' (iteration.h). With both near it, products of f32 still have no subnormal entries. */
enum { REACH_F64 = 256, REACH_F32 = 48 };

/* To which share the residual of f32 falls before b - A*x takes its place. */
static const double REPLACE = 0.1;

static int64_t within(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* ---- making ready --------------------------------------------------------------------------------- */

/* The rest of what a plan is told, and the set-up. A verdict goes to *told. */
static spry_status make_ready(spry_cg_plan *s, spry_cg_result *told, spry_error *err)
{
    const double start = spryi_now_us();
    s->run.struct_size = sizeof s->run;
    s->run.stream = s->device > 0 ? s->o.stream : NULL;
    s->inner = s->o.inside == SPRY_INSIDE_F32 ? SPRY_F32 : s->type;
    spry_status status = SPRYI_NEW(s->context, &s->states, s->o.columns, "states of columns", err);
    if (status == SPRY_OK) status = SPRYI_NEW(s->context, &s->columns, s->o.columns, "states of columns", err);
    if (status == SPRY_OK && s->device > 0) status = spry_device_synchronize(s->context, s->device, s->run.stream, err);
    if (status == SPRY_OK) status = spryi_cg_set_up(s, told, err);
    s->setup_us = told->setup_us = spryi_now_us() - start;
    return status;
}

static spry_status new_plan(spry_cg_plan **plan, spry_context *context, const void *A, const spry_cg_options *options,
                            spry_error *err)
{
    if (!context || !A)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, !context ? "context" : "A", "cg: %s is NULL",
                          !context ? "context" : "A");
    spry_cg_plan *s = NULL;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &s, 1, "plan of conjugate gradients", err));
    *s = (spry_cg_plan){.context = spryi_context_retain(context)};
    *plan = s;
    return SPRYI_TAKE(&s->o, options, err);
}

/* Device, format and kernel as they were asked for. */
static spryi_solve_plan names_of(const spry_cg_plan *s)
{
    return (spryi_solve_plan){s->o.device, s->o.format, s->o.kernel, s->o.columns};
}

/* A plan of A, not yet made ready. type: of vectors, for a pattern. */
static spry_status plan_matrix(spry_cg_plan **plan, spry_context *context, const spry_matrix *A, spry_type type,
                               const spry_cg_options *options, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    *plan = NULL;
    SPRYI_OK_OR_RETURN(new_plan(plan, context, A, options, err));
    spry_cg_plan *s = *plan;
    s->A = spryi_matrix_retain(A);
    spry_status status = spry_matrix_get_arrays(A, &a, err);
    s->type = a.value_type == SPRY_PATTERN ? type : a.value_type;
    s->n = a.rows;
    if (status == SPRY_OK) status = spryi_cg_check_options(s, err);
    if (status == SPRY_OK) status = spryi_solve_check_square(&a, "cg", err);
    if (status == SPRY_OK) status = spryi_solve_check_values(&a, err);
    s->names = s->outer_names = names_of(s);
    if (status == SPRY_OK) s->device = spryi_solve_device_number(context, &s->names, &a);
    return status;
}

static spry_status check_operator(spry_operator *ours, const spry_operator *A, spry_error *err)
{
    if (!A) return spryi_fail(err, SPRY_INVALID_ARGUMENT, "A", "cg: A is NULL");
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(ours, A, err));
    if (!ours->apply) return spryi_fail(err, SPRY_INVALID_ARGUMENT, "A", "cg: the operator's apply is NULL");
    if (ours->n < 0)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "A", ours->n, 0,
                                "cg: the operator has %lld rows, expected 0 "
                                "or more",
                                (long long)ours->n);
    if (ours->n > INT64_MAX >> 8)
        return spryi_fail_value(err, SPRY_TOO_LARGE, "A", ours->n, INT64_MAX >> 8,
                                "cg: the operator has %lld rows, more than memory could hold", (long long)ours->n);
    if (ours->type != SPRY_F32 && ours->type != SPRY_F64)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "A", ours->type, SPRY_F64,
                                "cg: the operator's vectors are %s, expected f32 or f64", spry_type_name(ours->type));
    return SPRY_OK;
}

static spry_status plan_operator(spry_cg_plan **plan, spry_context *context, const spry_operator *A,
                                 const spry_cg_options *options, spry_error *err)
{
    spry_operator ours;
    *plan = NULL;
    SPRYI_OK_OR_RETURN(check_operator(&ours, A, err));
    SPRYI_OK_OR_RETURN(new_plan(plan, context, A, options, err));
    spry_cg_plan *s = *plan;
    s->operator= ours;
    s->type = ours.type;
    s->n = ours.n;
    s->device = spryi_device_number(ours.device);
    if (s->o.device != SPRY_DEVICE_DEFAULT && spryi_device_number(s->o.device) != s->device)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "device", s->o.device, s->device,
                                "cg: device is %d, but the operator works on device %d", s->o.device, s->device);
    if (s->o.format || s->o.kernel)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, s->o.format ? "format" : "kernel",
                          "cg: an operator has no format and no kernel");
    return spryi_cg_check_options(s, err);
}

/* Frees the scaled A. If a run has scaled it, format and kernel will be chosen anew, as for a new plan. */
static void forget_scaling(spry_cg_plan *s)
{
    spryi_cg_forget_scaling(s);
    if (!s->scaled.by_run) return;
    spryi_cg_forget_plans(s);
    s->names = s->outer_names = names_of(s);
}

static spry_cg_result no_result(void)
{
    spry_cg_result told = SPRY_INIT(spry_cg_result);
    told.residual = told.true_residual = NAN;
    told.bad_row = -1;
    told.format = told.kernel = "";
    return told;
}

/* Empties the caller's result, so that it never holds a previous call's. */
static spry_status empty_result(spry_cg_result *result, spry_error *err)
{
    const spry_cg_result none = no_result();
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(result, err));
    if (result) SPRYI_GIVE(result, &none);
    return SPRY_OK;
}

/* Of a set-up: a verdict is an error. */
static spry_status tell_setup(const spry_cg_plan *s, spry_status status, spry_cg_result *result,
                              const spry_cg_result *told, spry_error *err)
{
    if (status == SPRY_OK && told->verdict != SPRY_VERDICT_NONE) status = spryi_cg_tell(s, told, err);
    if (result && (status == SPRY_OK || status == SPRY_NOT_CONVERGED)) SPRYI_GIVE(result, told);
    return status;
}

spry_status spry_cg_plan_create(spry_context *context, spry_cg_plan **plan, spry_cg_result *result,
                                const spry_matrix *A, const spry_cg_options *options, spry_error *err)
{
    spry_cg_plan *s = NULL;
    spry_cg_result told = no_result();
    if (plan) *plan = NULL;
    SPRYI_OK_OR_RETURN(empty_result(result, err));
    if (!plan) return spryi_fail(err, SPRY_INVALID_ARGUMENT, "plan", "cg: plan is NULL");
    spry_status status = plan_matrix(&s, context, A, SPRY_F64, options, err);
    if (status == SPRY_OK) status = make_ready(s, &told, err);
    if (s) status = tell_setup(s, status, result, &told, err);
    if (status == SPRY_OK)
        *plan = s;
    else
        spry_cg_plan_destroy(s);
    return status;
}

spry_status spry_cg_plan_create_operator(spry_context *context, spry_cg_plan **plan, const spry_operator *A,
                                         const spry_cg_options *options, spry_error *err)
{
    spry_cg_plan *s = NULL;
    spry_cg_result told = no_result();
    if (!plan) return spryi_fail(err, SPRY_INVALID_ARGUMENT, "plan", "cg: plan is NULL");
    *plan = NULL;
    spry_status status = plan_operator(&s, context, A, options, err);
    if (status == SPRY_OK) status = make_ready(s, &told, err);
    if (status == SPRY_OK)
        *plan = s;
    else
        spry_cg_plan_destroy(s);
    return status;
}

spry_status spry_cg_plan_update(spry_cg_plan *plan, spry_cg_result *result, spry_error *err)
{
    spry_cg_result told = no_result();
    SPRYI_OK_OR_RETURN(empty_result(result, err));
    if (!plan) return spryi_fail(err, SPRY_INVALID_ARGUMENT, "plan", "cg: plan is NULL");
    if (!plan->A)
        return spryi_fail(err, SPRY_UNSUPPORTED, "plan", "cg: an operator has no values that could be updated");
    const double start = spryi_now_us();
    forget_scaling(plan);
    plan->refreshes = 1;
    spry_status status = spryi_cg_set_up(plan, &told, err);
    plan->refreshes = 0;
    plan->is_stale = status != SPRY_OK || told.verdict != SPRY_VERDICT_NONE;
    plan->setup_us = told.setup_us = spryi_now_us() - start;
    return tell_setup(plan, status, result, &told, err);
}

void spry_cg_plan_destroy(spry_cg_plan *s)
{
    if (!s) return;
    spry_vector *vectors[] = {&s->r,       &s->p,       &s->q,     &s->z,     &s->z_before, &s->D,
                              &s->inner_x, &s->outer_q, &s->own_x, &s->own_b, &s->scaled_b, &s->precond.entries};
    spryi_cg_forget_rounds(s);
    for (int v = 0; v < 12; v++) spry_vector_destroy(s->context, vectors[v]);
    if (s->work.context) spryi_vector_work_clear(&s->work);
    spryi_cg_forget_scaling(s);
    spry_spmv_plan_destroy(s->plan);
    spry_spmv_plan_destroy(s->outer);
    spry_matrix_destroy(s->narrow);
    spry_matrix_destroy(s->A);
    spry_context *context = s->context;
    spryi_release(context, s->states);
    spryi_release(context, s->columns);
    spryi_release(context, s);
    spryi_context_release(context);
}

/* ---- a run ---------------------------------------------------------------------------------------- */

static int64_t count_of(const spry_vector *v)
{
    return v->columns > 1 ? v->columns : 1;
}
static int64_t stride_of(const spry_vector *v)
{
    return count_of(v) == 1 || v->column_stride == 0 ? v->length : v->column_stride;
}
static size_t bytes_of(const spry_vector *v)
{
    if (v->length == 0) return 0;
    return (size_t)((count_of(v) - 1) * stride_of(v) + v->length) * spry_type_bytes(v->type);
}

static spry_status check_vectors(const spry_cg_plan *s, const spry_vector *x, const spry_vector *b, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_solve_check_columns(x, "x", s->n, s->type, s->device, err));
    SPRYI_OK_OR_RETURN(spryi_solve_check_columns(b, "b", s->n, s->type, s->device, err));
    if (count_of(x) != count_of(b))
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "b", count_of(b), count_of(x),
                                "cg: b has %lld columns, x has %lld", (long long)count_of(b), (long long)count_of(x));
    if (count_of(x) > s->o.columns)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "x", count_of(x), s->o.columns,
                                "cg: x has %lld columns, the plan was made for at most %lld", (long long)count_of(x),
                                (long long)s->o.columns);
    const uintptr_t from_x = (uintptr_t)x->data, from_b = (uintptr_t)b->data;
    if (bytes_of(x) > 0 && from_x < from_b + bytes_of(b) && from_b < from_x + bytes_of(x))
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "x", "cg: x and b overlap");
    return SPRY_OK;
}

/* Between vectors of as many columns, whatever their strides. */
static spry_status copy_columns(const spry_cg_plan *s, const spry_vector *to, const spry_vector *from, spry_error *err)
{
    spry_status status = SPRY_OK;
    for (int64_t c = 0; c < count_of(from) && status == SPRY_OK; c++) {
        spry_vector of = *from, into = *to;
        of.data = (char *)of.data + (size_t)(c * stride_of(from)) * spry_type_bytes(from->type);
        into.data = (char *)into.data + (size_t)(c * stride_of(to)) * spry_type_bytes(to->type);
        status = spryi_solve_copy_to(s->context, &into, &of, s->run.stream, err);
    }
    return status;
}

/* 1: the iteration can work on v where it is. */
static int serves(const spry_cg_plan *s, const spry_vector *v)
{
    return v->device == s->device && (count_of(v) == 1 || stride_of(v) == s->n);
}

/* s->x or s->b: the caller's, or *own, of which there is one from the first time on that it is needed. */
static spry_status take_vector(spry_cg_plan *s, spry_vector *taken, spry_vector *own, const spry_vector *given,
                               int keeps_own, int copies, spry_error *err)
{
    *taken = *given;
    taken->columns = count_of(given);
    taken->column_stride = s->n;
    if (serves(s, given) && !keeps_own) return SPRY_OK;
    spry_status status = SPRY_OK;
    if (!own->data) status = spry_vector_create(s->context, own, s->n * s->o.columns, s->type, s->device, err);
    own->length = s->n;
    own->columns = taken->columns;
    own->column_stride = s->n;
    *taken = *own;
    return status == SPRY_OK && copies ? copy_columns(s, taken, given, err) : status;
}

static void prepare_states(spry_cg_plan *s, int64_t columns)
{
    const spry_cg_options *o = &s->now;
    const int is_f64 = s->inner == SPRY_F64;
    for (int64_t c = 0; c < columns; c++) {
        spryi_cg_state *t = &s->states[c];
        *t = (spryi_cg_state){.tolerance = o->tolerance, .absolute = o->absolute_tolerance};
        t->limit = o->max_iterations > 0 ? o->max_iterations : 10 * within(s->n, 1000, 10000);
        t->patience = o->patience > 0 ? o->patience : within(s->n, 200, 50000);
        t->guards = SPRYI_GUARD_B | (s->scaled.needed_by_D || s->scaled.A ? 0 : SPRYI_GUARD_A);
        t->reach = ldexp(1, is_f64 && s->o.inside == SPRY_INSIDE_SAME ? REACH_F64 : REACH_F32);
        t->eps = is_f64 ? DBL_EPSILON : FLT_EPSILON;
        t->trusted = is_f64 ? PREDICTABLE_F64 : PREDICTABLE_F32;
        t->apart = spryi_cg_is_apart(s);
        t->replacements = spryi_cg_replaces(s) ? REPLACE : 0;
    }
}

/* Passes over vectors of an iteration, numbers a row. */
static double numbers_of(const spry_cg_plan *s)
{
    switch (s->o.precond) {
    case SPRY_PRECOND_NONE: return 9;
    case SPRY_PRECOND_JACOBI: return 11;
    case SPRY_PRECOND_BLOCK_JACOBI:
        if (!spryi_cg_is_within(s)) return 13 + (double)(s->o.block_size + 1) / 2;
        return 9 + (double)(s->o.block_size + 1) * (double)spry_type_bytes(s->precond.entries.type) /
                       (double)spry_type_bytes(s->inner);
    case SPRY_PRECOND_CHEBYSHEV: return 13 + 6 * (double)s->o.degree;
    default: return NAN;
    }
}

/* What became of column c joins what is told; the first that failed counts, or the one that took longest. */
static void add_column(const spry_cg_plan *s, spry_cg_result *told, int64_t c, int64_t number)
{
    const spryi_cg_column *column = &s->columns[c];
    const spryi_cg_state *state = &s->states[c];
    const int is_good = column->verdict == SPRY_VERDICT_CONVERGED;
    const int was_good = told->verdict == SPRY_VERDICT_CONVERGED || told->verdict == SPRY_VERDICT_NONE;
    told->columns_converged += is_good;
    told->restarts += column->restarts;
    told->replacements += column->replacements;
    if (told->verdict != SPRY_VERDICT_NONE && (!was_good || (is_good && state->iterations <= told->iterations))) return;
    told->verdict = column->verdict;
    told->column = number;
    told->iterations = state->iterations;
    told->residual = state->residual;
    told->true_residual = column->true_residual;
}

/* Solves for s->x and s->b, of so many columns. */
static spry_status solve(spry_cg_plan *s, int64_t columns, spry_error *err)
{
    s->scaled.c = s->scaled.m = 0;
    s->scaled.guess_is_seen = s->scaled.may_drop_guess = false;
    s->scaled.finds_m = s->scaled.A != NULL;
    prepare_states(s, columns);
    spry_status status = SPRY_OK;
    if (columns == 1 && s->now.start_from_x && s->scaled.a != 0) status = spryi_cg_scale_x(s, s->scaled.a, err);
    if (status == SPRY_OK) status = spryi_cg_iterate(s, columns, err);
    int residuals = 0;
    for (int64_t c = 0; c < columns; c++)
        residuals |= s->columns[c].verdict != SPRY_VERDICT_CONVERGED && !s->columns[c].is_alone;
    if (status == SPRY_OK && residuals) status = spryi_cg_find_residuals(s, err);
    if (status == SPRY_OK && columns == 1) status = spryi_cg_scale_back(s, err);
    return status;
}

/* Column c alone; its state and verdict are those of column 0 then. */
static spry_status solve_alone(spry_cg_plan *s, int64_t c, spry_error *err)
{
    const spry_vector x = s->x, b = s->b;
    const size_t at = (size_t)(c * s->n) * spry_type_bytes(s->type);
    s->x.data = (char *)x.data + at;
    s->b.data = (char *)b.data + at;
    s->x.columns = s->b.columns = 1;
    spry_status status = solve(s, 1, err);
    s->x = x;
    s->b = b;
    return status;
}

/* Side by side where numbers are alike inside and outside and nothing is extreme; else one by one. */
static spry_status solve_all(spry_cg_plan *s, spry_cg_result *told, spry_error *err)
{
    const int64_t columns = s->x.columns;
    const int apart = columns > 1 && (s->o.inside != SPRY_INSIDE_SAME || s->scaled.a != 0);
    spry_status status = SPRY_OK;
    for (int64_t c = 0; c < columns; c++) s->columns[c].is_alone = apart;
    if (!apart) status = solve(s, columns, err);
    for (int64_t c = 0; c < columns && status == SPRY_OK; c++)
        if (!s->columns[c].is_alone) add_column(s, told, c, c);
    const spryi_cg_column first = s->columns[0];
    const spryi_cg_state of_first = s->states[0];
    for (int64_t c = columns - 1; c >= 0 && status == SPRY_OK; c--) { /* each takes the place of column 0 */
        if (c == 0) s->columns[0] = first;
        if (c == 0 && !first.is_alone) s->states[0] = of_first;
        if (!s->columns[c].is_alone) continue;
        status = solve_alone(s, c, err);
        s->columns[c] = s->columns[0];
        s->states[c] = s->states[0];
        if (status == SPRY_OK) add_column(s, told, c, c);
    }
    return status;
}

/* Products cannot be timed in the iterations of a GPU: some more are timed by themselves. */
static spry_status time_products(spry_cg_plan *s, spry_cg_result *told, spry_error *err)
{
    double one = 0;
    told->product_us = s->product_us;
    if (s->device == 0 || s->n == 0 || !s->plan) return SPRY_OK;
    spry_vector x = s->p, q = s->q;
    x.columns = q.columns = s->work.columns;
    spry_status status = spryi_solve_time_product(s->context, s->plan, x, q, s->run.stream, &one, err);
    told->product_us = one * (double)(told->iterations * told->products);
    return status;
}

/* Sets A up anew if an earlier run has scaled it: every run thus has the bits of a new plan's. */
static spry_status set_up_again(spry_cg_plan *s, spry_cg_result *told, spry_error *err)
{
    if (!s->scaled.by_run) return SPRY_OK;
    forget_scaling(s);
    return spryi_cg_set_up(s, told, err);
}

/* After an error, a callback's included, the verdict is SPRY_VERDICT_NONE. */
static spry_status run(spry_cg_plan *s, const spry_vector *x, const spry_vector *b, spry_cg_result *told,
                       spry_error *err)
{
    const int keeps_x = s->device > 0 && !s->one_run && s->inner == s->type;
    s->work.stream = s->run.stream;
    s->work.columns = count_of(x);
    spry_status status = set_up_again(s, told, err);
    if (status == SPRY_OK && told->verdict != SPRY_VERDICT_NONE) return spryi_cg_tell(s, told, err);
    s->product_us = 0;
    if (status == SPRY_OK) status = take_vector(s, &s->x, &s->own_x, x, keeps_x, s->now.start_from_x, err);
    if (status == SPRY_OK) status = take_vector(s, &s->b, &s->own_b, b, 0, 1, err);
    if (status == SPRY_OK) status = spryi_cg_record_rounds(s, err);
    const double start = spryi_now_us();
    if (status == SPRY_OK) status = solve_all(s, told, err);
    told->solve_us = spryi_now_us() - start;
    told->products = s->o.precond == SPRY_PRECOND_CHEBYSHEV ? 1 + s->o.degree : 1;
    told->numbers = numbers_of(s);
    told->largest_eigenvalue = s->precond.largest;
    if (s->plan) {
        told->format = s->names.format;
        told->kernel = s->names.kernel;
    }
    if (status == SPRY_OK && s->x.data != x->data) status = copy_columns(s, x, &s->x, err);
    if (status == SPRY_OK) status = time_products(s, told, err);
    if (status == SPRY_OK && s->device > 0) status = spry_device_synchronize(s->context, s->device, s->run.stream, err);
    if (status == SPRY_OK) return spryi_cg_tell(s, told, err);
    told->verdict = SPRY_VERDICT_NONE;
    return status;
}

/* The plan's options, with those that a run gives in their place. */
static spry_status take_run_options(spry_cg_plan *s, const spry_cg_options *options, spry_error *err)
{
    spry_cg_options given = SPRY_INIT(spry_cg_options), *now = &s->now;
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(&given, options, err));
    *now = s->o;
    if (given.tolerance != 0) now->tolerance = given.tolerance;
    if (given.absolute_tolerance != 0) now->absolute_tolerance = given.absolute_tolerance;
    if (given.max_iterations != 0) now->max_iterations = given.max_iterations;
    if (given.patience != 0) now->patience = given.patience;
    if (given.start_from_x) now->start_from_x = given.start_from_x;
    if (given.stream) now->stream = given.stream;
    if (given.observe) {
        now->observe = given.observe;
        now->user = given.user;
    }
    s->run.stream = s->device > 0 ? s->now.stream : NULL;
    return spryi_cg_check_stopping(s, &s->now, err);
}

spry_status spry_cg_plan_run(spry_cg_plan *plan, spry_vector x, spry_cg_result *result, spry_const_vector b,
                             const spry_cg_options *options, spry_error *err)
{
    spry_cg_result told = no_result();
    spry_vector right = spryi_solve_vector(b);
    x.device = spryi_device_number(x.device);
    SPRYI_OK_OR_RETURN(empty_result(result, err));
    if (!plan) return spryi_fail(err, SPRY_INVALID_ARGUMENT, "plan", "cg: plan is NULL");
    if (plan->is_stale)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "plan",
                          "cg: the last update of the plan failed; update the plan again before the next run");
    SPRYI_OK_OR_RETURN(take_run_options(plan, options, err));
    SPRYI_OK_OR_RETURN(check_vectors(plan, &x, &right, err));
    spry_status status = run(plan, &x, &right, &told, err);
    if (result && told.verdict != SPRY_VERDICT_NONE) SPRYI_GIVE(result, &told);
    return status;
}

/* ---- one call ------------------------------------------------------------------------------------- */

/* A plan that was begun, or status tells why not: made ready, run and destroyed. */
static spry_status run_once(spry_cg_plan *s, spry_status status, spry_vector x, spry_cg_result *result,
                            spry_const_vector b, spry_error *err)
{
    spry_cg_result told = no_result();
    spry_vector right = spryi_solve_vector(b);
    x.device = spryi_device_number(x.device);
    if (status == SPRY_OK) s->o.columns = count_of(&x);
    if (status == SPRY_OK) status = take_run_options(s, NULL, err);
    if (status == SPRY_OK) status = check_vectors(s, &x, &right, err);
    if (status == SPRY_OK) {
        s->one_run = 1;
        s->names.columns = s->outer_names.columns = s->o.columns;
        status = make_ready(s, &told, err);
        if (status == SPRY_OK && told.verdict != SPRY_VERDICT_NONE)
            status = spryi_cg_tell(s, &told, err);
        else if (status == SPRY_OK)
            status = run(s, &x, &right, &told, err);
        told.setup_us = s->setup_us;
    }
    if (result && told.verdict != SPRY_VERDICT_NONE) SPRYI_GIVE(result, &told);
    spry_cg_plan_destroy(s);
    return status;
}

spry_status spry_cg(spry_context *context, spry_vector x, spry_cg_result *result, const spry_matrix *A,
                    spry_const_vector b, const spry_cg_options *options, spry_error *err)
{
    spry_cg_plan *s = NULL;
    SPRYI_OK_OR_RETURN(empty_result(result, err));
    const spry_status status = plan_matrix(&s, context, A, x.type, options, err);
    return run_once(s, status, x, result, b, err);
}

spry_status spry_cg_operator(spry_context *context, spry_vector x, spry_cg_result *result, const spry_operator *A,
                             spry_const_vector b, const spry_cg_options *options, spry_error *err)
{
    spry_cg_plan *s = NULL;
    SPRYI_OK_OR_RETURN(empty_result(result, err));
    const spry_status status = plan_operator(&s, context, A, options, err);
    return run_once(s, status, x, result, b, err);
}
