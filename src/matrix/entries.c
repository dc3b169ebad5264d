/* Builds arrays with all entries of a matrix that stores a format from a container, only one triangle, or blocks. */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "core/device.h"
#include "core/kernel.h"
#include "matrix/assemble.h"
#include "matrix/matrix.h"
#include "spry/matrix.h"

/* ---- storages of containers ------------------------------------------------------------------------ */

spry_status spryi_matrix_of_storage(spry_context *context, spry_matrix **A, const spryi_stored *stored,
                                    spry_symmetry symmetry, spryi_field field, spry_error *err)
{
    const spry_arrays *s = spryi_storage_arrays(stored->storage);
    spry_arrays a = spryi_types_of(s->rows, s->columns, s->nnz, s->value_type, s->offset_type, s->index_type);
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
    pthread_mutex_init(&kept->making, NULL); /* cannot fail with default attributes on the supported systems */
    made->stored = kept;
    *A = made;
    return SPRY_OK;
}

/* Replaces *A by a matrix with values of a wider type. Releases *A in any case. */
static spry_status widen(spry_matrix **A, spry_type type, spry_error *err)
{
    spry_matrix *wide = NULL;
    spry_matrix_options o = SPRY_INIT(spry_matrix_options);
    o.value_type = type;
    o.keep_duplicates = true;
    const spry_status status = spry_matrix_convert((*A)->context, &wide, NULL, *A, &o, err);
    spryi_matrix_release(*A);
    *A = wide;
    return status;
}

/*
 * Converts a container's storage to CSR. Checks that columns are in order: formats do not record the order, and a file
 * may state it wrongly.
 */
static spry_status build_csr(const spry_matrix *A, spry_matrix **csr, spry_error *err)
{
    spry_matrix *made = NULL;
    SPRYI_OK_OR_RETURN(A->stored->format->to_csr(A->context, &made, A->stored->storage, err));
    if (spryi_is_narrower(made->a.value_type, A->a.value_type)) SPRYI_OK_OR_RETURN(widen(&made, A->a.value_type, err));
    made->a.sorted = made->a.unique = SPRY_NOT_KNOWN;
    spry_status status = spry_matrix_check(made, NULL, SPRY_CHECK_ALL, err);
    if (status != SPRY_OK) {
        spryi_matrix_release(made);
        return status;
    }
    made->a.symmetry = A->a.symmetry;
    made->symmetry_holds = false; /* the file states the symmetry; the check above has not verified it */
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
    if (!stored->csr) status = build_csr(A, &stored->csr, err);
    if (status == SPRY_OK) *entries = spryi_matrix_retain(stored->csr);
    pthread_mutex_unlock(&stored->making);
    return status;
}

/* ---- one triangle ---------------------------------------------------------------------------------- */

/*
 * Returns the first entry that is not in the stored triangle, or -1. Inspects majors begin .. end - 1 (COO: entries
 * begin .. end - 1).
 */
static int64_t first_outside(const spry_arrays *a, int64_t begin, int64_t end)
{
    const bool minor_first = (a->triangle == SPRY_LOWER_TRIANGLE) != (a->layout == SPRY_CSC);
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
    atomic_llong first; /* first entry that is not in the stored triangle */
} triangle_job;

static void find_others(void *job, int64_t begin, int64_t end)
{
    triangle_job *j = job;
    const int64_t k = first_outside(j->a, begin, end);
    if (k >= 0) spryi_lower(&j->first, k);
}

spry_status spryi_check_triangle(const spry_context *context, const spry_arrays *a, int base, spry_error *err)
{
    const int64_t count = a->layout == SPRY_COO ? a->nnz : a->rows;
    triangle_job j = {.a = a, .first = INT64_MAX};
    spryi_loop(context, spryi_threads(context, a->rows + a->nnz), count, 4096, find_others, &j);
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

/* Builds CSR of both triangles. The offsets have the type of A's offsets, or 64 bits if that type is too small. */
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
    SPRYI_TRY(spryi_pick_index_types(&offset_type, &index_type, a->rows, a->columns, both.nnz, err));
    SPRYI_TRY(spryi_compressed_finish(A->context, whole, &both, SPRY_CSR, offset_type, a->unique, a->symmetry, A->field,
                                      err));
    (*whole)->index_base = A->index_base;
    (*whole)->symmetry_holds = a->symmetry == SPRY_SYMMETRIC; /* the diagonal of a skew-symmetric matrix is unchecked */
done:
    spryi_compressed_clear(A->context, &both);
    return status;
}

/* ---- blocks ------------------------------------------------------------------------------------------ */

