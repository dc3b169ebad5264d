/*
 * csr_portable_cpu: plain C.
 *
 * Idea: row blocks of equal work, long rows in pieces, and runs that read the columns once for many rows.
 * Work: one thread per block.
 * Cost: bytes of CSR, without the columns that runs (csr.h) do not read. A strided run reads only the columns of its
 *       first row, and a group of rows with shared columns reads them once.
 * Source: this library.
 */
#include "formats/csr/csr_driver.h"

#define SPRYI_ANY_ROW
#define SPRYI_TEMPLATE "formats/csr/csr_portable.tmpl.c"
#include "base/instantiate.h"

const spryi_run_table spryi_csr_gather_portable = SPRYI_TABLE(plain_run);

const spryi_kernel spryi_csr_portable_cpu = {
    SPRYI_KERNEL_OF("csr", "portable", "cpu"),
    .idea = "row blocks of equal work on all threads, long rows in pieces, shared column reads; plain C",
    .source = "this library",
    .pattern = 1,
    .spmv = &spryi_csr_gather_portable,
    .spmv_t = &spryi_csr_scatter_portable,
    .multi_row_major = SPRYI_OP_SPMV,
    .multi_column_major = SPRYI_OP_SPMV,
    .supports_column_major = spryi_csr_supports_column_major,
};
