/* Whether a matrix suits the method, and whether x is what the method says it is: all in f64, by loops of its own. */
#include "bench/solver.h"
#include "spry/tools.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const double alpha = 0.85;

static double value_at(spry_type type, const void *array, int64_t k)
{
    return type == SPRY_F32 ? (double)((const float *)array)[k] : ((const double *)array)[k];
}

/* ---- the matrix --------------------------------------------------------------------------------- */

static spry_status look_at_system(solver_group *group, const spry_peer_matrix *a, spry_error *err)
{
    spry_matrix_stats stats = SPRY_INIT(spry_matrix_stats);
    const spry_status status = spry_matrix_get_stats(group->A, &stats, err);
    if (status != SPRY_OK) return status;
    if (stats.value_symmetric == SPRY_KNOWN_NO) {
        snprintf(group->unsuited, sizeof group->unsuited, "the matrix is not symmetric");
        return SPRY_OK;
    }
    for (int64_t i = 0; i < a->rows; i++) {
        double entry = 0;
        for (int64_t k = spry_peer_offset(a, i); k < spry_peer_offset(a, i + 1); k++)
            if (spry_peer_index(a->index_bytes, a->columns, k) == i) entry += value_at(group->type, a->values, k);
        if (entry > 0) continue;
        snprintf(group->unsuited, sizeof group->unsuited,
                 "the matrix is not positive definite: entry %lld of its diagonal (counted from %d) is %.3g",
                 (long long)i + spry_matrix_index_base(group->A), spry_matrix_index_base(group->A), entry);
        break;
    }
    return SPRY_OK;
}

static void look_at_graph(solver_group *group, const spry_peer_matrix *a)
{
    const int base = spry_matrix_index_base(group->A);
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t k = spry_peer_offset(a, i); k < spry_peer_offset(a, i + 1); k++) {
            const double value = value_at(group->type, a->values, k);
            if (value >= 0 && isfinite(value)) continue;
            snprintf(group->unsuited, sizeof group->unsuited,
                     "PageRank takes no negative entries, Inf or NaN: entry (%lld, %lld) (counted from %d) is %.3g; "
                     "--pattern leaves values out",
                     (long long)i + base, (long long)spry_peer_index(a->index_bytes, a->columns, k) + base, base,
                     value);
            return;
        }
}

spry_status solver_look_at_matrix(solver_group *group, spry_error *err)
{
    const spry_peer_matrix a = bench_peer_matrix(&group->arrays);
    group->unsuited[0] = '\0';
    if (a.rows != a.cols)
        snprintf(group->unsuited, sizeof group->unsuited, "the matrix is %lld x %lld, expected as many rows as columns",
                 (long long)a.rows, (long long)a.cols);
    else if (a.rows == 0)
        snprintf(group->unsuited, sizeof group->unsuited, "the matrix has no rows");
    else if (group->method == IN_CG)
        return look_at_system(group, &a, err);
    else
        look_at_graph(group, &a);
    return SPRY_OK;
}

/* ---- x ------------------------------------------------------------------------------------------ */

/* What is left of x, and what rounding in its type may leave. */
typedef struct rest {
    double residual, rounding;
} rest;

static double eps_of(const solver_group *group)
{
    return group->type == SPRY_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
}

typedef struct residual_job {
    const solver_group *group;
    spry_peer_matrix a;
    pthread_mutex_t adding;
    double squares, sizes, b_squares;
} residual_job;

static void add_residuals(void *job, int64_t begin, int64_t end)
{
    residual_job *j = job;
    const solver_group *group = j->group;
    const spry_peer_matrix a = j->a;
    double squares = 0, sizes = 0, b_squares = 0;
    for (int64_t i = begin; i < end; i++) {
        const double b = value_at(group->type, group->b, i);
        double r = b, size = fabs(b);
        for (int64_t k = spry_peer_offset(&a, i); k < spry_peer_offset(&a, i + 1); k++) {
            const int64_t column = spry_peer_index(a.index_bytes, a.columns, k);
            const double product = value_at(group->type, a.values, k) * value_at(group->type, group->x, column);
            r -= product;
            size += fabs(product);
        }
        squares += r * r;
        sizes += size * size;
        b_squares += b * b;
    }
    pthread_mutex_lock(&j->adding);
    j->squares += squares;
    j->sizes += sizes;
    j->b_squares += b_squares;
    pthread_mutex_unlock(&j->adding);
}

/*
 * The residual that CG carries along drifts from the true one by rounding: by about eps || |A| |x| + |b| || an
 * iteration, with either sign (A. Greenbaum, Estimating the attainable accuracy of recursively computed residual
 * methods, 1997). A bound above half of ||b|| would let x = 0 pass.
 */
