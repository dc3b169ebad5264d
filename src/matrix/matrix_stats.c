#include "base/error.h"
#include "base/float_env.h"
#include "base/memory.h"
#include "base/pool.h"
#include "matrix/assemble.h"
#include "spry/matrix.h"

#include <string.h>

/* 0; 1; 2..3; 4..7; ... */
static int bin_of(int64_t length)
{
    int bin = length == 0 ? 0 : 64 - __builtin_clzll((unsigned long long)length);
    return bin < SPRY_HISTOGRAM_BINS ? bin : SPRY_HISTOGRAM_BINS - 1;
}

/* One thread: sums of squares come out the same whatever the number of threads. */
static void row_lengths(spry_matrix_stats *s, const spry_arrays *a)
{
    s->mean_row = a->rows > 0 ? (double)a->nnz / (double)a->rows : 0;
    s->min_row = a->rows > 0 ? a->nnz : 0;
    s->longest_row = a->rows > 0 ? 0 : -1;
    double squares = 0;
    for (int64_t i = 0; i < a->rows; i++) {
        int64_t length = spryi_offset_of(a, i + 1) - spryi_offset_of(a, i);
        double away = (double)length - s->mean_row;
        squares += away * away;
        s->histogram[bin_of(length)]++;
        s->empty_rows += length == 0;
        if (length < s->min_row) s->min_row = length;
        if (length > s->max_row) {
            s->max_row = length;
            s->longest_row = i;
        }
    }
    if (a->rows > 0) s->variance_row = squares / (double)a->rows;
}

typedef struct column_job {
    const spry_arrays *a;
    atomic_llong bandwidth, profile, diagonal, disorder;
} column_job;

static void look_at_columns(void *job, int64_t begin, int64_t end)
{
    column_job *c = job;
    const spry_arrays *a = c->a;
    int64_t bandwidth = 0, profile = 0, diagonal = 0, disorder = 0;
    for (int64_t i = begin; i < end; i++) {
        int64_t leftmost = i, last = spryi_offset_of(a, i + 1), before = -1;
        int on_diagonal = 0;
        for (int64_t k = spryi_offset_of(a, i); k < last; k++) {
            int64_t j = spryi_minor_of(a, k), distance = j > i ? j - i : i - j;
            if (distance > bandwidth) bandwidth = distance;
            if (j < leftmost) leftmost = j;
            on_diagonal |= j == i;
            disorder += j <= before;
            before = j;
        }
        profile += i - leftmost;
        diagonal += on_diagonal;
    }
    spryi_raise(&c->bandwidth, bandwidth);
    atomic_fetch_add(&c->profile, profile);
    atomic_fetch_add(&c->diagonal, diagonal);
    atomic_fetch_add(&c->disorder, disorder);
}

/* Returns whether every row is sorted and has no column twice. */
static int columns(const spry_context *context, spry_matrix_stats *s, const spry_arrays *a)
{
    column_job c = {.a = a};
    spryi_loop(context, spryi_threads(context, a->rows + a->nnz), a->rows, 1024, look_at_columns, &c);
    s->bandwidth = c.bandwidth;
    s->profile = c.profile;
    s->diagonal_entries = c.diagonal;
    return c.disorder == 0;
}

/*
 * Rows in order meet the columns of each earlier row in order. One cursor for each row begins behind the diagonal and
 * is at the mirror image of the next entry. O(nnz); stops at the first fault.
 */
static void mirror(spry_matrix_stats *s, const spry_arrays *a, int64_t *cursor)
{
    s->pattern_symmetric = s->value_symmetric = SPRY_KNOWN_NO;
    int same_values = 1;
    for (int64_t i = 0; i < a->rows; i++) {
        int64_t k = spryi_offset_of(a, i), last = spryi_offset_of(a, i + 1);
        for (; k < last && spryi_minor_of(a, k) < i; k++) {
            int64_t j = spryi_minor_of(a, k), image = cursor[j]++;
            if (image >= spryi_offset_of(a, j + 1) || spryi_minor_of(a, image) != i) return;
            same_values &= spryi_value_of(a, k) == spryi_value_of(a, image);
        }
        if (k < last && spryi_minor_of(a, k) == i) k++; /* an entry of the diagonal is its own image, NaN as well */
        cursor[i] = k;
    }
    for (int64_t i = 0; i < a->rows; i++)
        if (cursor[i] != spryi_offset_of(a, i + 1)) return;
    s->pattern_symmetric = SPRY_KNOWN_YES;
    if (same_values) s->value_symmetric = SPRY_KNOWN_YES;
}

