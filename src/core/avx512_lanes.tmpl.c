/*
 * Names for AVX-512 in code that is instantiated by type: LANES numbers a register, 8 of f64 or 16 of f32. Included by
 * templates that work on whole registers (core/instantiate.h); each type's include replaces the one before.
 * GATHER_AT(x, at): the x at LANES indices of any type, by loads and inserts: faster than the gather instruction where
 * that is microcode.
 */
#undef LANES
#undef VEC
#undef MASK
#undef LOAD
#undef MASKZ_LOAD
#undef MASK_STORE
#undef STREAM
#undef FMA
#undef MASK_FMA
#undef MUL
#undef ADD
#undef MASK_ADD
#undef SET1
#undef ZERO
#undef FOUR_AT
#undef GATHER_AT

#if SPRY_IS_F64
#define LANES 8
#define VEC __m512d
#define MASK __mmask8
#define LOAD(p) _mm512_loadu_pd(p)
#define MASKZ_LOAD(mask, p) _mm512_maskz_loadu_pd(mask, p)
#define MASK_STORE(p, mask, v) _mm512_mask_storeu_pd(p, mask, v)
#define STREAM(p, v) _mm512_stream_pd(p, v)
#define FMA(a, b, c) _mm512_fmadd_pd(a, b, c)
#define MASK_FMA(a, b, c, mask) _mm512_mask3_fmadd_pd(a, b, c, mask)
#define MUL(a, b) _mm512_mul_pd(a, b)
#define ADD(a, b) _mm512_add_pd(a, b)
#define MASK_ADD(a, mask, b) _mm512_mask_add_pd(a, mask, a, b)
#define SET1(s) _mm512_set1_pd(s)
#define ZERO() _mm512_setzero_pd()
#define FOUR_AT(x, at) spryi_four_pd((x) + (at)[0], (x) + (at)[1], (x) + (at)[2], (x) + (at)[3])
#define GATHER_AT(x, at) spryi_join_pd((const __m256d[]){FOUR_AT(x, at), FOUR_AT(x, (at) + 4)})
#else
#define LANES 16
#define VEC __m512
#define MASK __mmask16
#define LOAD(p) _mm512_loadu_ps(p)
#define MASKZ_LOAD(mask, p) _mm512_maskz_loadu_ps(mask, p)
#define MASK_STORE(p, mask, v) _mm512_mask_storeu_ps(p, mask, v)
#define STREAM(p, v) _mm512_stream_ps(p, v)
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define MASK_FMA(a, b, c, mask) _mm512_mask3_fmadd_ps(a, b, c, mask)
#define MUL(a, b) _mm512_mul_ps(a, b)
#define ADD(a, b) _mm512_add_ps(a, b)
#define MASK_ADD(a, mask, b) _mm512_mask_add_ps(a, mask, a, b)
#define SET1(s) _mm512_set1_ps(s)
#define ZERO() _mm512_setzero_ps()
#define FOUR_AT(x, at) spryi_four_ps((x) + (at)[0], (x) + (at)[1], (x) + (at)[2], (x) + (at)[3])
#define GATHER_AT(x, at)                                                                                               \
    spryi_join_ps((const __m128[]){FOUR_AT(x, at), FOUR_AT(x, (at) + 4), FOUR_AT(x, (at) + 8), FOUR_AT(x, (at) + 12)})
#endif
