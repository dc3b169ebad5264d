/*
 * PageRank, by the tutorial's steps: x_k = alpha*B*x_(k-1) + shift*v, B = A*diag(s) with s the reciprocal column sums,
 * v ones where all nodes count alike.
 *
 * Idea: the iteration carries z = s.x instead of x, so the product is A*z with A where it lies, and one pass makes z of
 * y = A*z. It keeps y of the iteration before instead of x: d = x_k - x_(k-1) = alpha*(y - y_before) + the shifts'
 * difference, and z takes y_before's place in memory. Zero columns have s = 0. Their mass, known from the pass before,
 * goes into the next shift (teleport) or nowhere (drop).
 * Cost: an iteration is a product and a pass that reads y, y_before and s and writes z: four times n numbers, three
 * where B is column-stochastic as it stands, one more where v is given.
 */
#include "solve/pagerank.h"
#include "spry/solve.h"

#include "device/vector_ops.h"
#include "matrix/matrix.h"
#include "solve/solve.h"
#include "spry/tools.h"

#include <float.h>
#include <math.h>

/* The memory of the three vectors, by what it holds now. */
typedef struct buffers {
    void *z, *y_before, *y;
} buffers;

typedef struct ranking {
    spry_context *context;
    const spry_pagerank_options *o;
    spryi_solve_plan names;
    int device;
    spry_run_options run; /* its stream is that of all work */
    int64_t n;
    int base;             /* in which messages count nodes */
    spryi_host_copy host; /* of A, if it is in device memory */
    spryi_links links;
    spry_spmv_plan *plan;
    spryi_vector_work work;
    spry_vector x, own_x, y, z; /* on the device; x is the caller's or own_x, for it */
    spry_vector v;              /* options' personalised divided by its sum, on the device; data NULL: ones */
    buffers at;                 /* where the iteration is */
    spryi_rank_state state;     /* as it was when last looked at */
    spryi_recorded recorded;
} ranking;

/* ---- what was asked for ------------------------------------------------------------------------- */

static spry_status check_options(ranking *r, const spry_pagerank_options *o, spry_error *err)
{
    spryi_rank_state *s = &r->state;
    r->o = o;
    r->names = (spryi_solve_plan){o->device, o->format, o->kernel, 0};
    s->alpha = o->alpha == 0 ? 0.85 : o->alpha;
    s->limit = o->max_iterations == 0 ? 200 : o->max_iterations;
    s->norm = o->norm;
    s->teleports = o->zero_columns == SPRY_ZERO_TELEPORT;
    if (!(s->alpha > 0 && s->alpha < 1))
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "alpha", 0, 1,
                                "pagerank: alpha is %g, expected a number between 0 and 1, neither included", s->alpha);
    SPRYI_OK_OR_RETURN(
        spryi_solve_tolerance(&s->tolerance, o->tolerance, r->x.type == SPRY_F32 ? 1e-6 : 1e-8, "pagerank", err));
    if (s->limit < 1)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "max_iterations", s->limit, 1,
                                "pagerank: max_iterations is %lld, expected 1 or more", (long long)s->limit);
    if ((unsigned)o->norm > SPRY_NORM_INF || (unsigned)o->edges > SPRY_COLUMN_TO_ROW ||
        (unsigned)o->zero_columns > SPRY_ZERO_DROP)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "options",
                          "pagerank: norm, edges or zero_columns is none of its values");
    return SPRY_OK;
}

static spry_status check_personalised(const ranking *r, const spry_arrays *a, spry_error *err)
{
    const spry_vector v = spryi_solve_vector(r->o->personalised);
    if (!v.data && v.length == 0) return SPRY_OK;
    SPRYI_OK_OR_RETURN(spryi_solve_check_vector(&v, "personalised", a->rows, a, r->device, err));
    if (v.type != r->x.type)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "personalised", v.type, r->x.type,
                                "personalised is %s, expected %s as x", spry_type_name(v.type),
                                spry_type_name(r->x.type));
    return SPRY_OK;
}

static spry_status refuse_zero_columns(const ranking *r, spry_pagerank_result *result, spry_error *err)
{
    result->verdict = SPRY_VERDICT_ZERO_COLUMN;
    return spryi_fail_value(err, SPRY_NOT_CONVERGED, "zero_columns", r->links.zero_columns, 0,
                            "%lld of the nodes link nowhere, the first is %lld (counted from %d): their columns cannot "
                            "be divided by their sums of 0; zero columns can 'teleport' (count as linking everywhere) "
                            "or "
                            "'drop' (lose their mass) instead",
                            (long long)r->links.zero_columns, (long long)r->links.first_zero_column + r->base, r->base);
}