spry_arrays spryi_block_pattern(const spry_arrays *bsr)
{
    spry_arrays blocks = *bsr;
    blocks.layout = SPRY_CSR;
    blocks.rows /= bsr->block_size;
    blocks.columns /= bsr->block_size;
    blocks.nnz = spryi_index_count(bsr);
    blocks.value_type = SPRY_PATTERN;
    blocks.values = NULL;
    blocks.block_size = 0;
    return blocks;
}

typedef struct block_job {
    const spry_arrays *bsr;
    const spryi_compressed *to;
} block_job;

/* Writes the rows of block rows begin .. end - 1. */
static void write_block_rows(void *job, int64_t begin, int64_t end)
{
    /* local copies, so that writes to arrays force no reload */
    const spry_arrays a = *((const block_job *)job)->bsr;
    const spryi_compressed to = *((const block_job *)job)->to;
    const int64_t b = a.block_size;
    for (int64_t I = begin; I < end; I++) {
        const int64_t first = spryi_offset_of(&a, I), last = spryi_offset_of(&a, I + 1);
        for (int64_t r = 0; r < b; r++) {
            int64_t at = first * b * b + r * (last - first) * b;
            to.offsets[I * b + r + 1] = at + (last - first) * b;
            for (int64_t k = first; k < last; k++)
                for (int64_t c = 0; c < b; c++, at++) {
                    spryi_set_index(to.indices, to.index_type, at, spryi_minor_of(&a, k) * b + c);
                    spryi_move_value(to.values, at, a.values, (k * b + c) * b + r, to.value_type);
                }
        }
    }
}

/*
 * Builds sorted CSR of the blocks' elements. The offsets have the type of A's offsets, or 64 bits if that type is too
 * small.
 */
static spry_status expand_blocks(const spry_matrix *A, spry_matrix **entries, spry_error *err)
{
    const spry_arrays *a = &A->a;
    spry_status status = SPRY_OK;
    spry_index_type offset_type = a->offset_type, index_type = a->index_type;
    spryi_compressed c = {.majors = a->rows,
                          .minors = a->columns,
                          .nnz = a->nnz,
                          .index_type = index_type,
                          .value_type = a->value_type};
    if (offset_type == SPRY_I32 && a->nnz > INT32_MAX) offset_type = SPRY_I64;
    SPRYI_TRY(spryi_compressed_allocate(A->context, &c, err));
    c.offsets[0] = 0;
    spryi_loop(A->context, spryi_threads(A->context, a->nnz), a->rows / a->block_size, 256, write_block_rows,
               &(block_job){a, &c});
    SPRYI_TRY(spryi_sort(A->context, &c, err));
    SPRYI_TRY(
        spryi_compressed_finish(A->context, entries, &c, SPRY_CSR, offset_type, a->unique, a->symmetry, A->field, err));
    (*entries)->index_base = A->index_base;
    (*entries)->symmetry_holds = A->symmetry_holds;
done:
    spryi_compressed_clear(A->context, &c);
    return status;
}

spry_status spryi_matrix_host_entries(const spry_matrix *A, spry_matrix **entries, spry_error *err)
{
    spry_matrix *host;
    if (A->a.device == 0 || A->stored) return spryi_matrix_entries(A, entries, err);
    SPRYI_OK_OR_RETURN(spryi_matrix_fetch(A->context->device_at(A->context, A->a.device), &host, A, err));
    const spry_status status = spryi_matrix_entries(host, entries, err);
    spryi_matrix_release(host);
    return status;
}

/* Expands blocks in device memory: copies them to the host, expands them, and copies the result to the device. */
static spry_status expand_device_blocks(const spry_matrix *A, spry_matrix **entries, spry_error *err)
{
    spry_matrix *host;
    SPRYI_OK_OR_RETURN(spryi_matrix_host_entries(A, &host, err));
    const spry_status status = spryi_copy_to_device(A->context->device_at(A->context, A->a.device), entries, host, err);
    spryi_matrix_release(host);
    return status;
}

spry_status spryi_matrix_entries(const spry_matrix *A, spry_matrix **entries, spry_error *err)
{
    if (A->stored && A->stored->from_arrays) return spryi_matrix_entries(A->structure_of, entries, err);
    if (A->stored) return csr_of_storage(A, entries, err);
    if (A->a.layout == SPRY_BSR && A->a.device > 0) return expand_device_blocks(A, entries, err);
    if (A->a.layout == SPRY_BSR) return expand_blocks(A, entries, err);
    if (A->a.triangle != SPRY_ALL_ENTRIES) return expand(A, entries, err);
    *entries = spryi_matrix_retain(A);
    return SPRY_OK;
}
