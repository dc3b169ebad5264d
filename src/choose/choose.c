/*
 * The default policy: CSR as it is. It needs no copy, is never far from the best, and its plan finds by
 * itself where columns need not be read.
 */
#include "ops/choice.h"

#include <stdio.h>

static spry_status choose_csr(const spry_matrix *A, const spry_spmv_options *options, spryi_choice *choice,
                              spry_error *err)
{
    (void)options;
    (void)err;
    choice->format = spryi_find_format("csr");
    snprintf(choice->reason, sizeof choice->reason, "%s",
             A->a.layout == SPRY_CSR ? "csr needs no conversion and no copy"
                                     : "csr, converted once: its rows can be written without conflict");
    return SPRY_OK;
}

const spryi_choose_fn spryi_choose_spmv = choose_csr;
