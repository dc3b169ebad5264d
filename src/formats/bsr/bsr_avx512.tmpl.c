/* The inner functions with AVX-512, eight lanes of either type; see bsr.h for what each is given. */

#undef VEC
#undef MASKZ_LOAD
#undef LOAD
#undef STORE
#undef FMA
#undef MASK_FMA
#undef ADD
#undef SET1
#undef ZERO
#undef GATHER
#undef SUM_ROW

#if SPRY_IS_F64
#define VEC __m512d
#define MASKZ_LOAD(mask, p) _mm512_maskz_loadu_pd(mask, p)
#define LOAD(p) _mm512_loadu_pd(p)
#define STORE(p, v) _mm512_storeu_pd(p, v)
#define FMA(a, b, c) _mm512_fmadd_pd(a, b, c)
#define MASK_FMA(a, b, c, mask) _mm512_mask3_fmadd_pd(a, b, c, mask)
#define ADD(a, b) _mm512_add_pd(a, b)
#define SET1(s) _mm512_set1_pd(s)
#define ZERO() _mm512_setzero_pd()
#if SPRY_J_IS_64
#define GATHER(x, Aj) _mm512_i64gather_pd(_mm512_loadu_si512(Aj), x, 8)
#else
#define GATHER(x, Aj) _mm512_i32gather_pd(_mm256_loadu_si256((const __m256i *)(Aj)), x, 8)
#endif
#else
#define VEC __m256
#define MASKZ_LOAD(mask, p) _mm256_maskz_loadu_ps(mask, p)
#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define MASK_FMA(a, b, c, mask) _mm256_mask3_fmadd_ps(a, b, c, mask)
#define ADD(a, b) _mm256_add_ps(a, b)
#define SET1(s) _mm256_set1_ps(s)
#define ZERO() _mm256_setzero_ps()
#if SPRY_J_IS_64
#define GATHER(x, Aj) _mm512_i64gather_ps(_mm512_loadu_si512(Aj), x, 4)
#else
#define GATHER(x, Aj) _mm256_i32gather_ps(x, _mm256_loadu_si256((const __m256i *)(Aj)), 4)
#endif
#endif

static inline const SPRY_V *SPRY_FN(x_of)(const spryi_bsr_job *job, int64_t J, int r);

/* Blocks of one entry: CSR. */
static inline void SPRY_FN(sum_single)(const spryi_bsr_job *job, int64_t I, SPRY_V *sum)
{
    const SPRY_P *Ap = job->offsets;
    const SPRY_J *Aj = job->columns;
    const SPRY_V *Ax = job->values, *x = job->x;
    SPRY_V lanes[8] = {0};
    int64_t b = Ap[I];
    if (b + 8 <= Ap[I + 1]) {
        VEC v = ZERO();
        for (; b + 8 <= Ap[I + 1]; b += 8) {
            spryi_prefetch_entries(Ax, Aj, b, b + 8, sizeof(SPRY_V), sizeof(SPRY_J));
            v = FMA(LOAD(Ax + b), GATHER(x, Aj + b), v);
        }
        STORE(lanes, v);
    }
    for (; b < Ap[I + 1]; b++) lanes[b & 3] += Ax[b] * x[Aj[b]];
    *sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

/* sum = block row I times x, the columns of a block on up to four sums; masked: entries alone, in the same order. */
static inline __attribute__((always_inline)) void SPRY_FN(sum_row)(const spryi_bsr_job *job, int64_t I, const int r,
                                                                   const int masked, SPRY_V *sum)
{
    if (r == 1) {
        SPRY_FN(sum_single)(job, I, sum);
        return;
    }
    const SPRY_P *Ap = job->offsets;
    const SPRY_J *Aj = job->columns;
    const __mmask8 lanes = (__mmask8)((1u << r) - 1);
    VEC v[4] = {ZERO(), ZERO(), ZERO(), ZERO()};
    for (int64_t b = Ap[I]; b < Ap[I + 1]; b++) {
        const SPRY_V *Ax = (const SPRY_V *)job->values + b * r * r, *x = SPRY_FN(x_of)(job, Aj[b], r);
        for (int64_t bytes = 0; bytes < r * r * (int64_t)sizeof(SPRY_V); bytes += 64)
            spryi_prefetch(Ax, bytes + SPRYI_AHEAD);
        for (int j = 0; j < r; j++) {
            VEC column = r == 8 ? LOAD(Ax + j * r) : MASKZ_LOAD(lanes, Ax + j * r);
            if (masked)
                v[j & 3] = MASK_FMA(column, SET1(x[j]), v[j & 3], (__mmask8)spryi_bsr_mask(job->masks, r, b * r + j));
            else
                v[j & 3] = FMA(column, SET1(x[j]), v[j & 3]);
        }
    }
    STORE(sum, ADD(ADD(v[0], v[1]), ADD(v[2], v[3])));
}

#define SUM_ROW SPRY_FN(sum_row)
#include "formats/bsr/bsr_rows.tmpl.c"
