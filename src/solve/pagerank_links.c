/*
 * Step a of PageRank: column sums. They are taken once, in f64, from the arrays as they lie: a sum over an index that
 * offsets run over is a loop over rows, in parallel; over the other one each entry is added where it belongs, by one
 * thread, so that the order, and with it the bits, do not depend on their number.
 */
#include "core/float_env.h"
#include "solve/pagerank.h"
#include "solve/solve.h"
#include "spry/solve.h"

#include <math.h>

typedef struct entry_facts {
    int64_t bad; /* entry that is negative or not finite, -1: none */
    int all_ones;
} entry_facts;

static entry_facts look(const spry_arrays *a, int threads)
{
    int64_t bad = INT64_MAX, others = 0;
    if (a->value_type == SPRY_PATTERN) return (entry_facts){-1, 1};
    const spryi_float_controls callers = spryi_get_float_controls();
#pragma omp parallel num_threads(threads) reduction(min : bad) reduction(+ : others)
    {
        SPRYI_FLOATS_OF(callers);
#pragma omp for
        for (int64_t k = 0; k < a->nnz; k++) {
            double value = spryi_value_of(a, k);
            if (!(value >= 0 && value <= DBL_MAX) && k < bad) bad = k;
            others += value != 1;
        }
    }
    return (entry_facts){bad == INT64_MAX ? -1 : bad, others == 0};
}

/* sums[major] over the entries of each. */
static void add_majors(const spry_arrays *a, double *sums, int64_t majors, int threads)
{
    const spryi_float_controls callers = spryi_get_float_controls();
#pragma omp parallel num_threads(threads)
    {
        SPRYI_FLOATS_OF(callers);
#pragma omp for schedule(dynamic, 1024)
        for (int64_t i = 0; i < majors; i++) {
            int64_t end = spryi_offset_of(a, i + 1);
            double sum = 0;
            for (int64_t k = spryi_offset_of(a, i); k < end; k++) sum += spryi_value_of(a, k);
            sums[i] = sum;
        }
    }
}

static void add_entries(const spry_arrays *a, const void *indices, double *sums)
{
    for (int64_t k = 0; k < a->nnz; k++) sums[spryi_index_at(indices, a->index_type, k)] += spryi_value_of(a, k);
}

/* Sums of B's columns: of A's columns, or of its rows. */
static void add_up(const spry_arrays *a, int rows, double *sums, int threads)
{
    if (a->layout == SPRY_COO)
        add_entries(a, rows ? a->row_indices : a->indices, sums);
    else if ((a->layout == SPRY_CSR) == rows)
        add_majors(a, sums, a->rows, threads);
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

static spry_status refuse_entry(const spry_arrays *a, int64_t k, spry_error *err)
{
    return spryi_fail_value(err, SPRY_INVALID_MATRIX, "values", k, a->nnz,
                            "pagerank: entry %lld of %lld (counted from 1) is %g, expected finite numbers >= 0",
                            (long long)k + 1, (long long)a->nnz, spryi_value_of(a, k));
}

/* Factors are the reciprocals of the sums, which are f64, in the vectors' type. */
static spry_status invert(spryi_links *links, const double *sums, int64_t n, spry_error *err)
{
    spry_type type = links->factors.type;
    const spryi_limits of = spryi_limits_of(type);
    for (int64_t j = 0; j < n; j++) {
        double factor = sums[j] == 0 ? 0 : 1 / sums[j];
        /* z = factor * x must not vanish, nor may the factor overflow */
        if (sums[j] != 0 && !(factor <= of.largest && factor >= of.least_normal * (double)n * 1024))
            return spryi_fail_value(err, SPRY_INVALID_MATRIX, "values", j, n,
                                    "pagerank: the links of node %lld sum to %g, by which %s cannot be divided",
                                    (long long)j + 1, sums[j], spry_type_name(type));
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
    entry_facts facts = look(&a, threads);
    if (facts.bad >= 0) return refuse_entry(&a, facts.bad, err);
    spry_status status = spry_vector_create(context, &sums, a.cols, SPRY_F64, 0, err);
    if (status != SPRY_OK) return status;
    add_up(&a, edges == SPRY_ROW_TO_COLUMN, sums.data, threads);
    if (!sums_to_one(sums.data, a.cols, a.value_type)) {
        status = spry_vector_create(context, &links->factors, a.cols, type, 0, err);
        if (status == SPRY_OK) status = invert(links, sums.data, a.cols, err);
    }
    spry_vector_destroy(context, &sums);
    if (status == SPRY_OK) {
        int exchanged = edges == SPRY_ROW_TO_COLUMN && a.symmetry != SPRY_SYMMETRIC;
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

void spryi_links_clear(spry_context *context, spryi_links *links)
{
    spry_matrix_destroy(links->B);
    links->B = NULL;
    spry_vector_destroy(context, &links->factors);
}