static rest rest_of_system(const solver_group *group, int64_t iterations)
{
    residual_job j = {.group = group, .a = bench_peer_matrix(&group->arrays), .adding = PTHREAD_MUTEX_INITIALIZER};
    run_shares(spry_context_threads(group->session->context), j.a.rows, add_residuals, &j);
    const double rounding = 4 * eps_of(group) * sqrt((double)iterations) * sqrt(j.sizes / j.b_squares);
    return (rest){sqrt(j.squares / j.b_squares), fmin(rounding, 0.5)};
}

/* y = B*x before alpha, the links into each node, and the rank of nodes without links out. */
static double push(const solver_group *group, double *y, int64_t *links)
{
    const spry_peer_matrix a = bench_peer_matrix(&group->arrays);
    double lost = 0;
    for (int64_t i = 0; i < a.rows; i++) {
        const int64_t begin = spry_peer_offset(&a, i), end = spry_peer_offset(&a, i + 1);
        const double x = value_at(group->type, group->x, i);
        double sum = 0;
        for (int64_t k = begin; k < end; k++) sum += value_at(group->type, a.values, k);
        if (!(sum > 0)) lost += x;
        for (int64_t k = begin; k < end; k++) {
            const int64_t j = spry_peer_index(a.index_bytes, a.columns, k);
            if (sum > 0) y[j] += value_at(group->type, a.values, k) / sum * x;
            links[j]++;
        }
    }
    return lost;
}

/* One step F(x) from x. A row's rounding is at most (links + some) eps of it. 0: out of memory. */
static int rest_of_ranks(const solver_group *group, rest *found)
{
    const int64_t n = group->arrays.rows;
    const double eps = eps_of(group), others = 8 + log2((double)n);
    double *y = calloc((size_t)n, sizeof *y);
    int64_t *links = calloc((size_t)n, sizeof *links);
    *found = (rest){0};
    if (y && links) {
        const double shift = (alpha * push(group, y, links) + 1 - alpha) / (double)n;
        for (int64_t i = 0; i < n; i++) {
            const double next = alpha * y[i] + shift;
            found->residual += fabs(next - value_at(group->type, group->x, i));
            found->rounding += ((double)links[i] + others) * eps * next;
        }
    }
    const int good = y && links;
    free(y);
    free(links);
    return good;
}

static void judge(solver_group *group, solver_case *c, const solver_outcome *outcome, const char *when)
{
    record *r = &c->record;
    rest found;
    if (outcome->iterations < 1) {
        record_fail(r, RECORD_FAILED, "it told no iterations");
        return;
    }
    if (c->peer && !(outcome->residual <= group->tolerance) && outcome->iterations < group->limit) {
        record_fail(r, RECORD_FAILED, "it ended after %lld iterations with residual %.3g, expected at most %.0e",
                    (long long)outcome->iterations, outcome->residual, group->tolerance);
        return;
    }
    if (group->method == IN_CG)
        found = rest_of_system(group, outcome->iterations);
    else if (!rest_of_ranks(group, &found)) {
        record_fail(r, RECORD_FAILED, "out of memory for the check of the ranks");
        return;
    }
    const double bound = fmax(group->tolerance, outcome->residual) + found.rounding, share = found.residual / bound;
    if (isnan(r->max_error) || !(share <= r->max_error)) r->max_error = share;
    if (!(share <= 1)) /* NaN too */
        record_fail(r, RECORD_WRONG, "%s: the residual of x is %.3g, expected at most %.3g after a residual of %.3g",
                    when, found.residual, bound, outcome->residual);
}

static uint64_t hash_of_x(const solver_group *group)
{
    return bench_hash_bytes(group->x, (size_t)group->arrays.rows * spry_type_bytes(group->type),
                            spry_context_threads(group->session->context));
}

/* That a peer ended at the limit stands behind its title. */
static void tell_limit(const solver_group *group, solver_case *c, const solver_outcome *outcome)
{
    const size_t used = strlen(c->record.reason);
    if (c->peer && is_live(&c->record) && !(outcome->residual <= group->tolerance))
        snprintf(c->record.reason + used, sizeof c->record.reason - used,
                 "; iteration limit after %lld iterations, residual %.2g", (long long)outcome->iterations,
                 outcome->residual);
}

void solver_check(solver_group *group, solver_case *c)
{
    solver_outcome outcome;
    fill_constant(group->x, group->arrays.rows, group->type, NAN, spry_context_threads(group->session->context));
    if (!solver_run(group, c, &outcome)) return;
    c->record.time.first_us = outcome.us;
    c->record.time.iterations = outcome.iterations;
    c->hash = hash_of_x(group);
    judge(group, c, &outcome, "first solve");
    tell_limit(group, c, &outcome);
}

void solver_recheck(solver_group *group, solver_case *c, const solver_outcome *last)
{
    if (hash_of_x(group) == c->hash) return;
    if (c->record.method.deterministic == 1)
        record_fail(&c->record, RECORD_WRONG, "said to be deterministic, but the bits changed between solves");
    else
        judge(group, c, last, "after timing");
}
