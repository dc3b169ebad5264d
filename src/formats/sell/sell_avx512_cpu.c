/*
 * sell_avx512_cpu: SELL with AVX-512.
 *
 * Idea: a row a lane, slot by slot, so that no lane sums are left to be added; lanes past the row are masked.
 * x is loaded number by number, which beats the gather instruction where that is microcode. Chunks of other than a
 * multiple of a register's lanes are left to the loops of sell_portable_cpu.
 * Work: one thread a block of chunks at a time.
 * Cost: bytes of SELL, less the columns of stepped runs.
 * Source: Kreutzer et al., A unified sparse matrix data format for efficient general SpMV, 2014.
 */
#include "core/simd_x86.h"
#include "formats/sell/sell.h"

enum { SLOT_LANES = 16, AHEAD = 2048 }; /* bytes that the one stream is fetched ahead */

#define SPRYI_TEMPLATE "formats/sell/sell_avx512.tmpl.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run_512);
static const spryi_run_table runs_t = SPRYI_TABLE(run_t);

const spryi_kernel spryi_sell_avx512_cpu = {
    .name = "sell_avx512_cpu",
    .format = "sell",
    .device = "cpu",
    .idea = "a row a lane, sixteen a step, padding masked, software prefetch; AVX-512",
    .source = "Kreutzer et al., A unified sparse matrix data format for efficient general SpMV, 2014",
    .deterministic = 1,
    .pattern = 1,
    .simd = SPRYI_AVX512,
    .spmv = &runs,
    .spmv_t = &runs_t,
};
