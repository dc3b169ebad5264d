/*
 * packed_portable_cpu: packed slices in plain C.
 *
 * Idea: the 32 lanes of a slice in parallel, slot by slot. On diagonals x is read in order, without columns. Slots that
 *       some lanes lack are processed lane by lane. Long rows are summed in pieces. Multiple vectors:
 *       packed_panels.tmpl.c.
 * Work: each thread has chunks of slices of about equal cost, and pieces of long rows (packed_driver.c).
 * Cost: bytes of packed.
 * Source: slices: Monakov, Lokhmotov, Avetisyan 2010; super-rows: Lane and Booth 2022; the rest: this library.
 */
#include "formats/packed/packed_driver.h"
#include "formats/packed/packed_lanes.h"
#include "formats/shared/panels.h"

#define SPRYI_NO_OFFSETS
#define SPRYI_ANY_ROW
#define SPRYI_TEMPLATE "formats/packed/packed_panels.tmpl.c"
#include "base/instantiate.h"
static const spryi_block_fn panel_slices[SPRYI_VALUE_ROWS] = SPRYI_PACKED_PANELS(slices);
static const spryi_block_fn panel_pieces[SPRYI_VALUE_ROWS] = SPRYI_PACKED_PANELS(pieces);
#define SPRYI_TEMPLATE "formats/packed/packed_slices.tmpl.c"
#include "base/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run);

const spryi_kernel spryi_packed_portable_cpu = {
    SPRYI_KERNEL_OF("packed", "portable", "cpu"),
    .idea = "32 lanes of a slice in parallel, x in order on diagonals; plain C",
    .source = "this library; slices: Monakov et al. 2010; super-rows: Lane and Booth 2022",
    .pattern = 1,
    .spmv = &runs,
    .spmv_t = &spryi_packed_runs_t,
    .multi_row_major = SPRYI_OP_SPMV,
    .multi_column_major = SPRYI_OP_SPMV,
};
