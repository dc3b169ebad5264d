/*
 * PageRank: x_k = alpha*B*x_(k-1) + shift*v with B = A*diag(s), where s is the reciprocal column sums. v is ones if all
 * nodes have equal weight.
 *
 * The iteration stores z = diag(s)*x instead of x. So the product is A*z without a copy of A, and one pass computes z
 * from y = A*z. The pass uses the previous y instead of x: d = x_k - x_(k-1) = alpha*(y - y_before) + the difference of
 * shifts. z replaces y_before in memory. Zero columns have s = 0. Their mass, known from the previous pass, is part of
 * the next shift (teleport) or lost (drop).
 *
 * Column sums are computed once, in f64. If A's offsets state where the entries of each sum are stored, a parallel loop
 * computes the sums. Otherwise one thread adds entry by entry, so that the bits do not depend on the number of threads.
 * A GPU reads CSC as the CSR of the transpose. It computes only sums of rows, so it also transposes the matrix.
 *
 * Cost of an iteration: a product, and a pass that reads y, y_before and s and writes z, which are 4 n elements. If the
 * columns of A sum to 1, the pass does not read s. With v, it reads n elements more.
 */
#include "solve/solve.h"
#include "spry/solve.h"

#include "base/context.h"
#include "base/pool.h"
#include "matrix/matrix.h"
#include "spry/cuda.h"
#include "spry/matrix.h"

#include <float.h>
#include <math.h>

/* The prepared matrix of a graph. */
typedef struct links {
    spry_matrix *B; /* A or its transpose, with arrays of A, `copies` or `transposed`; a pattern if every entry is 1 */
    spry_vector factors; /* reciprocal column sums of B, 0 for a zero column; data NULL: all 1 */
    int64_t dangling_nodes, first_dangling_node;
    double upload_us;          /* time of copies to the device */
    spry_vector copies[3];     /* A's offsets, indices and values on the device; data NULL: not copied */
    spry_vector transposed[3]; /* device arrays of the transpose */
} links;

/* Addresses of three vectors. Each iteration exchanges some of these addresses (pass). */
typedef struct buffers {
    void *z, *y_before, *y;
} buffers;

typedef struct ranking {
    spry_context *context;
    const spry_pagerank_options *o;
    spryi_solve_plan names;
    int device;
    spry_spmv_run_options run; /* run.stream orders all work */
    int64_t n;
    int base;          /* index base of messages */
    spry_matrix *host; /* A in host memory, if the links are built from it */
    links links;
    spry_spmv_plan *plan;
    spryi_vector_work work;
    spry_vector x, own_x, y, z; /* on the device; x is the caller's or own_x */
    spry_vector v;              /* the personalization divided by its sum, on the device; data NULL: ones */
    buffers at;                 /* memory of z, y_before and y in the next iteration */
    spryi_rank_state state;     /* the state as last read */
    spryi_recorded recorded;
} ranking;

/* ---- options ---------------------------------------------------------------------------------------- */

static spry_status check_options(ranking *r, const spry_pagerank_options *o, spry_error *err)
{
    spryi_rank_state *s = &r->state;
    r->o = o;
    r->names = (spryi_solve_plan){o->device, o->format, o->kernel, 0};
    s->alpha = o->alpha == 0 ? 0.85 : o->alpha;
    s->limit = o->max_iterations == 0 ? 200 : o->max_iterations;
    s->norm = o->norm;
    s->teleports = o->dangling == SPRY_DANGLING_TELEPORT;
    if (!(s->alpha > 0 && s->alpha < 1))
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "alpha", 0, 1,
                                "pagerank: alpha is %g, expected a number between 0 and 1, neither included", s->alpha);
    SPRYI_OK_OR_RETURN(
        spryi_solve_tolerance(&s->tolerance, o->tolerance, r->x.type == SPRY_F32 ? 1e-6 : 1e-8, "pagerank", err));
    if (s->limit < 1)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "max_iterations", s->limit, 1,
                                "pagerank: max_iterations is %lld, expected 1 or more", (long long)s->limit);
    SPRYI_OK_OR_RETURN(spryi_solve_check_choice((int)o->norm, SPRY_NORM_INF, "norm",
                                                "SPRY_NORM_1 (0), SPRY_NORM_2 (1) or SPRY_NORM_INF (2)", "pagerank",
                                                err));
    SPRYI_OK_OR_RETURN(spryi_solve_check_choice((int)o->edges, SPRY_COLUMN_TO_ROW, "edges",
                                                "SPRY_ROW_TO_COLUMN (0) or SPRY_COLUMN_TO_ROW (1)", "pagerank", err));
    SPRYI_OK_OR_RETURN(
        spryi_solve_check_choice((int)o->dangling, SPRY_DANGLING_DROP, "dangling",
                                 "SPRY_DANGLING_TELEPORT (0), SPRY_DANGLING_REFUSE (1) or SPRY_DANGLING_DROP (2)",
                                 "pagerank", err));
    return spryi_solve_check_start(o->start, "pagerank", err);
}

