#ifndef SPRYI_TEMPLATE
/*
 * bsr_portable_cpu: dense blocks in plain C.
 *
 * Idea: for sizes up to 8, loops of constant length over the columns of a block. A block has one column index. An
 *       element of x is used for all rows of a block. Fill is multiplied, and corrected with masks only if a result is
 *       NaN (see bsr.h). Multiple vectors: bsr_panels.tmpl.c.
 * Work: a thread has a chunk of block rows of about equal work at a time. In the transposed product, parts of the block
 *       rows add to their own windows of y. The windows are then added in order. No atomics are needed.
 * Cost: values of the blocks, one column index per block. Block rows are not cut, so a very long block row causes
 *       imbalance.
 * Source: Im, Yelick and Vuduc, Sparsity: optimization framework for sparse matrix kernels, 2004, section 3.
 */
#include "formats/bsr/bsr.h"
#include "formats/shared/panels.h"

#include <string.h>

#define SPRYI_ANY_ROW
#define FOUR_SUMS(r) 0
#define BOTH_WIDTHS(r) ((r) <= (SPRY_IS_MIXED ? 2 : 3))
#define SPRYI_TEMPLATE "formats/bsr/bsr_panels.tmpl.c"
#include "base/instantiate_types.h"
#define PANELS_ROW(tag, s, v, c, argument) panel_chunks_##tag,
static const spryi_block_fn panels[SPRYI_VALUE_ROWS] = {SPRYI_PLAIN_ROWS(PANELS_ROW, 0)
                                                            SPRYI_MIXED_ROWS(PANELS_ROW, 0)};

#define SPRYI_TEMPLATE "formats/bsr/bsr_plain.tmpl.c"
#include "base/instantiate_types.h"
#define SPRYI_TEMPLATE "formats/bsr/bsr_portable_cpu.c"
#include "base/instantiate_types.h"
#define SPRYI_TEMPLATE "formats/bsr/bsr_rows.tmpl.c"
#include "base/instantiate_types.h"

static const spryi_run_table runs = SPRYI_TABLE_OF_TYPES(run), runs_t = SPRYI_TABLE_OF_TYPES(run_t);

const spryi_kernel spryi_bsr_portable_cpu = {
    SPRYI_KERNEL_OF("bsr", "portable", "cpu"),
    .idea = "unrolled blocks of constant size, fill corrected by masks only if a result is NaN; plain C",
    .source = "Im, Yelick and Vuduc, Sparsity: optimization framework for sparse matrix kernels, 2004, section 3",
    .spmv = &runs,
    .spmv_t = &runs_t,
    .multi_row_major = SPRYI_OP_SPMV,
};

#else /* for each combination of types: base/instantiate_types.h */

/* Sets sum to block row I times x. masked: adds only entries. r and masked are compile-time constants. */
SPRYI_INLINE void SPRY_FN(sum_row)(const spryi_bsr_job *job, spryi_bsr_columns columns, int64_t I, const int r,
                                   const bool masked, SPRY_V *sum)
{
    SPRY_FN(sum_plain)(job, columns, I, r, masked, sum);
}

#endif