/* ---- iteration ---------------------------------------------------------------------------------- */

static spry_status product(const ranking *r, const buffers *at, const spry_run_options *run, double *product_us,
                           spry_error *err)
{
    spry_vector in = r->z, out = r->y;
    in.data = at->z;
    out.data = at->y;
    double start = spryi_now_us();
    spry_status status = spry_spmv_plan_run(r->plan, out, NULL, spry_vector_as_const(in), NULL, run, err);
    *product_us += spryi_now_us() - start;
    return status;
}

static spry_status look(ranking *r, spry_error *err)
{
    return spryi_vector_look(&r->work, &r->state, sizeof r->state, err);
}

/*
 * z takes the memory of the y before, which has just been read, and all three rotate; but where iterations are
 * started ahead, z stays where it is: a product that comes after the end then only reads it.
 */
static spry_status pass(const ranking *r, const spryi_vector_work *w, buffers *at, spry_error *err)
{
    const int runs_ahead = w->ops->ahead > 1;
    buffers now = *at;
    *at = runs_ahead ? (buffers){now.z, now.y, now.y_before} : (buffers){now.y_before, now.y, now.z};
    return w->ops->rank->step(w, at->z, now.y_before, now.y, r->links.factors.data, r->v.data, r->state.norm, err);
}

static spry_status start_round(const ranking *r, const spryi_vector_work *w, const spry_run_options *run, buffers *at,
                               double *product_us, spry_error *err)
{
    spry_status status = product(r, at, run, product_us, err);
    return status == SPRY_OK ? pass(r, w, at, err) : status;
}

/* An even number of rounds, so that all memory is where it was. */
static spry_status start_rounds(void *user, int64_t count, void *stream, spry_error *err)
{
    const ranking *r = user;
    spryi_vector_work w = r->work;
    spry_run_options run = r->run;
    buffers at = r->at;
    double nothing = 0;
    spry_status status = SPRY_OK;
    w.stream = run.stream = stream;
    for (int64_t k = 0; k < count && status == SPRY_OK; k++) status = start_round(r, &w, &run, &at, &nothing, err);
    return status;
}

/* Many of small systems, where starting them takes longer than those in vain; even numbers. */
static int has_stopped(const void *state, int64_t columns)
{
    (void)columns;
    return ((const spryi_rank_state *)state)->stop != SPRYI_GOES_ON;
}

/* Iterations that are likely to be left. */
static int64_t iterations_left(const spryi_rank_state *s)
{
    enum { LATE = 4 };
    const int64_t back = s->iterations - 1 < LATE ? s->iterations - 1 : LATE;
    const double before = back > 0 ? s->history[(s->iterations - 1 - back) % SPRYI_MOST_AHEAD] : 0;
    return spryi_vector_left(s->residual, before, back, s->tolerance, s->limit - s->iterations);
}

/* Starts some iterations and looks what became of those, or of others that were started before. */
static spry_status advance(ranking *r, double *product_us, spry_error *err)
{
    const int64_t left = iterations_left(&r->state), usual = spryi_vector_ahead(&r->work, r->state.iterations);
    const int64_t ahead = usual < left ? usual : left;
    spry_status status = SPRY_OK;
    if (r->recorded.of[0].rounds)
        return spryi_vector_advance(&r->work, &r->recorded, left, &r->state, sizeof r->state, has_stopped, err);
    for (int64_t k = 0; k < ahead && status == SPRY_OK; k++)
        status = start_round(r, &r->work, &r->run, &r->at, product_us, err);
    return status == SPRY_OK ? look(r, err) : status;
}

/* 1: the observer wants no more. `from`: iterations that it was told of. */
static int tell(const ranking *r, int64_t from)
{
    int enough = 0;
    for (int64_t k = from; k < r->state.iterations && r->o->observe; k++)
        enough |= r->o->observe(r->o->user, k + 1, r->state.history[k % SPRYI_MOST_AHEAD]) != 0;
    return enough;
}

static spry_verdict verdict_of(int stop, int enough)
{
    if (stop == SPRYI_NOT_FINITE) return SPRY_VERDICT_NOT_FINITE;
    if (stop == SPRYI_SMALL_ENOUGH) return SPRY_VERDICT_CONVERGED;
    if (enough) return SPRY_VERDICT_STOPPED;
    return stop == SPRYI_AT_LIMIT ? SPRY_VERDICT_ITERATION_LIMIT : SPRY_VERDICT_NONE;
}

