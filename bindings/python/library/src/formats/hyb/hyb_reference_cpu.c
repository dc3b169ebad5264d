#ifndef SPRYI_TEMPLATE
/*
 * hyb_reference_cpu: row by row, one thread.
 *
 * Idea: a row's slots, then its entries in COO, in one sum. Others fall back to it where alpha is not finite.
 * Work: one thread.
 * Cost: bytes of HYB.
 * Source: Bell and Garland, SpMV on throughput-oriented processors, 2009, section 4.4.
 */
#include "formats/hyb/hyb.h"

#define SPRYI_TEMPLATE "formats/hyb/hyb_reference_cpu.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run);

const spryi_kernel spryi_hyb_reference_cpu = {
    .name = "hyb_reference_cpu",
    .format = "hyb",
    .device = "cpu",
    .idea = "row by row, both parts in one sum, on one thread",
    .source = "Bell and Garland, SpMV on throughput-oriented processors, 2009, section 4.4",
    .study = 1,
    .deterministic = 1,
    .simd = SPRYI_PORTABLE,
    .spmv = &runs,
};

#else /* for each value type and index pair: core/instantiate.h */

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    const spryi_hyb *s = args->storage;
    const SPRY_J *Aj = s->ell.columns, *rest_j = s->columns, *rest_i = s->rows;
    const SPRY_V *Ax = s->ell.values, *rest_x = s->values, *x = args->x;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    SPRY_V *y = args->y;
    for (int64_t i = 0, k = 0; i < s->a.rows; i++) {
        SPRY_V sum = 0;
        for (int64_t e = i; e < s->ell.lengths[i] * s->a.rows + i; e += s->a.rows) sum += Ax[e] * x[Aj[e]];
        for (; k < s->rest && rest_i[k] == i; k++) sum += rest_x[k] * x[rest_j[k]];
        y[i] = beta == 0 ? alpha * sum : alpha * sum + beta * y[i];
    }
    return SPRY_OK;
}

#endif