static bool starts_from_x(const ranking *r)
{
    return r->o->start == SPRY_START_X;
}

static spry_status check_personalization(const ranking *r, const spry_arrays *a, spry_error *err)
{
    const spry_vector v = spryi_solve_vector(r->o->personalization);
    if (!v.data && v.length == 0) return SPRY_OK;
    SPRYI_OK_OR_RETURN(spryi_solve_check_vector(&v, "personalization", a->rows, a, r->device, err));
    if (v.type != r->x.type)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "personalization", v.type, r->x.type,
                                "personalization is %s, expected %s, the type of x", spry_type_name(v.type),
                                spry_type_name(r->x.type));
    return SPRY_OK;
}

/* ---- column sums on the host ------------------------------------------------------------------------ */

static void clear_blocks(spry_context *context, spry_vector *blocks)
{
    for (int i = 0; i < 3; i++) spry_vector_destroy(context, &blocks[i]);
}

static void clear_links(spry_context *context, links *links)
{
    spry_matrix_destroy(links->B);
    links->B = NULL;
    spry_vector_destroy(context, &links->factors);
    clear_blocks(context, links->copies);
    clear_blocks(context, links->transposed);
}

typedef struct link_job {
    const spry_arrays *a;
    atomic_llong bad;
    atomic_int others; /* 1 if some value is not 1 */
    double *sums;
} link_job;

static void inspect_some_values(void *job, int64_t begin, int64_t end)
{
    link_job *j = job;
    int64_t bad = INT64_MAX, others = 0;
    for (int64_t k = begin; k < end; k++) {
        double value = spryi_value_of(j->a, k);
        if (!(value >= 0 && value <= DBL_MAX) && k < bad) bad = k;
        others += value != 1;
    }
    spryi_lower(&j->bad, bad);
    if (others > 0) atomic_store(&j->others, 1);
}

static spryi_entry_facts inspect_values(const spry_context *context, const spry_arrays *a, int threads)
{
    if (a->value_type == SPRY_PATTERN) return (spryi_entry_facts){.bad = -1, .all_ones = 1};
    link_job j = {.a = a, .bad = INT64_MAX};
    spryi_loop(context, threads, a->nnz, 0, inspect_some_values, &j);
    return (spryi_entry_facts){.bad = j.bad == INT64_MAX ? -1 : j.bad, .all_ones = !j.others};
}

static void add_some_majors(void *job, int64_t begin, int64_t end)
{
    const link_job *j = job;
    for (int64_t i = begin; i < end; i++) {
        const int64_t last = spryi_offset_of(j->a, i + 1);
        double sum = 0;
        for (int64_t k = spryi_offset_of(j->a, i); k < last; k++) sum += spryi_value_of(j->a, k);
        j->sums[i] = sum;
    }
}

static void add_entries(const spry_arrays *a, const void *indices, double *sums)
{
    for (int64_t k = 0; k < a->nnz; k++) sums[spryi_index_at(indices, a->index_type, k)] += spryi_value_of(a, k);
}

/* Computes the sums of B's columns. B's columns are A's rows if `rows` is set, otherwise A's columns. */
static void add_up(const spry_context *context, const spry_arrays *a, int rows, double *sums, int threads)
{
    if (a->layout == SPRY_COO)
        add_entries(a, rows ? a->row_indices : a->indices, sums);
    else if ((a->layout == SPRY_CSR) == rows)
        spryi_loop(context, threads, a->rows, 1024, add_some_majors, &(link_job){.a = a, .sums = sums});
    else
        add_entries(a, a->indices, sums);
}

static spry_status refuse_entry(const spry_arrays *a, int64_t k, int base, spry_error *err)
{
    const int64_t minor = spryi_minor_of(a, k);
    const int64_t major = a->layout == SPRY_COO ? spryi_row_of(a, k) : spryi_major_of(a, k);
    const int64_t row = a->layout == SPRY_CSC ? minor : major, column = a->layout == SPRY_CSC ? major : minor;
    return spryi_fail_value(err, SPRY_INVALID_MATRIX, "values", row, column,
                            "pagerank: entry (%lld, %lld) (counted from %d) is %g, expected finite numbers >= 0",
                            (long long)row + base, (long long)column + base, base, spryi_value_of(a, k));
}

static spry_status refuse_sum(int64_t j, int64_t n, double sum, spry_type type, int base, spry_error *err)
{
    return spryi_fail_value(err, SPRY_INVALID_MATRIX, "values", j, n,
                            "pagerank: the links of node %lld (counted from %d) sum to %g, by which %s cannot be "
                            "divided",
                            (long long)j + base, base, sum, spry_type_name(type));
}

/*
 * Returns limits for the sums of n columns: factors of `type` must not overflow, and z = factor * x must not underflow.
 */
