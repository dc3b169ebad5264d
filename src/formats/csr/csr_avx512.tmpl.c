/* The inner functions with AVX-512, eight entries or eight rows a register; see csr.h for what each is given. */

#undef VEC
#undef MASKZ_LOAD
#undef LOAD
#undef MASK_STORE
#undef STREAM
#undef FMA
#undef MUL
#undef ADD
#undef SET1
#undef ZERO
#undef REDUCE
#undef GATHER
#undef MASK_GATHER
#undef MASK_GATHER_AT
#undef INDICES
#undef MASKZ_INDICES
#undef MASK_INDICES
#undef SUM_PAIRS
#undef SUM_ROWS
#undef MASK_LOAD
#undef LOW_ROW
#undef HIGH_ROW
#undef TRANSPOSE

#if SPRY_IS_F64
#define VEC __m512d
#define MASKZ_LOAD(mask, p) _mm512_maskz_loadu_pd(mask, p)
#define LOAD(p) _mm512_loadu_pd(p)
#define MASK_STORE(p, mask, v) _mm512_mask_storeu_pd(p, mask, v)
#define STREAM(p, v) _mm512_stream_pd(p, v)
#define FMA(a, b, c) _mm512_fmadd_pd(a, b, c)
#define MUL(a, b) _mm512_mul_pd(a, b)
#define ADD(a, b) _mm512_add_pd(a, b)
#define SET1(s) _mm512_set1_pd(s)
#define ZERO() _mm512_setzero_pd()
#define REDUCE(v) _mm512_reduce_add_pd(v)
#define SUM_ROWS sum_rows_pd
#define SUM_PAIRS sum_pairs_pd
#define MASK_LOAD(v, mask, p) _mm512_mask_loadu_pd(v, mask, p)
#define LOW_ROW(r) ((r) < 2 ? (r) : (r) + 2)
#define HIGH_ROW(r) ((r) < 2 ? (r) + 2 : (r) + 4)
#define TRANSPOSE transpose_pd
#if SPRY_J_IS_64
#define GATHER(x, Aj) _mm512_i64gather_pd(_mm512_loadu_si512(Aj), x, 8)
#define MASK_GATHER_AT(x, at, mask) _mm512_mask_i64gather_pd(ZERO(), mask, at, x, 8)
#else
#define GATHER(x, Aj) _mm512_i32gather_pd(_mm256_loadu_si256((const __m256i *)(Aj)), x, 8)
#define MASK_GATHER_AT(x, at, mask) _mm512_mask_i32gather_pd(ZERO(), mask, at, x, 8)
#endif
#else
#define VEC __m256
#define MASKZ_LOAD(mask, p) _mm256_maskz_loadu_ps(mask, p)
#define LOAD(p) _mm256_loadu_ps(p)
#define MASK_STORE(p, mask, v) _mm256_mask_storeu_ps(p, mask, v)
#define STREAM(p, v) _mm256_stream_ps(p, v)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define MUL(a, b) _mm256_mul_ps(a, b)
#define ADD(a, b) _mm256_add_ps(a, b)
#define SET1(s) _mm256_set1_ps(s)
#define ZERO() _mm256_setzero_ps()
#define REDUCE(v) reduce_ps(v)
#define SUM_ROWS spryi_sum_rows_ps
#define SUM_PAIRS sum_pairs_ps
#define MASK_LOAD(v, mask, p) _mm256_mask_loadu_ps(v, mask, p)
#define LOW_ROW(r) (r)
#define HIGH_ROW(r) ((r) + 4)
#define TRANSPOSE transpose_ps
#if SPRY_J_IS_64
#define GATHER(x, Aj) _mm512_i64gather_ps(_mm512_loadu_si512(Aj), x, 4)
#define MASK_GATHER_AT(x, at, mask) _mm512_mask_i64gather_ps(ZERO(), mask, at, x, 4)
#else
#define GATHER(x, Aj) _mm256_i32gather_ps(x, _mm256_loadu_si256((const __m256i *)(Aj)), 4)
#define MASK_GATHER_AT(x, at, mask) _mm256_mmask_i32gather_ps(ZERO(), mask, at, x, 4)
#endif
#endif

