/* The library's own CG and PageRank, as the benchmark calls them. */
#include "bench/solver.h"
#include "spry/solve.h"
#include "spry/tools.h"

#include <math.h>
#include <string.h>

/* What both methods tell of a solve. */
typedef struct told {
    spry_status status;
    spry_error err;
    spry_verdict verdict;
    const char *format, *kernel;
    double setup_us;
} told;

static spry_vector vector(const solver_group *group, void *data)
{
    return (spry_vector){.data = data,
                         .length = group->arrays.rows,
                         .type = group->type,
                         .columns = 1,
                         .row_stride = 1,
                         .column_stride = group->arrays.rows,
                         .device = SPRY_CPU};
}

static void run_cg(solver_group *group, const solver_case *c, int device, solver_outcome *outcome, told *t)
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
    /* After stagnation the residual that was carried along says less than the true one. */
    if (result.verdict == SPRY_VERDICT_STAGNATION) outcome->residual = result.true_residual;
    t->verdict = result.verdict;
    t->format = result.format;
    t->kernel = result.kernel;
    t->setup_us = result.setup_us;
}

static void run_pagerank(solver_group *group, const solver_case *c, int device, solver_outcome *outcome, told *t)
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

/* The format keeps the name by which it was asked for, as in records of products. */
static void fill_record(const solver_group *group, solver_case *c, const told *t)
{
    record *r = &c->record;
    if (!c->kernel) RECORD_TEXT(r->method.kernel, t->kernel);
    r->cost.setup_us = t->setup_us;
    r->method.threads = c->device > 0 ? 0 : spry_context_threads(group->session->context);
    r->method.deterministic = 1;
    if (c->device == 0) r->cost.upload_us = 0;
    if (!c->format && t->format) snprintf(r->reason, sizeof r->reason, "auto took %s", t->format);
}

static int answer(solver_group *group, solver_case *c, const solver_outcome *outcome, const told *t)
{
    const char *message = t->err.message;
    if (t->status == SPRY_OK) return 1;
    if (t->status == SPRY_INVALID_MATRIX) { /* entries that PageRank cannot take */
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

int solver_run_ours(solver_group *group, solver_case *c, solver_outcome *outcome)
{
    told t = {.status = SPRY_OK};
    int device = SPRY_CPU;
    t.status = number_of_device(group->session->context, &device, c->device > 0 ? "cuda" : "cpu", &t.err);
    if (t.status == SPRY_OK) (group->method == IN_CG ? run_cg : run_pagerank)(group, c, device, outcome, &t);
    if (t.status == SPRY_OK || t.status == SPRY_NOT_CONVERGED)
        if (isnan(c->record.cost.setup_us)) fill_record(group, c, &t);
    return answer(group, c, outcome, &t);
}