/*
 * Returns the share of entries off the diagonal whose mirror image is stored. A cursor passes over entries without an
 * image.
 */
static double mirrored_share(const spry_arrays *a, int64_t *cursor)
{
    int64_t pairs = 0, off_diagonal = 0;
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t last = spryi_offset_of(a, i + 1);
        int64_t k = spryi_offset_of(a, i);
        off_diagonal += last - k;
        for (; k < last && spryi_minor_of(a, k) < i; k++) {
            const int64_t j = spryi_minor_of(a, k), end = spryi_offset_of(a, j + 1);
            while (cursor[j] < end && spryi_minor_of(a, cursor[j]) < i) cursor[j]++;
            pairs += cursor[j] < end && spryi_minor_of(a, cursor[j]) == i;
        }
        if (k < last && spryi_minor_of(a, k) == i) {
            off_diagonal--;
            k++;
        }
        cursor[i] = k;
    }
    return off_diagonal > 0 ? 2.0 * (double)pairs / (double)off_diagonal : 1;
}

static spry_status collect(const spry_matrix *A, spry_matrix_stats *stats, spry_error *err)
{
    SPRYI_DEFAULT_FLOATS;
    spry_status status = SPRY_OK;
    spryi_compressed made = {0};
    int64_t *cursor = NULL;
    spry_arrays a = A->a;
    spry_matrix_stats s = SPRY_INIT(spry_matrix_stats);
    s.rows = a.rows;
    s.columns = a.columns;
    s.nnz = a.nnz;
    s.pattern_symmetric = s.value_symmetric = SPRY_KNOWN_NO;
    if (a.layout != SPRY_CSR) {
        SPRYI_TRY(spryi_compress(A->context, &made, &A->a, SPRY_CSR, a.index_type, err));
        a = spryi_compressed_view(&made);
    }
    row_lengths(&s, &a);
    int in_order = columns(A->context, &s, &a);
    if (a.rows == a.columns) {
        if (!in_order) {
            if (!made.offsets) SPRYI_TRY(spryi_compress(A->context, &made, &A->a, SPRY_CSR, a.index_type, err));
            SPRYI_TRY(spryi_merge(A->context, &made, SPRY_F64, SPRYI_SUM_ALL, NULL, err));
            a = spryi_compressed_view(&made);
        }
        SPRYI_TRY(SPRYI_NEW(A->context, &cursor, a.rows, "row cursors", err));
        mirror(&s, &a, cursor);
        if (s.pattern_symmetric == SPRY_KNOWN_YES)
            s.pattern_symmetry = 1;
        else
            s.pattern_symmetry = mirrored_share(&a, cursor);
    }
    *stats = s;
done:
    spryi_release(A->context, cursor);
    spryi_compressed_clear(A->context, &made);
    return status;
}

spry_status spry_matrix_get_stats(const spry_matrix *A, spry_matrix_stats *stats, spry_error *err)
{
    if (!A || !stats) return spryi_fail_missing(err, !A ? "A" : "stats");
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(stats, err));
    if (A->a.device != 0)
        return spryi_fail(err, SPRY_UNSUPPORTED, "A", "stats: the matrix is in device memory, not host memory");
    spry_matrix_stats found = SPRY_INIT(spry_matrix_stats);
    spry_matrix *entries;
    SPRYI_OK_OR_RETURN(spryi_matrix_entries(A, &entries, err));
    spry_status status = collect(entries, &found, err);
    spryi_matrix_release(entries);
    if (status == SPRY_OK) SPRYI_GIVE(stats, &found);
    return status;
}

