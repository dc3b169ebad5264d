/*
 * Rows of at most SPRYI_SHORT products, common in road networks, circuits and graphs of low degree. Two registers hold
 * all columns. Comparisons with each column find duplicates and count smaller columns, which gives the position of each
 * sum. Nothing is sorted, cleared or searched, and no branch depends on columns.
 */
#pragma once

#include "spgemm/kernels/cpu/row_primitives.h"

/* Returns the number of distinct columns. Sets *low and *high to the smallest and the largest column. */
static inline int spryi_count_different(const int32_t *list, int count, int32_t *low, int32_t *high)
{
    const uint32_t valid = (uint32_t)_bzhi_u64(0xffffffffu, (unsigned)count);
    const __mmask16 valid0 = (__mmask16)valid, valid1 = (__mmask16)(valid >> 16);
    const __m512i v0 = _mm512_maskz_loadu_epi32(valid0, list), v1 = _mm512_maskz_loadu_epi32(valid1, list + 16);
    const __m512i met0 = _mm512_conflict_epi32(v0), met1 = _mm512_conflict_epi32(v1);
    const __m512i least = _mm512_mask_mov_epi32(_mm512_set1_epi32(INT32_MAX), valid0, v0);
    uint32_t again = 0;
    for (int p = 0; p < 16 && count > 16; p++) again |= _mm512_cmpeq_epi32_mask(v1, _mm512_set1_epi32(list[p]));
    const uint32_t first = (_mm512_testn_epi32_mask(met1, met1) & ~again) << 16;
    *low = _mm512_reduce_min_epi32(_mm512_mask_min_epi32(least, valid1, least, v1));
    *high = _mm512_reduce_max_epi32(_mm512_max_epi32(v0, v1)); /* unused lanes are 0 */
    return __builtin_popcount((first | _mm512_testn_epi32_mask(met0, met0)) & valid);
}

/* Sets *low and *high to the smallest and largest column. */
static inline void spryi_list_span(const int32_t *list, int64_t count, int32_t *low, int32_t *high)
{
    __m512i least = _mm512_set1_epi32(INT32_MAX), most = _mm512_set1_epi32(-1);
    for (int64_t p = 0; p < count; p += 16) {
        const __mmask16 live = spryi_upto16(count - p);
        const __m512i v = _mm512_maskz_loadu_epi32(live, list + p);
        least = _mm512_mask_min_epi32(least, live, least, v);
        most = _mm512_mask_max_epi32(most, live, most, v);
    }
    *low = _mm512_reduce_min_epi32(least);
    *high = _mm512_reduce_max_epi32(most);
}

/*
 * Computes the positions of up to SPRYI_SHORT products, and the row's columns in order. Returns the number of columns.
 * Compares the columns of all products with each other.
 */
static inline int64_t spryi_short_positions(const int32_t *restrict list, int count, uint16_t *restrict positions,
                                            int32_t *restrict columns)
{
    const uint32_t valid = (uint32_t)_bzhi_u64(0xffffffffu, (unsigned)count);
    const __m512i past = _mm512_set1_epi32(INT32_MAX), one = _mm512_set1_epi32(1);
    const __m512i v0 = _mm512_mask_loadu_epi32(past, (__mmask16)valid, list);
    const __m512i v1 = _mm512_mask_loadu_epi32(past, (__mmask16)(valid >> 16), list + 16);
    __m512i at0 = _mm512_setzero_si512(), at1 = at0;
    int32_t leaders[16 + 16];
    __m512i met = _mm512_conflict_epi32(v0);
    __mmask16 first = _mm512_mask_testn_epi32_mask((__mmask16)valid, met, met);
    int n = __builtin_popcount(first);
    _mm512_storeu_si512(leaders, _mm512_mask_compress_epi32(past, first, v0));
    if (count <= 16) {
        for (int q = 0; q < n; q++)
            at0 = _mm512_mask_add_epi32(at0, _mm512_cmpgt_epi32_mask(v0, _mm512_set1_epi32(leaders[q])), at0, one);
    } else {
        uint32_t again = 0;
        for (int q = 0; q < n; q++) {
            const __m512i x = _mm512_set1_epi32(leaders[q]);
            again |= _mm512_cmpeq_epi32_mask(v1, x);
            at0 = _mm512_mask_add_epi32(at0, _mm512_cmpgt_epi32_mask(v0, x), at0, one);
            at1 = _mm512_mask_add_epi32(at1, _mm512_cmpgt_epi32_mask(v1, x), at1, one);
        }
        met = _mm512_conflict_epi32(v1);
        first = (__mmask16)(_mm512_mask_testn_epi32_mask((__mmask16)(valid >> 16), met, met) & ~again);
        const int more = __builtin_popcount(first);
        _mm512_storeu_si512(leaders, _mm512_mask_compress_epi32(past, first, v1));
        for (int q = 0; q < more; q++) {
            const __m512i x = _mm512_set1_epi32(leaders[q]);
            at0 = _mm512_mask_add_epi32(at0, _mm512_cmpgt_epi32_mask(v0, x), at0, one);
            at1 = _mm512_mask_add_epi32(at1, _mm512_cmpgt_epi32_mask(v1, x), at1, one);
        }
        n += more;
        _mm256_storeu_si256((__m256i *)(void *)(positions + 16), _mm512_cvtepi32_epi16(at1));
    }
    _mm256_storeu_si256((__m256i *)(void *)positions, _mm512_cvtepi32_epi16(at0));
    for (int p = 0; p < count; p++) columns[positions[p]] = list[p];
    return n;
}
