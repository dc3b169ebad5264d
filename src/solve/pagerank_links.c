/*
 * Step a of PageRank: column sums. They are taken once, in f64, from the arrays as they lie: a sum over an index that
 * offsets run over is a loop over rows, in parallel; over the other one each entry is added where it belongs, by one
 * thread, so that the order, and with it the bits, do not depend on their number.
 *
 * A GPU takes its own sums, of rows alone, and makes the transposed, of which B or the sums are: it is CSR then.
 */
#include "base/pool.h"
#include "matrix/matrix.h"
#include "solve/pagerank.h"
#include "solve/solve.h"
#include "spry/solve.h"

#include <math.h>

typedef struct entry_facts {
    int64_t bad; /* entry that is negative or not finite, -1: none */
    int all_ones;
} entry_facts;

typedef struct link_job {
    const spry_arrays *a;
    atomic_llong bad;
    atomic_int others; /* 1: a value is not 1 */
    double *sums;
} link_job;

static void look_at_values(void *job, int64_t begin, int64_t end)
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

static entry_facts look(const spry_context *context, const spry_arrays *a, int threads)
{
    if (a->value_type == SPRY_PATTERN) return (entry_facts){-1, 1};
    link_job j = {.a = a, .bad = INT64_MAX};
    spryi_loop(context, threads, a->nnz, 0, look_at_values, &j);
    return (entry_facts){j.bad == INT64_MAX ? -1 : j.bad, !j.others};
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

/* Sums of B's columns: of A's columns, or of its rows. */
static void add_up(const spry_context *context, const spry_arrays *a, int rows, double *sums, int threads)
{
    if (a->layout == SPRY_COO)
        add_entries(a, rows ? a->row_indices : a->indices, sums);
    else if ((a->layout == SPRY_CSR) == rows)
        spryi_loop(context, threads, a->rows, 1024, add_some_majors, &(link_job){.a = a, .sums = sums});
    else
        add_entries(a, a->indices, sums);
}

/* A^T is A's arrays with rows and columns exchanged in what they are called. */
static void exchange(spry_arrays *a)
{
    if (a->layout == SPRY_COO) {
        const void *rows = a->row_indices;
        a->row_indices = a->indices;
        a->indices = rows;
        a->sorted = SPRY_NOT_KNOWN;
    } else {
        a->layout = a->layout == SPRY_CSR ? SPRY_CSC : SPRY_CSR;
    }
}

static spry_status refuse_entry(const spry_arrays *a, int64_t k, int base, spry_error *err)
{
    const long long minor = (long long)spryi_minor_of(a, k) + base;
    const long long major = (long long)(a->layout == SPRY_COO ? spryi_row_of(a, k) : spryi_major_of(a, k)) + base;
    return spryi_fail_value(err, SPRY_INVALID_MATRIX, "values", k, a->nnz,
                            "pagerank: entry (%lld, %lld) (counted from %d) is %g, expected finite numbers >= 0",
                            a->layout == SPRY_CSC ? minor : major, a->layout == SPRY_CSC ? major : minor, base,
                            spryi_value_of(a, k));
}

static spry_status refuse_sum(int64_t j, int64_t n, double sum, spry_type type, int base, spry_error *err)
{
    return spryi_fail_value(err, SPRY_INVALID_MATRIX, "values", j, n,
                            "pagerank: the links of node %lld (counted from %d) sum to %g, by which %s cannot be "
                            "divided",
                            (long long)j + base, base, sum, spry_type_name(type));
}

/* Of sums of n columns of that type; factors are of `type`. z = factor * x must not vanish, nor the factor overflow. */
static spryi_sum_facts limits_of_sums(spry_type value_type, spry_type type, int64_t n)
{
    const spryi_limits of = spryi_limits_of(type);
    return (spryi_sum_facts){.slack = 8 * spryi_limits_of(value_type).epsilon,
                             .least = of.least_normal * (double)n * 1024,
                             .largest = of.largest};
}

/* Factors are the reciprocals of the sums, which are f64, in the vectors' type. */
static spry_status invert(spryi_links *links, const double *sums, int64_t n, int base, spry_error *err)
{
    const spry_type type = links->factors.type;
    const spryi_sum_facts of = limits_of_sums(type, type, n);
    for (int64_t j = 0; j < n; j++) {
        double factor = sums[j] == 0 ? 0 : 1 / sums[j];
        if (sums[j] != 0 && !(factor <= of.largest && factor >= of.least))
            return refuse_sum(j, n, sums[j], type, base, err);
        spryi_set_value(links->factors.data, type, j, factor);
        if (sums[j] != 0) continue;
        if (links->zero_columns++ == 0) links->first_zero_column = j;
    }
    return SPRY_OK;
}

static int sums_to_one(const double *sums, int64_t n, spry_type value_type)
{
    const double eps = spryi_limits_of(value_type).epsilon;
    for (int64_t j = 0; j < n; j++)
        if (!(fabs(sums[j] - 1) <= 8 * eps)) return 0;
    return 1;
}

spry_status spryi_links_make(spry_context *context, spryi_links *links, const spry_matrix *A, const spry_arrays *given,
                             spry_edges edges, spry_type type, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_vector sums = {0};
    SPRYI_OK_OR_RETURN(spry_matrix_get_arrays(A, &a, err));
    *links = (spryi_links){.first_zero_column = -1};
    int threads = a.nnz < 100000 ? 1 : spry_context_threads(context);
    entry_facts facts = look(context, &a, threads);
    if (facts.bad >= 0) return refuse_entry(&a, facts.bad, spry_matrix_index_base(A), err);
    spry_status status = spry_vector_create(context, &sums, a.cols, SPRY_F64, 0, err);
    if (status != SPRY_OK) return status;
    add_up(context, &a, edges == SPRY_ROW_TO_COLUMN, sums.data, threads);
    if (!sums_to_one(sums.data, a.cols, a.value_type)) {
        status = spry_vector_create(context, &links->factors, a.cols, type, 0, err);
        if (status == SPRY_OK) status = invert(links, sums.data, a.cols, spry_matrix_index_base(A), err);
    }
    spry_vector_destroy(context, &sums);
    if (status == SPRY_OK) {
        int exchanged = edges == SPRY_ROW_TO_COLUMN && given->symmetry != SPRY_SYMMETRIC;
        if (exchanged) exchange(&a);
        if (!exchanged && given->device > 0) a = *given;
        a.ownership = SPRY_BORROW;
        if (facts.all_ones) {
            a.value_type = SPRY_PATTERN;
            a.values = NULL;
        }
        status = spry_matrix_create(context, &links->B, &a, err);
    }
    if (status != SPRY_OK) spryi_links_clear(context, links);
    return status;
}

/* ---- how long rows are -------------------------------------------------------------------------- */

/* The sum of x over the rows that entries `begin` to `end` of COO or CSC are in. */
static double add_rows(const spry_arrays *a, const spry_vector *x, int64_t begin, int64_t end)
{
    const void *rows = a->layout == SPRY_COO ? a->row_indices : a->indices;
    double sum = 0;
    for (int64_t k = begin; k < end; k++)
        sum += spryi_value_at(x->data, x->type, spryi_index_at(rows, a->index_type, k));
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
            j->sums[b] += spryi_value_at(j->x->data, j->x->type, i) *
                          (double)(spryi_offset_of(a, i + 1) - spryi_offset_of(a, i));
    }
}

