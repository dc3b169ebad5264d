/*
 * coo_avx512_cpu: segmented sums with gathered products.
 *
 * Idea: the products of a chunk of entries are made eight at a time and laid in the first-level cache, so
 * that the loads of x do not wait for the branches of the rows; the sums are then taken from there.
 * Work: blocks as in coo_portable_cpu.
 * Cost: bytes of COO, and y once more than in CSR.
 * Source: CSR-Stream (Greathouse and Daga, SC'14) applied to COO on a CPU.
 */
#include "core/simd_x86.h"
#include "formats/coo/coo.h"

enum { CHUNK = 512 };

#define SPRYI_TEMPLATE "formats/coo/coo_avx512.tmpl.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run);

const spryi_kernel spryi_coo_avx512_cpu = {
    .name = "coo_avx512_cpu",
    .format = "coo",
    .device = "cpu",
    .idea = "products made eight at a time into the first-level cache, then summed by row; AVX-512",
    .source = "Greathouse and Daga, Efficient SpMV on GPUs using the CSR storage format, SC'14 (CSR-Stream), on COO",
    .deterministic = 1,
    .simd = SPRYI_AVX512,
    .spmv = &runs,
};
