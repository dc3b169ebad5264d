/* Checks a matrix: its stated symmetry, and its arrays in host memory or on a device. */
#include "base/bisect.h"
#include "base/context.h"
#include "base/error.h"
#include "base/float_env.h"
#include "base/memory.h"
#include "base/pool.h"
#include "core/device.h"
#include "matrix/assemble.h"
#include "matrix/row_lengths.h"
#include "spry/matrix.h"

#include <math.h>
#include <stdio.h>

/* ---- symmetry ------------------------------------------------------------------------------------ */

/*
 * Rows are sorted, so the image (j, i) of an entry (i, j) is found by bisection in row j. Threads compare rows.
 * Any number of threads reports the same difference, the first by rows. Cost: one search for each entry. Memory:
 * 8 bytes for each row if a tolerance is given, and a sorted copy if the arrays are not sorted.
 */
typedef struct comparison {
    const spry_arrays *a; /* sorted CSR without duplicates */
    const spryi_symmetry_test *how;
    double *scales;     /* sqrt(|a_ii|); NULL: the comparison is exact */
    atomic_llong first; /* first row that differs; INT64_MAX: none */
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
    if (c->how->skew && i == j) return false; /* the diagonal must be zero; NaN is no exception */
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

/* ---- arrays -------------------------------------------------------------------------------------- */

/*
 * Checks the offsets first. Reads only entries between valid offsets, which rise from 0 to nnz, so that no access is
 * outside the arrays. Each thread counts its findings; the counts are then added. The first finding of a kind is the
 * finding with the lowest entry number.
 */

static pthread_mutex_t joining = PTHREAD_MUTEX_INITIALIZER;

typedef struct finding {
    int64_t count, first, major, value;
} finding;

typedef struct tally {
    finding out_of_range, unsorted, duplicate, not_finite;
    int first_is_row; /* COO: the first index out of range is a row */
} tally;

static void note(finding *f, int64_t k, int64_t major, int64_t value)
{
    if (f->count++ == 0 || k < f->first) {
        f->first = k;
        f->major = major;
        f->value = value;
    }
}

static void join(finding *to, const finding *from)
{
    const int64_t count = to->count + from->count;
    if (to->count == 0 || (from->count > 0 && from->first < to->first)) *to = *from;
    to->count = count;
}

static void join_tally(tally *to, const tally *from)
{
    pthread_mutex_lock(&joining);
    if (from->out_of_range.count > 0 &&
        (to->out_of_range.count == 0 || from->out_of_range.first < to->out_of_range.first))
        to->first_is_row = from->first_is_row;
    join(&to->out_of_range, &from->out_of_range);
    join(&to->unsorted, &from->unsorted);
    join(&to->duplicate, &from->duplicate);
    join(&to->not_finite, &from->not_finite);
    pthread_mutex_unlock(&joining);
}

typedef struct check_job {
    const spry_arrays *a;
    finding *falling; /* offsets that are smaller than their predecessor or larger than nnz */
    tally *t;
} check_job;

static int64_t majors_of(const spry_arrays *a)
{
    return a->layout == SPRY_CSC ? a->columns : a->rows;
}
static int64_t minors_of(const spry_arrays *a)
{
    return a->layout == SPRY_CSC ? a->rows : a->columns;
}
/* ---- offsets --------------------------------------------------------------------------------- */

static void check_some_offsets(void *job, int64_t begin, int64_t end)
{
    const check_job *j = job;
    const spry_arrays a = *j->a; /* a local copy, here and below, so that writes to arrays force no reload */
    finding mine = {0};
    for (int64_t i = begin; i < end; i++) {
        int64_t next = spryi_offset_of(&a, i + 1);
        if (next < spryi_offset_of(&a, i) || next > a.nnz) note(&mine, i, i, next);
    }
    pthread_mutex_lock(&joining);
    join(j->falling, &mine);
    pthread_mutex_unlock(&joining);
}

static void check_offsets(const spry_context *context, const spry_arrays *a, finding *falling, int64_t *bad_ends,
                          int threads)
{
    int64_t majors = majors_of(a);
    *bad_ends = (spryi_offset_of(a, 0) != 0) + (spryi_offset_of(a, majors) != a->nnz);
    spryi_loop(context, threads, majors, 0, check_some_offsets, &(check_job){.a = a, .falling = falling});
}

/*
 * Returns the end of major i's entries, and their beginning in *first. Both are 0 if the offsets are not a valid range
 * of entries.
 */
static int64_t range_of(const spry_arrays *a, int64_t i, int64_t *first)
{
    int64_t begin = spryi_offset_of(a, i), end = spryi_offset_of(a, i + 1);
    int valid = begin >= 0 && begin <= end && end <= a->nnz;
    *first = valid ? begin : 0;
    return valid ? end : 0;
}

/* ---- entries --------------------------------------------------------------------------------- */

static void check_entries(const spry_arrays *a, int64_t major, int64_t first, int64_t last, tally *t)
{
    int64_t minors = minors_of(a);
    for (int64_t k = first; k < last; k++) {
        int64_t j = spryi_minor_of(a, k);
        if (j < 0 || j >= minors) note(&t->out_of_range, k, major, j);
        if (k > first && j < spryi_minor_of(a, k - 1)) note(&t->unsorted, k, major, j);
    }
}

static void check_majors(void *job, int64_t begin, int64_t end)
{
    const check_job *j = job;
    const spry_arrays a = *j->a;
    tally mine = {0};
    for (int64_t i = begin; i < end; i++)
        check_entries(&a, i, spryi_offset_of(&a, i), spryi_offset_of(&a, i + 1), &mine);
    join_tally(j->t, &mine);
}

static void check_compressed(const spry_context *context, const spry_arrays *a, int offsets_sound, tally *t,
                             int threads)
{
    int64_t majors = majors_of(a);
    if (!offsets_sound) {
        /*
         * The ranges of majors may overlap. Each entry is visited at most once, since visiting entries in all ranges
         * could take far longer.
         */
        int64_t reached = 0;
        for (int64_t i = 0; i < majors; i++) {
            int64_t first, last = range_of(a, i, &first);
            if (last > first && first >= reached) {
                check_entries(a, i, first, last, t);
                reached = last;
            }
        }
        return;
    }
    spryi_loop(context, threads, majors, 1024, check_majors, &(check_job){.a = a, .t = t});
}

static void check_triples(void *job, int64_t begin, int64_t end)
{
    const spry_arrays copy = *((const check_job *)job)->a, *a = &copy;
    tally mine = {0};
    for (int64_t k = begin; k < end; k++) { /* k must rise, since first_is_row is about the first entry */
        int64_t i = spryi_row_of(a, k), j = spryi_minor_of(a, k);
        if (i < 0 || i >= a->rows) {
            if (mine.out_of_range.count == 0) mine.first_is_row = 1;
            note(&mine.out_of_range, k, i, i);
        }
        if (j < 0 || j >= a->columns) note(&mine.out_of_range, k, i, j);
        if (k > 0 && (i < spryi_row_of(a, k - 1) || (i == spryi_row_of(a, k - 1) && j < spryi_minor_of(a, k - 1))))
            note(&mine.unsorted, k, i, j);
    }
    join_tally(((const check_job *)job)->t, &mine);
}

static void check_coo(const spry_context *context, const spry_arrays *a, tally *t, int threads)
{
    spryi_loop(context, threads, a->nnz, 0, check_triples, &(check_job){.a = a, .t = t});
}

/* Returns the major of entry k, or -1 if faulty offsets assign it to none. */
static int64_t major_of(const spry_arrays *a, int64_t k, int offsets_sound)
{
    if (a->layout == SPRY_COO) return spryi_row_of(a, k);
    if (offsets_sound) return spryi_major_of(a, k);
    for (int64_t i = 0; i < majors_of(a); i++) {
        int64_t first, last = range_of(a, i, &first);
        if (k >= first && k < last) return i;
    }
    return -1;
}

static void check_some_values(void *job, int64_t begin, int64_t end)
{
    const check_job *j = job;
    const spry_arrays a = *j->a;
    tally mine = {0};
    for (int64_t k = begin; k < end; k++)
        if (!isfinite(spryi_value_of(&a, k))) note(&mine.not_finite, k, -1, 0);
    join_tally(j->t, &mine);
}

static void check_values(const spry_context *context, const spry_arrays *a, int offsets_sound, tally *t, int threads)
{
    if (a->value_type == SPRY_PATTERN) return;
    spryi_loop(context, threads, a->nnz, 0, check_some_values, &(check_job){.a = a, .t = t});
    if (t->not_finite.count > 0) t->not_finite.major = major_of(a, t->not_finite.first, offsets_sound);
}

/* ---- duplicates ------------------------------------------------------------------------------ */

/* Copies of the entries whose indices are in range, and the entries' numbers, for sorting. */
typedef struct numbered {
    int64_t *major, *minor, count;
    double *number; /* exact up to 2^53, more entries than any memory holds */
} numbered;

static void number_entries(const spry_arrays *a, numbered *to, int64_t major, int64_t first, int64_t last)
{
    int64_t majors = majors_of(a), minors = minors_of(a);
    for (int64_t k = first; k < last; k++) {
        int64_t i = a->layout == SPRY_COO ? spryi_row_of(a, k) : major, j = spryi_minor_of(a, k);
        if (i < 0 || i >= majors || j < 0 || j >= minors) continue;
        to->major[to->count] = i;
        to->minor[to->count] = j;
        to->number[to->count++] = (double)k;
    }
}

/*
 * Counts duplicates of unsorted entries by grouping, which keeps the stored order of entries at one position. O(nnz +
 * majors) memory.
 */
static spry_status check_duplicates(spry_context *context, const spry_arrays *a, tally *t, spry_error *err)
{
    spry_status status = SPRY_OK;
    numbered list = {0};
    spryi_compressed grouped = {0};
    SPRYI_TRY(SPRYI_NEW(context, &list.major, a->nnz, "workspace of checking", err));
    SPRYI_TRY(SPRYI_NEW(context, &list.minor, a->nnz, "workspace of checking", err));
    SPRYI_TRY(SPRYI_NEW(context, &list.number, a->nnz, "workspace of checking", err));
    if (a->layout == SPRY_COO) number_entries(a, &list, 0, 0, a->nnz);
    int64_t reached = 0;
    for (int64_t i = 0; i < majors_of(a) && a->layout != SPRY_COO; i++) {
        int64_t first, last = range_of(a, i, &first);
        if (last <= first || first < reached) continue;
        number_entries(a, &list, i, first, last);
        reached = last;
    }
    spryi_entries entries = {.majors = majors_of(a),
                             .minors = minors_of(a),
                             .nnz = list.count,
                             .index_type = SPRY_I64,
                             .value_type = SPRY_F64,
                             .major = list.major,
                             .minor = list.minor,
                             .values = list.number};
    SPRYI_TRY(spryi_group(context, &grouped, &entries, a->index_type, err));
    for (int64_t i = 0; i < grouped.majors; i++)
        for (int64_t k = grouped.offsets[i] + 1; k < grouped.offsets[i + 1]; k++) {
            int64_t j = spryi_index_at(grouped.indices, grouped.index_type, k);
            if (j == spryi_index_at(grouped.indices, grouped.index_type, k - 1))
                note(&t->duplicate, (int64_t)((const double *)grouped.values)[k], i, j);
        }
done:
    spryi_release(context, list.major);
    spryi_release(context, list.minor);
    spryi_release(context, list.number);
    spryi_compressed_clear(context, &grouped);
    return status;
}

/* Counts duplicates of sorted entries, which are consecutive; needs no memory. */
static void count_neighbours(void *job, int64_t begin, int64_t end)
{
    const spry_arrays copy = *((const check_job *)job)->a, *a = &copy;
    const int coo = a->layout == SPRY_COO;
    tally mine = {0};
    for (int64_t i = begin; i < end; i++) {
        int64_t last = coo ? a->nnz : spryi_offset_of(a, i + 1);
        for (int64_t k = (coo ? 0 : spryi_offset_of(a, i)) + 1; k < last; k++)
            if (spryi_minor_of(a, k) == spryi_minor_of(a, k - 1) &&
                (!coo || spryi_row_of(a, k) == spryi_row_of(a, k - 1)))
                note(&mine.duplicate, k, coo ? spryi_row_of(a, k) : i, spryi_minor_of(a, k));
    }
    join_tally(((const check_job *)job)->t, &mine);
}

/* ---- the whole check ------------------------------------------------------------------------- */

/* Reports invalid offsets, with values as in the caller's array, which counts from `base`. */
static spry_status fail_offsets(const spry_arrays *a, const finding *falling, int base, spry_error *err)
{
    int64_t first = spryi_offset_of(a, 0), majors = majors_of(a), last = spryi_offset_of(a, majors);
    if (first != 0)
        return spryi_fail_value(err, SPRY_INVALID_MATRIX, "offsets", first, 0, "offsets[0] is %lld, expected %d",
                                (long long)(first + base), base);
    if (falling->count > 0) {
        int64_t i = falling->first, before = spryi_offset_of(a, i), after = spryi_offset_of(a, i + 1);
        if (after < before)
            return spryi_fail_value(err, SPRY_INVALID_MATRIX, "offsets", after, before,
                                    "offsets[%lld] = %lld is smaller than offsets[%lld] = %lld", (long long)(i + 1),
                                    (long long)(after + base), (long long)i, (long long)(before + base));
        return spryi_fail_value(err, SPRY_INVALID_MATRIX, "offsets", after, a->nnz,
                                "offsets[%lld] = %lld is past nnz%s = %lld", (long long)(i + 1),
                                (long long)(after + base), base ? " + 1" : "", (long long)(a->nnz + base));
    }
    return spryi_fail_value(err, SPRY_INVALID_MATRIX, "offsets", last, a->nnz,
                            "offsets[%lld] is %lld, expected nnz%s = %lld", (long long)majors, (long long)(last + base),
                            base ? " + 1" : "", (long long)(a->nnz + base));
}

static spry_status fail_range(const spry_arrays *a, const tally *t, int base, spry_error *err)
{
    const finding *f = &t->out_of_range;
    if (t->first_is_row)
        return spryi_fail_value(err, SPRY_INVALID_MATRIX, "row_indices", f->value, a->rows - 1,
                                "row %lld of entry %lld is outside %d..%lld (counted from %d)",
                                (long long)f->value + base, (long long)(f->first + base), base,
                                (long long)(a->rows - 1 + base), base);
    int csc = a->layout == SPRY_CSC;
    return spryi_fail_value(err, SPRY_INVALID_MATRIX, "indices", f->value, minors_of(a) - 1,
                            "%s %lld of entry %lld (%s %lld) is outside %d..%lld (counted from %d)",
                            csc ? "row" : "column", (long long)f->value + base, (long long)(f->first + base),
                            csc ? "column" : "row", (long long)(f->major + base), base,
                            (long long)(minors_of(a) - 1 + base), base);
}

static void fill_report(spry_matrix_report *report, const finding *falling, int64_t bad_ends, const tally *t)
{
    *report = SPRY_INIT(spry_matrix_report);
    report->bad_ends = bad_ends;
    report->decreasing_offsets = falling->count;
    report->first_decreasing = falling->count ? falling->first : -1;
    report->out_of_range = t->out_of_range.count;
    report->first_out_of_range = t->out_of_range.count ? t->out_of_range.first : -1;
    report->first_out_of_range_major = t->out_of_range.count ? t->out_of_range.major : -1;
    report->first_out_of_range_value = t->out_of_range.count ? t->out_of_range.value : -1;
    report->unsorted = t->unsorted.count;
    report->first_unsorted = t->unsorted.count ? t->unsorted.first : -1;
    report->first_unsorted_major = t->unsorted.count ? t->unsorted.major : -1;
    report->duplicates = t->duplicate.count;
    report->first_duplicate = t->duplicate.count ? t->duplicate.first : -1;
    report->first_duplicate_major = t->duplicate.count ? t->duplicate.major : -1;
    report->not_finite = t->not_finite.count;
    report->first_not_finite = t->not_finite.count ? t->not_finite.first : -1;
    report->first_not_finite_major = t->not_finite.count ? t->not_finite.major : -1;
}

/* Checks one triangle, and that the diagonal of a skew-symmetric matrix is zero. */
static spry_status check_one_triangle(const spry_matrix *A, spry_error *err)
{
    const spry_arrays *a = &A->a;
    SPRYI_OK_OR_RETURN(spryi_check_triangle(A->context, a, A->index_base, err));
    if (a->symmetry == SPRY_SYMMETRIC) return SPRY_OK;
    spry_matrix *both;
    SPRYI_OK_OR_RETURN(spryi_matrix_entries(A, &both, err));
    spry_status status = spryi_check_symmetry(both, err);
    spryi_matrix_release(both);
    return status;
}

/* Fails if the entries contradict what the caller stated: sorted, unique, symmetry or triangle. */
static spry_status check_claims(const spry_matrix *A, const tally *t, spry_error *err)
{
    if (A->a.sorted == SPRY_KNOWN_YES && t->unsorted.count > 0)
        return spryi_fail_value(err, SPRY_INVALID_MATRIX, "sorted", t->unsorted.first, 0,
                                "the matrix was said to be sorted, but entry %lld (counted from %d) is smaller than "
                                "the one "
                                "before it",
                                spryi_in_base(A, t->unsorted.first), A->index_base);
    if (A->a.unique == SPRY_KNOWN_YES && t->duplicate.count > 0)
        return spryi_fail_value(err, SPRY_INVALID_MATRIX, "unique", t->duplicate.first, 0,
                                "the matrix was said to have no duplicates, but entry %lld (counted from %d) repeats a "
                                "position",
                                spryi_in_base(A, t->duplicate.first), A->index_base);
    return A->a.triangle == SPRY_ALL_ENTRIES ? spryi_check_symmetry(A, err) : check_one_triangle(A, err);
}

static spry_status check_all(spry_matrix *A, spry_matrix_report *report, spry_error *err);
static spry_status check_host_or_copy(const spry_context *context, const spry_arrays *a, int base, spry_error *err);

/*
 * Reports a failure in the structure of BSR. The message begins with "in CSR of the blocks", because its numbers of
 * rows and entries are numbers of block rows and blocks.
 */
static spry_status fail_blocks(spry_status status, const spry_error *why, spry_error *err)
{
    spry_error fault = *why;
    snprintf(fault.message, sizeof fault.message, "in CSR of the blocks: %.480s", why->message);
    return status == SPRY_OK ? status : spryi_hand_on(err, &fault);
}

/* Checks the offsets and the block columns of BSR. */
static spry_status check_block_structure(const spry_matrix *A, spry_error *err)
{
    const spry_arrays blocks = spryi_block_pattern(&A->a);
    spry_error why = SPRY_ERROR_INIT;
    return fail_blocks(check_host_or_copy(A->context, &blocks, A->index_base, &why), &why, err);
}

/* Counts the elements of BSR that are infinite or NaN, and reports the row of the first. */
static void report_elements(spry_matrix_report *report, const spry_matrix *A)
{
    const spry_arrays *a = &A->a;
    const int64_t b = a->block_size;
    tally t = {0};
    if (a->value_type == SPRY_PATTERN) return;
    spryi_loop(A->context, spryi_threads(A->context, a->nnz), a->nnz, 0, check_some_values,
               &(check_job){.a = a, .t = &t});
    report->not_finite = t.not_finite.count;
    if (t.not_finite.count == 0) return;
    const int64_t k = t.not_finite.first, block = k / (b * b);
    const spry_arrays blocks = spryi_block_pattern(a);
    report->first_not_finite = k;
    report->first_not_finite_major = spryi_major_of(&blocks, block) * b + k % b;
}

/* Checks BSR: its blocks as entries of CSR, then the elements and the claim of symmetry. */
static spry_status check_blocks(spry_matrix *A, spry_matrix_report *report, spry_error *err)
{
    spry_matrix blocks = {.context = A->context, .a = spryi_block_pattern(&A->a), .index_base = A->index_base};
    spry_matrix_report found = SPRY_INIT(spry_matrix_report);
    spry_error why = SPRY_ERROR_INIT;
    blocks.a.symmetry = SPRY_GENERAL;
    const spry_status status = check_all(&blocks, &found, &why);
    if (status == SPRY_OK) report_elements(&found, A);
    if (report && (status == SPRY_OK || status == SPRY_INVALID_MATRIX)) SPRYI_GIVE(report, &found);
    SPRYI_OK_OR_RETURN(fail_blocks(status, &why, err));
    SPRYI_OK_OR_RETURN(spryi_check_symmetry(A, err));
    A->symmetry_holds = A->owned[3] || A->a.value_type == SPRY_PATTERN;
    A->a.sorted = blocks.a.sorted;
    A->a.unique = blocks.a.unique;
    return SPRY_OK;
}

/* Converts a container to CSR and checks the CSR, so that the report is filled in. */
static spry_status check_stored(const spry_matrix *A, spry_matrix_report *report, spry_error *err)
{
    spry_matrix *csr;
    SPRYI_OK_OR_RETURN(spryi_matrix_entries(A, &csr, err));
    spry_status status = check_all(csr, report, err);
    spryi_matrix_release(csr);
    return status;
}

static spry_status check_all(spry_matrix *A, spry_matrix_report *report, spry_error *err)
{
    spry_status status = SPRY_OK;
    if (A->a.device != 0) return spryi_fail(err, SPRY_UNSUPPORTED, "A", "check: the matrix is in device memory");
    if (A->a.layout == SPRY_BSR) return check_blocks(A, report, err);
    if (A->stored) return check_stored(A, report, err);

    const spry_arrays *a = &A->a;
    int threads = spryi_threads(A->context, a->nnz + a->rows), coo = a->layout == SPRY_COO;
    finding falling = {0};
    int64_t bad_ends = 0;
    tally t = {0};
    if (!coo) check_offsets(A->context, a, &falling, &bad_ends, threads);
    int offsets_sound = falling.count == 0 && bad_ends == 0;
    if (coo)
        check_coo(A->context, a, &t, threads);
    else
        check_compressed(A->context, a, offsets_sound, &t, threads);
    check_values(A->context, a, offsets_sound, &t, threads);

    if (t.unsorted.count == 0 && offsets_sound && t.out_of_range.count == 0)
        spryi_loop(A->context, threads, coo ? 1 : majors_of(a), 1024, count_neighbours, &(check_job){.a = a, .t = &t});
    else
        status = check_duplicates(A->context, a, &t, err);
    if (status != SPRY_OK) return status;

    spry_matrix_report found = SPRY_INIT(spry_matrix_report);
    fill_report(&found, &falling, bad_ends, &t);
    if (report) SPRYI_GIVE(report, &found);
    if (!offsets_sound) return fail_offsets(a, &falling, A->index_base, err);
    if (t.out_of_range.count > 0) return fail_range(a, &t, A->index_base, err);
    SPRYI_OK_OR_RETURN(check_claims(A, &t, err));
    A->symmetry_holds = A->owned[3] || A->mapping || a->value_type == SPRY_PATTERN;
    A->a.sorted = t.unsorted.count == 0 ? SPRY_KNOWN_YES : SPRY_KNOWN_NO;
    A->a.unique = t.duplicate.count == 0 ? SPRY_KNOWN_YES : SPRY_KNOWN_NO;
    return SPRY_OK;
}

/* ---- structure only -------------------------------------------------------------------------------------- */

typedef struct range_job {
    const void *indices;
    spry_index_type type;
    int64_t bound;
    atomic_int bad;
} range_job;

/* Negative indices are large as unsigned numbers, so one comparison finds all invalid indices. */
static void find_bad_indices(void *job, int64_t begin, int64_t end)
{
    range_job *j = job;
    const int32_t *narrow = j->indices;
    const int64_t *wide = j->indices;
    const uint32_t most = j->bound > INT32_MAX ? (uint32_t)INT32_MAX + 1 : (uint32_t)j->bound;
    const uint64_t most_wide = (uint64_t)j->bound;
    int bad = 0;
    if (j->type == SPRY_I32)
        for (int64_t k = begin; k < end; k++) bad |= (uint32_t)narrow[k] >= most;
    else
        for (int64_t k = begin; k < end; k++) bad |= (uint64_t)wide[k] >= most_wide;
    if (bad) atomic_store(&j->bad, 1);
}

/* Returns whether `count` indices are all within 0 .. bound - 1. */
static bool in_range(const spry_context *context, const void *indices, spry_index_type type, int64_t count,
                     int64_t bound, int threads)
{
    range_job j = {.indices = indices, .type = type, .bound = bound};
    spryi_loop(context, threads, count, 0, find_bad_indices, &j);
    return !j.bad;
}

/* Checks arrays in host memory. If indices are out of range, slower passes of check_all find the first such index. */
static spry_status check_structure(const spry_context *context, const spry_arrays *a, int base, spry_error *err)
{
    const int threads = spryi_threads(context, a->nnz + a->rows), coo = a->layout == SPRY_COO;
    finding falling = {0};
    int64_t bad_ends = 0;
    tally t = {0};
    if (!coo) check_offsets(context, a, &falling, &bad_ends, threads);
    if (falling.count > 0 || bad_ends > 0) return fail_offsets(a, &falling, base, err);
    const int sound = in_range(context, a->indices, a->index_type, a->nnz, minors_of(a), threads) &&
                      (!coo || in_range(context, a->row_indices, a->index_type, a->nnz, a->rows, threads));
    if (!sound) {
        if (coo)
            check_coo(context, a, &t, threads);
        else
            check_compressed(context, a, 1, &t, threads);
        return fail_range(a, &t, base, err);
    }
    return a->triangle == SPRY_ALL_ENTRIES ? SPRY_OK : spryi_check_triangle(context, a, base, err);
}

bool spryi_rows_are_summarized(const spry_matrix *A)
{
    return atomic_load(&((spry_matrix *)A)->row_summary_state) == 1;
}

spry_status spryi_summarize_rows(spryi_row_summary *summary, const spry_matrix *A, int checked, spry_error *err)
{
    const spryi_device *device = A->context->device_at(A->context, A->a.device);
    spry_matrix *kept = (spry_matrix *)A; /* only the cached summary changes */
    int none = 0;
    if (!checked && spryi_rows_are_summarized(A)) {
        *summary = A->row_summary;
        return SPRY_OK;
    }
    SPRYI_OK_OR_RETURN(device->ops->matrix->summarize_rows(device, summary, &A->a, checked, err));
    if (!summary->sound || !atomic_compare_exchange_strong(&kept->row_summary_state, &none, 2)) return SPRY_OK;
    kept->row_summary = *summary;
    atomic_store(&kept->row_summary_state, 1);
    return SPRY_OK;
}

/* Checks CSR arrays in host memory, or a copy of arrays in device memory. */
static spry_status check_host_or_copy(const spry_context *context, const spry_arrays *given, int base, spry_error *err)
{
    spry_arrays a = *given;
    if (a.device == 0) return check_structure(context, &a, base, err);
    const spryi_device *device = context->device_at(context, a.device);
    SPRYI_OK_OR_RETURN(spryi_fetch_structure(device, &a, err));
    const spry_status status = check_structure(context, &a, base, err);
    spryi_release(device->context, (void *)(uintptr_t)a.offsets);
    spryi_release(device->context, (void *)(uintptr_t)a.indices);
    return status;
}

/*
 * Checks CSR in device memory. The device finds whether the arrays are valid; a host copy of invalid arrays shows the
 * fault.
 */
static spry_status check_on_device(const spry_matrix *A, spry_error *err)
{
    spryi_row_summary summary;
    SPRYI_OK_OR_RETURN(spryi_summarize_rows(&summary, A, 1, err));
    return summary.sound ? SPRY_OK : check_host_or_copy(A->context, &A->a, A->index_base, err);
}

spry_status spry_matrix_check(spry_matrix *A, spry_matrix_report *report, spry_check how, spry_error *err)
{
    if (!A) return spryi_fail_missing(err, "A");
    SPRYI_OK_OR_RETURN(
        spryi_check_range("check", "how", (int)how, SPRY_CHECK_STRUCTURE, SPRY_CHECK_ALL, "a spry_check, 0 or 1", err));
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(report, err));
    if (how == SPRY_CHECK_ALL) return check_all(A, report, err);
    if (report)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "report",
                          "check: only SPRY_CHECK_ALL fills a report, expected report NULL");
    if (A->stored) return SPRY_OK; /* the reader has checked it */
    if (A->a.layout == SPRY_BSR) return check_block_structure(A, err);
    return A->a.device > 0 ? check_on_device(A, err) : check_structure(A->context, &A->a, A->index_base, err);
}