/* x serves as the third vector; it holds x_k in the end. */
static spry_status iterate(ranking *r, spry_pagerank_result *result, spry_error *err)
{
    const spryi_rank_passes *passes = r->work.ops->rank;
    const spryi_rank_state *s = &r->state;
    const void *x_0 = r->o->start_from_x ? r->x.data : NULL;
    spry_status status = passes->start(&r->work, r->at.z, r->at.y_before, x_0, r->links.factors.data, r->v.data, err);
    while (status == SPRY_OK && result->verdict == SPRY_VERDICT_NONE) {
        int64_t told = s->iterations;
        status = advance(r, &result->product_us, err);
        if (status == SPRY_OK) result->verdict = verdict_of(s->stop, tell(r, told));
    }
    if (status == SPRY_OK && !s->finished) {
        status = passes->finish(&r->work, r->x.data, r->at.y_before, r->v.data, err);
        if (status == SPRY_OK) status = look(r, err);
    }
    result->iterations = s->iterations;
    result->residual = s->residual;
    result->mass = s->mass;
    result->zero_mass = s->zero_mass;
    return status;
}

/*
 * A step contracts the 1-norm by alpha, and rounding adds at most (length + 3) eps to each row of the product
 * (spry_spmv_plan_create) and less than 13 eps elsewhere: x_k is off by at most (alpha d + rounding) / (1 - alpha).
 */
static spry_status bound_error(const ranking *r, const spry_vector *x, spry_pagerank_result *result, spry_error *err)
{
    const spryi_rank_state *s = &r->state;
    const double eps = x->type == SPRY_F32 ? FLT_EPSILON : DBL_EPSILON;
    double length = 0;
    SPRYI_OK_OR_RETURN(spryi_links_weighted_length(r->context, &length, &r->links, x, s->mass, r->run.stream, err));
    result->error_bound = (s->alpha * s->d1 + eps * (s->alpha * length + 16 * s->mass)) / (1 - s->alpha);
    return SPRY_OK;
}

static spry_status judge(const ranking *r, const spry_pagerank_result *result, spry_error *err)
{
    if (result->verdict == SPRY_VERDICT_CONVERGED) return SPRY_OK;
    return spryi_fail_value(err, SPRY_NOT_CONVERGED, NULL, result->iterations, r->state.limit,
                            "not converged (%s) after %lld iterations: the last step was %.3g, expected at most %g",
                            spry_verdict_text(result->verdict), (long long)result->iterations, result->residual,
                            r->state.tolerance);
}

/* ---- the call ----------------------------------------------------------------------------------- */

static spry_status make_vectors(ranking *r, spry_error *err)
{
    spry_status status = spryi_solve_move(r->context, &r->links.factors, r->device, r->run.stream, err);
    if (r->x.device != r->device && status == SPRY_OK) {
        status = spry_vector_create(r->context, &r->own_x, r->n, r->x.type, r->device, err);
        r->x = r->own_x;
    }
    if (status == SPRY_OK) status = spry_vector_create(r->context, &r->z, r->n, r->x.type, r->device, err);
    if (status == SPRY_OK) status = spry_vector_create(r->context, &r->y, r->n, r->x.type, r->device, err);
    return status;
}

/* The sum of v, which lies on the device, goes to the state. */
static spry_status weigh(ranking *r, const spry_vector *v, const char *name, spry_error *err)
{
    r->state.bad = INT64_MAX;
    SPRYI_OK_OR_RETURN(spryi_vector_put(&r->work, &r->state, sizeof r->state, err));
    SPRYI_OK_OR_RETURN(r->work.ops->rank->weigh(&r->work, v->data, err));
    SPRYI_OK_OR_RETURN(look(r, err));
    if (r->state.bad != INT64_MAX) {
        char number[sizeof(double)];
        const spry_vector entry = {.data = number, .length = 1, .type = v->type};
        spry_vector from = *v;
        from.data = (char *)v->data + r->state.bad * (int64_t)spry_type_bytes(v->type);
        from.length = 1;
        SPRYI_OK_OR_RETURN(spryi_solve_copy_to(r->context, &entry, &from, r->run.stream, err));
        if (r->device > 0) SPRYI_OK_OR_RETURN(spry_device_synchronize(r->context, r->device, r->run.stream, err));
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, r->state.bad, r->n,
                                "pagerank: entry %lld of %s (counted from %d) is %g, expected finite numbers >= 0",
                                (long long)r->state.bad + r->base, name, r->base, spryi_value_at(number, v->type, 0));
    }
    if (!(r->state.weight > 0 && isfinite(r->state.weight)))
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, name,
                          "pagerank: the entries of %s sum to %g, expected a finite sum above 0", name,
                          r->state.weight);
    return SPRY_OK;
}

