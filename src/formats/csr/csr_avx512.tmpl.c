/*
 * The loops of csr_avx512_cpu (csr_driver.h) for one combination of value types and index pair. has_values: 0 for a
 * pattern. Mixed types have no spans.
 */

#if SPRY_FIRST_J

/* Writes y of rows i .. i + count - 1, count <= LANES. Lane l of `sums` is the sum of row i + l. */
static inline void SPRY_FNJ(put)(const spryi_csr_job *job, int64_t i, int count, VEC sums)
{
    SPRY_V *y = (SPRY_V *)job->y + i;
    MASK mask = (MASK)first_lanes(count);
    VEC result = MUL(SET1(SPRY_SCALAR(job->alpha)), sums);
    if (job->stream_y && count == LANES && (uintptr_t)y % sizeof(VEC) == 0) {
        STREAM(y, result);
        return;
    }
    if (SPRY_SCALAR(job->beta) != 0) result = ADD(result, MUL(SET1(SPRY_SCALAR(job->beta)), MASKZ_LOAD(mask, y)));
    MASK_STORE(y, mask, result);
}

/*
 * Returns the row at which the first full group of LANES rows begins. This is `begin` unless y is written by
 * non-temporal stores. For such stores it is the first row from `begin` on whose element of y is aligned.
 */
static inline int64_t SPRY_FNJ(head)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    if (!job->stream_y) return begin;
    const uintptr_t past = (uintptr_t)((SPRY_V *)job->y + begin) % sizeof(VEC);
    const int64_t rows = past == 0 ? 0 : (int64_t)((sizeof(VEC) - past) / sizeof(SPRY_V));
    return begin + rows < end ? begin + rows : end;
}

/* ---- general rows ------------------------------------------------------------------------------------ */

/*
 * Returns x of the first `count` entries, and zeros in the other lanes. Used at the end of a run, past which nothing
 * may be read.
 */
static VEC SPRY_FNJ(gather_some)(const SPRY_V *x, const SPRY_J *Aj, int64_t count)
{
    SPRY_V some[LANES] = {0};
    for (int64_t k = 0; k < count; k++) some[k] = x[Aj[k]];
    return LOAD(some);
}

/*
 * Prefetches the values and columns of a full step, even if fewer entries remain: a test would cost a branch per row.
 */
SPRYI_PREFETCHER SPRY_FNJ(fetch)(const SPRY_S *Ax, const SPRY_J *Aj, int64_t k, const int has_values)
{
    spryi_prefetch_entries(has_values ? Ax + k : NULL, Aj + k, 0, LANES, has_values ? sizeof(SPRY_S) : 0,
                           sizeof(SPRY_J));
}

/* Returns sum plus the products of LANES entries from k on. */
SPRYI_INLINE VEC SPRY_FNJ(step)(const SPRY_S *Ax, const SPRY_J *Aj, const SPRY_V *x, int64_t k, VEC sum,
                                const int has_values)
{
    const VEC xs = GATHER_AT(x, Aj + k);
    return has_values ? FMA(LOAD_VALUES(Ax + k), xs, sum) : ADD(sum, xs);
}

/*
 * Returns sum plus the products of the next `count` <= LANES entries. `left` entries from k on can be read. If `left`
 * is at least LANES, lanes past `count` load entries of the next rows and x for these entries, but do not add them.
 */
SPRYI_INLINE VEC SPRY_FNJ(last_step)(const SPRY_S *Ax, const SPRY_J *Aj, const SPRY_V *x, int64_t k, int64_t count,
                                     int64_t left, VEC sum, const int has_values)
{
    const MASK mask = (MASK)first_lanes((int)count);
    if (left >= LANES) {
        const VEC xs = GATHER_AT(x, Aj + k);
        return has_values ? MASK_FMA(LOAD_VALUES(Ax + k), xs, sum, mask) : MASK_ADD(sum, mask, xs);
    }
    const VEC xs = SPRY_FNJ(gather_some)(x, Aj + k, count);
    return has_values ? FMA(MASKZ_LOAD_VALUES(mask, Ax + k), xs, sum) : ADD(sum, xs);
}

