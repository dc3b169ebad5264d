/*
 * PageRank, by the tutorial's steps: x_k = alpha*B*x_(k-1) + shift, B = A*diag(s) with s the reciprocal column sums.
 *
 * Idea: the iteration carries z = s.x instead of x, so the product is A*z with A where it lies, and one pass makes z of
 * y = A*z. It keeps y of the iteration before instead of x: d = x_k - x_(k-1) = alpha*(y - y_before) + the shifts'
 * difference, and z takes y_before's place in memory. Zero columns have s = 0. Their mass, known from the pass before,
 * goes into the next shift (teleport) or nowhere (drop).
 * Cost: an iteration is a product and a pass that reads y, y_before and s and writes z: four times n numbers, three
 * where B is column-stochastic as it stands.
 */
#include "solve/pagerank.h"

#include "solve/solve.h"
#include "solve/vector_ops.h"

#include <math.h>

typedef struct ranking {
    spry_context *context;
    const spry_pagerank_options *o;
    double alpha, tolerance;
    int64_t limit, n;
    spryi_links links;
    spry_plan *plan;
    spryi_vector_work work;
    spry_vector z, y;
} ranking;

/* ---- what was asked for ------------------------------------------------------------------------- */

static spry_status check_options(ranking *r, const spry_pagerank_options *o, spry_error *err)
{
    spry_status status = spryi_solve_check_struct(o->struct_size, sizeof *o, "spry_pagerank_options", err);
    if (status != SPRY_OK) return status;
    r->o = o;
    r->alpha = o->alpha == 0 ? 0.85 : o->alpha;
    r->tolerance = o->tolerance == 0 ? 1e-8 : o->tolerance;
    r->limit = o->max_iterations == 0 ? 200 : o->max_iterations;
    if (!(r->alpha > 0 && r->alpha < 1))
        return spryi_solve_fail(err, SPRY_INVALID_ARGUMENT, "alpha", 0, 1,
                                "pagerank: alpha is %g, expected a number between 0 and 1, neither included", r->alpha);
    if (!(r->tolerance > 0 && isfinite(r->tolerance)))
        return spryi_solve_fail(err, SPRY_INVALID_ARGUMENT, "tolerance", 0, 0,
                                "pagerank: tolerance is %g, expected a number above 0", r->tolerance);
    if (r->limit < 1)
        return spryi_solve_fail(err, SPRY_INVALID_ARGUMENT, "max_iterations", r->limit, 1,
                                "pagerank: max_iterations is %lld, expected 1 or more", (long long)r->limit);
    if ((unsigned)o->norm > SPRY_NORM_INF || (unsigned)o->edges > SPRY_ROW_TO_COLUMN ||
        (unsigned)o->zero_columns > SPRY_ZERO_DROP)
        return spryi_solve_fail(err, SPRY_INVALID_ARGUMENT, "options", 0, 0,
                                "pagerank: norm, edges or zero_columns is none of its values");
    return SPRY_OK;
}

static spry_status refuse_zero_columns(const spryi_links *links, spry_pagerank_result *result, spry_error *err)
{
    result->verdict = SPRY_VERDICT_ZERO_COLUMN;
    return spryi_solve_fail(err, SPRY_NOT_CONVERGED, "zero_columns", links->zero_columns, 0,
                            "%lld of the nodes link nowhere, the first is %lld (counted from 1): their columns cannot "
                            "be "
                            "divided by their sums of 0; zero columns can 'teleport' (count as linking everywhere) or "
                            "'drop' (lose their mass) instead",
                            (long long)links->zero_columns, (long long)links->first_zero_column + 1);
}

/* ---- iteration ---------------------------------------------------------------------------------- */

static spry_status product(const ranking *r, void *z, void *y, double *product_us, spry_error *err)
{
    spry_vector in = r->z, out = r->y;
    in.data = z;
    out.data = y;
    double start = spryi_solve_now_us();
    spry_status status = spry_plan_run(r->plan, NULL, in, NULL, out, NULL, err);
    *product_us += spryi_solve_now_us() - start;
    return status;
}

/* x serves as the third vector; it holds x_k in the end. */
static spry_status iterate(ranking *r, spry_vector x, spry_pagerank_result *result, spry_error *err)
{
    const spryi_vector_ops *ops = r->work.ops;
    const void *s = r->links.factors.data;
    void *z = r->z.data, *y_before = r->y.data, *y = x.data;
    spryi_rank_sums sums = {0};
    /* x_0 = alpha*0 + 1/n */
    double shift_before = 1 / (double)r->n, rest = (1 - r->alpha) / (double)r->n;
    sums.zero_mass = ops->rank_start(&r->work, z, y_before, s, shift_before);
    while (result->verdict == SPRY_VERDICT_NONE) {
        spry_status status = product(r, z, y, &result->product_us, err);
        if (status != SPRY_OK) return status;
        double shift = rest;
        if (r->o->zero_columns == SPRY_ZERO_TELEPORT) shift += r->alpha * sums.zero_mass / (double)r->n;
        ops->rank_step(&r->work, y_before, y, s, r->o->norm, r->alpha, shift, shift_before, &sums);
        shift_before = shift;
        void *free_now = z;
        z = y_before;
        y_before = y;
        y = free_now;
        result->iterations++;
        result->residual = sums.d;
        int stop = r->o->observe && r->o->observe(r->o->user, result->iterations, result->residual) != 0;
        if (!isfinite(sums.mass) || !isfinite(sums.d1))
            result->verdict = SPRY_VERDICT_NOT_FINITE;
        else if (result->residual <= r->tolerance)
            result->verdict = SPRY_VERDICT_CONVERGED;
        else if (stop)
            result->verdict = SPRY_VERDICT_STOPPED;
        else if (result->iterations == r->limit)
            result->verdict = SPRY_VERDICT_ITERATION_LIMIT;
    }
    result->error_bound = r->alpha / (1 - r->alpha) * sums.d1;
    result->mass = sums.mass;
    result->zero_mass = sums.zero_mass;
    ops->rank_finish(&r->work, x.data, y_before, r->alpha, shift_before);
    return SPRY_OK;
}

