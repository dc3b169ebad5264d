/*
 * hyb_avx2_cpu: ell_avx2_cpu, then coo_portable_cpu.
 *
 * Idea: as hyb_portable_cpu, two launches in order.
 * Work: that of the two kernels, one after the other.
 * Cost: bytes of HYB, and y once more where the rest has entries.
 */
#include "formats/hyb/hyb.h"

static spry_status run(const spryi_run_args *args, spry_error *err)
{
    return spryi_hyb_drive(args, &spryi_ell_avx2_cpu, &spryi_coo_portable_cpu, err);
}

static const spryi_run_table runs = {{run, run, run}, {run, run, run}};

const spryi_kernel spryi_hyb_avx2_cpu = {
    .name = "hyb_avx2_cpu",
    .format = "hyb",
    .device = "cpu",
    .idea = "the ELL part by ell_avx2_cpu, then the rest by coo_portable_cpu",
    .source = "Bell and Garland, SpMV on throughput-oriented processors, 2009, section 4.4",
    .deterministic = 1,
    .simd = SPRYI_AVX2,
    .spmv = &runs,
};
