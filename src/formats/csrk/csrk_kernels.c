/*
 * The kernels of csr2 and csr3: csr's, on a storage whose blocks are super-rows.
 *
 * Idea: three (four) nested loops: threads over super-rows (super-super-rows), then rows, then entries.
 * Work: as many rows a thread, whatever their lengths; good for regular matrices, and only there.
 * Cost: bytes of CSR and 8 a super-row; where columns step or are shared within a super-row they are not all read.
 * Source: Lane and Booth, Heterogeneous SpMV via Compressed Sparse Row Format (seed 001), listings 1 and 2.
 */
#include "formats/csrk/csrk.h"

#define SOURCE "Lane, Booth, Heterogeneous SpMV via Compressed Sparse Row Format, 2022, section 3"

static spry_status run_as(const spryi_kernel *kernel, const spryi_run_args *args, spry_error *err)
{
    const spry_arrays *a = &((const spryi_csrk *)args->storage)->csr.a;
    return (*kernel->spmv)[spryi_value_slot(args->vector_type)][spryi_index_pair(a->offset_type, a->index_type)](args,
                                                                                                                 err);
}

#define KERNELS(way, level, idea_text)                                                                                 \
    static spry_status run_##way(const spryi_run_args *args, spry_error *err)                                          \
    {                                                                                                                  \
        return run_as(&spryi_csr_##way##_cpu, args, err);                                                              \
    }                                                                                                                  \
    static const spryi_run_table runs_##way = {{run_##way, run_##way, run_##way}, {run_##way, run_##way, run_##way}};  \
    const spryi_kernel spryi_csr2_##way##_cpu = {                                                                      \
        .name = "csr2_" #way "_cpu",                                                                                   \
        .format = "csr2",                                                                                              \
        .device = "cpu",                                                                                               \
        .idea = idea_text,                                                                                             \
        .source = SOURCE,                                                                                              \
        .deterministic = 1,                                                                                            \
        .simd = level,                                                                                                 \
        .spmv = &runs_##way,                                                                                           \
    };                                                                                                                 \
    const spryi_kernel spryi_csr3_##way##_cpu = {                                                                      \
        .name = "csr3_" #way "_cpu",                                                                                   \
        .format = "csr3",                                                                                              \
        .device = "cpu",                                                                                               \
        .idea = idea_text,                                                                                             \
        .source = SOURCE,                                                                                              \
        .deterministic = 1,                                                                                            \
        .simd = level,                                                                                                 \
        .spmv = &runs_##way,                                                                                           \
    };

KERNELS(reference, SPRYI_PORTABLE, "the textbook loop over rows on one thread: what the groups must give too")
KERNELS(portable, SPRYI_PORTABLE, "threads share groups of consecutive rows; rows as csr_portable_cpu")
#ifdef SPRY_HAVE_X86
KERNELS(avx2, SPRYI_AVX2, "threads share groups of consecutive rows; rows as csr_avx2_cpu")
KERNELS(avx512, SPRYI_AVX512, "threads share groups of consecutive rows; rows as csr_avx512_cpu")
#endif
