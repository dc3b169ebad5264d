/*
 * Rows of C whose products need not be processed individually, for each value type and index pair.
 *
 * In grids, meshes and finite elements, many rows of A have the columns of the row before plus a constant. If the
 * columns of the rows of B that these two rows select also differ by a constant, so do the columns of the two rows of
 * C. The second row of C is said to repeat the row before. Its columns need not be counted, sorted or searched. Only
 * its values are summed.
 */

static inline int64_t SPRY_FN(row_products)(const spryi_spgemm_job *job, int64_t i)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices;
    int64_t products = 0;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) products += (int64_t)(Bp[Aj[k] + 1] - Bp[Aj[k]]);
    return products;
}

/* Sets the first and last column that row i of C can have. last < first if it has none. */
static inline void SPRY_FN(row_span)(const spryi_spgemm_job *job, int64_t i, int64_t *first, int64_t *last)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    int64_t low = INT64_MAX, high = -1;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) {
        const SPRY_P begin = Bp[Aj[k]], end = Bp[Aj[k] + 1];
        if (begin == end) continue;
        if (job->rows_of_b.rise) {
            low = Bj[begin] < low ? Bj[begin] : low;
            high = Bj[end - 1] > high ? Bj[end - 1] : high;
            continue;
        }
        for (SPRY_P t = begin; t < end; t++) {
            low = Bj[t] < low ? Bj[t] : low;
            high = Bj[t] > high ? Bj[t] : high;
        }
    }
    *first = low;
    *last = high;
}

/* Returns true if the columns of row i > 0 of C are those of row i - 1 plus a constant. Sets *shift to the constant. */
static __attribute__((noinline, unused)) bool SPRY_FN(repeats)(const spryi_spgemm_job *job, int64_t i, SPRY_J *shift)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Bj = job->b.indices, *restrict Aj = (const SPRY_J *)job->a.indices + Ap[i];
    const int64_t n = (int64_t)(Ap[i + 1] - Ap[i]);
    const SPRY_J *restrict before = Aj - n;
    if (n == 0 || (int64_t)(Ap[i] - Ap[i - 1]) != n) return false;
    const SPRY_J step = (SPRY_J)(Aj[0] - before[0]);
    if (Aj[n - 1] - before[n - 1] != step || !SPRYI_ARE_MOVED(Aj, before, n, step)) return false;
    *shift = 0;
    if (step == 0) return true;
    bool known = false;
    for (int64_t t = 0; t < n; t++) {
        const SPRY_P own = Bp[Aj[t]], old = Bp[before[t]];
        const int64_t length = (int64_t)(Bp[Aj[t] + 1] - own);
        if ((int64_t)(Bp[before[t] + 1] - old) != length) return false;
        if (length == 0) continue;
        if (!known) *shift = (SPRY_J)(Bj[own] - Bj[old]);
        known = true;
        if (!SPRYI_ARE_MOVED(Bj + own, Bj + old, length, *shift)) return false;
    }
    return true;
}

/* Returns the number of consecutive rows with equal columns, starting with `row`: 1 to `most`. */
static inline int SPRY_FN(count_alike)(const SPRY_P *restrict offsets, const SPRY_J *columns, int64_t row, int64_t most)
{
    const SPRY_P n = offsets[row + 1] - offsets[row];
    int rows = 1;
    while (rows < most && offsets[row + rows + 1] - offsets[row + rows] == n &&
           memcmp(columns + offsets[row], columns + offsets[row + rows], (size_t)n * sizeof *columns) == 0)
        rows++;
    return rows;
}

/*
 * Returns the number of consecutive rows of A with equal columns, starting with i, before `end`: 1 to
 * SPRYI_IDENTICAL_ROWS.
 */
static inline int SPRY_FN(count_identical)(const spryi_spgemm_job *job, int64_t i, int64_t end)
{
    const int64_t most = end - i < SPRYI_IDENTICAL_ROWS ? end - i : SPRYI_IDENTICAL_ROWS;
    return SPRY_FN(count_alike)(job->a.offsets, job->a.indices, i, most);
}

/*
 * Fills row i of C with a row of B times the entry of row i of A. Requires that row i of A has one entry and that
 * columns of B increase.
 */
static inline void SPRY_FN(copy_row)(const spryi_spgemm_job *job, int64_t i, SPRY_J *restrict Cj, SPRY_V *restrict Cx,
                                     int64_t n)
{
    const SPRY_P k = ((const SPRY_P *)job->a.offsets)[i];
    const SPRY_P from = ((const SPRY_P *)job->b.offsets)[((const SPRY_J *)job->a.indices)[k]];
    const SPRY_J *restrict Bj = (const SPRY_J *)job->b.indices + from;
    const SPRY_V *restrict Bx = (const SPRY_V *)job->b.values + from;
    const SPRY_V a = ((const SPRY_V *)job->a.values)[k], alpha = *(const SPRY_V *)job->alpha;
    for (int64_t t = 0; t < n; t++) {
        Cj[t] = Bj[t];
        Cx[t] = alpha * (a * Bx[t] + 0); /* like a sum that begins at 0: never -0 */
    }
}
