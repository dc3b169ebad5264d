#ifndef SPRYI_TEMPLATE
/*
 * scoo_reference_cpu: one slice after the other, one thread.
 *
 * Idea: each product is added to the sum of its row (transposed: of its column), in the order in which they lie.
 * Work: one thread.
 * Cost: bytes of SCOO at one thread's bandwidth, and the sums.
 * Source: Dang and Schmidt, The sliced COO format for SpMV on CUDA-enabled GPUs, ICCS 2012, on a CPU.
 */
#include "formats/scoo/scoo.h"
#include "study/kernels/study_kernels.h"

#define SPRYI_TEMPLATE "study/kernels/scoo_reference_cpu.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run), runs_t = SPRYI_TABLE(run_t);

const spryi_kernel spryi_scoo_reference_cpu = {
    .name = "scoo_reference_cpu",
    .format = "scoo",
    .device = "cpu",
    .idea = "slices one after the other, each product added to its row's sum, on one thread",
    .source = "Dang and Schmidt, The sliced COO format for SpMV on CUDA-enabled GPUs, ICCS 2012, on a CPU",
    .study = 1,
    .deterministic = 1,
    .simd = SPRYI_PORTABLE,
    .spmv = &runs,
    .spmv_t = &runs_t,
};

#else /* for each value type and index pair: core/instantiate.h */

/* y of `length` numbers, by sums that are made in the workspace. */
static void SPRY_FN(multiply)(const spryi_run_args *args, int64_t length, int transposed)
{
    const spryi_scoo *s = args->storage;
    const SPRY_P *Ap = s->offsets;
    const SPRY_J *Aj = s->columns;
    const uint16_t *Ai = s->rows;
    const SPRY_V *Ax = s->values, *x = args->x;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    SPRY_V *y = args->y, *t = args->workspace;
    for (int64_t i = 0; i < length; i++) t[i] = 0;
    for (int64_t b = 0; b < s->head.slices; b++)
        for (int64_t k = Ap[b]; k < Ap[b + 1]; k++) {
            const int64_t i = b * s->head.height + Ai[k], j = Aj[k];
            if (transposed)
                t[j] += Ax[k] * x[i];
            else
                t[i] += Ax[k] * x[j];
        }
    for (int64_t i = 0; i < length; i++) y[i] = beta == 0 ? alpha * t[i] : alpha * t[i] + beta * y[i];
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    SPRY_FN(multiply)(args, ((const spryi_scoo *)args->storage)->head.rows, 0);
    return SPRY_OK;
}

static spry_status SPRY_FN(run_t)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    SPRY_FN(multiply)(args, ((const spryi_scoo *)args->storage)->head.cols, 1);
    return SPRY_OK;
}

#endif
