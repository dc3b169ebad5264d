#ifndef SPRYI_TEMPLATE
/*
 * hyb_portable_cpu, hyb_avx2_cpu, hyb_avx512_cpu: the ELL kernel of the level, then coo_portable_cpu.
 *
 * Idea: y = alpha*E*x + beta*y for the ELL part E, then y += alpha*R*x for the rest R. Transposed products are in plain
 *       C: for each part of the rows, the products of E and R are added to a window of y (shared/column_windows.h).
 * Work: that of the two kernels, one after the other, without atomics. Transposed products have one thread per part.
 * Cost: bytes of HYB. For the rest, y is read and written once more.
 * Source: Bell and Garland, SpMV on throughput-oriented processors, 2009, section 4.4.
 */
#include "formats/hyb/hyb.h"

#include <math.h>

#define SPRYI_TEMPLATE "formats/shared/slots.tmpl.c"
#include "base/instantiate.h"
#define SPRYI_TEMPLATE "formats/hyb/hyb_cpu.c"
#include "base/instantiate.h"

static const spryi_run_table by_rows = SPRYI_TABLE(run_by_rows);

static spry_status run_parts(const spryi_run_args *args, const spryi_kernel *ell, spry_error *err)
{
    const spryi_hyb *s = args->storage;
    const int slot = spryi_value_slot(args->vector_type);
    const int pair = spryi_index_pair(s->ell.a.offset_type, s->ell.a.index_type);
    /* an infinite alpha must multiply the sum of a whole row: alpha times parts of the row can have another result */
    if (s->rest > 0 && !isfinite(spryi_value_at(args->alpha, args->vector_type, 0)))
        return by_rows[slot][pair](args, err);
    const spryi_ell first = spryi_hyb_ell(s);
    spryi_run_args part = *args;
    part.storage = &first;
    spry_status status = (*ell->spmv)[slot][pair](&part, err);
    if (status != SPRY_OK || s->rest == 0) return status;
    const spryi_coo rest = spryi_hyb_coo(s);
    part.storage = &rest;
    part.beta = spryi_one_of(args->vector_type);
    return (*spryi_coo_portable_cpu.spmv)[slot][spryi_index_pair(s->ell.a.index_type, s->ell.a.index_type)](&part, err);
}

static const spryi_run_table portable_t = SPRYI_TABLE(run_t);

#define RUN_ROW(tag, s, v, c, run) {run, run, run},
#define KERNEL(way, level, transposed)                                                                                 \
    static spry_status run_##way(const spryi_run_args *args, spry_error *err)                                          \
    {                                                                                                                  \
        return run_parts(args, &spryi_ell_##way##_cpu, err);                                                           \
    }                                                                                                                  \
    static const spryi_run_table runs_##way = {SPRYI_PLAIN_ROWS(RUN_ROW, run_##way)};                                  \
    const spryi_kernel spryi_hyb_##way##_cpu = {                                                                       \
        SPRYI_KERNEL_OF("hyb", #way, "cpu"),                                                                           \
        .idea = "the ELL part by ell_" #way "_cpu, then the rest by coo_portable_cpu",                                 \
        .source = "Bell and Garland, SpMV on throughput-oriented processors, 2009, section 4.4",                       \
        .simd = level,                                                                                                 \
        .spmv = &runs_##way,                                                                                           \
        .spmv_t = transposed,                                                                                          \
    };

KERNEL(portable, SPRYI_PORTABLE, &portable_t)
#ifdef SPRY_HAVE_X86
KERNEL(avx2, SPRYI_AVX2, NULL)
KERNEL(avx512, SPRYI_AVX512, NULL)
#endif

#else /* for each value type and index pair (base/instantiate.h) */

/* Multiplies row by row on one thread. Each row has one sum for both parts. */
static spry_status SPRY_FN(run_by_rows)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    const spryi_hyb *s = args->storage;
    const SPRY_J *Aj = s->ell.columns, *rest_j = s->columns, *rest_i = s->rows;
    const SPRY_V *Ax = s->ell.values, *rest_x = s->values, *x = args->x;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    SPRY_V *y = args->y;
    for (int64_t i = 0, k = 0; i < s->ell.a.rows; i++) {
        SPRY_V sum = 0;
        for (int64_t e = i; e < s->ell.lengths[i] * s->ell.a.rows + i; e += s->ell.a.rows) sum += Ax[e] * x[Aj[e]];
        for (; k < s->rest && rest_i[k] == i; k++) sum += rest_x[k] * x[rest_j[k]];
        y[i] = beta == 0 ? alpha * sum : alpha * sum + beta * y[i];
    }
    return SPRY_OK;
}

static void SPRY_FN(add_window)(const void *storage, const void *x, const spryi_window *part, void *window)
{
    const spryi_hyb *s = storage;
    for (int64_t i = part->begin; i < part->end; i += SPRYI_SLOT_LANES) {
        int rows = part->end - i < SPRYI_SLOT_LANES ? (int)(part->end - i) : SPRYI_SLOT_LANES;
        SPRY_FN(scatter)
        ((const SPRY_V *)s->ell.values + i, (const SPRY_J *)s->ell.columns + i, s->ell.a.rows, s->ell.lengths + i, rows,
         (const SPRY_V *)x + i, window, part->low);
    }
    const SPRY_J *Ai = s->rows, *Aj = s->columns;
    const SPRY_V *Ax = s->values;
    const int64_t end = spryi_hyb_rest_begin(s, part->end);
    for (int64_t k = spryi_hyb_rest_begin(s, part->begin); k < end; k++)
        ((SPRY_V *)window)[Aj[k] - part->low] += Ax[k] * ((const SPRY_V *)x)[Ai[k]];
}

static spry_status SPRY_FN(run_t)(const spryi_run_args *args, spry_error *err)
{
    const spryi_hyb *s = args->storage;
    return spryi_run_windows(args, &s->windows, s->ell.a.columns, SPRY_FN(add_window), err);
}

#endif
