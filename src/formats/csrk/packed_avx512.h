/* Which lanes have a slot, for packed with AVX-512: of all 32 lanes at once. */
#ifndef SPRYI_PACKED_AVX512_H
#define SPRYI_PACKED_AVX512_H

#include "core/simd_x86.h"
#include "formats/csrk/packed.h"

/* What tells it: nothing, all have it; lengths of 8 bits; masks of 8, 16 or 32 bits. */
typedef enum lanes_by { BY_ALL, BY_LENGTH, BY_8, BY_16, BY_32 } lanes_by;

typedef struct lane_slots {
    __m512i low, high; /* of the lanes as they are stored; high: of lanes 16 to 31, of masks of 32 bits */
} lane_slots;

static inline lane_slots load_slots(const uint8_t *from, lanes_by by)
{
    lane_slots s = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    if (by == BY_ALL) return s;
    s.low = _mm512_castsi256_si512(_mm256_loadu_si256((const void *)from));
    if (by == BY_16 || by == BY_32) s.low = _mm512_loadu_si512(from);
    if (by == BY_32) s.high = _mm512_loadu_si512(from + sizeof(__m512i));
    return s;
}

static inline uint32_t lanes_with(const lane_slots *s, int k, lanes_by by)
{
    switch (by) {
    case BY_ALL: return UINT32_MAX;
    case BY_LENGTH: return _mm256_cmpgt_epu8_mask(_mm512_castsi512_si256(s->low), _mm256_set1_epi8((char)k));
    case BY_8: return _mm256_test_epi8_mask(_mm512_castsi512_si256(s->low), _mm256_set1_epi8((char)(1 << k)));
    case BY_16: return _mm512_test_epi16_mask(s->low, _mm512_set1_epi16((short)(1 << k)));
    case BY_32: break;
    }
    const __m512i bit = _mm512_set1_epi32((int)(1u << k));
    return _mm512_test_epi32_mask(s->low, bit) | (uint32_t)_mm512_test_epi32_mask(s->high, bit) << 16;
}

/* Lanes that are rows, where lengths are given; those of long rows become 0. */
static inline uint32_t lanes_of_rows(lane_slots *s)
{
    const __m256i length = _mm512_castsi512_si256(s->low);
    const __mmask32 rows = _mm256_cmpneq_epi8_mask(length, _mm256_set1_epi8((char)SPRYI_PACKED_OUTSIDE));
    s->low = _mm512_castsi256_si512(_mm256_maskz_mov_epi8(rows, length));
    return rows;
}

#endif
