/*
 * packed_portable_cpu: plain C with OpenMP.
 *
 * Idea: 32 lanes of a slice side by side, slot by slot; in stepped slices x is read in order and there are no
 *       columns. Slots that not all lanes have go lane by lane. Long rows in pieces. Transposed: see windows.h.
 * Work: one thread a block of slices of about equal cost; a piece of a long row; transposed a part.
 * Cost: bytes of packed.
 */
#include "formats/csrk/packed.h"

#include <string.h>

#define SPRYI_NO_OFFSETS
#define SPRYI_TEMPLATE "formats/csrk/packed_portable.tmpl.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run);
static const spryi_run_table runs_t = SPRYI_TABLE(run_t);

const spryi_kernel spryi_packed_portable_cpu = {
    .name = "packed_portable_cpu",
    .format = "packed",
    .device = "cpu",
    .idea = "32 lanes of a slice side by side, x in order where columns step; plain C",
    .source = "this library; slices: Monakov et al. 2010; super-rows: Lane and Booth 2022",
    .deterministic = 1,
    .pattern = 1,
    .simd = SPRYI_PORTABLE,
    .spmv = &runs,
    .spmv_t = &runs_t,
};
