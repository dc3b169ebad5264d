/* The loops of y = A^T x that are special for AVX-512: rows with a constant stride, and short general rows. */

#if SPRY_FIRST_J

/* Adds the lanes of sum that are set in `live` to y[0 .. 7]. */
static inline void SPRY_FNJ(add_eight)(SPRY_V *y, __mmask8 live, SPRYI_TYPED(eight) sum)
{
    EIGHT(mask_storeu)(y, live, EIGHT(add)(sum, EIGHT(maskz_loadu)(live, y)));
}

/*
 * Groups of neighbouring columns of a run: each column of a group is the previous one plus one. shift[j] is the
 * position of column j in its group. The products of a group are moved into one register. So y is read and written once
 * per group, and no load of y overlaps a preceding store.
 * before[j] has the products of column j in the previous eight rows. Products that were moved past the register's end
 * are added with the next eight rows.
 */
typedef struct SPRY_FNJ(neighbours) {
    uint8_t shift[NEIGHBOURS + 1]; /* 0 after the last column */
    SPRYI_TYPED(eight) before[NEIGHBOURS];
} SPRY_FNJ(neighbours);

static inline void SPRY_FNJ(find_neighbours)(SPRY_FNJ(neighbours) * of, const SPRY_J *Aj, int64_t length)
{
    const int64_t most = length < NEIGHBOURS ? length : NEIGHBOURS;
    of->shift[0] = of->shift[most] = 0;
    of->before[0] = EIGHT(setzero)();
    for (int64_t j = 1; j < most; j++) {
        const int follows = Aj[j] == Aj[j - 1] + 1 && of->shift[j - 1] < 7;
        of->shift[j] = follows ? (uint8_t)(of->shift[j - 1] + 1) : 0;
        of->before[j] = EIGHT(setzero)();
    }
}

/*
 * Sets v[c] to x times entry j + c of each row, for c < columns <= 4. There are `rows` rows of `length` entries at Ax.
 */
SPRYI_INLINE void SPRY_FNJ(four_columns)(const SPRY_V *Ax, int64_t j, SPRYI_TYPED(eight) x, int64_t length, int rows,
                                         int columns, SPRYI_TYPED(eight) v[4])
{
    const __mmask8 low = (__mmask8)_bzhi_u32(0xf, (unsigned)columns), high = (__mmask8)(low << 4);
    for (int r = 0; r < 4; r++) {
        const int row = r < 2 ? r : r + 2;
        /* lanes 4 to 7 are for row + 2; their load begins four elements before that row's entry j */
        const uintptr_t at = (uintptr_t)(Ax + (row + 2) * length + j) - 4 * sizeof(SPRY_V);
        v[r] = EIGHT(maskz_loadu)(row < rows ? low : 0, Ax + row * length + j);
        v[r] = EIGHT(mask_loadu)(v[r], row + 2 < rows ? high : 0, (const void *)at);
    }
    SPRYI_TYPED(transpose)(v);
    for (int c = 0; c < 4; c++) v[c] = EIGHT(mul)(v[c], x);
}

/*
 * Scatters `rows` <= 8 rows of `length` entries at Ax. Lane r of x is x of row r. The caller shifts y by the number of
 * rows since the run's first row, whose columns are Aj.
 */
SPRYI_INLINE void SPRY_FNJ(eight_strided)(const SPRY_V *Ax, const SPRY_J *Aj, SPRYI_TYPED(eight) x, SPRY_V *y,
                                          int64_t length, int rows, SPRY_FNJ(neighbours) * of, const int has_values)
{
    SPRYI_TYPED(eight) v[4] = {x, x, x, x}, sum = x; /* a pattern has no values to read */
    int64_t first = 0;                               /* first column of the group in sum */
    for (int64_t j = 0; j < length; j += 4) {
        const int columns = length - j < 4 ? (int)(length - j) : 4;
        if (has_values) {
            for (int c = 0; c < columns; c++) spryi_prefetch(Ax, 8 * (j + c) * (int64_t)sizeof(SPRY_V) + SPRYI_AHEAD);
            SPRY_FNJ(four_columns)(Ax, j, x, length, rows, columns, v);
        }
#pragma GCC unroll 4
        for (int c = 0; c < 4; c++) {
            if (c >= columns) break;
            const int64_t at = j + c < NEIGHBOURS ? j + c : NEIGHBOURS;
            const int shift = of->shift[at];
            if (shift == 0) {
                sum = v[c];
                first = j + c;
            } else {
                sum = EIGHT(add)(sum, SPRYI_TYPED(move)(of->before[at], shift, v[c]));
                of->before[at] = v[c];
            }
            if (at == NEIGHBOURS || of->shift[at + 1] == 0)
                SPRY_FNJ(add_eight)(y + Aj[first], first_lanes(rows + shift), sum);
        }
    }
}

/*
 * Adds to y the products of the last `rows` <= 8 rows that were moved past the end of a register. The caller shifts y
 * as for the next eight rows.
 */
static inline void SPRY_FNJ(add_moved)(const SPRY_J *Aj, SPRY_V *y, int64_t length, int rows,
                                       const SPRY_FNJ(neighbours) * of)
{
    SPRYI_TYPED(eight) sum = EIGHT(setzero)();
    for (int64_t j = 0; j < length && j < NEIGHBOURS; j++) {
        const int shift = of->shift[j], last = rows + shift - 8;
        if (shift == 0)
            sum = EIGHT(setzero)();
        else
            sum = EIGHT(add)(sum, SPRYI_TYPED(move)(of->before[j], shift, EIGHT(setzero)()));
        if (of->shift[j + 1] == 0 && last > 0) SPRY_FNJ(add_eight)(y + Aj[j - shift], first_lanes(last), sum);
    }
}

