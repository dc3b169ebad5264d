/*
 * ell_portable_cpu: ELL in plain C.
 *
 * Idea: sixteen rows at a time, slot by slot, so that values and columns are read in order and the compiler vectorizes
 *       the loops. Slots past a row's length are not multiplied. In strided runs (ell.h) x is read in order and only
 *       the first row's columns are read. In transposed products, each part of the rows adds its products to a window
 *       of y (shared/column_windows.h).
 * Work: one thread per block of rows. Transposed products have one thread per part.
 * Cost: bytes of ELL and of the lengths, except the columns of strided runs.
 * Source: Bell and Garland, SpMV on throughput-oriented processors, 2009, section 4.2; runs: this library.
 */
#include "formats/ell/ell.h"

#define SPRYI_NO_OFFSETS
#define SPRYI_TEMPLATE "formats/ell/ell_rows.tmpl.c"
#include "base/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run), runs_t = SPRYI_TABLE(run_t);

const spryi_kernel spryi_ell_portable_cpu = {
    SPRYI_KERNEL_OF("ell", "portable", "cpu"),
    .idea = "sixteen rows together, padding skipped by row lengths, strided columns not read; plain C",
    .source = "Bell and Garland, SpMV on throughput-oriented processors, 2009, section 4.2; runs: this library",
    .spmv = &runs,
    .spmv_t = &runs_t,
};
