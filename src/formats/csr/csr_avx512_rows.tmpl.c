/*
 * Rows and pieces with AVX-512, LANES entries or rows a register, 8 of f64 or 16 of f32; see csr.h for each. HAS_VALUES
 * is 0 where all entries are ones without values.
 */

#include "core/avx512_lanes.tmpl.c"

#undef PACKED
#undef FEW_MEAN
#undef BLOCK
#undef LOAD_BLOCK
#undef MASKZ_LOAD_BLOCK
#undef STORE
#undef EXPAND_LOAD
#undef REDUCE
#undef BLOCK_ROW
#undef TRANSPOSE
#undef SUM_ROWS
#undef SUM_GROUP
#undef JOIN_BLOCKS
#undef PICK
#undef INDEX_SET1
#undef INDEX_ADD
#undef INDEX_MIN
#undef INDEX_MAX
#undef INDEX_LESS
#undef TERMS
#undef LAST_TERMS
#undef SOME_TERMS
#undef VALUES

#if SPRY_IS_F64
#define PACKED 5
#define FEW_MEAN 8
#define BLOCK __m256d
#define LOAD_BLOCK(p) _mm256_loadu_pd(p)
#define MASKZ_LOAD_BLOCK(mask, p) _mm256_maskz_loadu_pd(mask, p)
#define STORE(p, v) _mm512_store_pd(p, v)
#define EXPAND_LOAD(mask, p) _mm512_maskz_expandloadu_pd(mask, p)
#define REDUCE(v) _mm512_reduce_add_pd(v)
#define BLOCK_ROW(r, b) (((r) < 2 ? (r) : (r) + 2) + 2 * (b))
#define TRANSPOSE transpose_pd
#define SUM_ROWS sum_rows_pd
#define SUM_GROUP sum_rows_pd
#define JOIN_BLOCKS(block) spryi_join_pd(block)
#define PICK(low, at, high) _mm512_permutex2var_pd(low, at, high)
#define INDEX_SET1(k) _mm512_set1_epi64(k)
#define INDEX_ADD(a, b) _mm512_add_epi64(a, b)
#define INDEX_MIN(a, b) _mm512_min_epi64(a, b)
#define INDEX_MAX(a, b) _mm512_max_epi64(a, b)
#define INDEX_LESS(a, b) _mm512_cmplt_epi64_mask(a, b)
#else
#define PACKED 8
#define FEW_MEAN 4
#define BLOCK __m128
#define LOAD_BLOCK(p) _mm_loadu_ps(p)
#define MASKZ_LOAD_BLOCK(mask, p) _mm_maskz_loadu_ps(mask, p)
#define STORE(p, v) _mm512_store_ps(p, v)
#define EXPAND_LOAD(mask, p) _mm512_maskz_expandloadu_ps(mask, p)
#define REDUCE(v) _mm512_reduce_add_ps(v)
#define BLOCK_ROW(r, b) ((r) + 4 * (b))
#define TRANSPOSE transpose_ps
#define SUM_ROWS sum_rows_ps
#define SUM_GROUP sum_group_ps
#define JOIN_BLOCKS(block) spryi_join_ps(block)
#define PICK(low, at, high) _mm512_permutex2var_ps(low, at, high)
#define INDEX_SET1(k) _mm512_set1_epi32((int)(k))
#define INDEX_ADD(a, b) _mm512_add_epi32(a, b)
#define INDEX_MIN(a, b) _mm512_min_epi32(a, b)
#define INDEX_MAX(a, b) _mm512_max_epi32(a, b)
#define INDEX_LESS(a, b) _mm512_cmplt_epi32_mask(a, b)
#endif

