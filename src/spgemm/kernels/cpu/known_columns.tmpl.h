/*
 * Rows of C whose columns are known without reading their products, for each value type and index pair. There are three
 * cases: the row of A has one entry, the columns are those of the row before plus a constant (row_shape.tmpl.h), or the
 * structure of C is known. Values are summed in the dense window, without bits.
 */

/* Computes the values of the n columns Cj, which are increasing. Leaves the sums zero. */
static inline void SPRY_FN(gather)(const spryi_spgemm_job *job, const spryi_rows_workspace *w, int64_t i,
                                   SPRY_J *restrict Cj, SPRY_V *restrict Cx, int64_t n)
{
    const int64_t base = Cj[0] & ~(int64_t)63, words = spryi_rows_words(Cj[0], Cj[n - 1]);
    const SPRY_V alpha = *(const SPRY_V *)job->alpha;
    SPRY_V *restrict sums = w->window.sums;
    if (words > job->sizes.windows) {
        SPRY_FN(hash_row)(job, &w->table, i, Cj, Cx, n, true);
        return;
    }
    SPRY_FN(add_products)(job, sums, i, base);
    for (int64_t k = 0; k < n; k++) {
        Cx[k] = alpha * sums[Cj[k] - base];
        sums[Cj[k] - base] = 0;
    }
}

/*
 * Returns the number of entries of A, from k on and before `end`, that select consecutive rows of B with equal columns:
 * 1 to SPRYI_ROWS_OF_B. If rows may contain a column twice, returns 1 to keep the order of sums.
 */
static inline int SPRY_FN(count_neighbours)(const spryi_spgemm_job *job, SPRY_P k, SPRY_P end)
{
    const SPRY_J *Aj = job->a.indices;
    int most = 1;
    if (!job->rows_of_b.rise) return 1;
    while (most < SPRYI_ROWS_OF_B && k + most < end && Aj[k + most] == Aj[k] + most) most++;
    return SPRY_FN(count_alike)(job->b.offsets, job->b.indices, Aj[k], most);
}

/*
 * Adds `count` rows of B with equal columns to the sums of identical rows of C. a[q][r]: factor of row q of B in row r
 * of C.
 */
SPRYI_INLINE void SPRY_FN(add_alike)(SPRY_V *restrict sums, SPRY_V a[SPRYI_ROWS_OF_B][SPRYI_IDENTICAL_ROWS],
                                     const SPRY_J *restrict Bj, const SPRY_V *restrict Bx, int64_t n, int64_t base,
                                     const int count)
{
    for (int64_t t = 0; t < n; t++) {
        SPRY_V *restrict to = sums + SPRYI_IDENTICAL_ROWS * (Bj[t] - base);
        for (int r = 0; r < SPRYI_IDENTICAL_ROWS; r++) {
            SPRY_V sum = to[r];
            for (int q = 0; q < count; q++) sum += a[q][r] * Bx[q * n + t];
            to[r] = sum;
        }
    }
}

/*
 * Computes the values of rows i .. i + rows - 1, which have equal columns in A. Each entry of B is read once for all
 * these rows. Rows of B with equal columns, for example the unknowns of one point, are added together.
 */