static spryi_sum_facts limits_of_sums(spry_type value_type, spry_type type, int64_t n)
{
    const spryi_limits of = spryi_limits_of(type);
    return (spryi_sum_facts){.slack = 8 * spryi_limits_of(value_type).epsilon,
                             .least = of.least_normal * (double)n * 1024,
                             .largest = of.largest};
}

/* Computes the factors, reciprocals of the sums in the vectors' type. Counts zero columns. */
static spry_status invert(links *links, const double *sums, int64_t n, int base, spry_error *err)
{
    const spry_type type = links->factors.type;
    const spryi_sum_facts of = limits_of_sums(type, type, n);
    for (int64_t j = 0; j < n; j++) {
        double factor = sums[j] == 0 ? 0 : 1 / sums[j];
        if (sums[j] != 0 && !(factor <= of.largest && factor >= of.least))
            return refuse_sum(j, n, sums[j], type, base, err);
        spryi_set_value(links->factors.data, type, j, factor);
        if (sums[j] != 0) continue;
        if (links->dangling_nodes++ == 0) links->first_dangling_node = j;
    }
    return SPRY_OK;
}

static bool sums_to_one(const double *sums, int64_t n, spry_type value_type)
{
    const double eps = spryi_limits_of(value_type).epsilon;
    for (int64_t j = 0; j < n; j++)
        if (!(fabs(sums[j] - 1) <= 8 * eps)) return false;
    return true;
}

/*
 * Prepares *links from A, which is on the host and must outlive *links. B uses the caller's arrays, `given`, if they
 * are in device memory and B is A.
 */
static spry_status prepare_links_on_host(spry_context *context, links *links, const spry_matrix *A,
                                         const spry_arrays *given, spry_edges edges, spry_type type, spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_vector sums = {0};
    *links = (struct links){.first_dangling_node = -1};
    SPRYI_OK_OR_RETURN(spry_matrix_get_arrays(A, &a, err));
    const int threads = a.nnz < 100000 ? 1 : spryi_team(context->threads);
    const spryi_entry_facts facts = inspect_values(context, &a, threads);
    if (facts.bad >= 0) return refuse_entry(&a, facts.bad, A->index_base, err);
    SPRYI_TRY(spry_vector_create(context, &sums, a.columns, SPRY_F64, 0, err));
    add_up(context, &a, edges == SPRY_ROW_TO_COLUMN, sums.data, threads);
    if (!sums_to_one(sums.data, a.columns, a.value_type)) {
        SPRYI_TRY(spry_vector_create(context, &links->factors, a.columns, type, 0, err));
        SPRYI_TRY(invert(links, sums.data, a.columns, A->index_base, err));
    }
    const bool flips = edges == SPRY_ROW_TO_COLUMN && given->symmetry != SPRY_SYMMETRIC;
    if (flips) a = spryi_transposed_view(&a);
    if (!flips && given->device > 0) a = *given;
    a.ownership = SPRY_BORROW;
    if (facts.all_ones) {
        a.value_type = SPRY_PATTERN;
        a.values = NULL;
    }
    SPRYI_TRY(spry_matrix_create(context, &links->B, &a, err));
done:
    spry_vector_destroy(context, &sums);
    if (status != SPRY_OK) clear_links(context, links);
    return status;
}

/* ---- column sums on a device ------------------------------------------------------------------------ */

/* Replaces the arrays of *m, which is CSR and square, by device memory. copies: also copies their content. */
static spry_status place_arrays(const spryi_vector_work *w, spry_vector *blocks, spry_arrays *m, bool copies,
                                spry_error *err)
{
    const void **arrays[] = {&m->offsets, &m->indices, &m->values};
    const int64_t bytes[] = {(m->rows + 1) * (int64_t)spryi_index_type_bytes(m->offset_type),
                             m->nnz * (int64_t)spryi_index_type_bytes(m->index_type),
                             m->nnz * (int64_t)spry_type_bytes(m->value_type)};
    for (int i = 0; i < 3; i++) {
        if (!copies) *arrays[i] = NULL;
        if (bytes[i] == 0 && (copies || i == 2)) continue; /* nothing to copy, or a pattern without values */
        SPRYI_OK_OR_RETURN(spry_vector_create(w->context, &blocks[i], bytes[i] / 8 + 1, SPRY_F64, w->device, err));
        if (copies)
            SPRYI_OK_OR_RETURN(
                spry_device_copy(w->context, blocks[i].data, w->device, *arrays[i], 0, bytes[i], w->stream, err));
        *arrays[i] = blocks[i].data;
    }
    m->device = w->device;
    return SPRY_OK;
}

/* Replaces the arrays of m, in host memory, by copies on the device. */
static spry_status upload(const spryi_vector_work *w, links *links, spry_arrays *m, spry_error *err)
{
    const double start = spryi_now_us();
    SPRYI_OK_OR_RETURN(place_arrays(w, links->copies, m, true, err));
    SPRYI_OK_OR_RETURN(spry_device_synchronize(w->context, w->device, w->stream, err));
    links->upload_us += spryi_now_us() - start;
    return SPRY_OK;
}

