/*
 * Included by mtx_to_csr.c with OFFSET, INDEX, VALUE, HAS_VALUES and NAME(function) set.
 *
 * The counting sort moves entry (i, j) and, in a symmetric matrix, right behind it its image (j, i). It is stable,
 * so rows come out sorted from files that are sorted by column or by row, lower or upper triangle alike:
 * the order of SuiteSparse files costs no comparison.
 */
#include "core/insertion_sort.tmpl.c"

static void NAME(offsets_of_sorted)(const csr_job *job)
{
    const INDEX *rows = job->from->rows;
    OFFSET *Ap = job->Ap;
    int64_t nnz = job->nnz, m = job->m;
#pragma omp parallel for num_threads(job->threads) schedule(static)
    for (int64_t k = 0; k < nnz; k++) {
        int64_t before = k > 0 ? (int64_t)rows[k - 1] : -1;
        for (int64_t i = before + 1; i <= (int64_t)rows[k]; i++) Ap[i] = (OFFSET)k;
    }
    for (int64_t i = nnz > 0 ? (int64_t)rows[nnz - 1] + 1 : 0; i <= m; i++) Ap[i] = (OFFSET)nnz;
}

/* Counts of every thread's share by row become where its first entry of the row goes. */
static void NAME(place_rows)(const csr_job *job, OFFSET *counts)
{
    OFFSET *Ap = job->Ap, at = 0;
    for (int64_t i = 0; i < job->m; i++) {
        Ap[i] = at;
        for (int t = 0; t < job->threads; t++) {
            OFFSET count = counts[(int64_t)t * job->m + i];
            counts[(int64_t)t * job->m + i] = at;
            at = (OFFSET)(at + count);
        }
    }
    Ap[job->m] = at;
}

static void NAME(count_share)(const csr_job *job, int64_t first, int64_t last, OFFSET *count)
{
    const INDEX *rows = job->from->rows, *cols = job->from->cols;
    memset(count, 0, (size_t)job->m * sizeof *count);
    if (job->symmetry == SPRY_GENERAL) {
        for (int64_t k = first; k < last; k++) count[rows[k]]++;
    } else {
        for (int64_t k = first; k < last; k++) {
            count[rows[k]]++;
            count[cols[k]] = (OFFSET)(count[cols[k]] + (rows[k] != cols[k]));
        }
    }
}

static void NAME(move_share)(const csr_job *job, int64_t first, int64_t last, OFFSET *next)
{
    const INDEX *rows = job->from->rows, *cols = job->from->cols;
    INDEX *Aj = job->Aj;
#if HAS_VALUES
    const VALUE *values = job->from->values;
    VALUE *Ax = job->Ax, sign = job->symmetry == SPRY_SKEW_SYMMETRIC ? -1 : 1;
#endif
    int mirror = job->symmetry != SPRY_GENERAL;
    for (int64_t k = first; k < last; k++) {
        INDEX i = rows[k], j = cols[k];
        OFFSET to = next[i]++;
        Aj[to] = j;
#if HAS_VALUES
        Ax[to] = values[k];
#endif
        if (mirror && i != j) {
            to = next[j]++;
            Aj[to] = i;
#if HAS_VALUES
            Ax[to] = sign * values[k];
#endif
        }
    }
}

static void NAME(sort_by_row)(const csr_job *job, void *counts)
{
    OFFSET *all = counts;
    int64_t count = job->from->count, m = job->m;
    int threads = job->threads;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; t++)
        NAME(count_share)(job, count * t / threads, count * (t + 1) / threads, all + (int64_t)t * m);
    NAME(place_rows)(job, all);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; t++)
        NAME(move_share)(job, count * t / threads, count * (t + 1) / threads, all + (int64_t)t * m);
}