/* Computes the sum of x_i, each times the number of entries of row i, to the same bits for any number of threads. */
static double add_lengths(const spry_context *context, const spry_arrays *a, const spry_vector *x, int threads)
{
    length_job j = {.a = a, .x = x};
    double sum = 0;
    spryi_loop(context, threads, LENGTH_BLOCKS, 1, add_blocks, &j);
    for (int b = 0; b < LENGTH_BLOCKS; b++) sum += j.sums[b];
    return sum;
}

spry_status spryi_links_weighted_length(spry_context *context, double *length, const spryi_links *links,
                                        const spry_vector *x, double mass, void *stream, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_vector copy = {0};
    spryi_row_look rows;
    SPRYI_OK_OR_RETURN(spry_matrix_get_arrays(links->B, &a, err));
    const int threads = a.nnz < 100000 ? 1 : spry_context_threads(context);
    if (a.device > 0) {
        SPRYI_OK_OR_RETURN(spryi_matrix_look(&rows, links->B, 0, err));
        *length = rows.longest * mass;
    } else if (x->device == 0) {
        *length = add_lengths(context, &a, x, threads);
    } else {
        spry_status status = spryi_solve_copy(context, &copy, x, 0, stream, NULL);
        if (status == SPRY_OK) status = spry_device_synchronize(context, x->device, stream, NULL);
        *length = status == SPRY_OK ? add_lengths(context, &a, &copy, threads) : (double)a.cols * mass;
        spry_vector_destroy(context, &copy);
    }
    return SPRY_OK;
}

/* ---- on a device -------------------------------------------------------------------------------- */

/* A block of device memory. */
static spry_status make_block(const spryi_vector_work *w, spry_vector *block, int64_t bytes, spry_error *err)
{
    return spry_vector_create(w->context, block, bytes / 8 + 1, SPRY_F64, w->device, err);
}

static void clear_blocks(spry_context *context, spry_vector *blocks)
{
    for (int i = 0; i < 3; i++) spry_vector_destroy(context, &blocks[i]);
}

/* Bytes of the arrays of m, which is CSR and square, in the order of its blocks. */
static void array_bytes(const spry_arrays *m, int64_t *bytes)
{
    bytes[0] = (m->rows + 1) * (int64_t)spry_index_type_bytes(m->offset_type);
    bytes[1] = m->nnz * (int64_t)spry_index_type_bytes(m->index_type);
    bytes[2] = m->nnz * (int64_t)spry_type_bytes(m->value_type);
}

