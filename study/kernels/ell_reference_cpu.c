#ifndef SPRYI_TEMPLATE
/*
 * ell_reference_cpu: row by row, one thread.
 *
 * Idea: the definition; a row's entries lie a column of the array apart.
 * Work: one thread.
 * Cost: bytes of ELL, each cache line met once a row.
 * Source: Bell and Garland, SpMV on throughput-oriented processors, 2009, section 4.2, without padding.
 */
#include "formats/ell/ell.h"
#include "study/kernels/study_kernels.h"

#define SPRYI_TEMPLATE "study/kernels/ell_reference_cpu.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run);

const spryi_kernel spryi_ell_reference_cpu = {
    .name = "ell_reference_cpu",
    .format = "ell",
    .device = "cpu",
    .idea = "row by row on one thread",
    .source = "Bell and Garland, SpMV on throughput-oriented processors, 2009, section 4.2, without padding",
    .study = 1,
    .deterministic = 1,
    .simd = SPRYI_PORTABLE,
    .spmv = &runs,
};

#else /* for each value type and index pair: core/instantiate.h */

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    const spryi_ell *s = args->storage;
    const SPRY_J *Aj = s->columns;
    const SPRY_V *Ax = s->values, *x = args->x;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    SPRY_V *y = args->y;
    for (int64_t i = 0; i < s->a.rows; i++) {
        SPRY_V sum = 0;
        for (int64_t k = i; k < s->lengths[i] * s->a.rows + i; k += s->a.rows) sum += Ax[k] * x[Aj[k]];
        y[i] = beta == 0 ? alpha * sum : alpha * sum + beta * y[i];
    }
    return SPRY_OK;
}

#endif
