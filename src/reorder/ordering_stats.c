/* spry_ordering_get_stats: bandwidth, profile and sectors of a matrix before and after an ordering. */
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "matrix/assemble.h"
#include "reorder/order.h"
#include "spry/matrix.h"

#include <string.h>

/* Allocates and computes (*inverse)[old] = new. */
static spry_status invert(spry_context *context, int64_t **inverse, const int64_t *perm, int64_t n, spry_error *err)
{
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, inverse, n, "inverse permutation", err));
    for (int64_t i = 0; i < n; i++) (*inverse)[perm[i]] = i;
    return SPRY_OK;
}

/* Sets *rows to A's own arrays if A is CSR, or to a CSR copy in *copy. */
static spry_status rows_of(spry_context *context, spry_arrays *rows, spryi_compressed *copy, const spry_arrays *a,
                           spry_error *err)
{
    spry_status status = SPRY_OK;
    *rows = *a;
    if (a->layout != SPRY_CSR) {
        status = spryi_compress(context, copy, a, SPRY_CSR, a->index_type, err);
        *rows = spryi_compressed_view(copy);
    }
    return status;
}

typedef struct figure_job {
    const spry_arrays *a;
    const int64_t *row_inverse, *col_inverse, *perm;
    atomic_llong bandwidth, profile, sectors_met;
    int64_t *met, sectors, groups, parts; /* used by measure_sectors; met: for each part, one element per sector */
} figure_job;

static void measure_rows(void *job, int64_t begin, int64_t end)
{
    figure_job *f = job;
    const spry_arrays *a = f->a;
    const int64_t *col_inverse = f->col_inverse;
    int64_t bandwidth = 0, profile = 0;
    for (int64_t old = begin; old < end; old++) {
        const int64_t i = f->row_inverse ? f->row_inverse[old] : old, last = spryi_offset_of(a, old + 1);
        int64_t leftmost = i;
        for (int64_t k = spryi_offset_of(a, old); k < last; k++) {
            int64_t j = spryi_minor_of(a, k);
            if (col_inverse) j = col_inverse[j];
            const int64_t distance = j > i ? j - i : i - j;
            if (distance > bandwidth) bandwidth = distance;
            if (j < leftmost) leftmost = j;
        }
        profile += i - leftmost;
    }
    spryi_raise(&f->bandwidth, bandwidth);
    atomic_fetch_add(&f->profile, profile);
}

/*
 * Computes bandwidth and profile as matrix/matrix_stats.c does. row_inverse or col_inverse NULL: rows or columns keep
 * their indices.
 */
static void measure(const spry_context *context, const spry_arrays *a, const int64_t *row_inverse,
                    const int64_t *col_inverse, int threads, int64_t *widest, int64_t *area)
{
    figure_job f = {.a = a, .row_inverse = row_inverse, .col_inverse = col_inverse};
    spryi_loop(context, threads, a->rows, 1024, measure_rows, &f);
    *widest = f.bandwidth;
    *area = f.profile;
}

enum { SECTOR = 4 /* elements of x */, TOGETHER = 32 /* rows of a group */ };

/* Returns the number of sectors of x that rows first .. end - 1 read. met[n]: last group of rows that read sector n. */
static int64_t new_sectors(const spry_arrays *a, const int64_t *perm, const int64_t *col_inverse, int64_t first,
                           int64_t end, int64_t group, int64_t *met)
{
    int64_t count = 0;
    for (int64_t i = first; i < end; i++) {
        const int64_t old = perm ? perm[i] : i, last = spryi_offset_of(a, old + 1);
        for (int64_t k = spryi_offset_of(a, old); k < last; k++) {
            int64_t j = spryi_minor_of(a, k);
            if (col_inverse) j = col_inverse[j];
            count += met[j / SECTOR] != group;
            met[j / SECTOR] = group;
        }
    }
    return count;
}

