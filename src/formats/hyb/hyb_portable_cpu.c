/*
 * hyb_portable_cpu: ell_portable_cpu, then coo_portable_cpu.
 *
 * Idea: y = alpha*E*x + beta*y, then y += alpha*R*x: two launches in order, no atomics, which is the atomic-free form.
 * Transposed: parts of the rows add both to windows of y of their own (see windows.h).
 * Work: that of the two kernels, one after the other.
 * Cost: bytes of HYB, and y once more where the rest has entries.
 */
#include "formats/hyb/hyb.h"

enum { SLOT_LANES = SPRYI_ELL_SLICE };

#define SPRYI_TEMPLATE "formats/hyb/hyb_portable.tmpl.c"
#include "core/instantiate.h"

static spry_status run(const spryi_run_args *args, spry_error *err)
{
    return spryi_hyb_drive(args, &spryi_ell_portable_cpu, &spryi_coo_portable_cpu, err);
}

static const spryi_run_table runs = {{run, run, run}, {run, run, run}};
static const spryi_run_table runs_t = SPRYI_TABLE(run_t);

const spryi_kernel spryi_hyb_portable_cpu = {
    .name = "hyb_portable_cpu",
    .format = "hyb",
    .device = "cpu",
    .idea = "the ELL part by ell_portable_cpu, then the rest by coo_portable_cpu",
    .source = "Bell and Garland, SpMV on throughput-oriented processors, 2009, section 4.4",
    .deterministic = 1,
    .simd = SPRYI_PORTABLE,
    .spmv = &runs,
    .spmv_t = &runs_t,
};