/* Looks at the caller's v and x_0. The weight that the state has in the end is that of x_0. */
static spry_status take_weights(ranking *r, spry_vector x, spry_error *err)
{
    const spry_vector given = spryi_solve_vector(r->o->personalised);
    if (given.data) {
        SPRYI_OK_OR_RETURN(spryi_solve_copy(r->context, &r->v, &given, r->device, r->run.stream, err));
        SPRYI_OK_OR_RETURN(weigh(r, &r->v, "personalised", err));
        SPRYI_OK_OR_RETURN(r->work.ops->rank->divide(&r->work, r->v.data, err));
    }
    if (!r->o->start_from_x) return SPRY_OK;
    if (r->own_x.data) SPRYI_OK_OR_RETURN(spryi_solve_copy_to(r->context, &r->x, &x, r->run.stream, err));
    return weigh(r, &r->x, "x", err);
}

/* By the device, or, where it does not do that or lacks the memory, by the host. */
static spry_status make_links(ranking *r, const spry_matrix *A, const spry_arrays *a, spry_error *err)
{
    spry_error why = SPRY_ERROR_INIT;
    if (r->device > 0) {
        const spry_status status = spryi_links_make_there(&r->work, &r->links, a, r->o->edges, r->base, &why);
        if (status == SPRY_OK) return SPRY_OK;
        if (status != SPRY_UNSUPPORTED && status != SPRY_OUT_OF_MEMORY) return spryi_hand_on(err, &why);
    }
    SPRYI_OK_OR_RETURN(spryi_solve_fetch(r->context, &r->host, A, r->run.stream, err));
    return spryi_links_make(r->context, &r->links, r->host.A ? r->host.A : A, a, r->o->edges, r->x.type, err);
}

static spry_status set_up(ranking *r, spry_vector x, spry_pagerank_result *result, const spry_matrix *A,
                          const spry_arrays *a, spry_error *err)
{
    spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
    info.struct_size = offsetof(spry_spmv_plan_info, baseline); /* without predictions, which measure the device */
    SPRYI_OK_OR_RETURN(spryi_vector_work_init(r->context, &r->work, r->device, r->run.stream, r->n, 1, r->x.type, err));
    SPRYI_OK_OR_RETURN(make_links(r, A, a, err));
    result->zero_columns = r->links.zero_columns;
    result->first_zero_column = r->links.first_zero_column;
    result->as_it_stands = r->links.factors.data == NULL;
    if (r->links.zero_columns > 0 && r->o->zero_columns == SPRY_ZERO_ABORT) return refuse_zero_columns(r, result, err);
    spry_status status = make_vectors(r, err);
    if (status == SPRY_OK) status = take_weights(r, x, err);
    /* The links may be a copy on the host of what lies on the device. */
    if (r->names.device == SPRY_DEVICE_DEFAULT) r->names.device = r->device == 0 ? SPRY_CPU : r->device;
    if (status == SPRY_OK)
        status = spryi_solve_make_plan(r->context, &r->plan, r->links.B, r->x.type, &r->names, r->run.stream, err);
    if (status == SPRY_OK) status = spry_spmv_plan_get_info(r->plan, &info, err);
    result->upload_us = r->links.upload_us + info.upload_us;
    r->at = (buffers){r->x.data, r->y.data, r->z.data};
    if (status == SPRY_OK && r->work.ops->record)
        status = spryi_vector_record(&r->work, &r->recorded, start_rounds, r, err);
    r->state.n = r->v.data ? 1 : (double)r->n;
    r->state.alpha_before = r->o->start_from_x ? 1 : r->state.alpha;
    r->state.shift_before = r->o->start_from_x ? 0 : 1 / r->state.n; /* x_0 = alpha*0 + v/n */
    if (status == SPRY_OK) status = spryi_vector_put(&r->work, &r->state, sizeof r->state, err);
    result->format = r->names.format;
    result->kernel = r->names.kernel;
    return status;
}