/*
 * Returns a register whose lanes add up to the sum of entries k .. end - 1 times x. The run's entries end at `limit`.
 */
SPRYI_INLINE VEC SPRY_FNJ(short_row)(const SPRY_S *Ax, const SPRY_J *Aj, const SPRY_V *x, int64_t k, int64_t end,
                                     int64_t limit, const int has_values)
{
    VEC sum = ZERO();
    for (; k + LANES < end; k += LANES) {
        SPRY_FNJ(fetch)(Ax, Aj, k, has_values);
        sum = SPRY_FNJ(step)(Ax, Aj, x, k, sum, has_values);
    }
    if (k == end) return sum; /* an empty row: without this return, it would take a step */
    SPRY_FNJ(fetch)(Ax, Aj, k, has_values);
    return SPRY_FNJ(last_step)(Ax, Aj, x, k, end - k, limit - k, sum, has_values);
}

/* Does the same as short_row for long rows, with two accumulators. */
SPRYI_INLINE VEC SPRY_FNJ(long_row)(const SPRY_S *Ax, const SPRY_J *Aj, const SPRY_V *x, int64_t k, int64_t end,
                                    int64_t limit, const int has_values)
{
    VEC sum = ZERO(), second = ZERO();
    for (; k + 2 * LANES <= end; k += 2 * LANES) {
        SPRY_FNJ(fetch)(Ax, Aj, k, has_values);
        sum = SPRY_FNJ(step)(Ax, Aj, x, k, sum, has_values);
        SPRY_FNJ(fetch)(Ax, Aj, k + LANES, has_values);
        second = SPRY_FNJ(step)(Ax, Aj, x, k + LANES, second, has_values);
    }
    SPRY_FNJ(fetch)(Ax, Aj, k, has_values);
    if (k + LANES < end) {
        sum = SPRY_FNJ(step)(Ax, Aj, x, k, sum, has_values);
        k += LANES;
        SPRY_FNJ(fetch)(Ax, Aj, k, has_values);
    }
    if (k < end) second = SPRY_FNJ(last_step)(Ax, Aj, x, k, end - k, limit - k, second, has_values);
    return ADD(sum, second);
}

#endif

/*
 * Multiplies up to LANES rows of at most PACKED entries on average. First computes the products of all entries in full
 * registers, regardless of rows. Then each lane adds up its row, by permutations of two registers of products at a
 * time.
 */
SPRYI_INLINE void SPRY_FN(packed_group)(const spryi_csr_job *job, int64_t i, int rows, int64_t limit,
                                        const int has_values)
{
    const SPRY_P *Ap = (const SPRY_P *)job->offsets + i;
    const int64_t first = Ap[0], count = Ap[rows] - first, left = limit - first;
    const SPRY_S *Ax = has_values ? (const SPRY_S *)job->values + first : NULL;
    const SPRY_J *Aj = (const SPRY_J *)job->columns + first;
    _Alignas(64) SPRY_V product[(SPRYI_TYPED(PACKED) + 1) * LANES];
    for (int64_t k = 0; k < count; k += LANES) {
        SPRY_FNJ(fetch)(Ax, Aj, k, has_values);
        const int64_t step = left - k < LANES ? left - k : LANES;
        const VEC terms = SPRY_FNJ(last_step)(Ax, Aj, job->x, k, step, left - k, ZERO(), has_values);
        SPRYI_MM512(store)(product + k, terms);
    }
    const MASK exist = (MASK)first_lanes(rows);
    const __m512i one = SPRYI_TYPED(index_in_all)(1);
    const __m512i start = SPRYI_TYPED(offsets)(Ap, sizeof(SPRY_P) == 8, first, exist);
    const __m512i stop = SPRYI_TYPED(offsets)(Ap + 1, sizeof(SPRY_P) == 8, first, exist);
    VEC sum = ZERO();
    for (int64_t k = 0; k < count; k += 2 * LANES) {
        VEC low = LOAD(product + k), high = LOAD(product + k + LANES);
        __m512i at = INDEX(max)(start, SPRYI_TYPED(index_in_all)(k));
        const __m512i end = INDEX(min)(stop, SPRYI_TYPED(index_in_all)(k + 2 * LANES));
        /* four steps per test, even if fewer are needed: most groups then avoid a branch that is often mispredicted */
        do {
            for (int step = 0; step < 4; step++, at = INDEX(add)(at, one))
                sum = MASK_ADD(sum, INDEX_LESS(at, end), SPRYI_MM512(permutex2var)(low, at, high));
        } while (INDEX_LESS(at, end) != 0);
    }
    SPRY_FNJ(put)(job, i, rows, sum);
}

