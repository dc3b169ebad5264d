#ifndef SPRYI_TEMPLATE
/*
 * coo_portable_cpu: segmented sums in plain C.
 *
 * Idea: blocks have equal numbers of entries, so that no row length causes imbalance. The sum of a block's first row,
 *       which may have begun in the previous block, goes to the workspace and is added in order at the end. Transposed
 *       products: shared/column_windows.h.
 * Work: one thread per block, without atomics. Transposed products have one thread per part; parts have equal numbers
 *       of entries.
 * Cost: bytes of COO. y is read and written once more than with CSR. Transposed products also write and read the
 *       windows.
 * Source: Bell and Garland, SpMV on throughput-oriented processors, 2009, section 4.3 (segmented reduction).
 */
#include "formats/coo/coo.h"
#include "matrix/assemble.h"

#include <math.h>

/*
 * Computes y = alpha*A*x + beta*y. The function `blocks` adds alpha times each row's sum to y. The sum of a block's
 * first row is an exception: it goes unscaled to workspace[block], an f64. If alpha is not finite, one thread
 * multiplies row by row.
 */
static spry_status run_segmented(const spryi_run_args *args, spryi_block_fn blocks, spry_error *err);

#define SPRYI_TEMPLATE "formats/coo/coo_portable_cpu.c"
#include "base/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run), runs_t = SPRYI_TABLE(run_t),
                             runs_by_rows = SPRYI_TABLE(run_by_rows);

enum { SCALE_ROWS = 65536 }; /* rows of y that a thread scales at a time */

static void scale(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const int64_t rows = ((const spryi_coo *)args->storage)->a.rows;
    spryi_scale(args->y, args->vector_type, begin * SCALE_ROWS, spryi_block_end(end - 1, SCALE_ROWS, rows), args->beta);
}

/* Adds the sums of the blocks' first rows to y, in order. A row that fills multiple blocks has one sum per block. */
static void add_first_rows(const spryi_run_args *args)
{
    const spryi_coo *s = args->storage;
    const double alpha = spryi_value_at(args->alpha, args->vector_type, 0), *sums = args->workspace;
    for (int64_t b = 0; b < s->block_count;) {
        int64_t i = spryi_index_at(s->a.row_indices, s->a.index_type, b * SPRYI_COO_BLOCK);
        double sum = sums[b];
        for (b++; b < s->block_count; b++) {
            if (spryi_index_at(s->a.row_indices, s->a.index_type, b * SPRYI_COO_BLOCK) != i) break;
            sum += sums[b];
        }
        spryi_set_value(args->y, args->vector_type, i, spryi_value_at(args->y, args->vector_type, i) + alpha * sum);
    }
}

static spry_status run_segmented(const spryi_run_args *args, spryi_block_fn blocks, spry_error *err)
{
    const spryi_coo *s = args->storage;
    /* an infinite alpha must multiply the sum of a whole row: alpha times parts of the row can have another result */
    if (!isfinite(spryi_value_at(args->alpha, args->vector_type, 0))) {
        const int slot = spryi_value_slot(args->vector_type), pair = spryi_index_pair(s->a.index_type, s->a.index_type);
        return runs_by_rows[slot][pair](args, err);
    }
    const spryi_step steps[] = {{spryi_blocks_of(s->a.rows, SCALE_ROWS), scale}, {s->block_count, blocks}};
    spryi_run_steps(args, steps, 2);
    add_first_rows(args);
    return SPRY_OK;
}

const spryi_kernel spryi_coo_portable_cpu = {
    SPRYI_KERNEL_OF("coo", "portable", "cpu"),
    .idea = "blocks of equal numbers of entries on all threads, shared rows added in order at the end; plain C",
    .source = "Bell and Garland, SpMV on throughput-oriented processors, 2009, section 4.3 (segmented reduction)",
    .spmv = &runs,
    .spmv_t = &runs_t,
};

#else /* for each value type and index pair (base/instantiate.h) */

/* Adds alpha times each row's sum to y, except for the first row. Returns the unscaled sum of the first row. */
static SPRY_V SPRY_FN(block)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_coo *s = args->storage;
    const SPRY_J *Ai = s->a.row_indices, *Aj = s->a.indices;
    const SPRY_V *Ax = s->a.values, *x = args->x;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha;
    SPRY_V *y = args->y, first = 0, sum = 0;
    SPRY_J row = Ai[begin];
    int64_t k = begin;
    for (; k < end && Ai[k] == row; k++) first += Ax[k] * x[Aj[k]];
    if (k == end) return first;
    for (row = Ai[k]; k < end; k++) {
        if (Ai[k] != row) {
            y[row] += alpha * sum;
            row = Ai[k];
            sum = 0;
        }
        sum += Ax[k] * x[Aj[k]];
    }
    y[row] += alpha * sum; /* if the row continues, its other entries are the first row of the next block */
    return first;
}

static void SPRY_FN(blocks)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    double *first_rows = args->workspace;
    const int64_t nnz = ((const spryi_coo *)args->storage)->a.nnz;
    for (int64_t b = begin; b < end; b++)
        first_rows[b] = (double)SPRY_FN(block)(args, b * SPRYI_COO_BLOCK, spryi_block_end(b, SPRYI_COO_BLOCK, nnz));
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    return run_segmented(args, SPRY_FN(blocks), err);
}

static spry_status SPRY_FN(run_by_rows)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    const spryi_coo *s = args->storage;
    const SPRY_J *Ai = s->a.row_indices, *Aj = s->a.indices;
    const SPRY_V *Ax = s->a.values, *x = args->x;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta;
    SPRY_V *y = args->y;
    for (int64_t i = 0, k = 0; i < s->a.rows; i++) {
        SPRY_V sum = 0;
        for (; k < s->a.nnz && Ai[k] == i; k++) sum += Ax[k] * x[Aj[k]];
        y[i] = beta == 0 ? alpha * sum : alpha * sum + beta * y[i];
    }
    return SPRY_OK;
}

static void SPRY_FN(add_window)(const void *storage, const void *from, const spryi_window *part, void *window)
{
    const spryi_coo *s = storage;
    const SPRY_J *Ai = s->a.row_indices, *Aj = s->a.indices;
    const SPRY_V *Ax = s->a.values, *x = from;
    SPRY_V *t = window;
    for (int64_t k = part->begin; k < part->end; k++) t[Aj[k] - part->low] += Ax[k] * x[Ai[k]];
}

static spry_status SPRY_FN(run_t)(const spryi_run_args *args, spry_error *err)
{
    const spryi_coo *s = args->storage;
    return spryi_run_windows(args, &s->windows, s->a.columns, SPRY_FN(add_window), err);
}

#endif