/* Computes *t, the transpose of m, on the device. */
static spry_status transpose(const spryi_vector_work *w, const spryi_device *device, links *links, spry_arrays *t,
                             const spry_arrays *m, spry_error *err)
{
    *t = *m;
    t->sorted = SPRY_KNOWN_YES;
    SPRYI_OK_OR_RETURN(place_arrays(w, links->transposed, t, false, err));
    return w->ops->links->transpose(device, links->transposed[0].data, links->transposed[1].data,
                                    links->transposed[2].data, m, err);
}

/* Computes the factors, unless all sums are 1, and counts zero columns. The sums are those of the rows of m. */
static spry_status invert_on_device(const spryi_vector_work *w, const spryi_device *device, links *links,
                                    const spry_arrays *m, spry_type value_type, int base, spry_error *err)
{
    const int64_t n = m->rows;
    spryi_sum_facts facts = limits_of_sums(value_type, w->type, n);
    spry_vector sums = {0};
    spry_status status = spry_vector_create(w->context, &sums, n, SPRY_F64, w->device, err);
    if (status == SPRY_OK) status = spry_vector_create(w->context, &links->factors, n, w->type, w->device, err);
    if (status == SPRY_OK) status = w->ops->links->add(device, sums.data, m, err);
    if (status == SPRY_OK)
        status = w->ops->links->invert(device, &facts, links->factors.data, w->type, sums.data, n, err);
    spry_vector_destroy(w->context, &sums);
    if (status != SPRY_OK) return status;
    if (facts.sums_are_one) {
        spry_vector_destroy(w->context, &links->factors);
        return SPRY_OK;
    }
    if (facts.bad >= 0) return refuse_sum(facts.bad, n, facts.bad_sum, w->type, base, err);
    links->dangling_nodes = facts.zeros;
    links->first_dangling_node = facts.first_zero;
    return SPRY_OK;
}

/*
 * Prepares links on the device. m is A as CSR, or A^T if A is CSC. If the rows of m are the columns of B, B is the
 * transpose of m. Otherwise the sums are those of the transpose's rows. A symmetric matrix needs no transpose.
 */
static spry_status prepare_links_on_device(const spryi_vector_work *w, links *links, spry_arrays *m, spry_edges edges,
                                           int base, spry_error *err)
{
    const spryi_device *device = spryi_device_at(w->context, w->device);
    const bool is_csc = m->layout == SPRY_CSC, rows_are_columns = (edges == SPRY_ROW_TO_COLUMN) != is_csc;
    const spry_type value_type = m->value_type;
    spryi_entry_facts facts;
    spry_arrays t = *m, *B = m;
    m->layout = SPRY_CSR;
    if (m->device == 0) SPRYI_OK_OR_RETURN(upload(w, links, m, err));
    m->ownership = SPRY_BORROW;
    SPRYI_OK_OR_RETURN(w->ops->links->inspect(device, &facts, m, err));
    if (facts.bad >= 0) return spryi_fail(err, SPRY_UNSUPPORTED, "A", "pagerank: the host refuses the entry");
    if (facts.all_ones) {
        m->value_type = SPRY_PATTERN;
        m->values = NULL;
        spry_vector_destroy(w->context, &links->copies[2]);
    }
    if (m->symmetry != SPRY_SYMMETRIC) {
        SPRYI_OK_OR_RETURN(transpose(w, device, links, &t, m, err));
        if (rows_are_columns) B = &t;
    }
    SPRYI_OK_OR_RETURN(invert_on_device(w, device, links, rows_are_columns || B->symmetry == SPRY_SYMMETRIC ? m : &t,
                                        value_type, base, err));
    if (B == &t)
        clear_blocks(w->context, links->copies);
    else
        clear_blocks(w->context, links->transposed);
    return spry_matrix_create(w->context, &links->B, B, err);
}

/*
 * Prepares links on the device, or on the host if the device has no passes for this matrix or lacks memory. If the
 * device rejects an entry, the host finds it again and reports its row and column.
 */
static spry_status prepare_links(ranking *r, const spry_matrix *A, const spry_arrays *a, spry_error *err)
{
    spry_error why = SPRY_ERROR_INIT;
    if (r->device > 0 && r->work.ops->links && a->layout != SPRY_COO && a->index_type == SPRY_I32 &&
        a->index_base == 0 && a->offsets) {
        spry_arrays m = *a;
        r->links.first_dangling_node = -1;
        const spry_status status = prepare_links_on_device(&r->work, &r->links, &m, r->o->edges, r->base, &why);
        if (status == SPRY_OK) return SPRY_OK;
        clear_links(r->context, &r->links);
        if (status != SPRY_UNSUPPORTED && status != SPRY_OUT_OF_MEMORY) return spryi_hand_on(err, &why);
    }
    SPRYI_OK_OR_RETURN(spryi_solve_fetch(r->context, &r->host, A, r->run.stream, err));
    return prepare_links_on_host(r->context, &r->links, r->host, a, r->o->edges, r->x.type, err);
}