/*
 * Multiplies up to LANES rows, one after the other. One tree of additions adds up the lanes of all rows, and one store
 * writes y.
 */
SPRYI_INLINE void SPRY_FN(short_group)(const spryi_csr_job *job, int64_t i, int rows, int64_t limit,
                                       const int has_values)
{
    const SPRY_P *Ap = (const SPRY_P *)job->offsets + i;
    if (Ap[rows] - Ap[0] <= SPRYI_TYPED(PACKED) * LANES) {
        SPRY_FN(packed_group)(job, i, rows, limit, has_values);
        return;
    }
    VEC sum[LANES];
    for (int r = 0; r < LANES; r++)
        sum[r] = r < rows ? SPRY_FNJ(short_row)(job->values, job->columns, job->x, Ap[r], Ap[r + 1], limit, has_values)
                          : ZERO();
    SPRY_FNJ(put)(job, i, rows, SPRYI_TYPED(sum_rows)(sum));
}

SPRYI_INLINE void SPRY_FN(long_group)(const spryi_csr_job *job, int64_t i, int rows, int64_t limit,
                                      const int has_values)
{
    const SPRY_P *Ap = (const SPRY_P *)job->offsets + i;
    SPRY_V sum[LANES] = {0};
    for (int r = 0; r < rows; r++)
        sum[r] = SPRYI_MM512(reduce_add)(
            SPRY_FNJ(long_row)(job->values, job->columns, job->x, Ap[r], Ap[r + 1], limit, has_values));
    SPRY_FNJ(put)(job, i, rows, LOAD(sum));
}

/* Multiplies fewer rows than LANES, at the start or the end of a run. */
SPRYI_ONCE void SPRY_FN(short_rest)(const spryi_csr_job *job, int64_t i, int rows, int64_t limit, const int has_values)
{
    SPRY_FN(short_group)(job, i, rows, limit, has_values);
}

SPRYI_INLINE void SPRY_FN(short_rows)(const spryi_csr_job *job, int64_t begin, int64_t end, const int has_values)
{
    const int64_t limit = ((const SPRY_P *)job->offsets)[end];
    int64_t i = SPRY_FNJ(head)(job, begin, end);
    if (i > begin) SPRY_FN(short_rest)(job, begin, (int)(i - begin), limit, has_values);
    for (; i + LANES <= end; i += LANES) SPRY_FN(short_group)(job, i, LANES, limit, has_values);
    if (i < end) SPRY_FN(short_rest)(job, i, (int)(end - i), limit, has_values);
}

SPRYI_INLINE void SPRY_FN(long_rows)(const spryi_csr_job *job, int64_t begin, int64_t end, const int has_values)
{
    const int64_t limit = ((const SPRY_P *)job->offsets)[end];
    for (int64_t i = begin, next = SPRY_FNJ(head)(job, begin, end); i < end; i = next) {
        if (next == i) next = i + LANES < end ? i + LANES : end;
        SPRY_FN(long_group)(job, i, (int)(next - i), limit, has_values);
    }
}

