#ifndef SPRYI_TEMPLATE
/*
 * bsr_avx512_cpu: dense blocks with AVX-512.
 *
 * Idea: a column of a block is one masked register. It is multiplied by its element of x, which is in all lanes of a
 *       register. Blocks up to 4 use registers of four lanes, whose loads cross fewer cache lines. Larger blocks use
 *       registers of eight lanes. Four sums run in parallel. Blocks and x of later blocks are prefetched. Multiple
 *       vectors: bsr_panels.tmpl.c.
 * Work: as in bsr_portable_cpu. Blocks larger than 8 and the transposed product use its loops, compiled with FMA.
 * Cost: as in bsr_portable_cpu.
 * Source: register blocking of Sparsity (Im, Yelick and Vuduc 2004); the vector steps are this library's.
 */
#include "base/simd_x86.h"
#include "formats/bsr/bsr.h"
#include "formats/shared/panels.h"

#include <string.h>

/* A register of four elements. EIGHT is the register of eight. */
typedef __m128 FOUR_type_f32;
typedef __m256d FOUR_type_f64;
typedef eight_f32 EIGHT_type_f32;
typedef eight_f64 EIGHT_type_f64;
#define FOUR(name) SPRYI_TYPED(FOUR)(name)
#define FOUR_f32(name) _mm_##name##_ps
#define FOUR_f64(name) _mm256_##name##_pd

/* sum_row below has four sums for these sizes, and one sum in plain C for all other sizes. */
#define FOUR_SUMS(r) ((r) >= 2 && (r) <= 8)
#define BOTH_WIDTHS(r) ((r) <= 2)
#define SPRYI_TEMPLATE "formats/bsr/bsr_panels.tmpl.c"
#include "base/instantiate_types.h"
#define PANELS_ROW(tag, s, v, c, argument) panel_chunks_##tag,
static const spryi_block_fn panels[SPRYI_VALUE_ROWS] = {SPRYI_PLAIN_ROWS(PANELS_ROW, 0)};

#define SPRYI_TEMPLATE "formats/bsr/bsr_ahead.tmpl.c"
#include "base/instantiate_types.h"
#define SPRYI_TEMPLATE "formats/bsr/bsr_avx512_cpu.c"
#include "base/instantiate_types.h"
#define SPRYI_TEMPLATE "formats/bsr/bsr_rows.tmpl.c"
#include "base/instantiate_types.h"

static const spryi_run_table runs = SPRYI_TABLE_OF_TYPES(run), runs_t = SPRYI_TABLE_OF_TYPES(run_t);

const spryi_kernel spryi_bsr_avx512_cpu = {
    SPRYI_KERNEL_OF("bsr", "avx512", "cpu"),
    .idea = "a masked register for each column of a block, its x in all lanes; AVX-512",
    .source = "Im, Yelick and Vuduc, Sparsity: optimization framework for sparse matrix kernels, 2004, section 3",
    .simd = SPRYI_AVX512,
    .spmv = &runs,
    .spmv_t = &runs_t,
    .multi_row_major = SPRYI_OP_SPMV,
};

#else /* for each combination of types: base/instantiate_types.h */

#define IN_REGISTERS sum_in_fours
#define REGISTER FOUR
#define LANES 4
#include "formats/bsr/bsr_columns.tmpl.c"
#define IN_REGISTERS sum_in_eights
#define REGISTER EIGHT
#define LANES 8
#include "formats/bsr/bsr_columns.tmpl.c"

SPRYI_INLINE void SPRY_FN(sum_row)(const spryi_bsr_job *job, spryi_bsr_columns columns, int64_t I, const int r,
                                   const bool masked, SPRY_V *sum)
{
    if (r <= 4)
        SPRY_FN(sum_in_fours)(job, columns, I, r, masked, sum);
    else
        SPRY_FN(sum_in_eights)(job, columns, I, r, masked, sum);
}

#endif
