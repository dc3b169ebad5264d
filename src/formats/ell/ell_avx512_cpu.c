/*
 * ell_avx512_cpu: ELL with AVX-512.
 *
 * Idea: sixteen rows, one a lane, slot by slot; lanes past their row's length are masked. Stepped runs (see ell.h)
 * load x and read no columns. Each slot's stream is fetched ahead by software.
 * Work: one thread a block of rows at a time.
 * Cost: bytes of ELL and of the lengths, less the columns of stepped runs.
 * Source: Bell and Garland, SpMV on throughput-oriented processors, 2009, section 4.2; runs: this library.
 */
#include "core/simd_x86.h"
#include "formats/ell/ell.h"

enum { AHEAD = 256 }; /* bytes that each slot is fetched ahead */

#define SPRYI_TEMPLATE "formats/ell/ell_avx512.tmpl.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run);

const spryi_kernel spryi_ell_avx512_cpu = {
    .name = "ell_avx512_cpu",
    .format = "ell",
    .device = "cpu",
    .idea = "sixteen rows a step, one a lane, padding masked, stepped columns not read, software prefetch; AVX-512",
    .source = "Bell and Garland, SpMV on throughput-oriented processors, 2009, section 4.2; runs: this library",
    .deterministic = 1,
    .simd = SPRYI_AVX512,
    .spmv = &runs,
};