/* Reads only the columns of the run's first row. */
SPRYI_INLINE void SPRY_FNJ(strided_of)(const spryi_csr_job *job, int64_t begin, int64_t end, const int has_values)
{
    const int64_t first = spryi_csr_offset(job, begin), length = spryi_csr_offset(job, begin + 1) - first;
    const SPRY_J *Aj = (const SPRY_J *)job->columns + first;
    const SPRY_V *x = job->x, *Ax = has_values ? (const SPRY_V *)job->values + first : NULL;
    SPRY_V *y = job->y;
    SPRY_FNJ(neighbours) of;
    SPRY_FNJ(find_neighbours)(&of, Aj, length);
    int64_t i = begin;
    for (; i + 8 <= end; i += 8) {
        const SPRYI_TYPED(eight) xs = EIGHT(maskz_loadu)(0xff, x + i);
        SPRY_FNJ(eight_strided)(Ax, Aj, xs, y + (i - begin), length, 8, &of, has_values);
        if (has_values) Ax += 8 * length;
    }
    const int rows = (int)(end - i);
    if (rows > 0) {
        const SPRYI_TYPED(eight) xs = EIGHT(maskz_loadu)(first_lanes(rows), x + i);
        SPRY_FNJ(eight_strided)(Ax, Aj, xs, y + (i - begin), length, rows, &of, has_values);
        i += 8;
    }
    SPRY_FNJ(add_moved)(Aj, y + (i - begin), length, rows > 0 ? rows : 8, &of);
}

static void SPRY_FNJ(strided)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    SPRY_FNJ(strided_of)(job, begin, end, 1);
}

static void SPRY_FNJ(strided_ones)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    SPRY_FNJ(strided_of)(job, begin, end, 0);
}

#endif

/*
 * Sets xs[k] to x of the row that entry Ap[0] + k belongs to. Each row writes at least eight elements; the next row
 * overwrites the elements past the row's end.
 */
static inline void SPRY_FN(spread)(const SPRY_P *Ap, const SPRY_V *x, int64_t rows, SPRY_V *xs)
{
    const int64_t first = Ap[0];
    for (int64_t r = 0; r < rows; r++) {
        const int64_t begin = Ap[r] - first, end = Ap[r + 1] - first;
        const SPRYI_TYPED(eight) v = EIGHT(set1)(x[r]);
        EIGHT(storeu)(xs + begin, v);
        for (int64_t k = begin + 8; k < end; k += 8) EIGHT(storeu)(xs + k, v);
    }
}

/*
 * If rows are short, writes a copy of the row's x for each entry, for up to SPREAD_ROWS rows. Then the entries are
 * scattered regardless of rows, without a branch per row that would be mispredicted.
 */
SPRYI_INLINE void SPRY_FN(rows_of)(const spryi_csr_job *job, int64_t begin, int64_t end, const int has_values)
{
    const SPRY_P *Ap = job->offsets;
    const SPRY_J *Aj = job->columns;
    const SPRY_V *x = job->x, *Ax = job->values;
    SPRY_V *y = job->y;
    _Alignas(64) SPRY_V xs[SPREAD_ENTRIES + 8];
    for (int64_t i = begin, rows; i < end; i += rows) {
        rows = end - i < SPREAD_ROWS ? end - i : SPREAD_ROWS;
        while (rows > 1 && Ap[i + rows] - Ap[i] > SPREAD_ENTRIES) rows /= 2;
        if (Ap[i + rows] - Ap[i] >= SPREAD_MEAN * rows) {
            SPRY_FN(plain_rows)(job, i, i + rows, has_values);
            continue;
        }
        SPRY_FN(spread)(Ap + i, x + i, rows, xs);
        int64_t k = Ap[i];
        const int64_t stop = Ap[i + rows];
        const SPRY_V *at = xs;
        for (; k + 8 <= stop; k += 8, at += 8) {
            SPRY_FNJ(fetch)(Ax, Aj, k, has_values);
            for (int q = 0; q < 8; q++) y[Aj[k + q]] = SPRY_FNJ(plus)(y[Aj[k + q]], Ax, k + q, at[q], has_values);
        }
        for (; k < stop; k++, at++) y[Aj[k]] = SPRY_FNJ(plus)(y[Aj[k]], Ax, k, *at, has_values);
    }
}

static void SPRY_FN(rows)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    SPRY_FN(rows_of)(job, begin, end, 1);
}

static void SPRY_FN(rows_ones)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    SPRY_FN(rows_of)(job, begin, end, 0);
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    static const spryi_csr_loops loops[] = {
        {SPRY_FN(rows_ones), SPRY_FNJ(strided_ones), SPRY_FNJ(pattern_shared), SPRY_FNJ(pattern_piece), NULL, NULL,
         NULL, NULL},
        {SPRY_FN(rows), SPRY_FNJ(strided), SPRY_FNJ(value_shared), SPRY_FNJ(value_piece), NULL, NULL, NULL, NULL},
    };
    return spryi_csr_drive_scatter(args, loops);
}
