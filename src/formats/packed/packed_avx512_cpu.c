/*
 * packed_avx512_cpu: packed slices with AVX-512.
 *
 * Idea: a lane is a row. The 32 lanes of a slice are four registers of f64 or two of f32, which are added in parallel.
 *       On diagonals a slot's x is loaded in order, without indices and gathers; lanes without the slot are masked. In
 *       other slices x is assembled by loads and inserts, which are faster than a gather instruction that runs as
 *       microcode. For blocks, x is assembled once for all rows of the block. For unpadded slots that some lanes lack,
 *       x is assembled in memory. Values and indices are prefetched only into the second-level cache. In the
 *       first-level cache they would evict x, which sorted rows reuse. Multiple vectors: packed_panels.tmpl.c.
 * Work: each thread has chunks of slices of about equal cost, and pieces of long rows (packed_driver.c).
 * Cost: bytes of packed.
 * Source: slices: Monakov, Lokhmotov, Avetisyan 2010; super-rows: Lane and Booth 2022; the rest: this library.
 * Good at: grids, blocks. Bad at: slices in which most lanes lack most slots.
 */
#include "base/avx512_lanes.h"
#include "formats/packed/packed_driver.h"
#include "formats/packed/packed_lanes.h"
#include "formats/shared/panels.h"

/*
 * How a slice records the lanes that have a slot. BY_ALL: all lanes have all slots. BY_LENGTH: by lengths of 8 bits.
 * BY_8, BY_16, BY_32: by masks of this number of bits.
 */
typedef enum lanes_by { BY_ALL, BY_LENGTH, BY_8, BY_16, BY_32 } lanes_by;

typedef struct lane_bits {
    __m512i low, high; /* lengths or masks as stored; high: only for masks of 32 bits, the masks of lanes 16 to 31 */
} lane_bits;

static inline lane_bits load_bits(const uint8_t *from, lanes_by by)
{
    lane_bits s = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    if (by == BY_ALL) return s;
    s.low = _mm512_castsi256_si512(_mm256_loadu_si256((const void *)from));
    if (by == BY_16 || by == BY_32) s.low = _mm512_loadu_si512(from);
    if (by == BY_32) s.high = _mm512_loadu_si512(from + sizeof(__m512i));
    return s;
}

/* Returns a mask of the lanes that have slot k. */
static inline uint32_t lanes_with(const lane_bits *s, int k, lanes_by by)
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

/* Returns a mask of the lanes that are not long rows, for a slice with lengths. Sets lengths of long rows to 0. */
static inline uint32_t lanes_of_rows(lane_bits *s)
{
    const __m256i length = _mm512_castsi512_si256(s->low);
    const __mmask32 rows = _mm256_cmpneq_epi8_mask(length, _mm256_set1_epi8((char)SPRYI_PACKED_LONG_ROW));
    s->low = _mm512_castsi256_si512(_mm256_maskz_mov_epi8(rows, length));
    return rows;
}

#define EXPAND(mask, v) SPRYI_MM512(maskz_expand)(mask, v)
#define SPRYI_NO_OFFSETS
#define SPRYI_ANY_ROW
#define SPRYI_TEMPLATE "formats/packed/packed_panels.tmpl.c"
#include "base/instantiate.h"
static const spryi_block_fn panel_slices[SPRYI_VALUE_ROWS] = SPRYI_PACKED_PANELS(slices);
static const spryi_block_fn panel_pieces[SPRYI_VALUE_ROWS] = SPRYI_PACKED_PANELS(pieces);
#define SPRYI_TEMPLATE "formats/packed/packed_simd.tmpl.c"
#include "base/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run);

const spryi_kernel spryi_packed_avx512_cpu = {
    SPRYI_KERNEL_OF("packed", "avx512", "cpu"),
    .idea = "a lane per row, 32 rows at a time, x in order on diagonals, one x for all rows of a block, holes masked; "
            "AVX-512",
    .source = "this library; slices: Monakov et al. 2010; super-rows: Lane and Booth 2022",
    .pattern = 1,
    .narrows = SPRYI_NARROWS_FLOATS,
    .simd = SPRYI_AVX512,
    .spmv = &runs,
    .spmv_t = &spryi_packed_runs_t,
    .multi_row_major = SPRYI_OP_SPMV,
    .multi_column_major = SPRYI_OP_SPMV,
};