static void count_sectors(void *job, int64_t begin, int64_t end)
{
    figure_job *f = job;
    for (int64_t t = begin; t < end; t++) {
        int64_t *own = f->met + t * f->sectors, sum = 0;
        memset(own, 0xff, (size_t)f->sectors * sizeof *own);
        for (int64_t g = f->groups * t / f->parts; g < f->groups * (t + 1) / f->parts; g++) {
            const int64_t first = g * TOGETHER, last = first + TOGETHER < f->a->rows ? first + TOGETHER : f->a->rows;
            sum += new_sectors(f->a, f->perm, f->col_inverse, first, last, g, own);
        }
        atomic_fetch_add(&f->sectors_met, sum);
    }
}

/*
 * Computes the number of sectors of x per entry (spry_ordering_stats). perm: order of the rows; NULL: the matrix's own
 * order.
 */
static spry_status measure_sectors(spry_context *context, const spry_arrays *a, const int64_t *perm,
                                   const int64_t *col_inverse, int threads, double *an_entry, spry_error *err)
{
    const int64_t groups = (a->rows + TOGETHER - 1) / TOGETHER, sectors = (a->columns + SECTOR - 1) / SECTOR;
    /* most threads: with more threads, clearing `met` takes longer than counting */
    const int64_t most = 1 + 4 * (a->nnz + a->rows) / (sectors + 1);
    figure_job f = {.a = a, .perm = perm, .col_inverse = col_inverse, .sectors = sectors, .groups = groups};
    f.parts = threads < most ? threads : most;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &f.met, f.parts * sectors, "sectors met", err));
    spryi_loop(context, (int)f.parts, f.parts, 1, count_sectors, &f);
    spryi_release(context, f.met);
    *an_entry = a->nnz > 0 ? (double)f.sectors_met / (double)a->nnz : 0;
    return SPRY_OK;
}

spry_status spry_ordering_get_stats(const spry_ordering *ordering, spry_ordering_stats *figures, const spry_matrix *A,
                                    spry_error *err)
{
    const char *missing = !ordering ? "ordering" : !figures ? "figures" : !A ? "A" : NULL;
    if (missing) return spryi_fail_missing(err, missing);
    spry_status status = SPRY_OK;
    spry_context *context = ordering->context;
    spry_arrays rows, pattern;
    spry_matrix *entries = NULL;
    spryi_compressed copy = {0};
    int64_t *inverse = NULL;
    const int threads = spryi_threads(context, A->a.rows + A->a.nnz);
    spry_ordering_stats f = SPRY_INIT(spry_ordering_stats);
    SPRYI_TRY(SPRYI_CHECK_OUTPUT(figures, err));
    if (A->a.device != 0)
        return spryi_fail(err, SPRY_UNSUPPORTED, "A", "figures: the matrix is in device memory, not host memory");
    if (A->a.rows != ordering->rows || A->a.columns != ordering->cols)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "A", A->a.rows, ordering->rows,
                                "figures: A is %lld x %lld, and the ordering is of a matrix of %lld x %lld",
                                (long long)A->a.rows, (long long)A->a.columns, (long long)ordering->rows,
                                (long long)ordering->cols);
    SPRYI_TRY(spryi_matrix_entries(A, &entries, err));
    pattern = entries->a;
    pattern.value_type = SPRY_PATTERN;
    pattern.values = NULL;
    SPRYI_TRY(rows_of(context, &rows, &copy, &pattern, err));
    SPRYI_TRY(invert(context, &inverse, ordering->perm, ordering->rows, err));
    measure(context, &rows, NULL, NULL, threads, &f.bandwidth_before, &f.profile_before);
    const int64_t *col_inverse = rows.rows == rows.columns ? inverse : NULL;
    measure(context, &rows, inverse, col_inverse, threads, &f.bandwidth_after, &f.profile_after);
    SPRYI_TRY(measure_sectors(context, &rows, NULL, NULL, threads, &f.sectors_before, err));
    SPRYI_TRY(measure_sectors(context, &rows, ordering->perm, col_inverse, threads, &f.sectors_after, err));
    SPRYI_GIVE(figures, &f);
done:
    spryi_matrix_release(entries);
    spryi_release(context, inverse);
    spryi_compressed_clear(context, &copy);
    return status;
}