static inline void SPRY_FN(gather_identical)(const spryi_spgemm_job *job, SPRY_V *restrict sums, int64_t i, int rows,
                                             const SPRY_J *restrict columns, int64_t n)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    const SPRY_V *restrict Ax = job->a.values, *restrict Bx = job->b.values, alpha = *(const SPRY_V *)job->alpha;
    const int64_t base = columns[0] & ~(int64_t)63;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1];) {
        const int alike = SPRY_FN(count_neighbours)(job, k, Ap[i + 1]);
        const SPRY_P first = Bp[Aj[k]], length = Bp[Aj[k] + 1] - first;
        SPRY_V a[SPRYI_ROWS_OF_B][SPRYI_IDENTICAL_ROWS] = {{0}};
        for (int q = 0; q < alike; q++)
            for (int r = 0; r < rows; r++) a[q][r] = Ax[Ap[i + r] + (k - Ap[i]) + q];
        switch (alike) {
        case 1: SPRY_FN(add_alike)(sums, a, Bj + first, Bx + first, length, base, 1); break;
        case 2: SPRY_FN(add_alike)(sums, a, Bj + first, Bx + first, length, base, 2); break;
        default: SPRY_FN(add_alike)(sums, a, Bj + first, Bx + first, length, base, SPRYI_ROWS_OF_B);
        }
        k += alike;
    }
    SPRY_V *restrict Cx = (SPRY_V *)job->values + job->offsets[i];
    for (int64_t k = 0; k < n; k++) {
        SPRY_V *restrict from = sums + SPRYI_IDENTICAL_ROWS * (columns[k] - base);
        for (int r = 0; r < rows; r++) Cx[r * n + k] = alpha * from[r];
        for (int r = 0; r < SPRYI_IDENTICAL_ROWS; r++) from[r] = 0;
    }
}

/*
 * Computes the values of row i, and of the next rows with equal columns in A. The columns of C are known. Returns the
 * number of rows.
 */
static __attribute__((noinline, unused)) int64_t
SPRY_FN(fill_values)(const spryi_spgemm_job *job, const spryi_rows_workspace *w, int64_t i, int64_t end)
{
    const int64_t at = job->offsets[i], n = job->offsets[i + 1] - at;
    SPRY_J *restrict Cj = (SPRY_J *)job->columns + at;
    const int64_t wide = SPRYI_IDENTICAL_ROWS * spryi_rows_words(Cj[0], Cj[n - 1]);
    const int rows = wide <= job->sizes.windows ? SPRY_FN(count_identical)(job, i, end) : 1;
    if (rows == 1) {
        SPRY_FN(gather)(job, w, i, Cj, (SPRY_V *)job->values + at, n);
        return 1;
    }
    for (int r = 1; r < rows; r++) memcpy(Cj + r * n, Cj, (size_t)n * sizeof *Cj);
    SPRY_FN(gather_identical)(job, w->window.sums, i, rows, Cj, n);
    return rows;
}

/*
 * If the n columns of row i of C are the columns of the row before plus a constant, writes them and returns true.
 */
static inline bool SPRY_FN(repeat_columns)(const spryi_spgemm_job *job, int64_t begin, int64_t i, SPRY_J *restrict Cj,
                                           int64_t n)
{
    SPRY_J shift;
    if (i == begin || job->offsets[i] - job->offsets[i - 1] != n || !SPRY_FN(repeats)(job, i, &shift)) return false;
    for (int64_t k = 0; k < n; k++) Cj[k] = (SPRY_J)(Cj[k - n] + shift);
    return true;
}

/* If the columns of row i are known, fills it and the next rows with equal columns in A. Returns their number, or 0. */
static inline int64_t SPRY_FN(fill_known)(const spryi_spgemm_job *job, const spryi_rows_workspace *w, int64_t begin,
                                          int64_t i, int64_t end)
{
    const SPRY_P *restrict Ap = job->a.offsets;
    const int64_t at = job->offsets[i], n = job->offsets[i + 1] - at;
    SPRY_J *restrict Cj = (SPRY_J *)job->columns + at;
    if (n == 0) return 1;
    if (Ap[i + 1] - Ap[i] == 1 && job->rows_of_b.rise) {
        SPRY_FN(copy_row)(job, i, Cj, (SPRY_V *)job->values + at, n);
        return 1;
    }
    return SPRY_FN(repeat_columns)(job, begin, i, Cj, n) ? SPRY_FN(fill_values)(job, w, i, end) : 0;
}

/* Computes only the values of a piece, for the phase refill. */
static void SPRY_FN(refill_piece)(const spryi_spgemm_job *job, spryi_rows_workspace *w, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end;)
        i += job->offsets[i + 1] == job->offsets[i] ? 1 : SPRY_FN(fill_values)(job, w, i, end);
}

static void SPRY_FN(refill)(spryi_spgemm_job *job)
{
    spryi_rows_run(job, SPRY_FN(refill_piece));
}