/* ---- the picture of a pattern -------------------------------------------------------------------------- */

/* A band of 0 .. parts - 1 for each index below count. */
static int64_t band_of(int64_t index, int64_t count, int parts)
{
    if (count <= INT32_MAX) return (int64_t)((uint64_t)index * (uint64_t)parts / (uint64_t)count);
    __extension__ typedef unsigned __int128 wide;
    return (int64_t)((wide)index * (wide)parts / (wide)count);
}

static void draw_compressed(const spry_arrays *a, int64_t *counts, int64_t begin, int64_t end, int height, int width)
{
    int csc = a->layout == SPRY_CSC;
    int64_t majors = csc ? a->columns : a->rows, minors = csc ? a->rows : a->columns;
    for (int64_t i = begin; i < end; i++) {
        int64_t major_band = band_of(i, majors, csc ? width : height);
        int64_t last = spryi_offset_of(a, i + 1);
        for (int64_t k = spryi_offset_of(a, i); k < last; k++) {
            int64_t minor = spryi_minor_of(a, k);
            int64_t minor_band = band_of(minor, minors, csc ? height : width);
            counts[csc ? minor_band * width + major_band : major_band * width + minor_band]++;
        }
    }
}

static void draw_coo(const spry_arrays *a, int64_t *counts, int64_t begin, int64_t end, int height, int width)
{
    for (int64_t k = begin; k < end; k++) {
        int64_t i = spryi_row_of(a, k);
        int64_t j = spryi_minor_of(a, k);
        counts[band_of(i, a->rows, height) * width + band_of(j, a->columns, width)]++;
    }
}

typedef struct drawing {
    const spry_arrays *a;
    int64_t *pictures; /* one for each part, which are added up */
    int height, width;
} drawing;

static void draw(void *job, int64_t begin, int64_t end, int part)
{
    const drawing *d = job;
    int64_t *mine = d->pictures + (int64_t)part * d->height * d->width;
    if (d->a->layout == SPRY_COO)
        draw_coo(d->a, mine, begin, end, d->height, d->width);
    else
        draw_compressed(d->a, mine, begin, end, d->height, d->width);
}

enum { CELLS_TO_SHARE = 1 << 20 }; /* a larger picture is drawn by one thread */

spry_status spry_matrix_spy(const spry_matrix *A, int64_t *counts, int height, int width, spry_error *err)
{
    if (!A || !counts) return spryi_fail_missing(err, !A ? "A" : "counts");
    SPRYI_OK_OR_RETURN(spryi_check_range("spy", "height", height, 1, INT64_MAX, "1 or more", err));
    SPRYI_OK_OR_RETURN(spryi_check_range("spy", "width", width, 1, INT64_MAX, "1 or more", err));
    if (A->a.device != 0)
        return spryi_fail(err, SPRY_UNSUPPORTED, "A", "spy: the matrix is in device memory, not host memory");

    int64_t cells = (int64_t)height * width, *pictures = NULL;
    int threads = cells > CELLS_TO_SHARE ? 1 : spryi_threads(A->context, A->a.nnz);
    spry_matrix *entries = NULL;
    spry_status status = SPRY_OK;
    SPRYI_TRY(spryi_matrix_entries(A, &entries, err));
    if (threads > 1) {
        SPRYI_TRY(SPRYI_NEW(A->context, &pictures, threads * cells, "pictures", err));
        memset(pictures, 0, (size_t)threads * (size_t)cells * sizeof *pictures);
    }
    memset(counts, 0, (size_t)cells * sizeof *counts);
    const spry_arrays *a = &entries->a;
    spryi_loop_in_parts(A->context, threads,
                        a->layout == SPRY_COO   ? a->nnz
                        : a->layout == SPRY_CSC ? a->columns
                                                : a->rows,
                        1024, draw, &(drawing){a, pictures ? pictures : counts, height, width});
    for (int t = 0; t < threads && pictures; t++)
        for (int64_t c = 0; c < cells; c++) counts[c] += pictures[t * cells + c];
done:
    spryi_release(A->context, pictures);
    spryi_matrix_release(entries);
    return status;
}
