#include "core/bisect.h"
#include "solve/cg.h"
#include "solve/solve.h"
#include "spry/tools.h"

#include <math.h>

spry_status spryi_cg_is_symmetric(const spry_matrix *A, int *symmetric, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_matrix_stats stats = SPRY_INIT(spry_matrix_stats);
    spry_status status = spry_matrix_get_arrays(A, &a, err);
    *symmetric = a.symmetry == SPRY_SYMMETRIC;
    if (status != SPRY_OK || *symmetric) return status;
    status = spry_matrix_get_stats(A, &stats, err);
    *symmetric = stats.value_symmetric == SPRY_KNOWN_YES;
    return status;
}

/* The number of the entry of sorted, unique CSR at (i, j); -1: there is none. */
static int64_t find_entry(const spry_arrays *a, int64_t i, int64_t j)
{
    const int64_t end = spryi_offset_of(a, i + 1);
    int64_t k;
    SPRYI_BISECT(k, spryi_offset_of(a, i), end, spryi_minor_of(a, k) < j);
    return k < end && spryi_minor_of(a, k) == j ? k : -1;
}

spry_status spryi_cg_find_unequal(spry_context *context, spryi_cg_unequal *found, const spry_matrix *A, spry_error *err)
{
    spry_matrix *sorted = NULL;
    spry_arrays a = SPRY_INIT(spry_arrays);
    *found = (spryi_cg_unequal){.row = -1, .column = -1};
    spry_status status = spry_matrix_convert(context, &sorted, A, NULL, err);
    if (status == SPRY_OK) status = spry_matrix_get_arrays(sorted, &a, err);
    for (int64_t i = 0; status == SPRY_OK && i < a.rows && found->row < 0; i++) {
        const int64_t end = spryi_offset_of(&a, i + 1);
        for (int64_t k = spryi_offset_of(&a, i); k < end; k++) {
            const int64_t j = spryi_minor_of(&a, k), image = find_entry(&a, j, i);
            const double value = spryi_value_of(&a, k), mirrored = image < 0 ? 0 : spryi_value_of(&a, image);
            if (image >= 0 && (value == mirrored || (isnan(value) && isnan(mirrored)))) continue;
            *found = (spryi_cg_unequal){i, j, value, mirrored, image >= 0};
            break;
        }
    }
    spry_matrix_destroy(sorted);
    return status;
}

spry_status spryi_cg_invert_diagonal(spry_context *context, spry_vector *D, int64_t *bad_row, double *bad_entry,
                                     const spry_matrix *A, spry_type type, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_vector d = {0};
    SPRYI_OK_OR_RETURN(spry_matrix_get_arrays(A, &a, err));
    SPRYI_OK_OR_RETURN(spry_vector_create(context, &d, a.rows, SPRY_F64, 0, err));
    spry_status status = spry_matrix_get_diagonal(A, d.data, err);
    if (status == SPRY_OK) status = spry_vector_create(context, D, a.rows, type, 0, err);
    const double most = spryi_limits_of(type).largest;
    *bad_row = -1;
    for (int64_t i = 0; status == SPRY_OK && i < a.rows; i++) {
        double entry = ((double *)d.data)[i], inverse = 1 / entry;
        if (!(entry > 0 && inverse > 0 && inverse <= most)) {
            *bad_row = i;
            *bad_entry = entry;
            break;
        }
        spryi_set_value(D->data, type, i, inverse);
    }
    spry_vector_destroy(context, &d);
    return status;
}
