/*
 * Matrices whose arrays stand for others: the storage of a format in a container, and one triangle of a symmetric
 * matrix. What reads entries asks here for a matrix whose arrays are all of them.
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "core/kernel.h"
#include "matrix/assemble.h"
#include "matrix/matrix.h"
#include "spry/tools.h"

/* ---- storages of containers ------------------------------------------------------------------------ */

spry_status spryi_matrix_of_storage(spry_context *context, spry_matrix **A, const spryi_stored *stored,
                                    spry_symmetry symmetry, spryi_field field, spry_error *err)
{
    const spry_arrays *s = spryi_storage_arrays(stored->format, stored->storage);
    spry_arrays a = spryi_types_of(s->rows, s->cols, s->nnz, s->value_type, s->offset_type, s->index_type);
    spryi_stored *kept = NULL;
    spry_matrix *made = NULL;
    a.symmetry = symmetry;
    SPRYI_OK_OR_RETURN(spryi_matrix_adopt(context, &made, &a, field, err));
    spry_status status = SPRYI_NEW(context, &kept, 1, "storage of a container", err);
    if (status != SPRY_OK) {
        spryi_matrix_release(made);
        return status;
    }
    *kept = *stored;
    kept->csr = NULL;
    pthread_mutex_init(&kept->making, NULL); /* cannot fail with default attributes where we build for */
    made->stored = kept;
    *A = made;
    return SPRY_OK;
}

void spryi_stored_release(spry_context *context, spryi_stored *stored)
{
    if (!stored) return;
    spryi_matrix_release(stored->csr);
    pthread_mutex_destroy(&stored->making);
    spryi_release(context, stored->storage); /* its arrays are not its own */
    spryi_release(context, stored);
}

/* Of known order, which formats forget, or a file tells wrongly. */
static spry_status make_csr(const spry_matrix *A, spry_matrix **csr, spry_error *err)
{
    spry_matrix *made = NULL;
    SPRYI_OK_OR_RETURN(A->stored->format->to_csr(A->context, &made, A->stored->storage, err));
    made->a.sorted = made->a.unique = SPRY_NOT_KNOWN;
    spry_status status = spry_matrix_check(made, NULL, err);
    if (status != SPRY_OK) {
        spryi_matrix_release(made);
        return status;
    }
    made->a.symmetry = A->a.symmetry;
    made->symmetry_holds = false; /* the file's claim, which the check above has not seen */
    made->index_base = A->index_base;
    made->field = A->field;
    *csr = made;
    return SPRY_OK;
}

static spry_status csr_of_storage(const spry_matrix *A, spry_matrix **entries, spry_error *err)
{
    spryi_stored *stored = A->stored;
    spry_status status = SPRY_OK;
    pthread_mutex_lock(&stored->making);
    if (!stored->csr) status = make_csr(A, &stored->csr, err);
    if (status == SPRY_OK) *entries = spryi_matrix_retain(stored->csr);
    pthread_mutex_unlock(&stored->making);
    return status;
}

/* ---- one triangle ---------------------------------------------------------------------------------- */

/* 1: an entry at major i, minor j lies below the diagonal in the sense of the arrays: minor index first. */
static int wants_minor_first(const spry_arrays *a)
{
    return (a->triangle == SPRY_LOWER_TRIANGLE) != (a->layout == SPRY_CSC);
}

/* The first entry of majors begin .. end - 1 (of COO: of entries begin .. end - 1) in the other triangle; -1: none. */
static int64_t first_outside(const spry_arrays *a, int64_t begin, int64_t end)
{
    const int minor_first = wants_minor_first(a);
    if (a->layout == SPRY_COO) {
        for (int64_t k = begin; k < end; k++) {
            const int64_t i = spryi_row_of(a, k), j = spryi_minor_of(a, k);
            if (minor_first ? j > i : j < i) return k;
        }
        return -1;
    }
    for (int64_t i = begin; i < end; i++) {
        const int64_t last = spryi_offset_of(a, i + 1);
        for (int64_t k = spryi_offset_of(a, i); k < last; k++) {
            const int64_t j = spryi_minor_of(a, k);
            if (minor_first ? j > i : j < i) return k;
        }
    }
    return -1;
}

typedef struct triangle_job {
    const spry_arrays *a;
    atomic_llong first; /* entry in the other triangle */
} triangle_job;

static void look_for_others(void *job, int64_t begin, int64_t end)
{
    triangle_job *j = job;
    const int64_t k = first_outside(j->a, begin, end);
    if (k >= 0) spryi_lower(&j->first, k);
}

spry_status spryi_check_triangle(const spry_context *context, const spry_arrays *a, int base, spry_error *err)
{
    const int64_t count = a->layout == SPRY_COO ? a->nnz : a->rows;
    triangle_job j = {.a = a, .first = INT64_MAX};
    spryi_loop(context, spryi_threads(context, a->rows + a->nnz), count, 4096, look_for_others, &j);
    const int64_t first = j.first;
    if (first == INT64_MAX) return SPRY_OK;
    const int64_t major = a->layout == SPRY_COO ? spryi_row_of(a, first) : spryi_major_of(a, first);
    const int64_t minor = spryi_minor_of(a, first);
    const int64_t row = a->layout == SPRY_CSC ? minor : major, column = a->layout == SPRY_CSC ? major : minor;
    const int lower = a->triangle == SPRY_LOWER_TRIANGLE;
    return spryi_fail_value(err, SPRY_INVALID_MATRIX, "triangle", column, row,
                            "entry %lld, in row %lld and column %lld, is %s the diagonal, but the %s triangle alone "
                            "was said to be stored (counted from %d)",
                            (long long)(first + base), (long long)(row + base), (long long)(column + base),
                            lower ? "above" : "below", lower ? "lower" : "upper", base);
}

/* CSR of both triangles. Offsets are as wide as the triangle's, or of 64 bits where they have to be. */
static spry_status expand(const spry_matrix *A, spry_matrix **whole, spry_error *err)
{
    const spry_arrays *a = &A->a;
    spry_status status = SPRY_OK;
    spryi_compressed both = {0};
    spry_index_type offset_type = a->layout == SPRY_COO ? SPRY_INDEX_DEFAULT : a->offset_type;
    spry_index_type index_type = a->index_type;
    SPRYI_TRY(spryi_check_triangle(A->context, a, A->index_base, err));
    SPRYI_TRY(spryi_compress(A->context, &both, a, SPRY_CSR, index_type, err));
    if (offset_type == SPRY_I32 && both.nnz > INT32_MAX) offset_type = SPRY_I64;
    SPRYI_TRY(spryi_pick_index_types(&offset_type, &index_type, a->rows, a->cols, both.nnz, err));
    SPRYI_TRY(spryi_compressed_finish(A->context, whole, &both, SPRY_CSR, offset_type, a->unique, a->symmetry, A->field,
                                      err));
    (*whole)->index_base = A->index_base;
    (*whole)->symmetry_holds = a->symmetry == SPRY_SYMMETRIC; /* a skew diagonal is as it was stored */
done:
    spryi_compressed_clear(A->context, &both);
    return status;
}

spry_status spryi_matrix_entries(const spry_matrix *A, spry_matrix **entries, spry_error *err)
{
    if (A->stored) return csr_of_storage(A, entries, err);
    if (A->a.triangle != SPRY_ALL_ENTRIES) return expand(A, entries, err);
    *entries = spryi_matrix_retain(A);
    return SPRY_OK;
}

/* ---- values, to be written, and the diagonal ----------------------------------------------------------- */

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
