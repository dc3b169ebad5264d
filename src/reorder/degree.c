/* Rows by falling number of entries: what a scattered matrix reads most of x lies together then. */
#include "core/assemble.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/pool.h"
#include "reorder/graph.h"
#include "reorder/order.h"

#include <string.h>

typedef struct degree_job {
    int64_t *degree;
    const spry_arrays *a;
    const void *indices;
} degree_job;

/* The functions below count offsets' differences, or indices one by one: sums of integers, the same in any order. */
static void add_some_lengths(void *job, int64_t begin, int64_t end)
{
    const spry_arrays a = *((const degree_job *)job)->a; /* copies that no store can change, here and below */
    int64_t *degree = ((const degree_job *)job)->degree;
    for (int64_t i = begin; i < end; i++) degree[i] += spryi_offset_of(&a, i + 1) - spryi_offset_of(&a, i);
}

static void add_some_indices(void *job, int64_t begin, int64_t end)
{
    const degree_job j = *(const degree_job *)job;
    const spry_index_type type = j.a->index_type;
    for (int64_t k = begin; k < end; k++)
        __atomic_fetch_add(&j.degree[spryi_index_at(j.indices, type, k)], 1, __ATOMIC_RELAXED);
}

static void add_lengths(const spry_context *context, int64_t *degree, const spry_arrays *a, int64_t majors, int threads)
{
    spryi_loop(context, threads, majors, 0, add_some_lengths, &(degree_job){degree, a, NULL});
}

static void add_indices(const spry_context *context, int64_t *degree, const spry_arrays *a, const void *indices,
                        int threads)
{
    spryi_loop(context, threads, a->nnz, 0, add_some_indices, &(degree_job){degree, a, indices});
}

/* In a symmetric pattern rows alone are counted: that halves the degrees and leaves their order. */
static void count_degrees(const spry_context *context, int64_t *degree, const spry_arrays *a, int symmetric,
                          int threads)
{
    const int both = a->rows == a->cols && !symmetric;
    memset(degree, 0, (size_t)a->rows * sizeof *degree);
    if (a->layout == SPRY_CSR) add_lengths(context, degree, a, a->rows, threads);
    if (a->layout == SPRY_CSC && a->rows == a->cols) add_lengths(context, degree, a, a->cols, threads);
    if (a->layout == SPRY_COO) add_indices(context, degree, a, a->row_indices, threads);
    if (both || (a->layout == SPRY_CSC && a->rows != a->cols)) add_indices(context, degree, a, a->indices, threads);
}

spry_status spryi_order_by_degree(spry_context *context, int64_t *perm, const spry_matrix *A, spry_error *err)
{
    const int64_t m = A->a.rows;
    const int threads = spryi_threads(context, m + A->a.nnz);
    spry_status status = SPRY_OK;
    int64_t *degree = NULL, *next = NULL, most = 0;
    SPRYI_TRY(SPRYI_NEW(context, &degree, m, "degrees", err));
    count_degrees(context, degree, &A->a, spryi_pattern_is_symmetric(context, A), threads);
    for (int64_t i = 0; i < m; i++)
        if (degree[i] > most) most = degree[i];
    SPRYI_TRY(SPRYI_NEW(context, &next, most + 2, "rows by degree", err));
    memset(next, 0, (size_t)(most + 2) * sizeof *next);
    for (int64_t i = 0; i < m; i++) next[most - degree[i] + 1]++;
    spryi_scan(next, most + 1);
    for (int64_t i = 0; i < m; i++) perm[next[most - degree[i]]++] = i;
done:
    spryi_release(context, degree);
    spryi_release(context, next);
    return status;
}
