/*
 * Operations cg and pagerank: times of whole solves, recorded per iteration.
 *
 * All cases of a matrix and type run the same method. CG has no preconditioner, starts from x = 0 with b = 1 and stops
 * at ||r|| <= 1e-8 ||b|| (f32: 1e-3), at the latest after MOST_CG_ITERATIONS. PageRank has alpha 0.85 and links from
 * rows to columns. Nodes without links out link to all nodes. It stops at ||x_k - x_(k-1)||_1 <= 1e-8 (f32: 1e-6), at
 * the latest after MOST_RANK_ITERATIONS.
 *
 * The check uses only x and the matrix as read, in f64. For CG it computes the true residual ||b - A*x|| / ||b||; for
 * PageRank the length ||F(x) - x||_1 of one more step F, which is at least (1 - alpha) times the distance of x from the
 * exact ranks. The bound is the larger of the tolerance and the reported residual, plus a bound of the rounding in x's
 * type. max_error is that residual or length divided by the bound. Therefore a method that ends at the iteration limit
 * is correct if x is as accurate as reported.
 *
 * A matrix that does not suit the method is skipped. The first solve is checked and not timed; then cases run in
 * rounds.
 */
#include "bench/internal.h"
#include "spry/matrix.h"
#include "spry/solve.h"
#include "spry/tune.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SOLVER_ROUNDS = 5, SOLVES_PER_ROUND = 10, MOST_CG_ITERATIONS = 2000, MOST_RANK_ITERATIONS = 200 };

/* Result of a solve. */
typedef struct solver_outcome {
    int64_t iterations;
    double residual; /* residual of the stopping rule */
    double us;       /* time of the iterations */
} solver_outcome;

typedef struct solver_case {
    record record;
    const char *format, *kernel; /* requested names, for a case of Spry; NULL: the library's choice */
    const spry_peer_solver *peer;
    void *peer_state;
    int device;    /* 0: the CPU, 1: the first GPU */
    uint64_t hash; /* hash of the first x, which a deterministic case must repeat */
    double *samples;
    int sample_count;
} solver_case;

typedef struct solver_group {
    bench_session *session;
    const char *wanted; /* device: "cpu", "cuda", "all" */
    bench_factor method;
    const spry_matrix *A; /* in host memory */
    spry_matrix *pattern; /* A without values, if they are dropped; else NULL */
    spry_arrays arrays;   /* A with values, for peers and the check; a pattern has ones */
    void *ones;           /* values of a pattern in `arrays`; else NULL */
    spry_type type;       /* type of vectors */
    void *x, *b;          /* b: only for CG */
    double tolerance;
    int64_t limit;
    record common;
    char unsuited[512]; /* why the matrix does not suit the method; "": no reason known */
    solver_case *cases;
    int case_count;
    double children; /* processor seconds of peers' processes, which are no disturbance */
    double disturbance;
} solver_group;

/* ---- the library's own methods --------------------------------------------------------------- */

/* Results of a solve that CG and PageRank both report. */
typedef struct solver_report {
    spry_status status;
    spry_error err;
    spry_verdict verdict;
    const char *format, *kernel;
    double setup_us;
} solver_report;

static spry_vector vector(const solver_group *group, void *data)
{
    return (spry_vector){.data = data,
                         .length = group->arrays.rows,
                         .type = group->type,
                         .count = 1,
                         .row_stride = 1,
                         .column_stride = group->arrays.rows,
                         .device = SPRY_CPU};
}

static void run_cg(solver_group *group, const solver_case *c, int device, solver_outcome *outcome, solver_report *t)
{
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    spry_cg_result result = SPRY_INIT(spry_cg_result);
    o.tolerance = group->tolerance;
    o.max_iterations = group->limit;
    o.device = device;
    o.format = c->format;
    o.kernel = c->kernel;
    t->status = spry_cg(group->session->context, vector(group, group->x), &result, group->A,
                        spry_vector_as_const(vector(group, group->b)), &o, &t->err);
    *outcome = (solver_outcome){result.iterations, result.residual, result.solve_us};
    /* After stagnation the recurrence's residual is not reliable. */
    if (result.verdict == SPRY_VERDICT_STAGNATION) outcome->residual = result.true_residual;
    t->verdict = result.verdict;
    t->format = result.format;
    t->kernel = result.kernel;
    t->setup_us = result.setup_us;
}

