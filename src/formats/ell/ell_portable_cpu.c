/*
 * ell_portable_cpu: ELL in plain C.
 *
 * Idea: sixteen rows side by side, slot by slot, so that values and columns are read in order and loops become vectors;
 *       no slot past a row's length is multiplied. In strided runs (see ell.h) x is read in order too, and columns are
 *       not. Transposed: parts of the rows add to windows of y of their own (shared/column_windows.h).
 * Work: a thread takes a block of rows at a time; transposed, a part.
 * Cost: bytes of ELL and of the lengths, less the columns of strided runs.
 * Source: Bell and Garland, SpMV on throughput-oriented processors, 2009, section 4.2; runs: this library.
 */
#include "formats/ell/ell.h"

#define SPRYI_NO_OFFSETS
#define SPRYI_TEMPLATE "formats/ell/ell_rows.tmpl.c"
#include "base/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run), runs_t = SPRYI_TABLE(run_t);

const spryi_kernel spryi_ell_portable_cpu = {
    SPRYI_KERNEL_OF("ell", "portable", "cpu"),
    .idea = "sixteen rows side by side, padding left out by row lengths, strided columns not read; plain C",
    .source = "Bell and Garland, SpMV on throughput-oriented processors, 2009, section 4.2; runs: this library",
    .spmv = &runs,
    .spmv_t = &runs_t,
};