SPRYI_INLINE void SPRY_FN(rows_of)(const spryi_csr_job *job, int64_t begin, int64_t end, const int has_values)
{
    const SPRY_P *Ap = job->offsets;
    const int64_t count = Ap[end] - Ap[begin], rows = end - begin;
    /*
     * Short rows form groups of LANES rows with one tree of additions. Fewer than four rows would leave most of such a
     * group empty. They are multiplied as long rows unless they are very short.
     */
    if (count < SHORT_MEAN * rows && !(rows < 4 && count > SPRYI_TYPED(FEW_MEAN) * rows))
        SPRY_FN(short_rows)(job, begin, end, has_values);
    else
        SPRY_FN(long_rows)(job, begin, end, has_values);
    if (job->stream_y) _mm_sfence();
}

static void SPRY_FN(rows)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    SPRY_FN(rows_of)(job, begin, end, 1);
}

#if !SPRY_IS_MIXED
static void SPRY_FN(rows_ones)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    SPRY_FN(rows_of)(job, begin, end, 0);
}
#endif

#if SPRY_FIRST_J

SPRYI_INLINE void SPRY_FNJ(piece_of)(const spryi_csr_job *job, const spryi_csr_block *piece, const int has_values)
{
    const int64_t k = piece->begin, end = piece->end;
    const VEC sum = SPRY_FNJ(long_row)(job->values, job->columns, job->x, k, end, end, has_values);
    job->sums[piece->piece] = (double)SPRYI_MM512(reduce_add)(sum);
}

static void SPRY_FNJ(piece)(const spryi_csr_job *job, const spryi_csr_block *piece)
{
    SPRY_FNJ(piece_of)(job, piece, 1);
}

#if !SPRY_IS_MIXED
static void SPRY_FNJ(piece_ones)(const spryi_csr_job *job, const spryi_csr_block *piece)
{
    SPRY_FNJ(piece_of)(job, piece, 0);
}
#endif

/* ---- rows with a constant stride ------------------------------------------------------------------------- */

/*
 * Multiplies `rows` <= LANES rows of a strided run, one per lane. Entries with the same index j in their rows are
 * multiplied by contiguous elements of x.
 */
SPRYI_INLINE void SPRY_FNJ(strided_group)(const spryi_csr_job *job, int64_t i, const SPRY_S *Ax, const SPRY_J *Aj,
                                          const SPRY_V *x, int64_t length, int rows)
{
    const MASK live = (MASK)first_lanes(rows);
    const int64_t column_bytes = LANES * (int64_t)sizeof(SPRY_S);
    VEC sum = ZERO(), second = ZERO(), v[4];
    int64_t j = 0;
    for (; j + 4 <= length; j += 4) {
        /* a step multiplies four entries of each row, and prefetches as many bytes of values, in memory order */
        for (int64_t c = j; c < j + 4; c++) spryi_prefetch(Ax, c * column_bytes + SPRYI_AHEAD_STEPPED);
        SPRYI_JOIN(four_columns, SPRYI_TYPE_TAG)(Ax + j, length, 0xf, rows, rows == LANES, v);
        sum = FMA(v[0], MASKZ_LOAD(live, x + Aj[j]), sum);
        second = FMA(v[1], MASKZ_LOAD(live, x + Aj[j + 1]), second);
        sum = FMA(v[2], MASKZ_LOAD(live, x + Aj[j + 2]), sum);
        second = FMA(v[3], MASKZ_LOAD(live, x + Aj[j + 3]), second);
    }
    if (j < length) {
        for (int64_t c = j; c < length; c++) spryi_prefetch(Ax, c * column_bytes + SPRYI_AHEAD_STEPPED);
        /*
         * the remaining columns become v[past] to v[3]; if rows have at least four entries, entries before j are also
         * read
         */
        const int past = (int)(j + 4 - length);
        const SPRY_S *from = (const SPRY_S *)((uintptr_t)Ax + (uintptr_t)(length - 4) * sizeof(SPRY_S));
        if (rows == LANES && length >= 4)
            SPRYI_JOIN(four_columns, SPRYI_TYPE_TAG)(from, length, 0xf, rows, 1, v);
        else
            SPRYI_JOIN(four_columns, SPRYI_TYPE_TAG)(from, length, (__mmask8)(0xf & (0xf << past)), rows, 0, v);
        if (past <= 1) second = FMA(v[1], MASKZ_LOAD(live, x + Aj[length - 3]), second);
        if (past <= 2) second = FMA(v[2], MASKZ_LOAD(live, x + Aj[length - 2]), second);
        sum = FMA(v[3], MASKZ_LOAD(live, x + Aj[length - 1]), sum);
    }
    SPRY_FNJ(put)(job, i, rows, ADD(sum, second));
}