static spry_status judge(const ranking *r, const spry_pagerank_result *result, spry_error *err)
{
    if (result->verdict == SPRY_VERDICT_CONVERGED) return SPRY_OK;
    return spryi_solve_fail(err, SPRY_NOT_CONVERGED, NULL, result->iterations, r->limit,
                            "not converged (%s) after %lld iterations: the last step was %.3g, expected at most %g",
                            spry_verdict_text(result->verdict), (long long)result->iterations, result->residual,
                            r->tolerance);
}

/* ---- the call ----------------------------------------------------------------------------------- */

static spry_status set_up(ranking *r, spry_vector x, spry_pagerank_result *result, const spry_matrix *A,
                          spry_error *err)
{
    spryi_solve_plan names = {r->o->device, r->o->format, r->o->kernel};
    spry_status status = spryi_links_make(r->context, &r->links, A, r->o->edges, x.type, err);
    if (status != SPRY_OK) return status;
    result->zero_columns = r->links.zero_columns;
    result->first_zero_column = r->links.first_zero_column;
    result->as_it_stands = r->links.factors.data == NULL;
    if (r->links.zero_columns > 0 && r->o->zero_columns == SPRY_ZERO_ABORT)
        return refuse_zero_columns(&r->links, result, err);
    status = spryi_solve_make_plan(r->context, &r->plan, r->links.B, x.type, &names, err);
    if (status == SPRY_OK) status = spryi_vector_work_init(r->context, &r->work, names.device, r->n, x.type, err);
    if (status == SPRY_OK) status = spry_vector_create(r->context, &r->z, r->n, x.type, 0, err);
    if (status == SPRY_OK) status = spry_vector_create(r->context, &r->y, r->n, x.type, 0, err);
    result->format = names.format;
    result->kernel = names.kernel;
    return status;
}

spry_status spry_pagerank(spry_context *context, spry_vector x, spry_pagerank_result *result, const spry_matrix *A,
                          const spry_pagerank_options *options, spry_error *err)
{
    if (!context || !A)
        return spryi_solve_fail(err, SPRY_INVALID_ARGUMENT, !context ? "context" : "A", 0, 0, "pagerank: %s is NULL",
                                !context ? "context" : "A");
    const spry_pagerank_options defaults = SPRY_INIT(spry_pagerank_options);
    ranking r = {.context = context};
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_pagerank_result told = SPRY_INIT(spry_pagerank_result);
    told.residual = told.error_bound = told.mass = NAN;
    told.first_zero_column = -1;
    spry_status status = check_options(&r, options ? options : &defaults, err);
    if (status == SPRY_OK && result)
        status = spryi_solve_check_struct(result->struct_size, sizeof *result, "spry_pagerank_result", err);
    if (status == SPRY_OK) status = spry_matrix_get_arrays(A, &a, err);
    if (status == SPRY_OK) status = spryi_solve_check_square(&a, "pagerank", err);
    if (status == SPRY_OK && a.rows == 0)
        status = spryi_solve_fail(err, SPRY_INVALID_SIZE, "A", 0, 1,
                                  "pagerank: the matrix is empty, expected 1 x 1 or more");
    if (status == SPRY_OK) status = spryi_solve_check_vector(&x, "x", a.rows, &a, err);
    if (status != SPRY_OK) return status;

    r.n = a.rows;
    double start = spryi_solve_now_us();
    status = set_up(&r, x, &told, A, err);
    told.setup_us = spryi_solve_now_us() - start;
    if (status == SPRY_OK) {
        start = spryi_solve_now_us();
        status = iterate(&r, x, &told, err);
        told.solve_us = spryi_solve_now_us() - start;
        if (status == SPRY_OK) status = judge(&r, &told, err);
    }
    if (result && (status == SPRY_OK || status == SPRY_NOT_CONVERGED)) *result = told;
    spry_vector_destroy(context, &r.z);
    spry_vector_destroy(context, &r.y);
    spryi_vector_work_clear(&r.work);
    spry_plan_destroy(r.plan);
    spryi_links_clear(context, &r.links);
    return status;
}
