/* A matrix's values, to be written, and its diagonal. */
#include "core/error.h"
#include "core/matrix.h"

spry_status spry_matrix_get_values(spry_matrix *A, void **values, spry_error *err)
{
    if (!A || !values) return spryi_fail_missing(err, !A ? "A" : "values");
    if (!A->owned[3])
        return spryi_fail(err, SPRY_UNSUPPORTED, "A", "the matrix has no values of its own to be written: it %s",
                          A->a.value_type == SPRY_PATTERN ? "is a pattern"
                          : A->mapping || A->stored       ? "is mapped from a file"
                                                          : "borrows the caller's");
    if (A->a.triangle == SPRY_ALL_ENTRIES) A->a.symmetry = SPRY_GENERAL; /* the caller may write other values */
    *values = A->owned[3];
    return SPRY_OK;
}

/* Entry (i, i) is the sum of what is stored there, in stored order, in f64. */
static void add_diagonal(const spry_arrays *a, double *d)
{
    if (a->layout == SPRY_COO) {
        for (int64_t k = 0; k < a->nnz; k++) {
            const int64_t i = spryi_row_of(a, k);
            if (i == spryi_minor_of(a, k)) d[i] += spryi_value_of(a, k);
        }
        return;
    }
    const int64_t lines = a->layout == SPRY_CSC ? a->cols : a->rows;
    for (int64_t i = 0; i < lines; i++) {
        const int64_t end = spryi_offset_of(a, i + 1);
        for (int64_t k = spryi_offset_of(a, i); k < end; k++)
            if (spryi_minor_of(a, k) == i) d[i] += spryi_value_of(a, k);
    }
}

spry_status spry_matrix_get_diagonal(const spry_matrix *A, double *diagonal, spry_error *err)
{
    if (!A || !diagonal) return spryi_fail_missing(err, !A ? "A" : "diagonal");
    if (A->a.device != 0)
        return spryi_fail(err, SPRY_UNSUPPORTED, "A", "diagonal: the matrix is in device memory, not host memory");
    const int64_t length = A->a.rows < A->a.cols ? A->a.rows : A->a.cols;
    spry_matrix *entries;
    SPRYI_OK_OR_RETURN(spryi_matrix_entries(A, &entries, err));
    for (int64_t i = 0; i < length; i++) diagonal[i] = 0;
    add_diagonal(&entries->a, diagonal);
    spryi_matrix_release(entries);
    return SPRY_OK;
}