/* The first row that begins at or behind entry k. */
static int64_t NAME(row_from)(const csr_job *job, int64_t k)
{
    const OFFSET *Ap = job->Ap;
    int64_t low = 0, high = job->m;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if ((int64_t)Ap[middle] < k) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static int64_t NAME(piece_begin)(const csr_job *job, int piece)
{
    return piece == CSR_PIECES ? job->m : piece == 0 ? 0 : NAME(row_from)(job, job->nnz / CSR_PIECES * piece);
}

static void NAME(inspect)(const csr_job *job, int64_t *unsorted, int64_t *longest, int64_t *repeated)
{
    const OFFSET *Ap = job->Ap;
    const INDEX *Aj = job->Aj;
    int64_t falling_rows = 0, most = 0, repeats = 0;
#pragma omp parallel for num_threads(job->threads) schedule(dynamic, 1) reduction(+ : falling_rows, repeats) \
    reduction(max : most)
    for (int piece = 0; piece < CSR_PIECES; piece++) {
        int64_t last = NAME(piece_begin)(job, piece + 1);
        for (int64_t i = NAME(piece_begin)(job, piece); i < last; i++) {
            int64_t falls = 0;
            for (OFFSET k = Ap[i] + 1; k < Ap[i + 1]; k++) {
                falls += Aj[k] < Aj[k - 1];
                repeats += Aj[k] == Aj[k - 1];
            }
            if (falls > 0) {
                falling_rows++;
                if ((int64_t)(Ap[i + 1] - Ap[i]) > most) most = (int64_t)(Ap[i + 1] - Ap[i]);
            }
        }
    }
    *unsorted = falling_rows;
    *longest = most;
    *repeated = repeats;
}

/* Stable merge sort: by insertion when short, in runs that need no merging when nearly sorted. */
static void NAME(sort_row)(INDEX *index, VALUE *value, int64_t count, INDEX *index_scratch, VALUE *value_scratch)
{
    if (count <= 24) {
        NAME(insertion_sort)(index, value, count);
        return;
    }
    int64_t half = count / 2;
    NAME(sort_row)(index, value, half, index_scratch, value_scratch);
    NAME(sort_row)(index + half, HAS_VALUES ? value + half : NULL, count - half, index_scratch, value_scratch);
    if (index[half - 1] <= index[half]) return;
    memcpy(index_scratch, index, (size_t)half * sizeof *index);
#if HAS_VALUES
    memcpy(value_scratch, value, (size_t)half * sizeof *value);
#endif
    int64_t left = 0, right = half, to = 0;
    while (left < half) {
        int take_right = right < count && index[right] < index_scratch[left];
#if HAS_VALUES
        value[to] = take_right ? value[right] : value_scratch[left];
#endif
        index[to++] = take_right ? index[right] : index_scratch[left];
        right += take_right;
        left += !take_right;
    }
}

static void NAME(sort_rows)(const csr_job *job, int threads, int64_t longest, void *indices, void *values)
{
    const OFFSET *Ap = job->Ap;
    INDEX *Aj = job->Aj;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int piece = 0; piece < CSR_PIECES; piece++) {
        int64_t last = NAME(piece_begin)(job, piece + 1), scratch = omp_get_thread_num() * longest;
        for (int64_t i = NAME(piece_begin)(job, piece); i < last; i++) {
            int64_t count = (int64_t)(Ap[i + 1] - Ap[i]), falls = 0;
            INDEX *index = Aj + Ap[i];
            for (int64_t k = 1; k < count; k++) falls += index[k] < index[k - 1];
            if (falls == 0) continue;
#if HAS_VALUES
            NAME(sort_row)
            (index, (VALUE *)job->Ax + Ap[i], count, (INDEX *)indices + scratch, (VALUE *)values + scratch);
#else
            NAME(sort_row)(index, NULL, count, (INDEX *)indices + scratch, NULL);
#endif
        }
    }
#if !HAS_VALUES
    (void)values;
#endif
}

/* Sums are taken in f64, in file order, and rounded once. */
static void NAME(sum_repeated)(csr_job *job)
{
    OFFSET *Ap = job->Ap, to = 0, k = 0;
    INDEX *Aj = job->Aj;
#if HAS_VALUES
    VALUE *Ax = job->Ax;
#endif
    for (int64_t i = 0; i < job->m; i++) {
        OFFSET end = Ap[i + 1];
        while (k < end) {
            INDEX j = Aj[k];
#if HAS_VALUES
            double sum = Ax[k];
            for (k++; k < end && Aj[k] == j; k++) sum += Ax[k];
            Ax[to] = (VALUE)sum;
#else
            for (k++; k < end && Aj[k] == j; k++) {
            }
#endif
            Aj[to++] = j;
        }
        Ap[i + 1] = to;
    }
    job->nnz = (int64_t)to;
}

static const csr_functions NAME(functions) = {sizeof(OFFSET), NAME(offsets_of_sorted), NAME(sort_by_row),
                                              NAME(inspect),  NAME(sort_rows),         NAME(sum_repeated)};

#undef OFFSET
#undef INDEX
#undef VALUE
#undef HAS_VALUES
#undef NAME