/* sum + a*x of a register of entries; of the lanes in `mask`; of a last one, past whose lanes no value may be read. */
#if HAS_VALUES
#define TERMS(Ax, xs, sum) FMA(LOAD(Ax), xs, sum)
#define LAST_TERMS(Ax, xs, sum, mask) MASK_FMA(LOAD(Ax), xs, sum, mask)
#define SOME_TERMS(Ax, xs, sum, mask) FMA(MASKZ_LOAD(mask, Ax), xs, sum)
#define VALUES(Ax, k) ((Ax) + (k))
#else
#define TERMS(Ax, xs, sum) ((void)(Ax), ADD(sum, xs))
#define LAST_TERMS(Ax, xs, sum, mask) ((void)(Ax), MASK_ADD(sum, mask, xs))
#define SOME_TERMS(Ax, xs, sum, mask) ((void)(Ax), ADD(sum, xs))
#define VALUES(Ax, k) (Ax)
#endif

/* Rows i .. i + count - 1, count <= LANES, whose sums are the lanes of `sums`. */
static inline void SPRY_FN(put)(const spryi_csr_job *job, int64_t i, int count, VEC sums)
{
    SPRY_V *y = (SPRY_V *)job->y + i;
    MASK mask = (MASK)first_lanes(count);
    VEC result = MUL(SET1((SPRY_V)job->alpha), sums);
    if (job->stream_y && count == LANES && (uintptr_t)y % sizeof(VEC) == 0) {
        STREAM(y, result);
        return;
    }
    if (job->beta != 0) result = FMA(SET1((SPRY_V)job->beta), MASKZ_LOAD(mask, y), result);
    MASK_STORE(y, mask, result);
}

/* How many rows to take first so that groups of LANES then start where y can be streamed. */
static inline int64_t SPRY_FN(head)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    if (!job->stream_y) return begin;
    const uintptr_t past = (uintptr_t)((SPRY_V *)job->y + begin) % sizeof(VEC);
    const int64_t rows = past == 0 ? 0 : (int64_t)((sizeof(VEC) - past) / sizeof(SPRY_V));
    return begin + rows < end ? begin + rows : end;
}

/* The x of the first `count` entries, zeros after: for the end of a run, past which nothing may be read. */
static VEC SPRY_FN(gather_some)(const SPRY_V *x, const SPRY_J *Aj, int64_t count)
{
    SPRY_V some[LANES] = {0};
    for (int64_t k = 0; k < count; k++) some[k] = x[Aj[k]];
    return LOAD(some);
}

/*
 * sum plus the products of the next `count` <= LANES entries. `left` entries may be read: what lies between, of
 * the rows after, is read and masked, which costs nothing, since its x are wanted next.
 */
static inline __attribute__((always_inline)) VEC SPRY_FN(last_step)(const SPRY_V *Ax, const SPRY_J *Aj, const SPRY_V *x,
                                                                    int64_t count, int64_t left, VEC sum)
{
    MASK mask = (MASK)first_lanes((int)count);
    if (left >= LANES) return LAST_TERMS(Ax, GATHER_AT(x, Aj), sum, mask);
    return SOME_TERMS(Ax, SPRY_FN(gather_some)(x, Aj, count), sum, mask);
}

/* Fetches one step's values and columns, needed or not: counting them would cost a branch a row. */
SPRYI_PREFETCHER SPRY_FN(fetch)(const SPRY_V *Ax, const SPRY_J *Aj)
{
    spryi_prefetch_entries(Ax, Aj, 0, LANES, HAS_VALUES ? sizeof(SPRY_V) : 0, sizeof(SPRY_J));
}

/* Lane sums of entries k .. end - 1, in a run whose entries end at `limit`. */
static inline __attribute__((always_inline)) VEC SPRY_FN(short_row)(const SPRY_V *Ax, const SPRY_J *Aj, const SPRY_V *x,
                                                                    int64_t k, int64_t end, int64_t limit)
{
    VEC sum = ZERO();
    for (; k + LANES < end; k += LANES) {
        SPRY_FN(fetch)(VALUES(Ax, k), Aj + k);
        sum = TERMS(VALUES(Ax, k), GATHER_AT(x, Aj + k), sum);
    }
    if (k == end) return sum; /* an empty row: where there are many, each would cost a step */
    SPRY_FN(fetch)(VALUES(Ax, k), Aj + k);
    return SPRY_FN(last_step)(VALUES(Ax, k), Aj + k, x, end - k, limit - k, sum);
}

