#include "base/error.h"
#include "base/float_env.h"
#include "base/memory.h"
#include "base/pool.h"
#include "matrix/assemble.h"
#include "spry/matrix.h"

#include <string.h>

/* Returns the histogram bin of a row length. The bins are 0, 1, 2..3, 4..7, and so on. */
static int bin_of(int64_t length)
{
    int bin = length == 0 ? 0 : 64 - __builtin_clzll((unsigned long long)length);
    return bin < SPRY_HISTOGRAM_BINS ? bin : SPRY_HISTOGRAM_BINS - 1;
}

/* Uses one thread, so that sums of squares do not depend on the number of threads. */
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

static void inspect_columns(void *job, int64_t begin, int64_t end)
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
    spryi_loop(context, spryi_threads(context, a->rows + a->nnz), a->rows, 1024, inspect_columns, &c);
    s->bandwidth = c.bandwidth;
    s->profile = c.profile;
    s->diagonal_entries = c.diagonal;
    return c.disorder == 0;
}

/*
 * Checks symmetry. Rows are visited in order, so the mirror images (j, i) of the entries (i, j) with j < i follow each
 * other in row j from left to right. Each row has a cursor, which starts after the diagonal and points to the next
 * image. O(nnz); stops at the first entry without an image.
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
        if (k < last && spryi_minor_of(a, k) == i) k++; /* an entry of the diagonal is its own image, also NaN */
        cursor[i] = k;
    }
    for (int64_t i = 0; i < a->rows; i++)
        if (cursor[i] != spryi_offset_of(a, i + 1)) return;
    s->pattern_symmetric = SPRY_KNOWN_YES;
    if (same_values) s->value_symmetric = SPRY_KNOWN_YES;
}

/* Returns the share of off-diagonal entries whose mirror image is stored. A cursor skips entries without an image. */
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