static spry_status run(ranking *r, spry_vector x, spry_pagerank_result *result, const spry_matrix *A,
                       const spry_arrays *a, spry_error *err)
{
    double start = spryi_now_us();
    spry_status status = set_up(r, x, result, A, a, err);
    result->setup_us = spryi_now_us() - start;
    if (status != SPRY_OK) return status;
    start = spryi_now_us();
    status = iterate(r, result, err);
    result->solve_us = spryi_now_us() - start;
    if (status == SPRY_OK && r->device > 0) {
        status = spryi_solve_time_product(r->context, r->plan, r->x, r->y, r->run.stream, &result->product_us, err);
        result->product_us *= (double)result->iterations;
    }
    if (status == SPRY_OK && r->own_x.data) status = spryi_solve_copy_to(r->context, &x, &r->x, r->run.stream, err);
    if (status == SPRY_OK && r->device > 0) status = spry_device_synchronize(r->context, r->device, r->run.stream, err);
    if (status == SPRY_OK) status = bound_error(r, &x, result, err);
    return status == SPRY_OK ? judge(r, result, err) : status;
}

/* Drops a claim of symmetry that does not hold, or that cannot be checked since the entries are on a device. */
static spry_status check_claim(const spry_matrix *A, spry_arrays *a, spry_error *err)
{
    spryi_unequal found = {.row = 0};
    if (a->symmetry == SPRY_GENERAL) return SPRY_OK;
    if (a->device == 0 || A->symmetry_holds) SPRYI_OK_OR_RETURN(spryi_find_false_claim(&found, A, err));
    if (found.row >= 0) a->symmetry = SPRY_GENERAL;
    return SPRY_OK;
}

/* Of one triangle. */
static spry_status rank_both(spry_context *context, spry_vector x, spry_pagerank_result *result, const spry_matrix *A,
                             const spry_pagerank_options *options, spry_error *err)
{
    spry_matrix *both = NULL;
    spry_convert_options keep = SPRY_INIT(spry_convert_options);
    keep.keep_duplicates = 1;
    spry_status status = spry_matrix_convert(context, &both, A, &keep, err);
    if (status == SPRY_OK) status = spry_pagerank(context, x, result, both, options, err);
    spry_matrix_destroy(both);
    return status;
}

spry_status spry_pagerank(spry_context *context, spry_vector x, spry_pagerank_result *result, const spry_matrix *A,
                          const spry_pagerank_options *options, spry_error *err)
{
    spry_pagerank_options o;
    x.device = spryi_device_number(x.device);
    ranking r = {.context = context, .x = x, .run = SPRY_INIT(spry_run_options)};
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_pagerank_result told = SPRY_INIT(spry_pagerank_result);
    told.residual = told.error_bound = told.mass = NAN;
    told.first_zero_column = -1;
    told.format = told.kernel = "";
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(result, err));
    if (result) SPRYI_GIVE(result, &told); /* what a previous call has left goes */
    if (!context || !A)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, !context ? "context" : "A", "pagerank: %s is NULL",
                          !context ? "context" : "A");
    spry_status status = SPRYI_TAKE(&o, options, err);
    if (status == SPRY_OK) status = check_options(&r, &o, err);
    if (status == SPRY_OK) status = spry_matrix_get_arrays(A, &a, err);
    if (status == SPRY_OK && a.triangle != SPRY_ALL_ENTRIES) return rank_both(context, x, result, A, options, err);
    if (status == SPRY_OK) status = check_claim(A, &a, err);
    if (status == SPRY_OK) status = spryi_solve_check_square(&a, "pagerank", err);
    if (status == SPRY_OK && a.rows == 0)
        status = spryi_fail_value(err, SPRY_INVALID_SIZE, "A", 0, 1,
                                  "pagerank: the matrix is empty, expected 1 x 1 or more");
    r.device = spryi_solve_device_number(context, &r.names, &a);
    if (status == SPRY_OK) status = spryi_solve_check_vector(&x, "x", a.rows, &a, r.device, err);
    if (status == SPRY_OK) status = check_personalised(&r, &a, err);
    r.run.stream = r.device > 0 ? o.stream : NULL;
    if (status == SPRY_OK && r.device > 0) status = spry_device_synchronize(context, r.device, r.run.stream, err);
    if (status != SPRY_OK) return status;

    r.n = a.rows;
    r.base = spry_matrix_index_base(A);
    status = run(&r, x, &told, A, &a, err);
    if (result && (status == SPRY_OK || status == SPRY_NOT_CONVERGED)) SPRYI_GIVE(result, &told);
    spryi_vector_forget(&r.work, &r.recorded);
    spry_vector *vectors[] = {&r.z, &r.y, &r.own_x, &r.v};
    for (int v = 0; v < 4; v++) spry_vector_destroy(context, vectors[v]);
    spryi_vector_work_clear(&r.work);
    spry_spmv_plan_destroy(r.plan);
    spryi_links_clear(context, &r.links);
    spryi_solve_fetch_clear(context, &r.host);
    return status;
}