/* Multiplies fewer rows than LANES, at the start or the end of a run. */
SPRYI_ONCE void SPRY_FNJ(strided_rest)(const spryi_csr_job *job, int64_t i, const SPRY_S *Ax, const SPRY_J *Aj,
                                       const SPRY_V *x, int64_t length, int rows)
{
    SPRY_FNJ(strided_group)(job, i, Ax, Aj, x, length, rows);
}

/* Reads only the columns of the run's first row. */
static void SPRY_FNJ(strided)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    const int64_t first = spryi_csr_offset(job, begin), length = spryi_csr_offset(job, begin + 1) - first;
    const SPRY_J *Aj = (const SPRY_J *)job->columns + first;
    const SPRY_S *Ax = (const SPRY_S *)job->values + first;
    const SPRY_V *x = job->x;
    int64_t i = SPRY_FNJ(head)(job, begin, end);
    if (i > begin) SPRY_FNJ(strided_rest)(job, begin, Ax, Aj, x, length, (int)(i - begin));
    for (Ax += (i - begin) * length, x += i - begin; i + LANES <= end; i += LANES, Ax += LANES * length, x += LANES)
        SPRY_FNJ(strided_group)(job, i, Ax, Aj, x, length, LANES);
    if (i < end) SPRY_FNJ(strided_rest)(job, i, Ax, Aj, x, length, (int)(end - i));
    if (job->stream_y) _mm_sfence();
}

/* ---- rows that share their columns ----------------------------------------------------------------------- */

/* Reads a group's columns and gathers its x once for all rows of the group. */
SPRYI_INLINE void SPRY_FNJ(shared_groups)(const spryi_csr_job *job, int64_t begin, int64_t end, const int group)
{
    const SPRY_V *x = job->x;
    const int64_t limit = spryi_csr_offset(job, end);
    for (int64_t i = begin; i < end; i += group) {
        const int64_t first = spryi_csr_offset(job, i), length = spryi_csr_offset(job, i + 1) - first;
        const SPRY_J *Aj = (const SPRY_J *)job->columns + first;
        const SPRY_S *Ax = (const SPRY_S *)job->values + first;
        VEC sum[8] = {ZERO(), ZERO(), ZERO(), ZERO(), ZERO(), ZERO(), ZERO(), ZERO()};
        int64_t j = 0;
        for (; j + LANES <= length; j += LANES) {
            spryi_prefetch(Aj, (j + 2 * group * length) * (int64_t)sizeof(SPRY_J));
            VEC xs = GATHER_AT(x, Aj + j);
            for (int r = 0; r < group; r++) {
                spryi_prefetch(Ax, (r * length + j) * (int64_t)sizeof(SPRY_S) + SPRYI_AHEAD);
                sum[r] = FMA(LOAD_VALUES(Ax + r * length + j), xs, sum[r]);
            }
        }
        if (j < length) {
            MASK mask = (MASK)first_lanes((int)(length - j));
            VEC xs = first + j + LANES <= limit ? GATHER_AT(x, Aj + j) : SPRY_FNJ(gather_some)(x, Aj + j, length - j);
            spryi_prefetch(Aj, (j + 2 * group * length) * (int64_t)sizeof(SPRY_J));
            for (int r = 0; r < group; r++) {
                spryi_prefetch(Ax, (r * length + j) * (int64_t)sizeof(SPRY_S) + SPRYI_AHEAD);
                sum[r] = MASK_FMA(MASKZ_LOAD_VALUES(mask, Ax + r * length + j), xs, sum[r], mask);
            }
        }
        SPRY_FNJ(put)(job, i, group, SPRYI_TYPED(sum_group)(sum));
    }
}

