#ifndef SPRYI_TEMPLATE
/*
 * bsr_reference_cpu: block after block, one thread.
 *
 * Idea: every entry that the masks name, in the order in which it lies.
 * Work: one thread.
 * Cost: bytes of BSR, masks included, at one thread's bandwidth.
 * Source: Im, Yelick and Vuduc, Sparsity: optimization framework for sparse matrix kernels, 2004, section 3.
 */
#include "formats/bsr/bsr.h"
#include "study/kernels/study_kernels.h"

#define SPRYI_TEMPLATE "study/kernels/bsr_reference_cpu.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run), runs_t = SPRYI_TABLE(run_t);

const spryi_kernel spryi_bsr_reference_cpu = {
    .name = "bsr_reference_cpu",
    .format = "bsr",
    .device = "cpu",
    .idea = "block after block, entry after entry, on one thread",
    .source = "Im, Yelick and Vuduc, Sparsity: optimization framework for sparse matrix kernels, 2004, section 3",
    .study = 1,
    .deterministic = 1,
    .simd = SPRYI_PORTABLE,
    .spmv = &runs,
    .spmv_t = &runs_t,
};

#else /* for each value type and index pair: core/instantiate.h */

/* 1 where row i of block b's column j is an entry. */
static inline int SPRY_FN(is_entry)(const spryi_bsr *s, int64_t b, int64_t j, int64_t i)
{
    return !spryi_bsr_masks(s) || (spryi_bsr_mask(s->masks, s->head.block, b * s->head.block + j) >> i & 1);
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    const spryi_bsr *s = args->storage;
    const SPRY_P *Ap = s->offsets;
    const SPRY_J *Aj = s->columns;
    const SPRY_V *Ax = s->values, *x = args->x;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    const int64_t r = s->head.block;
    SPRY_V *y = args->y;
    for (int64_t i = 0; i < s->head.rows; i++) {
        SPRY_V sum = 0;
        for (int64_t b = Ap[i / r]; b < Ap[i / r + 1]; b++)
            for (int64_t j = 0; j < r; j++)
                if (SPRY_FN(is_entry)(s, b, j, i % r)) sum += Ax[(b * r + j) * r + i % r] * x[Aj[b] * r + j];
        y[i] = beta == 0 ? alpha * sum : alpha * sum + beta * y[i];
    }
    return SPRY_OK;
}

static spry_status SPRY_FN(run_t)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    const spryi_bsr *s = args->storage;
    const SPRY_P *Ap = s->offsets;
    const SPRY_J *Aj = s->columns;
    const SPRY_V *Ax = s->values, *x = args->x;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    const int64_t r = s->head.block;
    SPRY_V *y = args->y, *t = args->workspace;
    for (int64_t j = 0; j < s->head.cols; j++) t[j] = 0;
    for (int64_t I = 0; I < s->head.block_rows; I++)
        for (int64_t b = Ap[I]; b < Ap[I + 1]; b++)
            for (int64_t j = 0; j < r; j++)
                for (int64_t i = 0; i < r; i++)
                    if (SPRY_FN(is_entry)(s, b, j, i)) t[Aj[b] * r + j] += Ax[(b * r + j) * r + i] * x[I * r + i];
    for (int64_t j = 0; j < s->head.cols; j++) y[j] = beta == 0 ? alpha * t[j] : alpha * t[j] + beta * y[j];
    return SPRY_OK;
}

#endif
