/*
 * packed_avx2_cpu: packed slices with AVX2 and FMA.
 *
 * Idea: a lane is a row. The 32 lanes of a slice are eight registers of f64 or four of f32, which are added in
 *       parallel. On diagonals a slot's x is loaded in order, without indices and gathers. In other slices x is
 *       assembled by loads and inserts. Multiple vectors: packed_panels.tmpl.c.
 * Work: each thread has chunks of slices of about equal cost, and pieces of long rows (packed_driver.c).
 * Cost: bytes of packed.
 * Source: slices: Monakov, Lokhmotov, Avetisyan 2010; super-rows: Lane and Booth 2022; the rest: this library.
 * Good at: grids, blocks. Bad at: slices in which most lanes lack most slots.
 */
#include "base/avx2_lanes.h"
#include "formats/packed/packed_driver.h"
#include "formats/packed/packed_lanes.h"
#include "formats/shared/panels.h"

/*
 * How a slice records the lanes that have a slot. BY_ALL: all lanes have all slots. BY_LENGTH: by lengths of 8 bits.
 * BY_8, BY_16, BY_32: by masks of this number of bits.
 */
typedef enum lanes_by { BY_ALL, BY_LENGTH, BY_8, BY_16, BY_32 } lanes_by;

typedef struct lane_bits {
    const __m256i *stored; /* lengths or masks in lane order */
    uint32_t rows;         /* if lengths are stored: mask of the lanes that are not long rows */
} lane_bits;

static inline lane_bits load_bits(const uint8_t *from, lanes_by by)
{
    (void)by; /* lanes_with loads the bits again for each slot, since registers are used for sums */
    return (lane_bits){(const __m256i *)(const void *)from, UINT32_MAX};
}

/*
 * Returns a mask of the lanes that have slot k. If lanes have masks, shifts the bit of slot k to the sign bit and
 * collects the sign bits.
 */
static inline uint32_t lanes_with(const lane_bits *s, int k, lanes_by by)
{
    const __m256i first = by == BY_ALL ? _mm256_setzero_si256() : _mm256_loadu_si256(s->stored);
    const __m256i one_more = _mm256_set1_epi8((char)(k + 1));
    uint32_t lanes = 0;
    switch (by) {
    case BY_ALL: return UINT32_MAX;
    case BY_LENGTH:
        return s->rows & (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_max_epu8(first, one_more), first));
    case BY_8: return (uint32_t)_mm256_movemask_epi8(_mm256_sll_epi16(first, _mm_cvtsi32_si128(7 - k)));
    case BY_16: {
        const __m128i shift = _mm_cvtsi32_si128(15 - k);
        const __m256i second = _mm256_sll_epi16(_mm256_loadu_si256(s->stored + 1), shift);
        const __m256i quarters = _mm256_packs_epi16(_mm256_sll_epi16(first, shift), second); /* order: 0 2 1 3 */
        return (uint32_t)_mm256_movemask_epi8(_mm256_permute4x64_epi64(quarters, 0xd8));
    }
    case BY_32: break;
    }
    for (int n = 0; n < 4; n++) {
        const __m256i signs = _mm256_sll_epi32(_mm256_loadu_si256(s->stored + n), _mm_cvtsi32_si128(31 - k));
        lanes |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(signs)) << 8 * n;
    }
    return lanes;
}

/* Returns a mask of the lanes that are not long rows, for a slice with lengths. Lanes of long rows have no slots. */
static inline uint32_t lanes_of_rows(lane_bits *s)
{
    const __m256i long_row = _mm256_set1_epi8((char)SPRYI_PACKED_LONG_ROW);
    s->rows = ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256(s->stored), long_row));
    return s->rows;
}

#define SPRYI_NO_OFFSETS
#define SPRYI_ANY_ROW
#define SPRYI_TEMPLATE "formats/packed/packed_panels.tmpl.c"
#include "base/instantiate.h"
static const spryi_block_fn panel_slices[SPRYI_VALUE_ROWS] = SPRYI_PACKED_PANELS(slices);
static const spryi_block_fn panel_pieces[SPRYI_VALUE_ROWS] = SPRYI_PACKED_PANELS(pieces);
#define SPRYI_TEMPLATE "formats/packed/packed_simd.tmpl.c"
#include "base/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run);

const spryi_kernel spryi_packed_avx2_cpu = {
    SPRYI_KERNEL_OF("packed", "avx2", "cpu"),
    .idea = "a lane per row, 32 rows at a time, x in order on diagonals, one x for all rows of a block, holes masked; "
            "AVX2 and FMA",
    .source = "this library; slices: Monakov et al. 2010; super-rows: Lane and Booth 2022",
    .pattern = 1,
    .simd = SPRYI_AVX2,
    .narrows = SPRYI_NARROWS_FLOATS,
    .spmv = &runs,
    .spmv_t = &spryi_packed_runs_t,
    .multi_row_major = SPRYI_OP_SPMV,
    .multi_column_major = SPRYI_OP_SPMV,
};
