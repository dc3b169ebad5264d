/* Stepped rows with AVX-512, eight a register: what a column adds goes to neighbours in y. */

#undef VEC
#undef MASKZ_LOAD
#undef MASK_LOAD
#undef MASK_STORE
#undef MUL
#undef ZERO
#undef PICK
#undef INDEX_ADD
#undef INDEX_SET1
#undef INDEX_IOTA
#undef ADD
#undef TURN
#undef SET1
#undef STORE
#if SPRY_IS_F64
#define VEC __m512d
#define MASKZ_LOAD(mask, p) _mm512_maskz_loadu_pd(mask, p)
#define MASK_LOAD(v, mask, p) _mm512_mask_loadu_pd(v, mask, p)
#define MASK_STORE(p, mask, v) _mm512_mask_storeu_pd(p, mask, v)
#define MUL(a, b) _mm512_mul_pd(a, b)
#define ZERO() _mm512_setzero_pd()
#define PICK(low, at, high) _mm512_permutex2var_pd(low, at, high)
#define INDEX_ADD(a, b) _mm512_add_epi64(a, b)
#define INDEX_SET1(k) _mm512_set1_epi64(k)
#define INDEX_IOTA() _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7)
#define ADD(a, b) _mm512_add_pd(a, b)
#define TURN turn_pd
#define SET1(s) _mm512_set1_pd(s)
#define STORE(p, v) _mm512_storeu_pd(p, v)
#else
#define VEC __m256
#define MASKZ_LOAD(mask, p) _mm256_maskz_loadu_ps(mask, p)
#define MASK_LOAD(v, mask, p) _mm256_mask_loadu_ps(v, mask, p)
#define MASK_STORE(p, mask, v) _mm256_mask_storeu_ps(p, mask, v)
#define MUL(a, b) _mm256_mul_ps(a, b)
#define ZERO() _mm256_setzero_ps()
#define PICK(low, at, high) _mm256_permutex2var_ps(low, at, high)
#define INDEX_ADD(a, b) _mm256_add_epi32(a, b)
#define INDEX_SET1(k) _mm256_set1_epi32(k)
#define INDEX_IOTA() _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)
#define ADD(a, b) _mm256_add_ps(a, b)
#define TURN turn_ps
#define SET1(s) _mm256_set1_ps(s)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#endif

/* y[0 .. 7] += sum, of the lanes in `live`. */
static inline void LEAF(add_eight)(SPRY_V *y, __mmask8 live, VEC sum)
{
    MASK_STORE(y, live, ADD(sum, MASKZ_LOAD(live, y)));
}

/*
 * How a run's columns lie: shift[j] is how many columns before j, each one less than the next, j goes with. What those
 * add is moved into one register, so that y is read and written once for them, and never where it was just written
 * in part. What moves past the register's end is kept in before[j] for the next eight rows.
 */
typedef struct LEAF(neighbours) {
    uint8_t shift[NEIGHBOURS + 1]; /* 0 past the last */
    VEC before[NEIGHBOURS];
} LEAF(neighbours);

static inline void LEAF(find_neighbours)(LEAF(neighbours) * of, const SPRY_J *Aj, int64_t length)
{
    const int64_t most = length < NEIGHBOURS ? length : NEIGHBOURS;
    of->shift[0] = of->shift[most] = 0;
    of->before[0] = ZERO();
    for (int64_t j = 1; j < most; j++) {
        const int follows = Aj[j] == Aj[j - 1] + 1 && of->shift[j - 1] < 7;
        of->shift[j] = follows ? (uint8_t)(of->shift[j - 1] + 1) : 0;
        of->before[j] = ZERO();
    }
}

/* Lane l = lane l - shift of `now`, before lane 0 the last of `before`. */
static inline VEC LEAF(move)(VEC before, int shift, VEC now)
{
    return PICK(before, INDEX_ADD(INDEX_IOTA(), INDEX_SET1(8 - shift)), now);
}