static void run_pagerank(solver_group *group, const solver_case *c, int device, solver_outcome *outcome,
                         solver_report *t)
{
    spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
    spry_pagerank_result result = SPRY_INIT(spry_pagerank_result);
    o.tolerance = group->tolerance;
    o.max_iterations = group->limit;
    o.device = device;
    o.format = c->format;
    o.kernel = c->kernel;
    t->status = spry_pagerank(group->session->context, vector(group, group->x), &result, group->A, &o, &t->err);
    *outcome = (solver_outcome){result.iterations, result.residual, result.solve_us};
    t->verdict = result.verdict;
    t->format = result.format;
    t->kernel = result.kernel;
    t->setup_us = result.setup_us;
}

/* Fills in the chosen kernel. The record keeps the requested name of the format, as records of products do. */
static void fill_choice(const solver_group *group, solver_case *c, const solver_report *t)
{
    record *r = &c->record;
    if (!c->kernel) RECORD_TEXT(r->method.kernel, t->kernel);
    r->cost.setup_us = t->setup_us;
    r->method.threads = c->device > 0 ? 0 : pool_threads(group->session->context);
    r->method.deterministic = 1;
    if (c->device == 0) r->cost.upload_us = 0;
    if (!c->format && t->format) snprintf(r->reason, sizeof r->reason, "auto chose %s", t->format);
}

static int answer(solver_group *group, solver_case *c, const solver_outcome *outcome, const solver_report *t)
{
    const char *message = t->err.message;
    if (t->status == SPRY_OK) return 1;
    if (t->status == SPRY_INVALID_MATRIX) { /* entries that PageRank refuses */
        RECORD_TEXT(group->unsuited, message);
        return record_fail(&c->record, RECORD_SKIPPED, "%s", message);
    }
    if (t->status != SPRY_NOT_CONVERGED) return record_fail(&c->record, bench_status_of(t->status), "%s", message);
    if (t->verdict == SPRY_VERDICT_NOT_SYMMETRIC || t->verdict == SPRY_VERDICT_NEGATIVE_CURVATURE) {
        RECORD_TEXT(group->unsuited, message);
        return record_fail(&c->record, RECORD_SKIPPED, "%s", message);
    }
    if (t->verdict != SPRY_VERDICT_ITERATION_LIMIT && t->verdict != SPRY_VERDICT_STAGNATION)
        return record_fail(&c->record, RECORD_FAILED, "%s", message);
    const size_t used = strlen(c->record.reason);
    if (!c->samples) /* the first solve */
        snprintf(c->record.reason + used, sizeof c->record.reason - used, "%s%s after %lld iterations, residual %.2g",
                 used ? "; " : "", spry_verdict_text(t->verdict), (long long)outcome->iterations, outcome->residual);
    return 1;
}

/* Solves with the library. The first solve of a case fills in the record's kernel, set-up time and similar fields. */
static int run_own(solver_group *group, solver_case *c, solver_outcome *outcome)
{
    solver_report t = {.status = SPRY_OK};
    int device = SPRY_CPU;
    t.status = find_device(group->session->context, &device, c->device > 0 ? "cuda" : "cpu", &t.err);
    if (t.status == SPRY_OK) (group->method == IN_CG ? run_cg : run_pagerank)(group, c, device, outcome, &t);
    if (t.status == SPRY_OK || t.status == SPRY_NOT_CONVERGED)
        if (isnan(c->record.cost.setup_us)) fill_choice(group, c, &t);
    return answer(group, c, outcome, &t);
}