/* The arrays of m, which are host memory, become copies on the device. */
static spry_status upload(const spryi_vector_work *w, spryi_links *links, spry_arrays *m, spry_error *err)
{
    const double start = spryi_now_us();
    const void **arrays[] = {&m->offsets, &m->indices, &m->values};
    int64_t bytes[3];
    array_bytes(m, bytes);
    for (int i = 0; i < 3; i++) {
        if (bytes[i] == 0) continue;
        SPRYI_OK_OR_RETURN(make_block(w, &links->copies[i], bytes[i], err));
        SPRYI_OK_OR_RETURN(
            spry_device_copy(w->context, links->copies[i].data, w->device, *arrays[i], 0, bytes[i], w->stream, err));
        *arrays[i] = links->copies[i].data;
    }
    m->device = w->device;
    SPRYI_OK_OR_RETURN(spry_device_synchronize(w->context, w->device, w->stream, err));
    links->upload_us += spryi_now_us() - start;
    return SPRY_OK;
}

static spry_status transpose(const spryi_vector_work *w, const spryi_device *device, spryi_links *links, spry_arrays *t,
                             const spry_arrays *m, spry_error *err)
{
    const void **arrays[] = {&t->offsets, &t->indices, &t->values};
    int64_t bytes[3];
    *t = *m;
    t->sorted = SPRY_KNOWN_YES;
    array_bytes(m, bytes);
    for (int i = 0; i < 3; i++) {
        *arrays[i] = NULL;
        if (i == 2 && bytes[i] == 0) continue; /* a pattern */
        SPRYI_OK_OR_RETURN(make_block(w, &links->transposed[i], bytes[i], err));
        *arrays[i] = links->transposed[i].data;
    }
    return w->ops->links->transpose(device, links->transposed[0].data, links->transposed[1].data,
                                    links->transposed[2].data, m, err);
}

/* Factors, if there are any, and the rest of what is told of columns, whose sums are of the rows of m. */
static spry_status divide(const spryi_vector_work *w, const spryi_device *device, spryi_links *links,
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
    if (facts.as_they_stand) {
        spry_vector_destroy(w->context, &links->factors);
        return SPRY_OK;
    }
    if (facts.bad >= 0) return refuse_sum(facts.bad, n, facts.bad_sum, w->type, base, err);
    links->zero_columns = facts.zeros;
    links->first_zero_column = facts.first_zero;
    return SPRY_OK;
}

/*
 * m is A as CSR, or A^T of CSC. Its rows are the columns of B, or the rows: B is its transposed then, or the sums are
 * those of the transposed. Of a symmetric matrix all are the same.
 */
static spry_status make_there(const spryi_vector_work *w, spryi_links *links, spry_arrays *m, spry_edges edges,
                              int base, spry_error *err)
{
    const spryi_device *device = spryi_device_at(w->context, w->device);
    const int is_csc = m->layout == SPRY_CSC, rows_are_columns = (edges == SPRY_ROW_TO_COLUMN) != is_csc;
    const spry_type value_type = m->value_type;
    spryi_entry_facts facts;
    spry_arrays t = *m, *B = m;
    m->layout = SPRY_CSR;
    if (m->device == 0) SPRYI_OK_OR_RETURN(upload(w, links, m, err));
    m->ownership = SPRY_BORROW;
    SPRYI_OK_OR_RETURN(w->ops->links->look(device, &facts, m, err));
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
    SPRYI_OK_OR_RETURN(
        divide(w, device, links, rows_are_columns || B->symmetry == SPRY_SYMMETRIC ? m : &t, value_type, base, err));
    if (B == &t)
        clear_blocks(w->context, links->copies);
    else
        clear_blocks(w->context, links->transposed);
    return spry_matrix_create(w->context, &links->B, B, err);
}

spry_status spryi_links_make_there(const spryi_vector_work *w, spryi_links *links, const spry_arrays *given,
                                   spry_edges edges, int base, spry_error *err)
{
    spry_arrays m = *given;
    *links = (spryi_links){.first_zero_column = -1};
    if (!w->ops->links || m.layout == SPRY_COO || m.index_type != SPRY_I32 || m.index_base != 0 || !m.offsets)
        return spryi_fail(err, SPRY_UNSUPPORTED, "A", "pagerank: links that are looked at on the host");
    const spry_status status = make_there(w, links, &m, edges, base, err);
    if (status != SPRY_OK) spryi_links_clear(w->context, links);
    return status;
}

void spryi_links_clear(spry_context *context, spryi_links *links)
{
    spry_matrix_destroy(links->B);
    links->B = NULL;
    spry_vector_destroy(context, &links->factors);
    clear_blocks(context, links->copies);
    clear_blocks(context, links->transposed);
}