#if SPRY_J_IS_64
#define INDICES __m512i
#define MASKZ_INDICES(mask, p) _mm512_maskz_loadu_epi64(mask, p)
#define MASK_INDICES(v, mask, p) _mm512_mask_loadu_epi64(v, mask, p)
#else
#define INDICES __m256i
#define MASKZ_INDICES(mask, p) _mm256_maskz_loadu_epi32(mask, p)
#define MASK_INDICES(v, mask, p) _mm256_mask_loadu_epi32(v, mask, p)
#endif
#define MASK_GATHER(x, Aj, mask) MASK_GATHER_AT(x, MASKZ_INDICES(mask, Aj), mask)

/* Rows i .. i + count - 1, count <= 8, whose sums are the lanes of `sums`. */
static inline void SPRY_FN(put)(const spryi_csr_job *job, int64_t i, int count, VEC sums)
{
    SPRY_V *y = (SPRY_V *)job->y + i;
    __mmask8 mask = first_lanes(count);
    VEC result = MUL(SET1((SPRY_V)job->alpha), sums);
    if (job->stream_y && count == 8 && (uintptr_t)y % sizeof(VEC) == 0) {
        STREAM(y, result);
        return;
    }
    if (job->beta != 0) result = FMA(SET1((SPRY_V)job->beta), MASKZ_LOAD(mask, y), result);
    MASK_STORE(y, mask, result);
}

/* How many rows to take first so that groups of eight then start where y can be streamed. */
static inline int64_t SPRY_FN(head)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    if (!job->stream_y) return begin;
    const uintptr_t past = (uintptr_t)((SPRY_V *)job->y + begin) % sizeof(VEC);
    const int64_t rows = past == 0 ? 0 : (int64_t)((sizeof(VEC) - past) / sizeof(SPRY_V));
    return begin + rows < end ? begin + rows : end;
}

/* One request for values and one for columns a step, needed or not: counting them would cost a branch a row. */
SPRYI_PREFETCHER SPRY_FN(fetch)(const SPRY_V *Ax, const SPRY_J *Aj, int64_t k)
{
    spryi_prefetch_near(Ax, k * (int64_t)sizeof(SPRY_V) + SPRYI_AHEAD_NEAR);
    spryi_prefetch_near(Aj, k * (int64_t)sizeof(SPRY_J) + SPRYI_AHEAD_NEAR);
}

/* Lane sums of entries k .. end - 1; a row of up to eight entries takes one masked step. */
static inline VEC SPRY_FN(short_row)(const SPRY_V *Ax, const SPRY_J *Aj, const SPRY_V *x, int64_t k, int64_t end)
{
    VEC sum = ZERO();
    for (; k + 8 < end; k += 8) {
        SPRY_FN(fetch)(Ax, Aj, k);
        sum = FMA(LOAD(Ax + k), GATHER(x, Aj + k), sum);
    }
    SPRY_FN(fetch)(Ax, Aj, k);
    __mmask8 mask = first_lanes((int)(end - k));
    return FMA(MASKZ_LOAD(mask, Ax + k), MASK_GATHER(x, Aj + k, mask), sum);
}

/* The same with two sums, for rows of many entries. */
static inline VEC SPRY_FN(long_row)(const SPRY_V *Ax, const SPRY_J *Aj, const SPRY_V *x, int64_t k, int64_t end)
{
    VEC sum = ZERO(), other = ZERO();
    for (; k + 16 <= end; k += 16) {
        spryi_prefetch_entries(Ax, Aj, k, k + 16, sizeof(SPRY_V), sizeof(SPRY_J));
        sum = FMA(LOAD(Ax + k), GATHER(x, Aj + k), sum);
        other = FMA(LOAD(Ax + k + 8), GATHER(x, Aj + k + 8), other);
    }
    spryi_prefetch_entries(Ax, Aj, k, k + 16, sizeof(SPRY_V), sizeof(SPRY_J));
    if (k + 8 < end) {
        sum = FMA(LOAD(Ax + k), GATHER(x, Aj + k), sum);
        k += 8;
    }
    __mmask8 mask = first_lanes((int)(end - k));
    other = FMA(MASKZ_LOAD(mask, Ax + k), MASK_GATHER(x, Aj + k, mask), other);
    return ADD(sum, other);
}