/* Solves into group->x. Returns 0 after a failure; the record has the reason. */
static int run_solver(solver_group *group, solver_case *c, solver_outcome *outcome)
{
    *outcome = (solver_outcome){0};
    if (!c->peer) return run_own(group, c, outcome);
    const processor_time before = read_processor_time();
    spry_peer_solution solution = {.us = -1};
    spry_peer_error error = {"no reason given"};
    const double start = now_us();
    const int result =
        c->peer->solve(c->peer_state, group->x, group->method == IN_CG ? group->b : NULL, &solution, &error);
    const double took = now_us() - start;
    if (result != SPRY_PEER_OK) return record_fail(&c->record, bench_status_of_peer(result), "%s", error.text);
    /* Time that this process did not use may be work of the peer's process. */
    if (solution.us >= 0) group->children += fmax(0, 1e-6 * took - (read_processor_time().own - before.own));
    *outcome = (solver_outcome){solution.iterations, solution.residual, solution.us >= 0 ? solution.us : took};
    return 1;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static const double alpha = 0.85;

static double value_at(spry_type type, const void *array, int64_t k)
{
    return type == SPRY_F32 ? (double)((const float *)array)[k] : ((const double *)array)[k];
}

/* ---- the matrix --------------------------------------------------------------------------------- */

static spry_status check_system(solver_group *group, const spry_peer_matrix *a, spry_error *err)
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
                 (long long)i + index_base_of(group->A), index_base_of(group->A), entry);
        break;
    }
    return SPRY_OK;
}

static void check_graph(solver_group *group, const spry_peer_matrix *a)
{
    const int base = index_base_of(group->A);
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t k = spry_peer_offset(a, i); k < spry_peer_offset(a, i + 1); k++) {
            const double value = value_at(group->type, a->values, k);
            if (value >= 0 && isfinite(value)) continue;
            snprintf(group->unsuited, sizeof group->unsuited,
                     "PageRank refuses negative entries, Inf and NaN: entry (%lld, %lld) (counted from %d) is %.3g; "
                     "--pattern drops the values",
                     (long long)i + base, (long long)spry_peer_index(a->index_bytes, a->columns, k) + base, base,
                     value);
            return;
        }
}

/* Checks the requirements of the method. Stores the reason in group->unsuited if one does not hold. */
static spry_status inspect_matrix(solver_group *group, spry_error *err)
{
    const spry_peer_matrix a = bench_peer_matrix(&group->arrays);
    group->unsuited[0] = '\0';
    if (a.rows != a.cols)
        snprintf(group->unsuited, sizeof group->unsuited, "the matrix is %lld x %lld, expected a square matrix",
                 (long long)a.rows, (long long)a.cols);
    else if (a.rows == 0)
        snprintf(group->unsuited, sizeof group->unsuited, "the matrix has no rows");
    else if (group->method == IN_CG)
        return check_system(group, &a, err);
    else
        check_graph(group, &a);
    return SPRY_OK;
}

/* ---- x ------------------------------------------------------------------------------------------ */

/* The residual of x, and a bound of its rounding error. */
typedef struct check_result {
    double residual, rounding;
} check_result;

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
 * Computes the true residual. The residual of CG's recurrence drifts from it by rounding, by about eps || |A| |x| + |b|
 * || per iteration with random sign (A. Greenbaum, Estimating the attainable accuracy of recursively computed residual
 * methods, 1997). The bound is at most half of ||b||, because a larger bound would accept x = 0.
 */
static check_result check_system_solution(const solver_group *group, int64_t iterations)
{
    residual_job j = {.group = group, .a = bench_peer_matrix(&group->arrays), .adding = PTHREAD_MUTEX_INITIALIZER};
    run_shares(pool_threads(group->session->context), j.a.rows, add_residuals, &j);
    const double rounding = 4 * eps_of(group) * sqrt((double)iterations) * sqrt(j.sizes / j.b_squares);
    return (check_result){sqrt(j.squares / j.b_squares), fmin(rounding, 0.5)};
}

/* Adds B*x to y and counts the links into each node. Returns the rank of nodes without links out. */
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

