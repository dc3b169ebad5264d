#include "solve/cg.h"
#include "solve/solve.h"
#include "spry/tools.h"

#include <math.h>

spry_status spryi_cg_find_not_finite(spryi_unequal *found, const spry_matrix *A, spry_error *err)
{
    /* Every other pair of entries passes: a tolerance of Inf allows any difference. */
    return spryi_find_unequal(found, A, &(spryi_symmetry_test){.finite = true, .tolerance = INFINITY}, err);
}

spry_status spryi_cg_invert_diagonal(spry_context *context, spry_vector *D, int64_t *bad_row, double *bad_entry,
                                     const spry_matrix *A, spry_type type, int room, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_vector d = {0};
    SPRYI_OK_OR_RETURN(spry_matrix_get_arrays(A, &a, err));
    SPRYI_OK_OR_RETURN(spry_vector_create(context, &d, a.rows, SPRY_F64, 0, err));
    spry_status status = spry_matrix_get_diagonal(A, d.data, err);
    if (status == SPRY_OK) status = spry_vector_create(context, D, a.rows, type, 0, err);
    const double most = ldexp(spryi_limits_of(type).largest, -room);
    const double least = room > 0 ? ldexp(spryi_limits_of(type).least_normal, room) : 0;
    *bad_row = -1;
    for (int64_t i = 0; status == SPRY_OK && i < a.rows; i++) {
        double entry = ((double *)d.data)[i], inverse = 1 / entry;
        if (!(entry > 0 && inverse > least && inverse <= most)) {
            *bad_row = i;
            *bad_entry = entry;
            break;
        }
        spryi_set_value(D->data, type, i, inverse);
    }
    spry_vector_destroy(context, &d);
    return status;
}

/* ---- blocks on the diagonal ---------------------------------------------------------------------- */

enum { MOST_SIZE = 32 };

/* The block's entries, of rows from .. from + rows, into its full square. Duplicates add up. */
static void fetch_block(const spry_arrays *a, int64_t from, int rows, double *block)
{
    for (int e = 0; e < rows * rows; e++) block[e] = 0;
    for (int i = 0; i < rows; i++) {
        const int64_t end = spryi_offset_of(a, from + i + 1);
        for (int64_t k = spryi_offset_of(a, from + i); k < end; k++) {
            const int64_t j = spryi_minor_of(a, k) - from;
            if (j >= 0 && j < rows) block[i * rows + j] += spryi_value_of(a, k);
        }
    }
}

/* block = its inverse, by Cholesky's factors L of block = L L^T. 0: it is not positive definite. */
static int invert_block(double *block, int rows)
{
    double inverse[MOST_SIZE * MOST_SIZE] = {0};
    for (int j = 0; j < rows; j++) {
        double pivot = block[j * rows + j];
        for (int k = 0; k < j; k++) pivot -= block[j * rows + k] * block[j * rows + k];
        if (!(pivot > 0 && isfinite(pivot))) return 0;
        block[j * rows + j] = sqrt(pivot);
        for (int i = j + 1; i < rows; i++) {
            double sum = block[i * rows + j];
            for (int k = 0; k < j; k++) sum -= block[i * rows + k] * block[j * rows + k];
            block[i * rows + j] = sum / block[j * rows + j];
        }
    }
    for (int c = 0; c < rows; c++) /* column c of L^-1 */
        for (int i = c; i < rows; i++) {
            double sum = i == c;
            for (int k = c; k < i; k++) sum -= block[i * rows + k] * inverse[k * rows + c];
            inverse[i * rows + c] = sum / block[i * rows + i];
        }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int k = i; k < rows; k++) sum += inverse[k * rows + i] * inverse[k * rows + j];
            block[i * rows + j] = block[j * rows + i] = sum;
        }
    return 1;
}

static int invert_all(const spry_arrays *a, int size, spry_vector *entries, int64_t *bad_row)
{
    const int64_t count = (a->rows + size - 1) / size;
    const double most = spryi_limits_of(entries->type).largest;
    double block[MOST_SIZE * MOST_SIZE];
    for (int64_t t = 0; t < count; t++) {
        const int64_t from = t * size, left = a->rows - from;
        const int rows = left < size ? (int)left : size;
        fetch_block(a, from, rows, block);
        int good = invert_block(block, rows);
        for (int i = 0, e = 0; i < size && good; i++)
            for (int j = 0; j <= i; j++, e++) {
                const double entry = i < rows ? block[i * rows + j] : 0;
                good &= fabs(entry) <= most;
                spryi_set_value(entries->data, entries->type, e * count + t, entry);
                if (i < rows)
                    block[i * rows + j] = block[j * rows + i] =
                        spryi_value_at(entries->data, entries->type, e * count + t);
            }
        if (good && entries->type == SPRY_F32) good = invert_block(block, rows); /* rounded, it still is definite */
        if (good) continue;
        *bad_row = from;
        return 0;
    }
    return 1;
}

spry_status spryi_cg_invert_blocks(spry_context *context, spry_vector *entries, int64_t *bad_row, const spry_matrix *A,
                                   int size, spry_type type, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_matrix *csr = NULL;
    *bad_row = -1;
    SPRYI_OK_OR_RETURN(spry_matrix_get_arrays(A, &a, err));
    spry_status status = SPRY_OK;
    if (a.layout == SPRY_COO || a.triangle != SPRY_ALL_ENTRIES) { /* CSC of a symmetric matrix is its CSR */
        status = spry_matrix_convert(context, &csr, A, NULL, err);
        if (status == SPRY_OK) status = spry_matrix_get_arrays(csr, &a, err);
    }
    const int64_t count = (a.rows + size - 1) / size;
    if (status == SPRY_OK) status = spry_vector_create(context, entries, count * size * (size + 1) / 2, type, 0, err);
    if (status == SPRY_OK) (void)invert_all(&a, size, entries, bad_row);
    spry_matrix_destroy(csr);
    return status;
}
