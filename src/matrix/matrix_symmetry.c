/*
 * Compares entries with their mirror images.
 *
 * Idea: the rows are sorted, so the image (j, i) of an entry (i, j) is found by bisection in row j. Rows are compared
 * in parallel, and the first difference by rows is reported for any number of threads.
 * Cost: one search per entry, 8 bytes a row where a tolerance is given, a sorted copy of unsorted arrays.
 */
#include "base/bisect.h"
#include "base/error.h"
#include "base/float_env.h"
#include "base/memory.h"
#include "base/pool.h"
#include "matrix/assemble.h"
#include "matrix/row_lengths.h"

#include <math.h>

typedef struct comparison {
    const spry_arrays *a; /* sorted CSR without duplicates */
    const spryi_symmetry_test *how;
    double *scales;     /* sqrt(|a_ii|); NULL: the comparison is exact */
    atomic_llong first; /* row that differs */
} comparison;

/* Returns the index of the entry at (i, j), or -1 if nothing is stored there. */
static int64_t find_entry(const spry_arrays *a, int64_t i, int64_t j)
{
    const int64_t end = spryi_offset_of(a, i + 1);
    int64_t k;
    SPRYI_BISECT(k, spryi_offset_of(a, i), end, spryi_minor_of(a, k) < j);
    return k < end && spryi_minor_of(a, k) == j ? k : -1;
}

static bool is_image(const comparison *c, int64_t i, int64_t j, double value, double image)
{
    const double wanted = c->how->skew ? -image : image;
    if (value == wanted) return true;
    if (c->how->skew && i == j) return false; /* the diagonal is zero, not NaN */
    if (!c->scales) return isnan(value) && isnan(image);
    const double scale = fmax(fmax(fabs(value), fabs(image)), c->scales[i] * c->scales[j]);
    return fabs(value - wanted) <= c->how->tolerance * scale;
}

/* Compares one row. Returns true, and describes the entry, if an entry differs from its image. */
static bool row_differs(const comparison *c, int64_t i, spryi_unequal *found)
{
    const int64_t end = spryi_offset_of(c->a, i + 1);
    for (int64_t k = spryi_offset_of(c->a, i); k < end; k++) {
        const int64_t j = spryi_minor_of(c->a, k), at = j == i ? k : find_entry(c->a, j, i);
        const double value = spryi_value_of(c->a, k), image = at < 0 ? 0 : spryi_value_of(c->a, at);
        const bool finite = isfinite(value) || !c->how->finite;
        const bool missing = at < 0 && c->how->positions;
        if (finite && !missing && is_image(c, i, j, value, image)) continue;
        *found = (spryi_unequal){i, j, value, image, at >= 0};
        return true;
    }
    return false;
}

static void compare_rows(void *job, int64_t begin, int64_t end)
{
    comparison *c = job;
    spryi_unequal one;
    for (int64_t i = begin; i < end && i < c->first; i++)
        if (row_differs(c, i, &one)) spryi_lower(&c->first, i);
}

static void find_scales(void *job, int64_t begin, int64_t end)
{
    const comparison *c = job;
    for (int64_t i = begin; i < end; i++) {
        const int64_t k = find_entry(c->a, i, i);
        c->scales[i] = k < 0 ? 0 : sqrt(fabs(spryi_value_of(c->a, k)));
    }
}

spry_status spryi_find_unequal(spryi_unequal *found, const spry_matrix *A, const spryi_symmetry_test *how,
                               spry_error *err)
{
    SPRYI_DEFAULT_FLOATS;
    spry_status status = SPRY_OK;
    spry_matrix *entries = NULL;
    spryi_compressed made = {0};
    comparison c = {.how = how, .first = INT64_MAX};
    *found = (spryi_unequal){.row = -1, .column = -1};
    SPRYI_TRY(spryi_matrix_entries(A, &entries, err));
    spry_arrays a = entries->a;
    const int threads = spryi_threads(A->context, a.rows + a.nnz);
    c.a = &a;
    if (a.layout != SPRY_CSR || !spryi_rows_rise(A->context, &a)) {
        SPRYI_TRY(spryi_compress(A->context, &made, &entries->a, SPRY_CSR, a.index_type, err));
        SPRYI_TRY(spryi_merge(A->context, &made, SPRY_F64, SPRYI_SUM_ALL, NULL, err));
        a = spryi_compressed_view(&made);
    }
    if (how->tolerance > 0) {
        SPRYI_TRY(SPRYI_NEW(A->context, &c.scales, a.rows, "scales of rows", err));
        spryi_loop(A->context, threads, a.rows, 0, find_scales, &c);
    }
    spryi_loop(A->context, threads, a.rows, 1024, compare_rows, &c);
    if (c.first < INT64_MAX) row_differs(&c, c.first, found);
done:
    spryi_release(A->context, c.scales);
    spryi_compressed_clear(A->context, &made);
    spryi_matrix_release(entries);
    return status;
}

spry_status spryi_find_false_claim(spryi_unequal *found, const spry_matrix *A, spry_error *err)
{
    const bool skew = A->a.symmetry == SPRY_SKEW_SYMMETRIC;
    *found = (spryi_unequal){.row = -1, .column = -1};
    if (A->symmetry_holds || A->a.symmetry == SPRY_GENERAL) return SPRY_OK;
    if (A->a.triangle != SPRY_ALL_ENTRIES && !skew) return SPRY_OK; /* one triangle defines the other */
    return spryi_find_unequal(found, A, &(spryi_symmetry_test){.skew = skew, .positions = true}, err);
}

spry_status spryi_check_symmetry(const spry_matrix *A, spry_error *err)
{
    spryi_unequal found;
    SPRYI_OK_OR_RETURN(spryi_find_false_claim(&found, A, err));
    if (found.row < 0) return SPRY_OK;
    return spryi_fail(err, SPRY_INVALID_MATRIX, "symmetry", "the matrix was said to be %s, but its %s are not",
                      A->a.symmetry == SPRY_SKEW_SYMMETRIC ? "skew-symmetric" : "symmetric",
                      found.stored ? "values" : "positions");
}
