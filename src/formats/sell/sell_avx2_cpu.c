/*
 * sell_avx2_cpu: the loops of sell_portable_cpu, compiled for AVX2 and FMA.
 *
 * Idea: the compiler vectorizes loops over sixteen lanes: four f64 or eight f32 in a register. Multiple vectors:
 *       sell_panels.tmpl.c.
 * Work: a thread has one block of chunks at a time, or one part of the rows in the transposed product.
 * Cost: bytes of SELL without the columns of strided runs.
 * Source: Kreutzer et al., A unified sparse matrix data format for efficient general SpMV, 2014.
 */
#include "formats/sell/sell.h"
#include "formats/shared/panels.h"

#define SPRYI_NO_OFFSETS
#define SPRYI_ANY_ROW
#define PLAIN_ABREAST SPRYI_SELL_ABREAST
#define SPRYI_TEMPLATE "formats/sell/sell_chunks.tmpl.c"
#include "base/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run), runs_t = SPRYI_TABLE(run_t);

const spryi_kernel spryi_sell_avx2_cpu = {
    SPRYI_KERNEL_OF("sell", "avx2", "cpu"),
    .idea = "sixteen lanes of a chunk in parallel, padding skipped by row lengths; AVX2 and FMA",
    .source = "Kreutzer et al., A unified sparse matrix data format for efficient general SpMV, 2014",
    .pattern = 1,
    .simd = SPRYI_AVX2,
    .narrows = SPRYI_NARROWS_FLOATS,
    .spmv = &runs,
    .spmv_t = &runs_t,
    .multi_row_major = SPRYI_OP_SPMV,
};
