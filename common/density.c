#include "common/density.h"

#include "common/input.h"

#include <string.h>

/* Divides the indices 0 .. count - 1 into `parts` cells. Returns the cell of `index`, 0 .. parts - 1. */
static int64_t cell_of(int64_t index, int64_t count, int parts)
{
    if (count <= INT32_MAX) return (int64_t)((uint64_t)index * (uint64_t)parts / (uint64_t)count);
    __extension__ typedef unsigned __int128 wide;
    return (int64_t)((wide)index * (wide)parts / (wide)count);
}

/* Counts one entry, and its mirror image if only a triangle is stored. */
static void count_entry(const spry_arrays *a, int64_t *counts, int height, int width, int64_t i, int64_t j)
{
    counts[cell_of(i, a->rows, height) * width + cell_of(j, a->columns, width)]++;
    if (a->triangle != SPRY_ALL_ENTRIES && i != j)
        counts[cell_of(j, a->rows, height) * width + cell_of(i, a->columns, width)]++;
}

spry_status count_density(const spry_matrix *A, int64_t *counts, int height, int width, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    const spry_status status = spry_matrix_get_arrays(A, &a, err);
    if (status != SPRY_OK) return status;
    memset(counts, 0, (size_t)height * (size_t)width * sizeof *counts);
    if (a.layout == SPRY_COO) {
        for (int64_t k = 0; k < a.nnz; k++)
            count_entry(&a, counts, height, width, index_at(a.row_indices, a.index_type, k),
                        index_at(a.indices, a.index_type, k));
        return SPRY_OK;
    }
    const bool by_columns = a.layout == SPRY_CSC;
    const int64_t majors = by_columns ? a.columns : a.rows;
    for (int64_t m = 0; m < majors; m++)
        for (int64_t k = index_at(a.offsets, a.offset_type, m); k < index_at(a.offsets, a.offset_type, m + 1); k++) {
            const int64_t minor = index_at(a.indices, a.index_type, k);
            count_entry(&a, counts, height, width, by_columns ? minor : m, by_columns ? m : minor);
        }
    return SPRY_OK;
}
