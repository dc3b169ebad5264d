/*
 * The default policy: CSR as it is. It needs no copy, and its plan finds by
 * itself where columns need not be read.
 */
#include "ops/choice.h"

#include <stdio.h>

/* What csr costs this matrix; formats/csr/csr_format.c does accordingly. */
static const char *cost_of_csr(const spry_matrix *A)
{
    if (A->a.layout == SPRY_CSR) return "csr needs no conversion and no copy";
    if (A->a.layout == SPRY_COO && A->a.sorted == SPRY_KNOWN_YES)
        return "csr: the entries are sorted, so only row offsets had to be made";
    return "csr, converted once: its rows can be written without conflict";
}

static spry_status choose_csr(const spry_matrix *A, const spry_spmv_options *options, spryi_choice *choice,
                              spry_error *err)
{
    (void)options, (void)err;
    choice->format = spryi_find_format("csr");
    snprintf(choice->reason, sizeof choice->reason, "%s", cost_of_csr(A));
    return SPRY_OK;
}

const spryi_choose_fn spryi_choose_spmv = choose_csr;
