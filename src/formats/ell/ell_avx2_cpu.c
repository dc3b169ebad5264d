/*
 * ell_avx2_cpu: the loops of ell_portable_cpu, compiled for AVX2 and FMA.
 *
 * Idea: the compiler vectorizes the loops over sixteen rows. Compared with plain C, strided runs have registers of four
 *       f64 or eight f32, and other rows need half the instructions.
 * Work: one thread per block of rows. Transposed products have one thread per part (shared/column_windows.h).
 * Cost: bytes of ELL and of the lengths, except the columns of strided runs.
 * Source: Bell and Garland, SpMV on throughput-oriented processors, 2009, section 4.2; runs: this library.
 */
#include "formats/ell/ell.h"

#define SPRYI_NO_OFFSETS
#define SPRYI_TEMPLATE "formats/ell/ell_rows.tmpl.c"
#include "base/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run), runs_t = SPRYI_TABLE(run_t);

const spryi_kernel spryi_ell_avx2_cpu = {
    SPRYI_KERNEL_OF("ell", "avx2", "cpu"),
    .idea = "sixteen rows together, padding skipped by row lengths, strided columns not read; AVX2 and FMA",
    .source = "Bell and Garland, SpMV on throughput-oriented processors, 2009, section 4.2; runs: this library",
    .simd = SPRYI_AVX2,
    .spmv = &runs,
    .spmv_t = &runs_t,
};
