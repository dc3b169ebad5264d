#ifndef SPRYI_TEMPLATE
/*
 * bsr_avx2_cpu: dense blocks with AVX2.
 *
 * Idea: a column of a block is one register, or two for f64 blocks larger than 4. It is multiplied by its element of x,
 *       which is in all lanes of a register. Four sums run in parallel. Blocks and x of later blocks are prefetched.
 *       Multiple vectors: bsr_panels.tmpl.c.
 * Work: as in bsr_portable_cpu. Blocks larger than 8 and the transposed product use its loops, compiled with FMA.
 * Cost: as in bsr_portable_cpu.
 * Source: register blocking of Sparsity (Im, Yelick and Vuduc 2004); the vector steps are this library's.
 */
#include "base/avx2_lanes.h"
#include "formats/bsr/bsr.h"
#include "formats/shared/panels.h"

#include <string.h>

#define ONLY(v, mask) SPRYI_MM256 (and)(v, SPRYI_MM256(castsi256)(SPRYI_TYPED(spryi_lanes)(mask)))

#define SPRYI_ANY_ROW
/* sum_row below has four sums for these sizes, and one sum in plain C for all other sizes. */
#define FOUR_SUMS(r) ((r) >= 2 && (r) <= 8)
#define BOTH_WIDTHS(r) ((r) <= (SPRY_IS_MIXED ? 0 : 5))
#define SPRYI_TEMPLATE "formats/bsr/bsr_panels.tmpl.c"
#include "base/instantiate_types.h"
#define PANELS_ROW(tag, s, v, c, argument) panel_chunks_##tag,
static const spryi_block_fn panels[SPRYI_VALUE_ROWS] = {SPRYI_PLAIN_ROWS(PANELS_ROW, 0)
                                                            SPRYI_MIXED_ROWS(PANELS_ROW, 0)};

#define SPRYI_TEMPLATE "formats/bsr/bsr_ahead.tmpl.c"
#include "base/instantiate_types.h"
#define SPRYI_TEMPLATE "formats/bsr/bsr_avx2_cpu.c"
#include "base/instantiate_types.h"
#define SPRYI_TEMPLATE "formats/bsr/bsr_rows.tmpl.c"
#include "base/instantiate_types.h"

static const spryi_run_table runs = SPRYI_TABLE_OF_TYPES(run), runs_t = SPRYI_TABLE_OF_TYPES(run_t);

const spryi_kernel spryi_bsr_avx2_cpu = {
    SPRYI_KERNEL_OF("bsr", "avx2", "cpu"),
    .idea = "a register for each column of a block, its x in all lanes; AVX2",
    .source = "Im, Yelick and Vuduc, Sparsity: optimization framework for sparse matrix kernels, 2004, section 3",
    .simd = SPRYI_AVX2,
    .narrows = SPRYI_NARROWS_FLOATS,
    .spmv = &runs,
    .spmv_t = &runs_t,
    .multi_row_major = SPRYI_OP_SPMV,
};

#else /* for each combination of types: base/instantiate_types.h */

/* Loads the first `rows` rows of a column, at most LANES. */
SPRYI_INLINE VEC SPRY_FN(column)(const SPRY_S *p, const int rows)
{
    return rows >= LANES ? LOAD_VALUES(p) : MASKZ_LOAD_VALUES((1u << rows) - 1, p);
}

/*
 * Sets sum to block row I times x. Column j of a block is added to partial sum j modulo 4. masked: adds only entries,
 * in the same order.
 */
SPRYI_INLINE void SPRY_FN(sum_row)(const spryi_bsr_job *job, spryi_bsr_columns columns, int64_t I, const int r,
                                   const bool masked, SPRY_V *sum)
{
    const int64_t ahead = SPRY_FN(blocks_ahead)(job, spryi_bsr_offset(job, I + 1));
    SPRY_V copy[SPRYI_BSR_MOST_BLOCK];
    VEC v[4] = {ZERO(), ZERO(), ZERO(), ZERO()}, w[4] = {ZERO(), ZERO(), ZERO(), ZERO()};
    for (int64_t b = spryi_bsr_offset(job, I), end = spryi_bsr_offset(job, I + 1); b < end; b++) {
        const SPRY_S *Ax = (const SPRY_S *)job->values + b * r * r;
        const SPRY_V *x = SPRY_FN(x_of)(job, spryi_bsr_column(columns, b), r, masked, copy);
        SPRY_FN(fetch_ahead)(job, Ax, spryi_bsr_column(columns, b + ahead), r);
        for (int j = 0; j < r; j++) {
            const unsigned mask = masked ? spryi_bsr_mask(job->masks, r, b * r + j) : 0;
            VEC xj = SET1(x[j]);
            v[j & 3] = FMA(SPRY_FN(column)(Ax + j * r, r), masked ? ONLY(xj, mask) : xj, v[j & 3]);
            if (r > LANES)
                w[j & 3] = FMA(SPRY_FN(column)(Ax + j * r + LANES, r - LANES), masked ? ONLY(xj, mask >> LANES) : xj,
                               w[j & 3]);
        }
    }
    STORE(sum, ADD(ADD(v[0], v[1]), ADD(v[2], v[3])));
    if (r > LANES) STORE(sum + LANES, ADD(ADD(w[0], w[1]), ADD(w[2], w[3])));
}

#endif
