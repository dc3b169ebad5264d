#ifndef SPRYI_TEMPLATE
/*
 * scoo_portable_cpu: sliced coordinates in plain C.
 *
 * Idea: the sums of a slice remain in a core's cache and are updated in any order, while x is read in order, once per
 *       slice. Transposed, y is written in order and the slice's x remains in the cache. The sums are in y if beta is
 *       0, else in the workspace.
 * Work: one thread per slice. Transposed products have one thread per range of columns, which finds the entries of the
 *       range in each slice by bisection. No atomics; the bits do not depend on the number of threads.
 * Cost: bytes of SCOO, and x once per slice from its least to its greatest column. Additions to one row depend on each
 *       other.
 * Source: Dang and Schmidt, The sliced COO format for SpMV on CUDA-enabled GPUs, ICCS 2012, on a CPU.
 */
#include "base/bisect.h"
#include "formats/scoo/scoo.h"
#include "formats/shared/run_blocks.h"

#include <string.h>

/* Returns the number of ranges of columns of a transposed product. Only the matrix decides. */
static int64_t range_count(const spryi_scoo_head *h)
{
    enum { LEAST_COLUMNS = 64 };
    int64_t ranges = h->slices > 0 ? h->nnz / h->slices / SPRYI_SCOO_RANGE_ENTRIES : 1;
    if (ranges < SPRYI_SCOO_LEAST_RANGES) ranges = SPRYI_SCOO_LEAST_RANGES;
    if (ranges > SPRYI_SCOO_MOST_RANGES) ranges = SPRYI_SCOO_MOST_RANGES;
    int64_t most = h->cols / LEAST_COLUMNS + 1;
    return ranges < most ? ranges : most;
}

/* Returns the first column of range r. If the columns do not divide evenly, the first ranges are one column wider. */
static int64_t range_begin(const spryi_scoo_head *h, int64_t r)
{
    const int64_t ranges = range_count(h), wider = h->cols % ranges;
    return r * (h->cols / ranges) + (r < wider ? r : wider);
}

#define SPRYI_TEMPLATE "formats/scoo/scoo_portable_cpu.c"
#include "base/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run), runs_t = SPRYI_TABLE(run_t);

const spryi_kernel spryi_scoo_portable_cpu = {
    SPRYI_KERNEL_OF("scoo", "portable", "cpu"),
    .idea = "one thread per slice: sums remain in its cache while x is read in order, no atomics; plain C",
    .source = "Dang and Schmidt, The sliced COO format for SpMV on CUDA-enabled GPUs, ICCS 2012, on a CPU",
    .spmv = &runs,
    .spmv_t = &runs_t,
};

#else /* for each value type and index pair (base/instantiate.h) */

/* Returns `count` sums for y from element `begin` on, set to zero. */
static SPRY_V *SPRY_FN(start)(const spryi_run_args *args, int64_t begin, int64_t count)
{
    SPRY_V *t = (*(const SPRY_V *)args->beta == 0 ? (SPRY_V *)args->y : (SPRY_V *)args->workspace) + begin;
    if (count > 0) memset(t, 0, (size_t)count * sizeof *t);
    return t;
}

/* Sets y = alpha*t + beta*y. If beta is 0, t is y. */
static void SPRY_FN(finish)(const spryi_run_args *args, const SPRY_V *t, int64_t begin, int64_t count)
{
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    SPRY_V *y = (SPRY_V *)args->y + begin;
    if (beta == 0 && alpha == 1) return;
    for (int64_t i = 0; i < count; i++) y[i] = beta == 0 ? alpha * t[i] : alpha * t[i] + beta * y[i];
}

/* Adds the products of entries begin .. end - 1 of one slice to the sums t of their local rows. */
static void SPRY_FN(add_slice)(const spryi_scoo *s, const SPRY_V *restrict x, int64_t begin, int64_t end,
                               SPRY_V *restrict t)
{
    const SPRY_J *restrict Aj = s->columns;
    const SPRY_V *restrict Ax = s->values;
    const uint16_t *restrict Ai = s->rows;
    for (int64_t k = begin; k < end; k++) t[Ai[k]] += Ax[k] * x[Aj[k]];
}

/* Adds value * x[local row] to t[column] for the entries of slice b with columns left .. right - 1. */
static void SPRY_FN(add_range)(const spryi_scoo *s, const SPRY_V *restrict x, int64_t b, int64_t left, int64_t right,
                               SPRY_V *restrict t)
{
    const SPRY_P *Ap = s->offsets;
    const SPRY_J *restrict Aj = s->columns;
    const SPRY_V *restrict Ax = s->values;
    const uint16_t *restrict Ai = s->rows;
    int64_t begin, end;
    SPRYI_BISECT(begin, Ap[b], Ap[b + 1], Aj[begin] < left);
    SPRYI_BISECT(end, begin, Ap[b + 1], Aj[end] < right);
    for (int64_t k = begin; k < end; k++) t[Aj[k]] += Ax[k] * x[Ai[k]];
}

static void SPRY_FN(slices)(const spryi_run_args *args, int64_t first, int64_t last)
{
    const spryi_scoo *s = args->storage;
    const SPRY_P *Ap = s->offsets;
    for (int64_t b = first; b < last; b++) {
        const int64_t begin = b * s->head.height, rows = spryi_block_end(b, s->head.height, s->head.rows) - begin;
        SPRY_V *t = SPRY_FN(start)(args, begin, rows);
        SPRY_FN(add_slice)(s, args->x, Ap[b], Ap[b + 1], t);
        SPRY_FN(finish)(args, t, begin, rows);
    }
}

static void SPRY_FN(ranges)(const spryi_run_args *args, int64_t first, int64_t last)
{
    const spryi_scoo *s = args->storage;
    for (int64_t r = first; r < last; r++) {
        const int64_t left = range_begin(&s->head, r), right = range_begin(&s->head, r + 1);
        SPRY_V *t = SPRY_FN(start)(args, left, right - left);
        for (int64_t b = 0; b < s->head.slices; b++)
            SPRY_FN(add_range)(s, (const SPRY_V *)args->x + b * s->head.height, b, left, right, t - left);
        SPRY_FN(finish)(args, t, left, right - left);
    }
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    return spryi_run_blocks(args, ((const spryi_scoo *)args->storage)->head.slices, SPRY_FN(slices));
}

static spry_status SPRY_FN(run_t)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    return spryi_run_blocks(args, range_count(&((const spryi_scoo *)args->storage)->head), SPRY_FN(ranges));
}

#endif
