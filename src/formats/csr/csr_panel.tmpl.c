/*
 * Products with multiple row-major vectors, for csr_avx2_cpu and csr_avx512_cpu. A register holds x of one column of
 * the matrix for LANES vectors. An entry is multiplied by one or two registers; the remaining vectors use the first
 * lanes of one register. The order of a row's additions does not depend on the number of vectors, so no vector changes
 * the result of another.
 *
 * has_values: 0 for a pattern. twice: 1 for two registers. used: the lanes of the (first) register that are used.
 */

#if SPRY_FIRST_J

/* Loads x or y of `count` vectors. */
SPRYI_INLINE VEC SPRY_FNJ(panel_load)(const SPRY_V *from, int count, const int used)
{
    if (used == SPRYI_ALL_LANES) return LOAD(from);
    return used == SPRYI_HALF_THE_LANES ? LOAD_HALF(from) : PANEL_LOAD(from, count);
}

/*
 * Adds up entries k .. end - 1 times x, for the vectors from c on. Uses four sums in long rows, so that an addition
 * need not wait for the previous one.
 */
SPRYI_INLINE void SPRY_FNJ(panel_sums)(const spryi_csr_job *job, int64_t k, int64_t end, int64_t c, int count,
                                       const int has_values, const int used, const int twice, VEC sums[2])
{
    const SPRY_J *Aj = job->columns;
    const SPRY_S *Ax = job->values;
    const SPRY_V *x = (const SPRY_V *)job->x + c;
    const int64_t stride = job->x_stride;
    VEC low[4] = {ZERO(), ZERO(), ZERO(), ZERO()}, high[4] = {ZERO(), ZERO(), ZERO(), ZERO()};
#define ADD_ENTRY(k, to)                                                                                               \
    do {                                                                                                               \
        const SPRY_V *row = x + (int64_t)Aj[k] * stride;                                                               \
        const VEC a = has_values ? SET1(SPRY_VALUE(Ax[k])) : ZERO(), first = SPRY_FNJ(panel_load)(row, count, used);   \
        low[to] = has_values ? FMA(a, first, low[to]) : ADD(first, low[to]);                                           \
        if (twice) high[to] = has_values ? FMA(a, LOAD(row + LANES), high[to]) : ADD(LOAD(row + LANES), high[to]);     \
    } while (0)
    if (end - k <= SPRYI_CSR_SHORT_ROW) {
        if (has_values && c == 0) spryi_prefetch_entries(Ax, Aj, k, k + 4, sizeof(SPRY_S), sizeof(SPRY_J));
        SPRYI_CSR_ROLLED for (; k < end; k++) ADD_ENTRY(k, 0);
        sums[0] = low[0];
        sums[1] = high[0];
        return;
    }
    for (; k + 4 <= end; k += 4) {
        if (has_values && c == 0) spryi_prefetch_entries(Ax, Aj, k, k + 4, sizeof(SPRY_S), sizeof(SPRY_J));
        ADD_ENTRY(k, 0);
        ADD_ENTRY(k + 1, 1);
        ADD_ENTRY(k + 2, 2);
        ADD_ENTRY(k + 3, 3);
    }
    if (k < end) ADD_ENTRY(k, 0);
    if (k + 1 < end) ADD_ENTRY(k + 1, 1);
    if (k + 2 < end) ADD_ENTRY(k + 2, 2);
#undef ADD_ENTRY
    sums[0] = ADD(ADD(low[0], low[1]), ADD(low[2], low[3]));
    sums[1] = twice ? ADD(ADD(high[0], high[1]), ADD(high[2], high[3])) : ZERO();
}

