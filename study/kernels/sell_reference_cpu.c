#ifndef SPRYI_TEMPLATE
/*
 * sell_reference_cpu: lane by lane, one thread.
 *
 * Idea: the definition; a lane's entries lie c apart.
 * Work: one thread.
 * Cost: bytes of SELL.
 * Source: Kreutzer et al., A unified sparse matrix data format for efficient general SpMV, 2014.
 */
#include "formats/sell/sell.h"
#include "study/kernels/study_kernels.h"

#define SPRYI_TEMPLATE "study/kernels/sell_reference_cpu.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run);

const spryi_kernel spryi_sell_reference_cpu = {
    .name = "sell_reference_cpu",
    .format = "sell",
    .device = "cpu",
    .idea = "lane by lane on one thread",
    .source = "Kreutzer et al., A unified sparse matrix data format for efficient general SpMV, 2014",
    .study = 1,
    .deterministic = 1,
    .pattern = 1,
    .simd = SPRYI_PORTABLE,
    .spmv = &runs,
};

#else /* for each value type and index pair: core/instantiate.h */

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    const spryi_sell *s = args->storage;
    const SPRY_J *Aj = s->columns;
    const SPRY_V *Ax = s->values, *x = args->x;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    SPRY_V *y = args->y;
    for (int64_t l = 0; l < s->a.rows; l++) {
        int64_t k = s->offsets[l / s->c] + l % s->c, i = spryi_sell_row(s, l);
        SPRY_V sum = 0;
        for (int64_t e = 0; e < s->lengths[l]; e++, k += s->c) sum += Ax ? Ax[k] * x[Aj[k]] : x[Aj[k]];
        y[i] = beta == 0 ? alpha * sum : alpha * sum + beta * y[i];
    }
    return SPRY_OK;
}

#endif
