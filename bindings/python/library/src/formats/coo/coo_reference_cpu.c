#ifndef SPRYI_TEMPLATE
/*
 * coo_reference_cpu: one pass over the entries, one thread.
 *
 * Idea: sum while the row stays the same, then add to y; y is scaled first, since rows may have no entry.
 * Work: one thread.
 * Cost: bytes of COO, and y once more than in CSR.
 * Source: Saad, Iterative Methods for Sparse Linear Systems, section 3.4.
 */
#include "formats/coo/coo.h"

#include <math.h>

#define SPRYI_TEMPLATE "formats/coo/coo_reference_cpu.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run);

const spryi_kernel spryi_coo_reference_cpu = {
    .name = "coo_reference_cpu",
    .format = "coo",
    .device = "cpu",
    .idea = "one pass over entries sorted by row on one thread",
    .source = "Saad, Iterative Methods for Sparse Linear Systems, section 3.4",
    .study = 1,
    .deterministic = 1,
    .simd = SPRYI_PORTABLE,
    .spmv = &runs,
};

#else /* for each value type and index pair: core/instantiate.h */

/* Rows without entries become NaN, as alpha*0 is where alpha is not finite and no entry says so. */
static void SPRY_FN(spoil_empty_rows)(const spryi_coo *s, SPRY_V *y)
{
    const SPRY_J *Ai = s->a.row_indices;
    for (int64_t i = 0, k = 0; i < s->a.rows; i++) {
        if (k == s->a.nnz || Ai[k] != i) y[i] = (SPRY_V)NAN;
        while (k < s->a.nnz && Ai[k] == i) k++;
    }
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    const spryi_coo *s = args->storage;
    const SPRY_J *Ai = s->a.row_indices, *Aj = s->a.indices;
    const SPRY_V *Ax = s->a.values, *x = args->x;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    SPRY_V *y = args->y;
    spryi_scale(y, args->vector_type, 0, s->a.rows, &beta);
    if (!isfinite(alpha)) SPRY_FN(spoil_empty_rows)(s, y);
    for (int64_t k = 0; k < s->a.nnz;) {
        SPRY_J row = Ai[k];
        SPRY_V sum = 0;
        for (; k < s->a.nnz && Ai[k] == row; k++) sum += Ax[k] * x[Aj[k]];
        y[row] += alpha * sum;
    }
    return SPRY_OK;
}

#endif