/* Writes all lanes to y from element i on. Stores are not masked, because masked stores are slow on some processors. */
SPRYI_INLINE void SPRY_FNJ(panel_put)(const spryi_csr_job *job, int64_t i, VEC sums)
{
    SPRY_V *y = (SPRY_V *)job->y + i;
    VEC result = MUL(SET1(SPRY_SCALAR(job->alpha)), sums);
    if (job->stream_y) {
        if (SPRYI_STREAM_PART < sizeof(VEC) && (uintptr_t)y % sizeof(VEC) != 0)
            spryi_stream_parts(y, &result, sizeof(VEC) / SPRYI_STREAM_PART);
        else
            STREAM(y, result);
        return;
    }
    if (SPRY_SCALAR(job->beta) != 0) result = ADD(result, MUL(SET1(SPRY_SCALAR(job->beta)), LOAD(y)));
    STORE(y, result);
}

/* Returns whether the types are common enough for more instances: for half a register and single numbers of vectors. */
SPRYI_INLINE bool SPRY_FNJ(is_common)(const int has_values)
{
    return sizeof(VEC) == 32 && !SPRY_J_IS_64 && !SPRY_IS_MIXED && has_values;
}

/* Writes the first `count` lanes, with the same bits as panel_put. used: SPRYI_SOME_LANES or SPRYI_HALF_THE_LANES. */
SPRYI_INLINE void SPRY_FNJ(panel_put_rest)(const spryi_csr_job *job, int64_t i, int count, const int used,
                                           const bool is_common, VEC sums)
{
    SPRY_V *y = (SPRY_V *)job->y + i;
    VEC result = MUL(SET1(SPRY_SCALAR(job->alpha)), sums);
    if (SPRY_SCALAR(job->beta) != 0)
        result = ADD(result, MUL(SET1(SPRY_SCALAR(job->beta)), SPRY_FNJ(panel_load)(y, count, used)));
    if (used == SPRYI_HALF_THE_LANES)
        spryi_panel_copy(y, &result, sizeof result / 2, job->stream_y);
    else if (is_common)
        spryi_panel_copy(y, &result, (size_t)count * sizeof *y, job->stream_y);
    else
        spryi_panel_copy_part(y, &result, (size_t)count * sizeof *y, job->stream_y);
}

/* Prefetches the row of x that entry k uses. */
SPRYI_INLINE void SPRY_FNJ(prefetch_x_row)(const spryi_csr_job *job, int64_t k, int64_t columns)
{
    const SPRY_V *row = (const SPRY_V *)job->x + (int64_t)((const SPRY_J *)job->columns)[k] * job->x_stride;
    for (int64_t b = 0; b < columns * (int64_t)sizeof *row; b += 64) spryi_prefetch_near(row, b);
}

SPRYI_INLINE void SPRY_FNJ(panel_piece)(const spryi_csr_job *job, const spryi_csr_block *piece, int64_t sums_stride,
                                        int64_t columns, const int has_values)
{
    SPRY_V lanes[LANES];
    for (int64_t c = 0; c < columns; c += LANES) {
        const int count = columns - c < LANES ? (int)(columns - c) : LANES;
        VEC sums[2];
        SPRY_FNJ(panel_sums)(job, piece->begin, piece->end, c, count, has_values, SPRYI_SOME_LANES, 0, sums);
        memcpy(lanes, sums, sizeof lanes);
        for (int l = 0; l < count; l++) job->sums[(c + l) * sums_stride + piece->piece] = (double)lanes[l];
    }
}