/* ---- the iteration ---------------------------------------------------------------------------------- */

static spry_status product(const ranking *r, const buffers *at, const spry_spmv_run_options *run, double *product_us,
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

static spry_status read_state(ranking *r, spry_error *err)
{
    return spryi_vector_get(&r->work, &r->state, sizeof r->state, err);
}

/*
 * Runs the pass. If iterations are started ahead, z keeps its memory, so that products that run after the end only read
 * z. Otherwise the new z uses the memory of y_before, and the three vectors rotate.
 */
static spry_status pass(const ranking *r, const spryi_vector_work *w, buffers *at, spry_error *err)
{
    const bool runs_ahead = w->ops->ahead > 1;
    buffers now = *at;
    *at = runs_ahead ? (buffers){now.z, now.y, now.y_before} : (buffers){now.y_before, now.y, now.z};
    return w->ops->rank->step(w, at->z, now.y_before, now.y, r->links.factors.data, r->v.data, r->state.norm, err);
}

static spry_status start_round(const ranking *r, const spryi_vector_work *w, const spry_spmv_run_options *run,
                               buffers *at, double *product_us, spry_error *err)
{
    spry_status status = product(r, at, run, product_us, err);
    return status == SPRY_OK ? pass(r, w, at, err) : status;
}

/* Starts an even number of rounds, after which each vector is in its initial memory. */
static spry_status start_rounds(void *user, int64_t count, void *stream, spry_error *err)
{
    const ranking *r = user;
    spryi_vector_work w = r->work;
    spry_spmv_run_options run = r->run;
    buffers at = r->at;
    double nothing = 0;
    w.stream = run.stream = stream;
    for (int64_t k = 0; k < count; k++) SPRYI_OK_OR_RETURN(start_round(r, &w, &run, &at, &nothing, err));
    return SPRY_OK;
}

static bool has_stopped(const void *state, int64_t columns)
{
    (void)columns;
    return ((const spryi_rank_state *)state)->stop != SPRYI_GOES_ON;
}

/* Returns the estimated iterations that are left. */
static int64_t iterations_left(const spryi_rank_state *s)
{
    enum { LATE = 4 };
    const int64_t back = s->iterations - 1 < LATE ? s->iterations - 1 : LATE;
    const double before = back > 0 ? s->history[(s->iterations - 1 - back) % SPRYI_MOST_AHEAD] : 0;
    return spryi_vector_left(s->residual, before, back, s->tolerance, s->limit - s->iterations);
}

/* Starts some iterations, and reads the state that the oldest started iterations have left. */
static spry_status advance(ranking *r, double *product_us, spry_error *err)
{
    const int64_t left = iterations_left(&r->state), usual = spryi_vector_ahead(&r->work, r->state.iterations);
    const int64_t ahead = usual < left ? usual : left;
    if (r->recorded.of[0].rounds)
        return spryi_vector_advance(&r->work, &r->recorded, left, &r->state, sizeof r->state, has_stopped, err);
    for (int64_t k = 0; k < ahead; k++) SPRYI_OK_OR_RETURN(start_round(r, &r->work, &r->run, &r->at, product_us, err));
    return read_state(r, err);
}

/* Reports iterations after `from` to the observer. Returns whether the observer wants to stop. */
static bool report(const ranking *r, int64_t from)
{
    bool enough = false;
    for (int64_t k = from; k < r->state.iterations && r->o->observe; k++)
        if (r->o->observe(r->o->observe_user, k + 1, r->state.history[k % SPRYI_MOST_AHEAD]) != 0) enough = true;
    return enough;
}

static spry_verdict verdict_of(int stop, bool enough)
{
    if (stop == SPRYI_NOT_FINITE) return SPRY_VERDICT_NOT_FINITE;
    if (stop == SPRYI_SMALL_ENOUGH) return SPRY_VERDICT_CONVERGED;
    if (enough) return SPRY_VERDICT_STOPPED;
    return stop == SPRYI_AT_LIMIT ? SPRY_VERDICT_ITERATION_LIMIT : SPRY_VERDICT_NONE;
}

/* Iterates until a verdict. x is the third vector of the iteration, and contains x_k at the end. */
static spry_status iterate(ranking *r, spry_pagerank_result *result, spry_error *err)
{
    const spryi_rank_passes *passes = r->work.ops->rank;
    const spryi_rank_state *s = &r->state;
    const void *x_0 = starts_from_x(r) ? r->x.data : NULL;
    spry_status status = SPRY_OK;
    SPRYI_TRY(passes->start(&r->work, r->at.z, r->at.y_before, x_0, r->links.factors.data, r->v.data, err));
    while (result->verdict == SPRY_VERDICT_NONE) {
        const int64_t reported = s->iterations;
        SPRYI_TRY(advance(r, &result->product_us, err));
        result->verdict = verdict_of(s->stop, report(r, reported));
    }
    if (!s->finished) {
        SPRYI_TRY(passes->finish(&r->work, r->x.data, r->at.y_before, r->v.data, err));
        SPRYI_TRY(read_state(r, err));
    }
done:
    result->iterations = s->iterations;
    result->residual = s->residual;
    result->mass = s->mass;
    result->dangling_mass = s->dangling_mass;
    return status;
}

/* ---- the bound of the error ------------------------------------------------------------------------- */

static double element_of(const spry_vector *x, int64_t i)
{
    return spryi_value_at(x->data, x->type, i * x->row_stride);
}

/* Returns the sum of x over the rows of entries begin .. end - 1 of COO or CSC. */
static double add_rows(const spry_arrays *a, const spry_vector *x, int64_t begin, int64_t end)
{
    const void *rows = a->layout == SPRY_COO ? a->row_indices : a->indices;
    double sum = 0;
    for (int64_t k = begin; k < end; k++) sum += element_of(x, spryi_index_at(rows, a->index_type, k));
    return sum;
}

enum { LENGTH_BLOCKS = 64 };

typedef struct length_job {
    const spry_arrays *a;
    const spry_vector *x;
    double sums[LENGTH_BLOCKS];
} length_job;

static void add_blocks(void *job, int64_t first, int64_t last)
{
    length_job *j = job;
    const spry_arrays *a = j->a;
    const int64_t count = a->layout == SPRY_CSR ? a->rows : a->nnz;
    for (int64_t b = first; b < last; b++) {
        const int64_t begin = count * b / LENGTH_BLOCKS, end = count * (b + 1) / LENGTH_BLOCKS;
        j->sums[b] = a->layout == SPRY_CSR ? 0 : add_rows(a, j->x, begin, end);
        for (int64_t i = begin; i < end && a->layout == SPRY_CSR; i++)
            j->sums[b] += element_of(j->x, i) * (double)(spryi_offset_of(a, i + 1) - spryi_offset_of(a, i));
    }
}

/* Returns the sum of x_i times the number of entries of row i. Any number of threads gives the same bits. */
static double add_lengths(const spry_context *context, const spry_arrays *a, const spry_vector *x, int threads)
{
    length_job j = {.a = a, .x = x};
    double sum = 0;
    spryi_loop(context, threads, LENGTH_BLOCKS, 1, add_blocks, &j);
    for (int b = 0; b < LENGTH_BLOCKS; b++) sum += j.sums[b];
    return sum;
}

/*
 * Computes the sum of x_i times the number of entries of B's row i. Computes an upper bound of this sum if B is on a
 * device, or if x cannot be copied to the host.
 */
static spry_status find_weighted_length(const ranking *r, double *length, const spry_vector *x, spry_error *err)
{
    spry_context *context = r->context;
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_vector copy = {0};
    spryi_row_summary rows;
    SPRYI_OK_OR_RETURN(spry_matrix_get_arrays(r->links.B, &a, err));
    const int threads = a.nnz < 100000 ? 1 : spryi_team(context->threads);
    if (a.device > 0) {
        SPRYI_OK_OR_RETURN(spryi_summarize_rows(&rows, r->links.B, 0, err));
        *length = rows.longest * r->state.mass;
    } else if (x->device == 0) {
        *length = add_lengths(context, &a, x, threads);
    } else {
        spry_status status = spryi_solve_copy(context, &copy, x, 0, r->run.stream, NULL);
        if (status == SPRY_OK) status = spry_device_synchronize(context, x->device, r->run.stream, NULL);
        *length = status == SPRY_OK ? add_lengths(context, &a, &copy, threads) : (double)a.columns * r->state.mass;
        spry_vector_destroy(context, &copy);
    }
    return SPRY_OK;
}

/*
 * Bounds the error. A step contracts the 1-norm by alpha. Rounding adds at most (length + 3) eps per row of the product
 * (spry_spmv_plan_create) and less than 13 eps elsewhere. So x_k is off by at most (alpha d + rounding) / (1 - alpha).
 */
static spry_status bound_error(const ranking *r, const spry_vector *x, spry_pagerank_result *result, spry_error *err)
{
    const spryi_rank_state *s = &r->state;
    const double eps = x->type == SPRY_F32 ? FLT_EPSILON : DBL_EPSILON;
    double length = 0;
    SPRYI_OK_OR_RETURN(find_weighted_length(r, &length, x, err));
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

/* ---- the call --------------------------------------------------------------------------------------- */

static spry_status refuse_dangling_nodes(const ranking *r, spry_pagerank_result *result, spry_error *err)
{
    result->verdict = SPRY_VERDICT_DANGLING;
    return spryi_fail_value(err, SPRY_NOT_CONVERGED, "dangling", r->links.dangling_nodes, 0,
                            "nodes without outgoing links: %lld, the first is %lld (counted from %d); their columns "
                            "cannot be divided by their sums; such nodes can 'teleport' (their rank is "
                            "distributed as the personalization, else evenly) or 'drop' (lose their rank) instead",
                            (long long)r->links.dangling_nodes, (long long)r->links.first_dangling_node + r->base,
                            r->base);
}

static spry_status create_vectors(ranking *r, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_solve_move(r->context, &r->links.factors, r->device, r->run.stream, err));
    if (r->x.device != r->device || r->x.row_stride > 1) {
        SPRYI_OK_OR_RETURN(spry_vector_create(r->context, &r->own_x, r->n, r->x.type, r->device, err));
        r->x = r->own_x;
    }
    SPRYI_OK_OR_RETURN(spry_vector_create(r->context, &r->z, r->n, r->x.type, r->device, err));
    return spry_vector_create(r->context, &r->y, r->n, r->x.type, r->device, err);
}

/* Computes the sum of v on the device, and stores it in r->state. Rejects entries that are negative or not finite. */
static spry_status weigh(ranking *r, const spry_vector *v, const char *name, spry_error *err)
{
    r->state.bad = INT64_MAX;
    SPRYI_OK_OR_RETURN(spryi_vector_put(&r->work, &r->state, sizeof r->state, err));
    SPRYI_OK_OR_RETURN(r->work.ops->rank->weigh(&r->work, v->data, err));
    SPRYI_OK_OR_RETURN(read_state(r, err));
    if (r->state.bad != INT64_MAX) {
        char number[sizeof(double)];
        const spry_vector entry = {.data = number, .length = 1, .type = v->type};
        spry_vector from = *v;
        from.data = (char *)v->data + r->state.bad * (int64_t)spry_type_bytes(v->type);
        from.length = 1;
        SPRYI_OK_OR_RETURN(spryi_solve_copy_to(r->context, &entry, &from, r->run.stream, err));
        if (r->device > 0) SPRYI_OK_OR_RETURN(spry_device_synchronize(r->context, r->device, r->run.stream, err));
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, r->state.bad, r->n,
                                "pagerank: element %lld of %s (counted from %d) is %g, expected finite numbers >= 0",
                                (long long)r->state.bad + r->base, name, r->base, spryi_value_at(number, v->type, 0));
    }
    if (!(r->state.weight > 0 && isfinite(r->state.weight)))
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, name,
                          "pagerank: the elements of %s sum to %g, expected a finite sum above 0", name,
                          r->state.weight);
    return SPRY_OK;
}

