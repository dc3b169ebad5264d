/*
 * packed_avx2_cpu: the loops of packed_portable_cpu, compiled for AVX2 and FMA.
 *
 * Idea: loops over the 32 lanes of a slice are vectors to the compiler: four f64 or eight f32 a register.
 * Work: one thread a chunk of slices of about equal cost; a piece of a long row (packed_driver.c).
 * Cost: bytes of packed.
 * Source: slices: Monakov, Lokhmotov, Avetisyan 2010; super-rows: Lane and Booth 2022; the rest: this library.
 */
#include "formats/packed/packed_driver.h"

#define SPRYI_NO_OFFSETS
#define SPRYI_ANY_ROW
#define SPRYI_TEMPLATE "formats/packed/packed_slices.tmpl.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run);

const spryi_kernel spryi_packed_avx2_cpu = {
    .name = "packed_avx2_cpu",
    .format = "packed",
    .device = "cpu",
    .idea = "32 lanes of a slice side by side, x in order on diagonals; AVX2 and FMA",
    .source = "this library; slices: Monakov et al. 2010; super-rows: Lane and Booth 2022",
    .deterministic = 1,
    .pattern = 1,
    .simd = SPRYI_AVX2,
    .spmv = &runs,
    .spmv_t = &spryi_packed_runs_t,
};