static inline __attribute__((always_inline)) void SPRY_FN(eight_short)(const spryi_csr_job *job, int64_t i, int rows)
{
    const SPRY_P *Ap = job->offsets;
    VEC sum[8];
    for (int r = 0; r < 8; r++)
        sum[r] = r < rows ? SPRY_FN(short_row)(job->values, job->columns, job->x, Ap[i + r], Ap[i + r + 1]) : ZERO();
    SPRY_FN(put)(job, i, rows, SUM_ROWS(sum));
}

/*
 * Eight rows of at most four entries: two share a register, so that a gather serves both. The second is
 * loaded over the upper half, by a load that starts four entries before it.
 */
static inline void SPRY_FN(eight_tiny)(const spryi_csr_job *job, int64_t i)
{
    const SPRY_P *Ap = (const SPRY_P *)job->offsets + i;
    const SPRY_V *Ax = job->values, *x = job->x;
    const SPRY_J *Aj = job->columns;
    VEC sum[4];
    for (int r = 0; r < 4; r++) {
        SPRY_FN(fetch)(Ax, Aj, Ap[0] + 8 * r); /* 32 entries at most */
        const int64_t a = Ap[LOW_ROW(r)], b = Ap[HIGH_ROW(r)];
        const __mmask8 low = first_lanes((int)(Ap[LOW_ROW(r) + 1] - a));
        const __mmask8 high = (__mmask8)(first_lanes((int)(Ap[HIGH_ROW(r) + 1] - b)) << 4);
        const void *values = (const void *)((uintptr_t)(Ax + b) - 4 * sizeof(SPRY_V));
        const void *columns = (const void *)((uintptr_t)(Aj + b) - 4 * sizeof(SPRY_J));
        INDICES at = MASK_INDICES(MASKZ_INDICES(low, Aj + a), high, columns);
        sum[r] = MUL(MASK_LOAD(MASKZ_LOAD(low, Ax + a), high, values), MASK_GATHER_AT(x, at, (__mmask8)(low | high)));
    }
    SPRY_FN(put)(job, i, 8, SUM_PAIRS(sum));
}

static inline int SPRY_FN(all_tiny)(const SPRY_P *Ap)
{
    int longer = 0;
    for (int r = 0; r < 8; r++) longer |= Ap[r + 1] - Ap[r] > 4;
    return !longer;
}

/* Eight rows at a time, so that their 64 lane sums are added by one tree and y is written in one store. */
static void SPRY_FN(short_rows)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    const SPRY_P *Ap = job->offsets;
    int64_t i = SPRY_FN(head)(job, begin, end);
    if (i > begin) SPRY_FN(eight_short)(job, begin, (int)(i - begin));
    for (; i + 8 <= end; i += 8) {
        if (SPRY_FN(all_tiny)(Ap + i))
            SPRY_FN(eight_tiny)(job, i);
        else
            SPRY_FN(eight_short)(job, i, 8);
    }
    if (i < end) SPRY_FN(eight_short)(job, i, (int)(end - i));
}

static inline void SPRY_FN(eight_long)(const spryi_csr_job *job, int64_t i, int rows)
{
    const SPRY_P *Ap = job->offsets;
    SPRY_V sum[8] = {0};
    for (int r = 0; r < rows; r++)
        sum[r] = REDUCE(SPRY_FN(long_row)(job->values, job->columns, job->x, Ap[i + r], Ap[i + r + 1]));
    SPRY_FN(put)(job, i, rows, LOAD(sum));
}