/* Copies the caller's v and x_0, and computes their weights. The state keeps the weight of x_0. */
static spry_status take_weights(ranking *r, spry_vector x, spry_error *err)
{
    const spry_vector given = spryi_solve_vector(r->o->personalization);
    if (given.data) {
        SPRYI_OK_OR_RETURN(spryi_solve_copy(r->context, &r->v, &given, r->device, r->run.stream, err));
        SPRYI_OK_OR_RETURN(weigh(r, &r->v, "personalization", err));
        SPRYI_OK_OR_RETURN(r->work.ops->rank->divide(&r->work, r->v.data, err));
    }
    if (!starts_from_x(r)) return SPRY_OK;
    if (r->own_x.data) SPRYI_OK_OR_RETURN(spryi_solve_copy_to(r->context, &r->x, &x, r->run.stream, err));
    return weigh(r, &r->x, "x", err);
}

static spry_status set_up(ranking *r, spry_vector x, spry_pagerank_result *result, const spry_matrix *A,
                          const spry_arrays *a, spry_error *err)
{
    spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
    info.struct_size = offsetof(spry_spmv_plan_info, baseline); /* no predictions: they would measure the device */
    SPRYI_OK_OR_RETURN(spryi_vector_work_init(r->context, &r->work, r->device, r->run.stream, r->n, 1, r->x.type, err));
    SPRYI_OK_OR_RETURN(prepare_links(r, A, a, err));
    result->dangling_nodes = r->links.dangling_nodes;
    result->first_dangling_node = r->links.first_dangling_node;
    result->is_stochastic = r->links.factors.data == NULL;
    if (r->links.dangling_nodes > 0 && r->o->dangling == SPRY_DANGLING_REFUSE)
        return refuse_dangling_nodes(r, result, err);
    SPRYI_OK_OR_RETURN(create_vectors(r, err));
    SPRYI_OK_OR_RETURN(take_weights(r, x, err));
    /* the links may be a host copy of a matrix on the device */
    if (r->names.device == SPRY_DEVICE_DEFAULT) r->names.device = r->device == 0 ? SPRY_CPU : r->device;
    SPRYI_OK_OR_RETURN(
        spryi_solve_create_plan(r->context, &r->plan, r->links.B, r->x.type, &r->names, r->run.stream, err));
    SPRYI_OK_OR_RETURN(spry_spmv_plan_get_info(r->plan, &info, err));
    result->upload_us = r->links.upload_us + info.upload_us;
    result->format = r->names.format;
    result->kernel = r->names.kernel;
    r->at = (buffers){r->x.data, r->y.data, r->z.data};
    if (r->work.ops->record) SPRYI_OK_OR_RETURN(spryi_vector_record(&r->work, &r->recorded, start_rounds, r, err));
    r->state.n = r->v.data ? 1 : (double)r->n;
    r->state.alpha_before = starts_from_x(r) ? 1 : r->state.alpha;
    r->state.shift_before = starts_from_x(r) ? 0 : 1 / r->state.n; /* x_0 = alpha*0 + v/n */
    return spryi_vector_put(&r->work, &r->state, sizeof r->state, err);
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
    if (status != SPRY_OK) return status;
    if (r->device > 0) {
        SPRYI_OK_OR_RETURN(
            spryi_solve_time_product(r->context, r->plan, r->x, r->y, r->run.stream, &result->product_us, err));
        result->product_us *= (double)result->iterations;
    }
    if (r->own_x.data) SPRYI_OK_OR_RETURN(spryi_solve_copy_to(r->context, &x, &r->x, r->run.stream, err));
    if (r->device > 0) SPRYI_OK_OR_RETURN(spry_device_synchronize(r->context, r->device, r->run.stream, err));
    SPRYI_OK_OR_RETURN(bound_error(r, &x, result, err));
    return judge(r, result, err);
}

