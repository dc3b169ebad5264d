/* Stepped rows with AVX-512, eight a register: what a column adds goes to neighbours in y. */

#undef VEC
#undef MASKZ_LOAD
#undef MASK_LOAD
#undef MASK_STORE
#undef FMA
#undef ADD
#undef TURN
#if SPRY_IS_F64
#define VEC __m512d
#define MASKZ_LOAD(mask, p) _mm512_maskz_loadu_pd(mask, p)
#define MASK_LOAD(v, mask, p) _mm512_mask_loadu_pd(v, mask, p)
#define MASK_STORE(p, mask, v) _mm512_mask_storeu_pd(p, mask, v)
#define FMA(a, b, c) _mm512_fmadd_pd(a, b, c)
#define ADD(a, b) _mm512_add_pd(a, b)
#define TURN turn_pd
#else
#define VEC __m256
#define MASKZ_LOAD(mask, p) _mm256_maskz_loadu_ps(mask, p)
#define MASK_LOAD(v, mask, p) _mm256_mask_loadu_ps(v, mask, p)
#define MASK_STORE(p, mask, v) _mm256_mask_storeu_ps(p, mask, v)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define ADD(a, b) _mm256_add_ps(a, b)
#define TURN turn_ps
#endif

/* y[0 .. 7] += a*x, of the lanes in `live`. */
static inline void LEAF(add_eight)(SPRY_V *y, __mmask8 live, VEC a, VEC x)
{
#if HAS_VALUES
    MASK_STORE(y, live, FMA(a, x, MASKZ_LOAD(live, y)));
#else
    (void)a;
    MASK_STORE(y, live, ADD(x, MASKZ_LOAD(live, y)));
#endif
}

/* `rows` rows, at most eight, of `length` entries at Ax, with x their numbers; Aj of a row as far before them as y. */
static inline __attribute__((always_inline)) void LEAF(eight_stepped)(const SPRY_V *Ax, const SPRY_J *Aj, VEC x,
                                                                      SPRY_V *y, int64_t length, int rows)
{
    const __mmask8 live = (__mmask8)_bzhi_u32(0xff, (unsigned)rows);
    VEC v[4] = {x, x, x, x}; /* a pattern reads no more */
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
#endif
        LEAF(add_eight)(y + Aj[j], live, v[0], x);
        if (columns > 1) LEAF(add_eight)(y + Aj[j + 1], live, v[1], x);
        if (columns > 2) LEAF(add_eight)(y + Aj[j + 2], live, v[2], x);
        if (columns > 3) LEAF(add_eight)(y + Aj[j + 3], live, v[3], x);
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
    int64_t i = begin;
    for (; i + 8 <= end; i += 8) {
        LEAF(eight_stepped)(Ax, Aj, MASKZ_LOAD(0xff, x + i), y + (i - begin), length, 8);
        if (HAS_VALUES) Ax += 8 * length;
    }
    const __mmask8 live = (__mmask8)_bzhi_u32(0xff, (unsigned)(end - i));
    if (i < end) LEAF(eight_stepped)(Ax, Aj, MASKZ_LOAD(live, x + i), y + (i - begin), length, (int)(end - i));
}

#include "formats/csr/csr_scatter.tmpl.c"