/* `rows` rows, at most eight, of `length` entries at Ax, with x their numbers; Aj of a row as far before them as y. */
static inline __attribute__((always_inline)) void LEAF(eight_stepped)(const SPRY_V *Ax, const SPRY_J *Aj, VEC x,
                                                                      SPRY_V *y, int64_t length, int rows,
                                                                      LEAF(neighbours) * of)
{
    VEC v[4] = {x, x, x, x}, sum = x; /* a pattern reads no more */
    int64_t first = 0;                /* of the columns in sum */
    (void)Ax;
    for (int64_t j = 0; j < length; j += 4) {
        const int columns = length - j < 4 ? (int)(length - j) : 4;
#if HAS_VALUES
        const __mmask8 low = (__mmask8)_bzhi_u32(0xf, (unsigned)columns), high = (__mmask8)(low << 4);
        for (int c = 0; c < columns; c++) spryi_prefetch(Ax, 8 * (j + c) * (int64_t)sizeof(SPRY_V) + SPRYI_AHEAD);
        for (int r = 0; r < 4; r++) {
            /* the upper half of a load that starts four entries earlier */
            const uintptr_t at = (uintptr_t)(Ax + TURN_HIGH(r) * length + j) - 4 * sizeof(SPRY_V);
            v[r] = MASKZ_LOAD(TURN_LOW(r) < rows ? low : 0, Ax + TURN_LOW(r) * length + j);
            v[r] = MASK_LOAD(v[r], TURN_HIGH(r) < rows ? high : 0, (const void *)at);
        }
        TURN(v);
        for (int c = 0; c < 4; c++) v[c] = MUL(v[c], x);
#endif
#pragma GCC unroll 4
        for (int c = 0; c < 4; c++) {
            if (c >= columns) break;
            const int64_t at = j + c < NEIGHBOURS ? j + c : NEIGHBOURS;
            const int shift = of->shift[at];
            if (shift == 0) {
                sum = v[c];
                first = j + c;
            } else {
                sum = ADD(sum, LEAF(move)(of->before[at], shift, v[c]));
                of->before[at] = v[c];
            }
            if (at == NEIGHBOURS || of->shift[at + 1] == 0)
                LEAF(add_eight)(y + Aj[first], LANES_UP_TO(rows + shift), sum);
        }
    }
}

/* What the last eight rows, of which there were `rows`, moved past their registers; y and Aj as for the eight after. */
static inline void LEAF(add_moved)(const SPRY_J *Aj, SPRY_V *y, int64_t length, int rows, const LEAF(neighbours) * of)
{
    VEC sum = ZERO();
    for (int64_t j = 0; j < length && j < NEIGHBOURS; j++) {
        const int shift = of->shift[j], last = rows + shift - 8;
        if (shift == 0)
            sum = ZERO();
        else
            sum = ADD(sum, LEAF(move)(of->before[j], shift, ZERO()));
        if (of->shift[j + 1] == 0 && last > 0) LEAF(add_eight)(y + Aj[j - shift], LANES_UP_TO(last), sum);
    }
}

/* Of the columns only those of the run's first row are read. */
static void LEAF(stepped)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    const SPRY_P *Ap = job->offsets;
    const int64_t first = Ap[begin], length = Ap[begin + 1] - first;
    const SPRY_J *Aj = (const SPRY_J *)job->columns + first;
    const SPRY_V *x = job->x, *Ax = HAS_VALUES ? (const SPRY_V *)job->values + first : NULL;
    SPRY_V *y = job->y;
    LEAF(neighbours) of;
    LEAF(find_neighbours)(&of, Aj, length);
    int64_t i = begin;
    for (; i + 8 <= end; i += 8) {
        LEAF(eight_stepped)(Ax, Aj, MASKZ_LOAD(0xff, x + i), y + (i - begin), length, 8, &of);
        if (HAS_VALUES) Ax += 8 * length;
    }
    const int rows = (int)(end - i);
    if (rows > 0) {
        LEAF(eight_stepped)(Ax, Aj, MASKZ_LOAD(LANES_UP_TO(rows), x + i), y + (i - begin), length, rows, &of);
        i += 8;
    }
    LEAF(add_moved)(Aj, y + (i - begin), length, rows > 0 ? rows : 8, &of);
}

#include "formats/csr/csr_scatter.tmpl.c"

/* xs[k] = x of the row that entry Ap[0] + k is of. Eight are written whatever the row has; the next row's follow. */
static inline void LEAF(spread)(const SPRY_P *Ap, const SPRY_V *x, int64_t rows, SPRY_V *xs)
{
    const int64_t first = Ap[0];
    for (int64_t r = 0; r < rows; r++) {
        const int64_t begin = Ap[r] - first, end = Ap[r + 1] - first;
        const VEC v = SET1(x[r]);
        STORE(xs + begin, v);
        for (int64_t k = begin + 8; k < end; k += 8) STORE(xs + k, v);
    }
}

/*
 * Of short rows, each row's x is laid out beside its entries, many rows at once; then the entries are scattered without
 * regard to rows, and without a branch a row that would be mispredicted.
 */
static void LEAF(rows)(const spryi_csr_job *job, int64_t begin, int64_t end)
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
            for (int64_t r = i; r < i + rows; r++) LEAF(scatter)(Ax, Aj, x[r], y, Ap[r], Ap[r + 1]);
            continue;
        }
        LEAF(spread)(Ap + i, x + i, rows, xs);
        int64_t k = Ap[i];
        const int64_t stop = Ap[i + rows];
        const SPRY_V *at = xs;
        for (; k + 8 <= stop; k += 8, at += 8) {
            FETCH(Ax, Aj, k);
            for (int q = 0; q < 8; q++) y[Aj[k + q]] += TERM(Ax[k + q], at[q]);
        }
        for (; k < stop; k++, at++) y[Aj[k]] += TERM(Ax[k], *at);
    }
}