static void SPRY_FNJ(shared)(const spryi_csr_job *job, int64_t begin, int64_t end, int group)
{
#if SPRY_IS_MIXED && SPRY_J_IS_64 /* one copy for all group sizes: a copy for each would take 33 KB */
    SPRY_FNJ(shared_groups)(job, begin, end, group);
#else
    SPRYI_BY_GROUP(group, SPRY_FNJ(shared_groups), job, begin, end)
#endif
    if (job->stream_y) _mm_sfence();
}

#endif

#if !SPRY_IS_MIXED

/* ---- spans ----------------------------------------------------------------------------------------------- */

#if SPRY_FIRST_J

/* Returns sum plus the products of a span. Its values begin at Ax and are expanded to the span's lanes. */
SPRYI_INLINE VEC SPRY_FNJ(span_terms)(const SPRY_V *Ax, const SPRY_V *x, const spryi_csr_span *span, VEC sum)
{
    const MASK lanes = (MASK)span->lanes; /* other lanes read neither x nor values */
    spryi_prefetch_near(Ax, SPRYI_AHEAD_NEAR);
    return FMA(SPRYI_MM512(maskz_expandloadu)(lanes, Ax), MASKZ_LOAD(lanes, x + span->column), sum);
}

/* The columns of a group's span have no gaps, so values are loaded without expanding. */
SPRYI_INLINE void SPRY_FNJ(span_groups_of)(const spryi_csr_job *job, int64_t begin, int64_t end,
                                           const spryi_csr_span *span, const int group)
{
    const SPRY_V *x = job->x;
    for (int64_t i = begin; i < end; i += group) {
        const int64_t first = spryi_csr_offset(job, i), length = spryi_csr_offset(job, i + 1) - first;
        const SPRY_V *Ax = (const SPRY_V *)job->values + first;
        VEC sum[8] = {ZERO(), ZERO(), ZERO(), ZERO(), ZERO(), ZERO(), ZERO(), ZERO()};
        for (int64_t j = 0; j < length; j += span->count, span++) {
            const MASK lanes = (MASK)span->lanes;
            const VEC xs = MASKZ_LOAD(lanes, x + span->column);
            for (int r = 0; r < group; r++) {
                spryi_prefetch(Ax, (r * length + j) * (int64_t)sizeof(SPRY_V) + SPRYI_AHEAD);
                sum[r] = FMA(MASKZ_LOAD(lanes, Ax + r * length + j), xs, sum[r]);
            }
        }
        SPRY_FNJ(put)(job, i, group, SPRYI_TYPED(sum_group)(sum));
    }
}

static void SPRY_FNJ(span_groups)(const spryi_csr_job *job, int64_t begin, int64_t end, const spryi_csr_span *span,
                                  int group)
{
    SPRYI_BY_GROUP(group, SPRY_FNJ(span_groups_of), job, begin, end, span)
    if (job->stream_y) _mm_sfence();
}

#endif