static void SPRY_FN(long_rows)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    int64_t i = SPRY_FN(head)(job, begin, end);
    if (i > begin) SPRY_FN(eight_long)(job, begin, (int)(i - begin));
    for (; i + 8 <= end; i += 8) SPRY_FN(eight_long)(job, i, 8);
    if (i < end) SPRY_FN(eight_long)(job, i, (int)(end - i));
}

static void SPRY_FN(rows)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    const SPRY_P *Ap = job->offsets;
    if (Ap[end] - Ap[begin] < SHORT_MEAN * (end - begin))
        SPRY_FN(short_rows)(job, begin, end);
    else
        SPRY_FN(long_rows)(job, begin, end);
    if (job->stream_y) _mm_sfence();
}

/*
 * Columns j .. j + columns - 1 (at most four) of eight rows of `length` entries at Ax, of which the first
 * `rows` exist, turned into one register a column. Two rows share a register from the start: the second
 * is loaded over its upper half, which costs no shuffle.
 */
static inline __attribute__((always_inline)) void SPRY_FN(turn)(const SPRY_V *Ax, int64_t length, int64_t j,
                                                                int columns, int rows, VEC v[4])
{
    const __mmask8 low = first_lanes(columns), high = (__mmask8)(low << 4);
    for (int r = 0; r < 4; r++) {
        v[r] = MASKZ_LOAD(LOW_ROW(r) < rows ? low : 0, Ax + LOW_ROW(r) * length + j);
        /* the upper half of a load that starts four entries earlier */
        const uintptr_t at = (uintptr_t)(Ax + HIGH_ROW(r) * length + j) - 4 * sizeof(SPRY_V);
        v[r] = MASK_LOAD(v[r], HIGH_ROW(r) < rows ? high : 0, (const void *)at);
    }
    TRANSPOSE(v);
}

/* Eight rows (or the last `rows` of a run), one a lane: the x of a column are neighbours. */
static inline __attribute__((always_inline)) void SPRY_FN(eight_stepped)(const spryi_csr_job *job, int64_t i,
                                                                         const SPRY_V *Ax, const SPRY_J *Aj,
                                                                         const SPRY_V *x, int64_t length, int rows)
{
    const __mmask8 live = first_lanes(rows);
    VEC sum = ZERO(), other = ZERO(), v[4];
    int64_t j = 0;
    for (; j + 4 <= length; j += 4) {
        /* 32 values are read here: fetch as many, in the order of the whole stream */
        for (int64_t b = 0; b < 32 * (int64_t)sizeof(SPRY_V); b += 64)
            spryi_prefetch(Ax, 8 * j * (int64_t)sizeof(SPRY_V) + b + SPRYI_AHEAD);
        SPRY_FN(turn)(Ax, length, j, 4, rows, v);
        sum = FMA(v[0], MASKZ_LOAD(live, x + Aj[j]), sum);
        other = FMA(v[1], MASKZ_LOAD(live, x + Aj[j + 1]), other);
        sum = FMA(v[2], MASKZ_LOAD(live, x + Aj[j + 2]), sum);
        other = FMA(v[3], MASKZ_LOAD(live, x + Aj[j + 3]), other);
    }
    if (j < length) {
        for (int64_t b = 0; b < 8 * (length - j) * (int64_t)sizeof(SPRY_V); b += 64)
            spryi_prefetch(Ax, 8 * j * (int64_t)sizeof(SPRY_V) + b + SPRYI_AHEAD);
        SPRY_FN(turn)(Ax, length, j, (int)(length - j), rows, v);
        sum = FMA(v[0], MASKZ_LOAD(live, x + Aj[j]), sum);
        if (j + 1 < length) other = FMA(v[1], MASKZ_LOAD(live, x + Aj[j + 1]), other);
        if (j + 2 < length) sum = FMA(v[2], MASKZ_LOAD(live, x + Aj[j + 2]), sum);
    }
    SPRY_FN(put)(job, i, rows, ADD(sum, other));
}