/* Removes a mark of symmetry that is false, or that cannot be checked because the entries are on a device. */
static spry_status check_claim(const spry_matrix *A, spry_arrays *a, spry_error *err)
{
    spryi_unequal found = {.row = 0};
    if (a->symmetry == SPRY_GENERAL) return SPRY_OK;
    if (a->device == 0 || A->symmetry_holds) SPRYI_OK_OR_RETURN(spryi_find_false_claim(&found, A, err));
    if (found.row >= 0) a->symmetry = SPRY_GENERAL;
    return SPRY_OK;
}

/* Ranks a matrix that stores one triangle or blocks. */
static spry_status rank_expanded(spry_context *context, spry_vector x, spry_pagerank_result *result,
                                 const spry_matrix *A, const spry_pagerank_options *options, spry_error *err)
{
    spry_matrix *both = NULL;
    spry_matrix_options keep = SPRY_INIT(spry_matrix_options);
    keep.keep_duplicates = 1;
    spry_status status = spry_matrix_convert(context, &both, NULL, A, &keep, err);
    if (status == SPRY_OK) status = spry_pagerank(context, x, result, both, options, err);
    spry_matrix_destroy(both);
    return status;
}

spry_status spry_pagerank(spry_context *context, spry_vector x, spry_pagerank_result *result, const spry_matrix *A,
                          const spry_pagerank_options *options, spry_error *err)
{
    spry_pagerank_options o;
    x = spryi_solve_vector(spry_vector_as_const(x));
    ranking r = {.context = context, .x = x, .run = SPRY_INIT(spry_spmv_run_options)};
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_pagerank_result found = SPRY_INIT(spry_pagerank_result);
    found.residual = found.error_bound = found.mass = NAN;
    found.first_dangling_node = -1;
    found.format = found.kernel = "";
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(result, err));
    if (result) SPRYI_GIVE(result, &found); /* erases the result of an earlier call */
    if (!context || !A)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, !context ? "context" : "A", "pagerank: %s is NULL",
                          !context ? "context" : "A");
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(&o, options, err));
    SPRYI_OK_OR_RETURN(check_options(&r, &o, err));
    SPRYI_OK_OR_RETURN(spry_matrix_get_arrays(A, &a, err));
    if (spryi_is_compact(&a)) return rank_expanded(context, x, result, A, options, err);
    SPRYI_OK_OR_RETURN(check_claim(A, &a, err));
    SPRYI_OK_OR_RETURN(spryi_solve_check_square(&a, "pagerank", err));
    if (a.rows == 0)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "A", 0, 1,
                                "pagerank: the matrix is empty, expected 1 x 1 or more");
    r.device = spryi_solve_device_number(context, &r.names, &a);
    SPRYI_OK_OR_RETURN(spryi_solve_check_vector(&x, "x", a.rows, &a, r.device, err));
    SPRYI_OK_OR_RETURN(spryi_solve_check_result(&x, A, "pagerank", err));
    SPRYI_OK_OR_RETURN(check_personalization(&r, &a, err));
    r.run.stream = r.device > 0 ? o.stream : NULL;
    if (r.device > 0) SPRYI_OK_OR_RETURN(spry_device_synchronize(context, r.device, r.run.stream, err));
    r.n = a.rows;
    r.base = A->index_base;
    const spry_status status = run(&r, x, &found, A, &a, err);
    if (result && (status == SPRY_OK || status == SPRY_NOT_CONVERGED)) SPRYI_GIVE(result, &found);
    spryi_vector_forget(&r.work, &r.recorded);
    spry_vector *vectors[] = {&r.z, &r.y, &r.own_x, &r.v};
    for (int v = 0; v < 4; v++) spry_vector_destroy(context, vectors[v]);
    spryi_vector_work_clear(&r.work);
    spry_spmv_plan_destroy(r.plan);
    clear_links(context, &r.links);
    spryi_matrix_release(r.host);
    return status;
}