/*
 * Computes the length of a step F(x) - x. The rounding error of a row is at most (links + other_terms) eps times the
 * row's value. Returns 0 if memory is short.
 */
static int check_ranks(const solver_group *group, check_result *found)
{
    const int64_t n = group->arrays.rows;
    const double eps = eps_of(group), other_terms = 8 + log2((double)n);
    double *y = calloc((size_t)n, sizeof *y);
    int64_t *links = calloc((size_t)n, sizeof *links);
    *found = (check_result){0};
    if (y && links) {
        const double shift = (alpha * push(group, y, links) + 1 - alpha) / (double)n;
        for (int64_t i = 0; i < n; i++) {
            const double next = alpha * y[i] + shift;
            found->residual += fabs(next - value_at(group->type, group->x, i));
            found->rounding += ((double)links[i] + other_terms) * eps * next;
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
    check_result found;
    if (outcome->iterations < 1) {
        record_fail(r, RECORD_FAILED, "it reported no iterations");
        return;
    }
    if (c->peer && !(outcome->residual <= group->tolerance) && outcome->iterations < group->limit) {
        record_fail(r, RECORD_FAILED, "it ended after %lld iterations with residual %.3g, expected at most %.0e",
                    (long long)outcome->iterations, outcome->residual, group->tolerance);
        return;
    }
    if (group->method == IN_CG)
        found = check_system_solution(group, outcome->iterations);
    else if (!check_ranks(group, &found)) {
        record_fail(r, RECORD_FAILED, "out of memory for the check of the ranks");
        return;
    }
    const double bound = fmax(group->tolerance, outcome->residual) + found.rounding, share = found.residual / bound;
    if (isnan(r->max_error) || !(share <= r->max_error)) r->max_error = share;
    if (!(share <= 1)) /* also if share is NaN */
        record_fail(r, RECORD_WRONG, "%s: the residual of x is %.3g, expected at most %.3g after a residual of %.3g",
                    when, found.residual, bound, outcome->residual);
}

static uint64_t hash_of_x(const solver_group *group)
{
    return bench_hash_bytes(group->x, (size_t)group->arrays.rows * spry_type_bytes(group->type),
                            pool_threads(group->session->context));
}

/* Adds to the reason that a peer ended at the iteration limit. */
static void report_limit(const solver_group *group, solver_case *c, const solver_outcome *outcome)
{
    const size_t used = strlen(c->record.reason);
    if (c->peer && is_live(&c->record) && !(outcome->residual <= group->tolerance))
        snprintf(c->record.reason + used, sizeof c->record.reason - used,
                 "; iteration limit after %lld iterations, residual %.2g", (long long)outcome->iterations,
                 outcome->residual);
}

/* Runs the first solve and checks its x. */
static void check_first(solver_group *group, solver_case *c)
{
    solver_outcome outcome;
    fill_constant(group->x, group->arrays.rows, group->type, NAN, pool_threads(group->session->context));
    if (!run_solver(group, c, &outcome)) return;
    c->record.time.first_us = outcome.us;
    c->record.time.iterations = outcome.iterations;
    c->hash = hash_of_x(group);
    judge(group, c, &outcome, "first solve");
    report_limit(group, c, &outcome);
}

/*
 * Checks the last x after timing. If its bits differ from those of the first x, a deterministic case fails. For
 * other cases, the residual of the last x is checked.
 */
static void recheck(solver_group *group, solver_case *c, const solver_outcome *last)
{
    if (hash_of_x(group) == c->hash) return;
    if (c->record.method.deterministic == 1)
        record_fail(&c->record, RECORD_WRONG, "declared deterministic, but the bits changed between solves");
    else
        judge(group, c, last, "after timing");
}

/* ---- times ----------------------------------------------------------------------------------- */

enum { FEWEST_ROUNDS = 3 }; /* for long solves */
static const double round_us = 200000, most_us = 20e6;

static int solves_of(const solver_group *group)
{
    return group->session->options->protocol.runs > 0 ? (int)group->session->options->protocol.runs
                                                      : SOLVER_ROUNDS * SOLVES_PER_ROUND;
}

/* Measures 1 to `most` solves of a case, until round_us has passed. Adds their time to *total. */
static void measure_solves(solver_group *group, solver_case *c, int most, solver_outcome *last, double *total)
{
    double spent = 0;
    for (int s = 0; s < most && (s == 0 || spent < round_us) && c->sample_count < solves_of(group); s++) {
        const double start = now_us();
        if (!run_solver(group, c, last)) return;
        if (last->iterations < 1) {
            record_fail(&c->record, RECORD_FAILED, "it reported no iterations");
            return;
        }
        c->samples[c->sample_count++] = last->us / (double)last->iterations;
        spent += now_us() - start;
    }
    *total += spent;
}

/*
 * Fills in times and rates per iteration. Rates count the operations of the product, and the bytes of the product and
 * of the method's vectors.
 */
static void fill_times(const solver_group *group, solver_case *c)
{
    const spry_arrays *a = &group->arrays;
    const double row_elements = group->method == IN_CG ? 9 : 4;
    double bytes = (2 + row_elements) * (double)a->rows * (double)spry_type_bytes(group->type);
    for (int part = 0; part < (group->pattern ? 2 : 3); part++) bytes += (double)csr_part_bytes(a, part);
    c->record.time.runs = c->sample_count;
    bench_fill_times(&c->record, c->samples, c->sample_count, 2 * (double)a->nnz, bytes);
}

/* Measures all cases that passed their checks. Returns 0 if memory is short. */
static int measure(solver_group *group)
{
    double *totals = calloc((size_t)group->case_count + 1, sizeof *totals);
    if (!totals) return 0;
    const processor_time before = read_processor_time();
    const bool short_protocol = group->session->options->protocol.runs > 0;
    const int rounds = short_protocol ? solves_of(group) : SOLVER_ROUNDS;
    int good = 1;
    group->children = 0;
    for (int i = 0; i < group->case_count && good; i++) {
        if (!is_live(&group->cases[i].record)) continue;
        group->cases[i].samples = malloc((size_t)solves_of(group) * sizeof(double));
        good = group->cases[i].samples != NULL;
    }
    for (int round = 0; round < rounds && good; round++)
        for (int i = 0; i < group->case_count; i++) {
            solver_case *c = &group->cases[i];
            solver_outcome last;
            if (!is_live(&c->record) || (round >= FEWEST_ROUNDS && totals[i] > most_us)) continue;
            measure_solves(group, c, short_protocol ? 1 : SOLVES_PER_ROUND, &last, &totals[i]);
            if (is_live(&c->record)) recheck(group, c, &last);
        }
    for (int i = 0; i < group->case_count && good; i++)
        if (is_live(&group->cases[i].record)) fill_times(group, &group->cases[i]);
    group->disturbance = disturbance_since(before, group->children);
    free(totals);
    return good;
}

/* ---- group -------------------------------------------------------------------------------------- */

static int threads_of(const solver_group *group)
{
    return pool_threads(group->session->context);
}

static spry_status create_vectors(solver_group *group, spry_error *err)
{
    const size_t bytes = (size_t)group->arrays.rows * spry_type_bytes(group->type) + 1;
    group->x = allocate_pages(bytes);
    group->b = allocate_pages(bytes);
    if (!group->x || !group->b) return bench_out_of_memory(err);
    fill_constant(group->b, group->arrays.rows, group->type, 1, threads_of(group));
    return SPRY_OK;
}

static spry_status open_group(solver_group *group, bench_session *session, const bench_subject *subject,
                              spry_error *err)
{
    const bool is_f32 = subject->types->vectors == SPRY_F32;
    *group = (solver_group){.session = session,
                            .wanted = subject->device,
                            .method = bench_factor_of(session->options->operation.op),
                            .A = subject->A,
                            .type = subject->types->vectors,
                            .arrays = SPRY_INIT(spry_arrays)};
    group->tolerance = !is_f32 ? 1e-8 : group->method == IN_CG ? 1e-3 : 1e-6;
    group->limit = group->method == IN_CG ? MOST_CG_ITERATIONS : MOST_RANK_ITERATIONS;
    spry_status status = spry_matrix_get_arrays(group->A, &group->arrays, err);
    if (status == SPRY_OK) status = bench_describe(session, &group->common, subject, err);
    if (status == SPRY_OK && session->options->operation.pattern) {
        status = bench_leave_out_values(session, &group->arrays, &group->pattern, &group->ones, &group->common, err);
        group->A = group->pattern;
    }
    if (status == SPRY_OK) status = create_vectors(group, err);
    return status == SPRY_OK ? inspect_matrix(group, err) : status;
}

static void close_group(solver_group *group)
{
    for (int i = 0; i < group->case_count; i++) {
        solver_case *c = &group->cases[i];
        if (c->peer && c->peer_state) c->peer->destroy(c->peer_state);
        free(c->samples);
    }
    free(group->cases);
    spry_matrix_destroy(group->pattern);
    free(group->ones);
    free(group->x);
    free(group->b);
}

/* ---- cases -------------------------------------------------------------------------------------- */

static solver_case *add_case(solver_group *group, const char *format, const char *kernel, const char *device)
{
    solver_case *grown = realloc(group->cases, (size_t)(group->case_count + 1) * sizeof *grown);
    if (!grown) return NULL;
    group->cases = grown;
    solver_case *c = &grown[group->case_count++];
    *c = (solver_case){.record = group->common};
    c->device = strncmp(device, "cuda", 4) == 0;
    RECORD_TEXT(c->record.method.format, format);
    RECORD_TEXT(c->record.method.kernel, kernel);
    RECORD_TEXT(c->record.method.device, device);
    return c;
}

static int add_skipped(solver_group *group, const char *format, const char *kernel, const char *device,
                       const char *reason)
{
    solver_case *c = add_case(group, format, kernel, device);
    if (c) record_fail(&c->record, RECORD_SKIPPED, "%s", reason);
    return c != NULL;
}

/*
 * Adds and checks a case of Spry. If kernel is NULL, the library chooses a kernel of the format. Borrows the strings
 * format and kernel. Returns 0 if memory is short.
 */
static int add_own(solver_group *group, const char *format, const char *kernel, const char *device)
{
    spry_error err = {0};
    if (group->unsuited[0]) return add_skipped(group, format, kernel, device, group->unsuited);
    solver_case *c = add_case(group, format, kernel, device);
    if (!c) return 0;
    c->format = strcmp(format, "auto") == 0 ? NULL : format;
    c->kernel = kernel;
    if (!c->format) c->record.method.policy = "cost";
    if (c->device > 0 && bench_measure_gpu_copy(group->session, &err) != SPRY_OK) {
        record_fail(&c->record, RECORD_FAILED, "%s", err.message);
        return 1;
    }
    if (c->device > 0) c->record.rates.copy_gbps = group->session->gpu_copy_gbps;
    check_first(group, c);
    return 1;
}

static void prepare_peer(solver_group *group, solver_case *c, const bench_peer *peer)
{
    const int threads = threads_of(group);
    const spry_peer_solver_request request = {.matrix = bench_peer_matrix(&group->arrays),
                                              .variant = peer->solver->variant,
                                              .threads = threads,
                                              .alpha = 0.85,
                                              .tolerance = group->tolerance,
                                              .max_iterations = group->limit};
    peer_preparation p = bench_begin_preparing(threads, peer->solver->deterministic);
    c->peer = peer->solver;
    p.result = c->peer->prepare(&c->peer_state, &request, &p.cost, &p.error);
    if (!bench_end_preparing(&p, &c->record, peer, c->peer->title, &c->peer_state, c->peer->destroy)) return;
    if (c->device > 0 && group->session->gpu_copy_gbps != 0) c->record.rates.copy_gbps = group->session->gpu_copy_gbps;
    check_first(group, c);
}

static int add_peer(solver_group *group, const bench_peer *peer)
{
    if (group->unsuited[0]) {
        if (!add_skipped(group, peer->format, peer->name, peer->device, group->unsuited)) return 0;
        group->cases[group->case_count - 1].record.method.peer = 1;
        return 1;
    }
    solver_case *c = add_case(group, peer->format, peer->name, peer->device);
    if (!c) return 0;
    c->record.method.peer = 1;
    if (!peer->solver)
        record_fail(&c->record, RECORD_SKIPPED, "%s", peer->reason);
    else
        prepare_peer(group, c, peer);
    return 1;
}

/* ---- selection of cases ------------------------------------------------------------------------- */

/*
 * Adds a format on each wanted device. A missing device is skipped if "all" are wanted, else its case has the reason.
 */
static int add_format(solver_group *group, const char *format)
{
    static const char *const devices[] = {"cpu", "cuda"};
    int good = 1;
    for (int d = 0; d < 2 && good; d++)
        if (bench_device_fits(group->session, group->wanted, devices[d], 0))
            good = add_own(group, format, NULL, devices[d]);
    return good;
}

/*
 * Adds all kernels of the wanted devices, or only the named kernels. A kernel may be named more than once, with
 * different parameters.
 */
static int add_kernels(solver_group *group)
{
    const bench_options *options = group->session->options;
    const text_list *named = &options->candidates.kernels;
    int good = 1;
    spry_kernel_info kernel = SPRY_INIT(spry_kernel_info);
    for (int k = 0; good && spry_kernel_get_info(group->session->context, &kernel, k, NULL) == SPRY_OK; k++) {
        if (strcmp(kernel.operations, "spgemm") == 0) continue;
        const bool all = options->candidates.all_kernels;
        if (!bench_device_fits(group->session, group->wanted, kernel.device_kind, !all)) continue;
        for (int i = 0; good && i < (all ? 1 : named->count); i++) {
            const char *name = all ? kernel.name : named->items[i];
            if (!text_is_named(name, kernel.name)) continue;
            good = kernel.available ? add_own(group, kernel.format, name, kernel.device_kind)
                                    : add_skipped(group, kernel.format, name, kernel.device_kind, kernel.reason);
        }
    }
    return good;
}

/* Adds all cases. Cases of Spry come first: if they find the matrix unsuited, peers are skipped. */
static int add_cases(solver_group *group)
{
    const bench_options *options = group->session->options;
    const bench_peers *peers = options->candidates.peers;
    int good = 1;
    for (int f = 0; f < options->candidates.formats.count && good; f++)
        good = add_format(group, options->candidates.formats.items[f]);
    if (good && (options->candidates.all_kernels || options->candidates.kernels.count > 0)) good = add_kernels(group);
    for (int p = 0; peers && p < peers->count && good; p++)
        if (bench_wants_peer(group->session, group->wanted, p)) good = add_peer(group, &peers->items[p]);
    if (good && group->case_count == 0)
        good = add_skipped(group, "", "", strcmp(group->wanted, "all") == 0 ? "" : group->wanted,
                           "the chosen formats have no kernel for the chosen device");
    return good;
}

spry_status bench_solvers(bench_session *session, const bench_subject *subject, spry_error *err)
{
    const bench_options *options = session->options;
    const char *name = subject->source->name;
    solver_group group;
    char text[320];
    snprintf(text, sizeof text, "%s: first solves, checked", name);
    options->receiver.progress(text);
    spry_status status = open_group(&group, session, subject, err);
    if (status == SPRY_OK) {
        const int good = add_cases(&group);
        snprintf(text, sizeof text, "%s %s: timing %d cases", name, group.common.input.type, group.case_count);
        options->receiver.progress(text);
        if (good && measure(&group))
            status = bench_emit(session, subject, group.cases, sizeof *group.cases, group.case_count, group.disturbance,
                                err);
        else
            status = bench_out_of_memory(err);
    }
    close_group(&group);
    return status;
}
