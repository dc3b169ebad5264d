/*
 * Functions that sum rows with AVX-512. A register has LANES rows: 8 of f64 or 16 of f32. slots.tmpl.c explains the
 * parameters. Instantiated for each type before a kernel of ELL, SELL or packed.
 */
#include "base/avx512_lanes.h"

/*
 * Multiplies vectors * LANES rows of a strided run. `ahead` is the distance of the prefetch in bytes. `vectors` and
 * `ahead` are constants.
 */
SPRYI_INLINE void SPRY_FN(strided_vectors)(const SPRY_V *Ax, const SPRY_J *Aj, int64_t stride, int64_t length,
                                           const SPRY_V *x, const int vectors, const int64_t ahead, VEC *sum)
{
    for (int v = 0; v < vectors; v++) sum[v] = ZERO();
    for (int64_t s = 0; s < length; s++) {
        const SPRY_V *xs = x + Aj[s * stride], *values = Ax ? Ax + s * stride : NULL;
        for (int v = 0; v < vectors; v++) {
            if (Ax) spryi_prefetch_near(values, v * 64 + ahead);
            sum[v] = Ax ? FMA(LOAD(values + v * LANES), LOAD(xs + v * LANES), sum[v])
                        : ADD(sum[v], LOAD(xs + v * LANES));
        }
    }
}

/*
 * Multiplies vectors * LANES <= 16 rows. Every slot up to the longest row must have a valid column, even where a row
 * has ended. If Ax is NULL, all entries are 1.
 */
SPRYI_INLINE void SPRY_FN(general_vectors)(const SPRY_V *Ax, const SPRY_J *Aj, int64_t stride, const int32_t *lengths,
                                           const SPRY_V *x, const int vectors, const int64_t ahead, VEC *sum)
{
    const __mmask16 rows = (__mmask16)((1u << vectors * LANES) - 1);
    const __m512i length = _mm512_maskz_loadu_epi32(rows, lengths);
    const int64_t most = _mm512_reduce_max_epi32(length), least = _mm512_mask_reduce_min_epi32(rows, length);
    for (int v = 0; v < vectors; v++) sum[v] = ZERO();
    int64_t s = 0;
    for (; s < least; s++) {
        const SPRY_J *columns = Aj + s * stride;
        const SPRY_V *values = Ax ? Ax + s * stride : NULL;
        for (int v = 0; v < vectors; v++) {
            spryi_prefetch_near(columns, v * LANES * (int64_t)sizeof(SPRY_J) + ahead);
            if (Ax) spryi_prefetch_near(values, v * 64 + ahead);
            VEC xs = GATHER_AT(x, columns + v * LANES);
            sum[v] = Ax ? FMA(LOAD(values + v * LANES), xs, sum[v]) : ADD(sum[v], xs);
        }
    }
    for (; s < most; s++) {
        const SPRY_J *columns = Aj + s * stride;
        const SPRY_V *values = Ax ? Ax + s * stride : NULL;
        const __mmask16 live = _mm512_cmpgt_epi32_mask(length, _mm512_set1_epi32((int)s));
        for (int v = 0; v < vectors; v++) {
            const MASK mask = (MASK)(live >> v * LANES);
            spryi_prefetch_near(columns, v * LANES * (int64_t)sizeof(SPRY_J) + ahead);
            if (Ax) spryi_prefetch_near(values, v * 64 + ahead);
            VEC xs = GATHER_AT(x, columns + v * LANES);
            sum[v] = Ax ? MASK_FMA(LOAD(values + v * LANES), xs, sum[v], mask) : MASK_ADD(sum[v], mask, xs);
        }
    }
}
