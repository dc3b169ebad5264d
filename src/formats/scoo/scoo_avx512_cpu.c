/*
 * scoo_avx512_cpu: sliced coordinates with AVX-512.
 *
 * Idea: eight products a step with x gathered, near each other since columns rise; the additions to the cached sums
 * stay scalar, since rows may repeat among the eight. The matrix is fetched ahead by software.
 * Work: as in scoo_portable_cpu.
 * Cost: as there.
 * Source: scoo_portable_cpu's; the vector steps are this library's.
 */
#include "core/simd_x86.h"
#include "formats/scoo/scoo.h"

#define SPRYI_TEMPLATE "formats/scoo/scoo_avx512.tmpl.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run), runs_t = SPRYI_TABLE(run_t);

const spryi_kernel spryi_scoo_avx512_cpu = {
    .name = "scoo_avx512_cpu",
    .format = "scoo",
    .device = "cpu",
    .idea = "one thread a slice, eight products a step, cached sums, software prefetch; AVX-512",
    .source = "Dang and Schmidt, The sliced COO format for SpMV on CUDA-enabled GPUs, ICCS 2012, on a CPU",
    .deterministic = 1,
    .simd = SPRYI_AVX512,
    .spmv = &runs,
    .spmv_t = &runs_t,
};