/* Multiplies a row, with entries first .. last - 1, by all vectors. Writes y from element `y` on. */
SPRYI_INLINE void SPRY_FNJ(panel_row)(const spryi_csr_job *job, int64_t first, int64_t last, int64_t y, int64_t columns,
                                      const int has_values)
{
    const int rest = (int)(columns % LANES);
    int64_t c = 0;
    VEC sums[2];
    for (; c + 2 * LANES <= columns; c += 2 * LANES) {
        SPRY_FNJ(panel_sums)(job, first, last, c, LANES, has_values, SPRYI_ALL_LANES, 1, sums);
        SPRY_FNJ(panel_put)(job, y + c, sums[0]);
        SPRY_FNJ(panel_put)(job, y + c + LANES, sums[1]);
    }
    if (c + LANES <= columns) {
        SPRY_FNJ(panel_sums)(job, first, last, c, LANES, has_values, SPRYI_ALL_LANES, 0, sums);
        SPRY_FNJ(panel_put)(job, y + c, sums[0]);
        c += LANES;
    }
    if (rest == LANES / 2 && SPRY_FNJ(is_common)(has_values)) {
        SPRY_FNJ(panel_sums)(job, first, last, c, rest, has_values, SPRYI_HALF_THE_LANES, 0, sums);
        SPRY_FNJ(panel_put_rest)(job, y + c, rest, SPRYI_HALF_THE_LANES, true, sums[0]);
    } else if (rest > 0) {
        SPRY_FNJ(panel_sums)(job, first, last, c, rest, has_values, SPRYI_SOME_LANES, 0, sums);
        SPRY_FNJ(panel_put_rest)(job, y + c, rest, SPRYI_SOME_LANES, SPRY_FNJ(is_common)(has_values), sums[0]);
    }
}

/*
 * If rows are short and y is large, prefetches x for the last entry of the row `ahead` rows later. On meshes x of
 * that row's other entries is in the caches by then. The hardware prefetchers alone keep too few cache lines in flight.
 */
SPRYI_INLINE void SPRY_FNJ(panel_rows_of)(const spryi_csr_job *job, int64_t begin, int64_t end, int64_t columns,
                                          const int has_values)
{
    const spryi_csr_job own = *job; /* local copy, which no store can change */
    const int64_t ahead =
        own.large_y ? spryi_rows_to_prefetch(end - begin, spryi_csr_offset(&own, end) - spryi_csr_offset(&own, begin))
                    : end - begin;
    int64_t first = spryi_csr_offset(&own, begin);
    for (int64_t i = begin; i < end; i++) {
        const int64_t last = spryi_csr_offset(&own, i + 1);
        int64_t later = i + ahead;
        __asm__("" : "+r"(later)); /* keeps the compiler from splitting the loop into two */
        if (later < end && spryi_csr_offset(&own, later) > first)
            SPRY_FNJ(prefetch_x_row)(&own, spryi_csr_offset(&own, later) - 1, columns);
        SPRY_FNJ(panel_row)(&own, first, last, i * own.y_stride, columns, has_values);
        first = last;
    }
    if (own.stream_y) _mm_sfence();
}

/*
 * With AVX2, the most common types and numbers of vectors have loops of their own, whose values remain in its 16
 * registers.
 */
SPRYI_INLINE void SPRY_FNJ(panel_rows)(const spryi_csr_job *job, int64_t begin, int64_t end, int64_t columns,
                                       const int has_values)
{
    const bool is_common = SPRY_FNJ(is_common)(has_values);
    if (is_common && columns == 2)
        SPRY_FNJ(panel_rows_of)(job, begin, end, 2, has_values);
    else if (is_common && !SPRY_IS_F64 && columns == 3) /* with f64 this would take longer */
        SPRY_FNJ(panel_rows_of)(job, begin, end, 3, has_values);
    else if (is_common && columns == LANES / 2)
        SPRY_FNJ(panel_rows_of)(job, begin, end, LANES / 2, has_values);
    else if (is_common && columns == LANES)
        SPRY_FNJ(panel_rows_of)(job, begin, end, LANES, has_values);
    else if (is_common && columns == 2 * LANES)
        SPRY_FNJ(panel_rows_of)(job, begin, end, 2 * LANES, has_values);
    else if (is_common && columns < LANES)
        SPRY_FNJ(panel_rows_of)(job, begin, end, columns % LANES, has_values);
    else if (is_common && columns < 2 * LANES)
        SPRY_FNJ(panel_rows_of)(job, begin, end, LANES + columns % LANES, has_values);
    else
        SPRY_FNJ(panel_rows_of)(job, begin, end, columns, has_values);
}

#if !SPRY_IS_MIXED
SPRYI_CSR_PANEL_LOOPS(ones, panel, 0)
#endif
SPRYI_CSR_PANEL_LOOPS(values, panel, 1)

#endif
