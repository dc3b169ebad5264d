/* Rows by falling number of entries: what a scattered matrix reads most of x lies together then. */
#include "core/assemble.h"
#include "core/error.h"
#include "core/memory.h"
#include "reorder/graph.h"
#include "reorder/ordering.h"

#include <string.h>

/* Counts offsets' differences, or indices one by one: sums of integers, the same in any order. */
static void add_lengths(int64_t *degree, const spry_arrays *a, int64_t majors, int threads)
{
#pragma omp parallel for num_threads(threads)
    for (int64_t i = 0; i < majors; i++) degree[i] += spryi_offset_of(a, i + 1) - spryi_offset_of(a, i);
}
static void add_indices(int64_t *degree, const spry_arrays *a, const void *indices, int threads)
{
#pragma omp parallel for num_threads(threads)
    for (int64_t k = 0; k < a->nnz; k++) {
        const int64_t i = spryi_index_at(indices, a->index_type, k);
#pragma omp atomic
        degree[i]++;
    }
}

/* In a symmetric pattern rows alone are counted: that halves the degrees and leaves their order. */
static void count_degrees(int64_t *degree, const spry_arrays *a, int symmetric, int threads)
{
    const int both = a->rows == a->cols && !symmetric;
    memset(degree, 0, (size_t)a->rows * sizeof *degree);
    if (a->layout == SPRY_CSR) add_lengths(degree, a, a->rows, threads);
    if (a->layout == SPRY_CSC && a->rows == a->cols) add_lengths(degree, a, a->cols, threads);
    if (a->layout == SPRY_COO) add_indices(degree, a, a->row_indices, threads);
    if (both || (a->layout == SPRY_CSC && a->rows != a->cols)) add_indices(degree, a, a->indices, threads);
}

spry_status spryi_order_by_degree(spry_context *context, int64_t *perm, const spry_matrix *A, spry_error *err)
{
    const int64_t m = A->a.rows;
    const int threads = spryi_threads(context, m + A->a.nnz);
    spry_status status = SPRY_OK;
    int64_t *degree = NULL, *next = NULL, most = 0;
    SPRYI_TRY(SPRYI_NEW(context, &degree, m, "degrees", err));
    count_degrees(degree, &A->a, spryi_pattern_is_symmetric(context, A), threads);
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
