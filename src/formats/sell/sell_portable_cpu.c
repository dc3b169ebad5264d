/*
 * sell_portable_cpu: SELL in plain C.
 *
 * Idea: sixteen lanes of a chunk side by side, slot by slot; no slot past a row's length is multiplied. In strided runs
 *       (see sell.h) x is read in order and columns are not. Transposed: see shared/column_windows.h; several columns
 *       of x at once: sell_panels.tmpl.c.
 * Work: a thread takes a block of chunks at a time; transposed, a part.
 * Cost: bytes of SELL, less the columns of strided runs.
 * Source: Kreutzer et al., A unified sparse matrix data format for efficient general SpMV, 2014.
 */
#include "formats/sell/sell.h"
#include "formats/shared/panels.h"

#define SPRYI_NO_OFFSETS
#define PLAIN_ABREAST SPRYI_SELL_ABREAST
#define SPRYI_TEMPLATE "formats/sell/sell_chunks.tmpl.c"
#include "base/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run), runs_t = SPRYI_TABLE(run_t);

const spryi_kernel spryi_sell_portable_cpu = {
    SPRYI_KERNEL_OF("sell", "portable", "cpu"),
    .idea = "sixteen lanes of a chunk side by side, padding left out by row lengths; plain C",
    .source = "Kreutzer et al., A unified sparse matrix data format for efficient general SpMV, 2014",
    .pattern = 1,
    .spmv = &runs,
    .spmv_t = &runs_t,
    .several = SPRYI_OP_SPMV,
};
