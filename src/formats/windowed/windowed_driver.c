/*
 * The driver of windowed's CPU kernels.
 *
 * Work: three steps (formats/shared/run_blocks.h). The first multiplies parts of the windows, each with its own staging
 *       buffer. The second computes the sums of the pieces of long rows. The third adds the sums of each long row in
 *       order. The result does not depend on the number of threads.
 */
#ifndef SPRY_FN
#include "formats/windowed/windowed_driver.h"

enum { PARTS = 128 }; /* most parts into which the windows are divided */

#define SPRYI_NO_OFFSETS
#define SPRYI_TEMPLATE "formats/windowed/windowed_driver.c" /* the second half of this file */
#include "base/instantiate.h"

static const spryi_block_fn pieces[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(pieces);
static const spryi_block_fn long_rows[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(long_rows);

static int64_t part_count(const spryi_windowed *s)
{
    return s->window_count < PARTS ? s->window_count : PARTS;
}

/* Returns the bytes of the sums of pieces, rounded up to a cache line. */
static int64_t sum_bytes(const spryi_windowed *s, spry_type vector_type)
{
    return (s->long_rows.piece_count * (int64_t)spry_type_bytes(vector_type) + 63) / 64 * 64;
}

int64_t spryi_windowed_workspace(const void *storage, spry_type vector_type)
{
    const spryi_windowed *s = storage;
    return sum_bytes(s, vector_type) +
           part_count(s) * ((s->staged * (int64_t)spry_type_bytes(vector_type) + 63) / 64 * 64);
}

/* A kernel's product. args is the first member, so that its address is the address of the struct. */
typedef struct windowed_run {
    spryi_run_args args;
    spryi_windowed_fn window;
} windowed_run;

static void run_parts(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_windowed *s = args->storage;
    const windowed_run *run = (const windowed_run *)(const void *)args;
    const int64_t parts = part_count(s);
    const int64_t sums = sum_bytes(s, args->vector_type);
    const int64_t bytes = (s->staged * (int64_t)spry_type_bytes(args->vector_type) + 63) / 64 * 64;
    for (int64_t p = begin; p < end; p++) {
        void *room = bytes > 0 ? (char *)args->workspace + sums + p * bytes : NULL; /* NULL: no row has entries */
        for (int64_t w = s->window_count * p / parts; w < s->window_count * (p + 1) / parts; w++)
            run->window(args, w, room);
    }
}

spry_status spryi_windowed_drive(const spryi_run_args *args, spryi_windowed_fn window)
{
    const spryi_windowed *s = args->storage;
    const windowed_run run = {*args, window};
    const int value = spryi_value_slot(args->vector_type);
    const int pair = s->a.index_type == SPRY_I64 ? SPRYI_INDEX_PAIRS - 1 : 0;
    const spryi_step steps[] = {{part_count(s), run_parts},
                                {s->long_rows.piece_count, pieces[value][pair]},
                                {s->long_rows.count, long_rows[value][0]}};
    return spryi_run_steps(&run.args, steps, s->long_rows.count > 0 ? 3 : 1);
}

#else /* once for each value type and type of columns */

static void SPRY_FN(pieces)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_windowed *s = args->storage;
    const SPRY_J *Aj = s->long_rows.columns;
    const SPRY_V *Ax = s->long_rows.values, *x = args->x;
    for (int64_t p = begin; p < end; p++) {
        SPRY_V sum = 0;
        for (int64_t e = s->long_rows.pieces[p]; e < s->long_rows.pieces[p + 1]; e++)
            sum += Ax ? Ax[e] * x[Aj[e]] : x[Aj[e]];
        ((SPRY_V *)args->workspace)[p] = sum;
    }
}

/* Adds the sums of the pieces of long rows, and writes y. */
static void SPRY_FN(long_rows)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_windowed *s = args->storage;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta, *sums = args->workspace;
    for (int64_t n = begin; n < end; n++) {
        SPRY_V sum = 0, *y = (SPRY_V *)args->y + s->long_rows.rows[n];
        for (int64_t p = s->long_rows.first[n]; p < s->long_rows.first[n + 1]; p++) sum += sums[p];
        *y = beta == 0 ? alpha * sum : alpha * sum + beta * *y;
    }
}

#endif
