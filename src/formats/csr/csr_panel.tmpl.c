/*
 * Several columns of x and y, row by row, for csr_avx2_cpu and csr_avx512_cpu: an entry is multiplied with one or two
 * registers of its row of x. What is left of the columns takes the first lanes of one. has_values: 0 for a pattern;
 * full: 1 where all lanes are columns; twice: 1 for two registers. A row is added up in the same order whatever the
 * columns, so that none depends on the others.
 */

#if SPRY_FIRST_J

/* Entries k .. end - 1 times columns c .. of their rows of x. Four sums, so that no addition waits for the last. */
SPRYI_INLINE void SPRY_FNJ(panel_sums)(const spryi_csr_job *job, int64_t k, int64_t end, int64_t c, int count,
                                       const int has_values, const int full, const int twice, VEC sums[2])
{
    const SPRY_J *Aj = job->columns;
    const SPRY_S *Ax = job->values;
    const SPRY_V *x = (const SPRY_V *)job->x + c;
    const int64_t stride = job->x_stride;
    VEC low[4] = {ZERO(), ZERO(), ZERO(), ZERO()}, high[4] = {ZERO(), ZERO(), ZERO(), ZERO()};
#define ADD_ENTRY(k, to)                                                                                               \
    do {                                                                                                               \
        const SPRY_V *row = x + (int64_t)Aj[k] * stride;                                                               \
        const VEC a = has_values ? SET1(SPRY_VALUE(Ax[k])) : ZERO(),                                                   \
                  first = full ? LOAD(row) : PANEL_LOAD(row, count);                                                   \
        low[to] = has_values ? FMA(a, first, low[to]) : ADD(first, low[to]);                                           \
        if (twice) high[to] = has_values ? FMA(a, LOAD(row + LANES), high[to]) : ADD(LOAD(row + LANES), high[to]);     \
    } while (0)
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

/* Where y is aligned to so much it may be streamed: with AVX2 parts of a register gained nothing. */
#ifdef __AVX512F__
#define STREAMED_TO 16
#else
#define STREAMED_TO sizeof(VEC)
#endif

/* All lanes from number i of y on. Whole stores: on some processors those of a mask are microcode. */
SPRYI_INLINE void SPRY_FNJ(panel_put)(const spryi_csr_job *job, int64_t i, VEC sums)
{
    SPRY_V *y = (SPRY_V *)job->y + i;
    VEC result = MUL(SET1(SPRY_SCALAR(job->alpha)), sums);
    if (job->stream_y && (uintptr_t)y % STREAMED_TO == 0) {
        if (STREAMED_TO < sizeof(VEC) && (uintptr_t)y % sizeof(VEC) != 0)
            spryi_stream_parts(y, &result, sizeof(VEC) / STREAMED_TO);
        else
            STREAM(y, result);
        return;
    }
    if (SPRY_SCALAR(job->beta) != 0) result = ADD(result, MUL(SET1(SPRY_SCALAR(job->beta)), LOAD(y)));
    STORE(y, result);
}

/* The first `count`, with the bits of all. */
SPRYI_INLINE void SPRY_FNJ(panel_put_rest)(const spryi_csr_job *job, int64_t i, int count, VEC sums)
{
    SPRY_V *y = (SPRY_V *)job->y + i, lanes[LANES] = {0};
    VEC result = MUL(SET1(SPRY_SCALAR(job->alpha)), sums);
    if (SPRY_SCALAR(job->beta) != 0) {
        for (int l = 0; l < count; l++) lanes[l] = y[l];
        result = ADD(result, MUL(SET1(SPRY_SCALAR(job->beta)), LOAD(lanes)));
    }
    memcpy(lanes, &result, sizeof lanes);
    for (int l = 0; l < count; l++) y[l] = lanes[l];
}

/* Fetches the row of x of entry k. */
SPRYI_INLINE void SPRY_FNJ(panel_ask)(const spryi_csr_job *job, int64_t k, int64_t columns)
{
    const SPRY_V *row = (const SPRY_V *)job->x + (int64_t)((const SPRY_J *)job->columns)[k] * job->x_stride;
    for (int64_t b = 0; b < columns * (int64_t)sizeof *row; b += 64) spryi_prefetch_near(row, b);
}

SPRYI_INLINE void SPRY_FNJ(panel_piece)(const spryi_csr_job *job, const spryi_csr_block *piece, int64_t apart,
                                        int64_t columns, const int has_values)
{
    SPRY_V lanes[LANES];
    for (int64_t c = 0; c < columns; c += LANES) {
        const int count = columns - c < LANES ? (int)(columns - c) : LANES;
        VEC sums[2];
        SPRY_FNJ(panel_sums)(job, piece->begin, piece->end, c, count, has_values, 0, 0, sums);
        memcpy(lanes, sums, sizeof lanes);
        for (int l = 0; l < count; l++) job->sums[(c + l) * apart + piece->piece] = (double)lanes[l];
    }
}

/*
 * Where rows are short and y is streamed, a row's last column `ahead` rows on is asked for: on meshes the rest of its
 * row of x is in the caches by then, and memory's prefetchers alone keep too few lines on their way.
 */
SPRYI_INLINE void SPRY_FNJ(panel_rows)(const spryi_csr_job *job, int64_t begin, int64_t end, int64_t columns,
                                       const int has_values)
{
    const spryi_csr_job own = *job; /* a copy that no store can change */
    const int rest = (int)(columns % LANES);
    const int64_t ahead =
        own.stream_y ? spryi_rows_to_ask(end - begin, spryi_csr_offset(&own, end) - spryi_csr_offset(&own, begin))
                     : end - begin;
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = spryi_csr_offset(&own, i), last = spryi_csr_offset(&own, i + 1), y = i * own.y_stride;
        int64_t c = 0;
        int64_t later = i + ahead;
        __asm__("" : "+r"(later)); /* else the loop would be there twice, for rows before and after */
        if (later < end && spryi_csr_offset(&own, later) > first)
            SPRY_FNJ(panel_ask)(&own, spryi_csr_offset(&own, later) - 1, columns);
        VEC sums[2];
        for (; c + 2 * LANES <= columns; c += 2 * LANES) {
            SPRY_FNJ(panel_sums)(&own, first, last, c, LANES, has_values, 1, 1, sums);
            SPRY_FNJ(panel_put)(&own, y + c, sums[0]);
            SPRY_FNJ(panel_put)(&own, y + c + LANES, sums[1]);
        }
        if (c + LANES <= columns) {
            SPRY_FNJ(panel_sums)(&own, first, last, c, LANES, has_values, 1, 0, sums);
            SPRY_FNJ(panel_put)(&own, y + c, sums[0]);
            c += LANES;
        }
        if (rest > 0) {
            SPRY_FNJ(panel_sums)(&own, first, last, c, rest, has_values, 0, 0, sums);
            SPRY_FNJ(panel_put_rest)(&own, y + c, rest, sums[0]);
        }
    }
    if (own.stream_y) _mm_sfence();
}

#if !SPRY_IS_MIXED
SPRYI_CSR_PANEL_LOOPS(ones, panel, 0)
#endif
SPRYI_CSR_PANEL_LOOPS(values, panel, 1)

#endif

#undef STREAMED_TO