/* The same with two sums, for rows of many entries. */
static inline VEC SPRY_FN(long_row)(const SPRY_V *Ax, const SPRY_J *Aj, const SPRY_V *x, int64_t k, int64_t end,
                                    int64_t limit)
{
    VEC sum = ZERO(), other = ZERO();
    for (; k + 2 * LANES <= end; k += 2 * LANES) {
        SPRY_FN(fetch)(VALUES(Ax, k), Aj + k);
        sum = TERMS(VALUES(Ax, k), GATHER_AT(x, Aj + k), sum);
        SPRY_FN(fetch)(VALUES(Ax, k + LANES), Aj + k + LANES);
        other = TERMS(VALUES(Ax, k + LANES), GATHER_AT(x, Aj + k + LANES), other);
    }
    SPRY_FN(fetch)(VALUES(Ax, k), Aj + k);
    if (k + LANES < end) {
        sum = TERMS(VALUES(Ax, k), GATHER_AT(x, Aj + k), sum);
        k += LANES;
        SPRY_FN(fetch)(VALUES(Ax, k), Aj + k);
    }
    if (k < end) other = SPRY_FN(last_step)(VALUES(Ax, k), Aj + k, x, end - k, limit - k, other);
    return ADD(sum, other);
}

/* Offsets Ap[0 .. LANES-1] less `first`, one a lane; 0 where `live` is not set. */
static inline __m512i SPRY_FN(offsets)(const SPRY_P *Ap, int64_t first, MASK live)
{
#if SPRY_IS_F64
    if (sizeof(SPRY_P) == 8)
        return _mm512_maskz_sub_epi64(live, _mm512_maskz_loadu_epi64(live, Ap), _mm512_set1_epi64(first));
    __m512i wide = _mm512_cvtepi32_epi64(_mm256_maskz_loadu_epi32(live, Ap));
    return _mm512_maskz_sub_epi64(live, wide, _mm512_set1_epi64(first));
#else
    if (sizeof(SPRY_P) == 4)
        return _mm512_maskz_sub_epi32(live, _mm512_maskz_loadu_epi32(live, Ap), _mm512_set1_epi32((int)first));
    __m512i low = _mm512_maskz_loadu_epi64((__mmask8)live, Ap);
    __m512i high = _mm512_maskz_loadu_epi64((__mmask8)(live >> 8), Ap + 8);
    low = _mm512_sub_epi64(low, _mm512_set1_epi64(first));
    high = _mm512_sub_epi64(high, _mm512_set1_epi64(first));
    __m512i both = _mm512_castsi256_si512(_mm512_cvtepi64_epi32(low));
    return _mm512_maskz_mov_epi32(live, _mm512_inserti64x4(both, _mm512_cvtepi64_epi32(high), 1));
#endif
}

/*
 * Up to LANES rows of PACKED entries on average: the products of all their entries are made in full registers,
 * whatever the rows. Then each lane adds up its row, picking from two registers of products at a time.
 */