/* Multiplies rows i .. i + rows - 1, one after the other. Returns the first span of the next row. */
SPRYI_INLINE const spryi_csr_span *SPRY_FN(span_row_group)(const spryi_csr_job *job, int64_t i, int rows,
                                                           const spryi_csr_span *span, const int least)
{
    const SPRY_P *Ap = job->offsets;
    const SPRY_V *Ax = job->values, *x = job->x;
    VEC sum[LANES];
    if (rows < LANES)
        for (int r = 0; r < LANES; r++) sum[r] = ZERO();
    for (int r = 0; r < rows; r++) {
        int64_t k = Ap[i + r];
        const int64_t end = Ap[i + r + 1];
        VEC total = ZERO();
        spryi_prefetch_near(span, SPRYI_AHEAD_NEAR);
        for (int q = 0; q < least; q++, k += span->count, span++) total = SPRY_FNJ(span_terms)(Ax + k, x, span, total);
        for (; k < end; k += span->count, span++) total = SPRY_FNJ(span_terms)(Ax + k, x, span, total);
        sum[r] = total;
    }
    SPRY_FNJ(put)(job, i, rows, SPRYI_TYPED(sum_rows)(sum));
    return span;
}

SPRYI_INLINE void SPRY_FN(span_rows_of)(const spryi_csr_job *job, int64_t begin, int64_t end,
                                        const spryi_csr_span *span, const int least)
{
    int64_t i = SPRY_FNJ(head)(job, begin, end);
    if (i > begin) span = SPRY_FN(span_row_group)(job, begin, (int)(i - begin), span, least);
    for (; i < end; i += LANES)
        span = SPRY_FN(span_row_group)(job, i, end - i < LANES ? (int)(end - i) : LANES, span, least);
}

/*
 * Each row has at least `least` spans, some of which may be empty. The first `least` spans of a row are multiplied
 * without a test for the row's end.
 */
static void SPRY_FN(span_rows)(const spryi_csr_job *job, int64_t begin, int64_t end, const spryi_csr_span *span,
                               int least)
{
    switch (least) {
    case 1: SPRY_FN(span_rows_of)(job, begin, end, span, 1); break;
    case 2: SPRY_FN(span_rows_of)(job, begin, end, span, 2); break;
    case 3: SPRY_FN(span_rows_of)(job, begin, end, span, 3); break;
    default: SPRY_FN(span_rows_of)(job, begin, end, span, SPRYI_MAX_LEAST_SPANS); break;
    }
    if (job->stream_y) _mm_sfence();
}

#endif

/* ---- all together ---------------------------------------------------------------------------------------- */

#include "formats/csr/csr_panel.tmpl.c"

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    static const spryi_csr_loops loops[] = {
#if SPRY_IS_MIXED
        {0}, /* patterns have no mixed types */
        {SPRY_FN(rows), SPRY_FNJ(strided), SPRY_FNJ(shared), SPRY_FNJ(piece), NULL, NULL, SPRY_FNJ(values_panel_rows),
         SPRY_FNJ(values_panel_piece)},
#else
        {SPRY_FN(rows_ones), SPRY_FNJ(pattern_strided), SPRY_FNJ(pattern_shared), SPRY_FNJ(piece_ones), NULL, NULL,
         SPRY_FNJ(ones_panel_rows), SPRY_FNJ(ones_panel_piece)},
        {SPRY_FN(rows), SPRY_FNJ(strided), SPRY_FNJ(shared), SPRY_FNJ(piece), SPRY_FN(span_rows), SPRY_FNJ(span_groups),
         SPRY_FNJ(values_panel_rows), SPRY_FNJ(values_panel_piece)},
#endif
    };
#if !SPRY_IS_MIXED
    /*
     * If there are fewer row-major vectors than lanes, runs the loops of csr_avx2_cpu. They give the same bits and are
     * up to 1.5 times as fast (16 cores of a Xeon; 2 and 4 vectors, in f32 also 8).
     */
    if (args->columns > 1 && args->columns < LANES && args->x_column_stride == 1) {
        const spry_arrays *a = spryi_storage_arrays(args->storage);
        const int pair = spryi_index_pair(a->offset_type, a->index_type);
        return spryi_csr_gather_avx2[spryi_value_row(a->value_type, args->vector_type)][pair](args, err);
    }
#endif
    return spryi_csr_drive(args, loops);
}
