/*
 * packed_avx512_cpu: packed slices with AVX-512.
 *
 * Idea: a row a lane: the 32 of a slice are four registers of f64 or two of f32, which add up side by side. Where
 *       columns step, a slot's x is loaded in order, no index is read and nothing is gathered; lanes without the slot
 *       are masked. Elsewhere x is put together by loads and inserts, which beats the gather instruction where that
 *       is microcode. Of blocks, x is put together once for all rows of the block. Slots of a few lanes, not padded,
 *       go through memory. Values and indices are fetched ahead by software, into the second-level cache alone: in
 *       the first they would push out x, of which sorted rows meet the same again and again.
 * Work: one thread a block of slices of about equal cost; a piece of a long row. Transposed: as packed_portable_cpu.
 * Cost: bytes of packed.
 * Good at: grids, blocks. Bad at: slices of which most slots are holes.
 */
#include "formats/csrk/packed_avx512.h"

#define SPRYI_NO_OFFSETS
#define SPRYI_TEMPLATE "formats/csrk/packed_avx512.tmpl.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run);
static const spryi_run_table runs_t = SPRYI_TABLE(run_t);

const spryi_kernel spryi_packed_avx512_cpu = {
    .name = "packed_avx512_cpu",
    .format = "packed",
    .device = "cpu",
    .idea = "a row a lane, 32 a step, x in order where columns step, blocks share x, holes masked; AVX-512",
    .source = "this library; slices: Monakov et al. 2010; super-rows: Lane and Booth 2022",
    .deterministic = 1,
    .pattern = 1,
    .simd = SPRYI_AVX512,
    .spmv = &runs,
    .spmv_t = &runs_t,
};