static inline __attribute__((always_inline)) void SPRY_FN(packed_group)(const spryi_csr_job *job, int64_t i, int rows,
                                                                        int64_t limit)
{
    const SPRY_P *Ap = (const SPRY_P *)job->offsets + i;
    const int64_t first = Ap[0], count = Ap[rows] - first, left = limit - first;
    const SPRY_V *Ax = VALUES((const SPRY_V *)job->values, first);
    const SPRY_J *Aj = (const SPRY_J *)job->columns + first;
    _Alignas(64) SPRY_V product[(PACKED + 1) * LANES];
    for (int64_t k = 0; k < count; k += LANES) {
        SPRY_FN(fetch)(VALUES(Ax, k), Aj + k);
        const int64_t step = left - k < LANES ? left - k : LANES;
        STORE(product + k, SPRY_FN(last_step)(VALUES(Ax, k), Aj + k, job->x, step, left - k, ZERO()));
    }
    const MASK exist = (MASK)first_lanes(rows);
    const __m512i one = INDEX_SET1(1);
    const __m512i start = SPRY_FN(offsets)(Ap, first, exist), stop = SPRY_FN(offsets)(Ap + 1, first, exist);
    VEC sum = ZERO();
    for (int64_t k = 0; k < count; k += 2 * LANES) {
        VEC low = LOAD(product + k), high = LOAD(product + k + LANES);
        __m512i at = INDEX_MAX(start, INDEX_SET1(k)), end = INDEX_MIN(stop, INDEX_SET1(k + 2 * LANES));
        /* four at once, needed or not: that spares most groups a branch that is often mispredicted */
        do {
            for (int step = 0; step < 4; step++, at = INDEX_ADD(at, one))
                sum = MASK_ADD(sum, INDEX_LESS(at, end), PICK(low, at, high));
        } while (INDEX_LESS(at, end) != 0);
    }
    SPRY_FN(put)(job, i, rows, sum);
}

/* Up to LANES rows, one after the other; their lane sums are added by one tree and y is written in one store. */
static inline __attribute__((always_inline)) void SPRY_FN(short_group)(const spryi_csr_job *job, int64_t i, int rows,
                                                                       int64_t limit)
{
    const SPRY_P *Ap = (const SPRY_P *)job->offsets + i;
    if (Ap[rows] - Ap[0] <= PACKED * LANES) {
        SPRY_FN(packed_group)(job, i, rows, limit);
        return;
    }
    VEC sum[LANES];
    for (int r = 0; r < LANES; r++)
        sum[r] = r < rows ? SPRY_FN(short_row)(job->values, job->columns, job->x, Ap[r], Ap[r + 1], limit) : ZERO();
    SPRY_FN(put)(job, i, rows, SUM_ROWS(sum));
}

static void SPRY_FN(short_rows)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    const int64_t limit = ((const SPRY_P *)job->offsets)[end];
    int64_t i = SPRY_FN(head)(job, begin, end);
    if (i > begin) SPRY_FN(short_group)(job, begin, (int)(i - begin), limit);
    for (; i + LANES <= end; i += LANES) SPRY_FN(short_group)(job, i, LANES, limit);
    if (i < end) SPRY_FN(short_group)(job, i, (int)(end - i), limit);
}

static inline void SPRY_FN(long_group)(const spryi_csr_job *job, int64_t i, int rows, int64_t limit)
{
    const SPRY_P *Ap = job->offsets;
    SPRY_V sum[LANES] = {0};
    for (int r = 0; r < rows; r++)
        sum[r] = REDUCE(SPRY_FN(long_row)(job->values, job->columns, job->x, Ap[i + r], Ap[i + r + 1], limit));
    SPRY_FN(put)(job, i, rows, LOAD(sum));
}

static void SPRY_FN(long_rows)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    const int64_t limit = ((const SPRY_P *)job->offsets)[end];
    int64_t i = SPRY_FN(head)(job, begin, end);
    if (i > begin) SPRY_FN(long_group)(job, begin, (int)(i - begin), limit);
    for (; i + LANES <= end; i += LANES) SPRY_FN(long_group)(job, i, LANES, limit);
    if (i < end) SPRY_FN(long_group)(job, i, (int)(end - i), limit);
}

static void SPRY_FN(rows)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    const SPRY_P *Ap = job->offsets;
    const int64_t count = Ap[end] - Ap[begin], rows = end - begin;
    /* a few rows between stepped ones would leave most of a group of LANES empty */
    if (count < SHORT_MEAN * rows && !(rows < 4 && count > FEW_MEAN * rows))
        SPRY_FN(short_rows)(job, begin, end);
    else
        SPRY_FN(long_rows)(job, begin, end);
    if (job->stream_y) _mm_sfence();
}

static double SPRY_FN(piece)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    return (double)REDUCE(SPRY_FN(long_row)(job->values, job->columns, job->x, begin, end, end));
}