/* Of the columns only those of the run's first row are read. */
static void SPRY_FN(stepped)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    const SPRY_P *Ap = job->offsets;
    const int64_t first = Ap[begin], length = Ap[begin + 1] - first;
    const SPRY_J *Aj = (const SPRY_J *)job->columns + first;
    const SPRY_V *Ax = (const SPRY_V *)job->values + first, *x = job->x;
    int64_t i = SPRY_FN(head)(job, begin, end);
    if (i > begin) SPRY_FN(eight_stepped)(job, begin, Ax, Aj, x, length, (int)(i - begin));
    for (Ax += (i - begin) * length, x += i - begin; i + 8 <= end; i += 8, Ax += 8 * length, x += 8)
        SPRY_FN(eight_stepped)(job, i, Ax, Aj, x, length, 8);
    if (i < end) SPRY_FN(eight_stepped)(job, i, Ax, Aj, x, length, (int)(end - i));
    if (job->stream_y) _mm_sfence();
}

/* A group's columns are read and its x gathered once, for each of its rows. `group` is a constant where inlined. */
static inline __attribute__((always_inline)) void SPRY_FN(shared_groups)(const spryi_csr_job *job, int64_t begin,
                                                                         int64_t end, const int group)
{
    const SPRY_P *Ap = job->offsets;
    const SPRY_V *x = job->x;
    for (int64_t i = begin; i < end; i += group) {
        const int64_t first = Ap[i], length = Ap[i + 1] - first;
        const SPRY_J *Aj = (const SPRY_J *)job->columns + first;
        const SPRY_V *Ax = (const SPRY_V *)job->values + first;
        VEC sum[8] = {ZERO(), ZERO(), ZERO(), ZERO(), ZERO(), ZERO(), ZERO(), ZERO()};
        int64_t j = 0;
        for (; j + 8 <= length; j += 8) {
            spryi_prefetch(Aj, (j + 2 * group * length) * (int64_t)sizeof(SPRY_J));
            VEC xs = GATHER(x, Aj + j);
            for (int r = 0; r < group; r++) {
                spryi_prefetch(Ax, (r * length + j) * (int64_t)sizeof(SPRY_V) + SPRYI_AHEAD);
                sum[r] = FMA(LOAD(Ax + r * length + j), xs, sum[r]);
            }
        }
        __mmask8 mask = first_lanes((int)(length - j));
        VEC xs = MASK_GATHER(x, Aj + j, mask);
        for (int r = 0; r < group; r++) sum[r] = FMA(MASKZ_LOAD(mask, Ax + r * length + j), xs, sum[r]);
        SPRY_FN(put)(job, i, group, SUM_ROWS(sum));
    }
}

static void SPRY_FN(shared)(const spryi_csr_job *job, int64_t begin, int64_t end, int group)
{
    switch (group) {
    case 2: SPRY_FN(shared_groups)(job, begin, end, 2); break;
    case 3: SPRY_FN(shared_groups)(job, begin, end, 3); break;
    case 4: SPRY_FN(shared_groups)(job, begin, end, 4); break;
    case 5: SPRY_FN(shared_groups)(job, begin, end, 5); break;
    case 6: SPRY_FN(shared_groups)(job, begin, end, 6); break;
    case 7: SPRY_FN(shared_groups)(job, begin, end, 7); break;
    default: SPRY_FN(shared_groups)(job, begin, end, 8); break;
    }
    if (job->stream_y) _mm_sfence();
}

static double SPRY_FN(piece)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    return (double)REDUCE(SPRY_FN(long_row)(job->values, job->columns, job->x, begin, end));
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    static const spryi_csr_leaves leaves = {SPRY_FN(rows), SPRY_FN(stepped), SPRY_FN(shared), SPRY_FN(piece)};
    return spryi_csr_drive(args, &leaves);
}
