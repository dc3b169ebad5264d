/*
 * The driver of packed's CPU kernels.
 *
 * Work: three steps (formats/shared/run_blocks.h). The first multiplies chunks of slices of about equal cost, counted
 *       in values, indices and lanes. The second computes the sums of the pieces of long rows. The third adds the sums
 *       of each long row in order. Results do not depend on the number of threads.
 * Transposed: each part of the rows adds its products, slot by slot, to its own window of y
 *             (formats/shared/column_windows.h).
 */
#ifndef SPRY_FN
#include "formats/packed/packed_driver.h"
#include "base/bisect.h"
#include "base/cpu_features.h"

enum { CHUNK_COST = 32768 };

/* Returns the number of values, indices and lanes before slice k. Slices that share values or indices cost less. */
static int64_t cost_before(const spryi_packed *s, int64_t k)
{
    const int64_t indices = s->slices[k].indices * (int64_t)SPRYI_PACKED_INDEX_UNIT / 2; /* number of 16-bit units */
    return spryi_packed_values_at(&s->slices[k]) + indices + k * SPRYI_PACKED_LANES;
}

/* Returns the first slice of the group that begins with `row`. row may also be the number of rows. */
static int64_t slice_of_row(const spryi_packed *s, int64_t row)
{
    int64_t k;
    SPRYI_BISECT(k, 0, s->slice_count, (int64_t)s->slices[k].row * SPRYI_PACKED_LANES < row);
    return k;
}

#define SPRYI_NO_OFFSETS
#define SPRYI_ANY_ROW
#define SPRYI_TEMPLATE "formats/packed/packed_driver.c" /* the second half of this file */
#include "base/instantiate.h"

const spryi_run_table spryi_packed_runs_t = SPRYI_TABLE(run_t);

static const spryi_block_fn long_rows[SPRYI_VALUE_ROWS][SPRYI_INDEX_PAIRS] = SPRYI_TABLE(long_rows);

int64_t spryi_packed_workspace(const void *storage, spry_type vector_type)
{
    const spryi_packed *s = storage;
    const int64_t elements = s->windows.count > 0 ? s->windows.numbers : s->long_rows.piece_count * SPRYI_PACKED_SUMS;
    return elements * (int64_t)spry_type_bytes(vector_type);
}

bool spryi_packed_streams_y(const spryi_packed *s, int64_t element_bytes)
{
    enum { LEAST = 2 << 20 };
    const int64_t y = s->a.rows * element_bytes, x = s->a.columns * element_bytes, cache = spryi_cache_bytes(3);
    if (y >= SPRYI_PACKED_STREAM_BYTES) return true;
    return y >= LEAST && cache > 0 && s->slots * (int64_t)spry_type_bytes(s->a.value_type) + x + y > cache;
}

/* One product of a kernel. args is the first member, so a pointer to args is also a pointer to the packed_run. */
typedef struct packed_run {
    spryi_run_args args;
    spryi_block_fn slices;
} packed_run;

/* Returns the number of chunks, computed from entries and lanes. Padding and sharing of values do not change it. */
static int64_t chunk_count(const spryi_packed *s)
{
    return (s->a.nnz - s->long_rows.nnz + s->slice_count * SPRYI_PACKED_LANES + CHUNK_COST - 1) / CHUNK_COST;
}

/*
 * Returns the first slice of chunk n. If slices share values, cost_before(s, k) may fall as k rises. Chunks still do
 * not overlap: a bisection for a larger cost never returns an earlier slice.
 */
static int64_t chunk_begin(const spryi_packed *s, int64_t n)
{
    int64_t k;
    const double cost = (double)cost_before(s, s->slice_count) / (double)chunk_count(s) * (double)n;
    SPRYI_BISECT(k, 0, s->slice_count, (double)cost_before(s, k) < cost);
    return n < chunk_count(s) ? k : s->slice_count;
}

/* Column-major vectors are multiplied one after another with each chunk, which then remains in a cache. */
static void run_chunks(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_packed *s = args->storage;
    const spryi_block_fn slices = ((const packed_run *)(const void *)args)->slices;
    if (args->columns <= 1 || args->x_column_stride == 1) {
        slices(args, chunk_begin(s, begin), chunk_begin(s, end));
        return;
    }
    for (int64_t n = begin; n < end; n++)
        for (int64_t c = 0; c < args->columns; c++) {
            const spryi_run_args one = spryi_vector_of(args, c);
            slices(&one, chunk_begin(s, n), chunk_begin(s, n + 1));
        }
}

spry_status spryi_packed_drive(const spryi_run_args *args, spryi_block_fn slices, spryi_block_fn pieces)
{
    const spryi_packed *s = args->storage;
    const packed_run run = {*args, slices};
    const spryi_step steps[] = {{s->long_rows.piece_count, pieces},
                                {s->long_rows.count, long_rows[spryi_value_slot(args->vector_type)][0]}};
    const int64_t columns = args->columns > 1 ? args->columns : 1;
    spryi_run_blocks(&run.args, chunk_count(s), run_chunks);
    for (int64_t c = 0; c < columns && s->long_rows.count > 0; c++) {
        spryi_run_args one = spryi_vector_of(args, c);
        one.y_stride = 1;
        spryi_run_steps(&one, steps, 2);
    }
    return SPRY_OK;
}

spry_status spryi_packed_drive_columns(const spryi_run_args *args, const spryi_block_fn slices[SPRYI_VALUE_ROWS],
                                       const spryi_block_fn pieces[SPRYI_VALUE_ROWS])
{
    const spryi_packed *s = args->storage;
    const int row = spryi_value_row(s->a.value_type, args->vector_type);
    const int64_t bytes = (int64_t)spry_type_bytes(args->vector_type), most = SPRYI_PACKED_SUMS;
    const packed_run run = {*args, slices[row]};
    const spryi_step steps[] = {{s->long_rows.piece_count, pieces[row]},
                                {s->long_rows.count, long_rows[spryi_value_slot(args->vector_type)][0]}};
    spryi_run_blocks(&run.args, chunk_count(s), run_chunks);
    for (int64_t c = 0; c < args->columns && s->long_rows.count > 0; c += most) {
        spryi_run_args panel = *args;
        panel.x = (const char *)args->x + c * bytes;
        panel.y = (char *)args->y + c * bytes;
        panel.columns = args->columns - c < most ? args->columns - c : most;
        spryi_run_steps(&panel, steps, 2);
    }
    return SPRY_OK;
}

#else /* once for each value type and index type of columns */

/* Adds the sums of the pieces of long rows. The sums of one piece, one for each vector, are adjacent. */
static void SPRY_FN(long_rows)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_packed *s = args->storage;
    const SPRY_V alpha = *(const SPRY_V *)args->alpha, beta = *(const SPRY_V *)args->beta, *sums = args->workspace;
    for (int64_t n = begin; n < end; n++)
        for (int64_t c = 0; c < args->columns; c++) {
            SPRY_V sum = 0, *y = (SPRY_V *)args->y + s->long_rows.rows[n] * args->y_stride + c;
            for (int64_t p = s->long_rows.first[n]; p < s->long_rows.first[n + 1]; p++)
                sum += sums[p * args->columns + c];
            *y = beta == 0 ? alpha * sum : alpha * sum + beta * *y;
        }
}

static void SPRY_FN(scatter_slice)(const spryi_packed *s, int64_t k, const SPRY_V *x, SPRY_V *to)
{
    const SPRY_S *Ax = s->values;
    spryi_packed_reader reader;
    spryi_packed_open(&reader, s, k);
    const int b = reader.v.b;
    while (spryi_packed_next(&reader))
        for (uint32_t lanes = reader.mask; lanes; lanes &= lanes - 1) {
            const int l = __builtin_ctz(lanes);
            for (int r = 0; r < b; r++) {
                const SPRY_V xi = x[spryi_packed_row(&reader.v, l) + r];
                SPRY_V *at = to + reader.column[l] * b;
                for (int c = 0; c < b; c++)
                    at[c] += Ax ? SPRY_VALUE(Ax[reader.at + (int64_t)(r * b + c) * reader.stride + reader.rank[l]]) * xi
                                : xi;
            }
        }
}

static void SPRY_FN(window)(const void *storage, const void *x, const spryi_window *part, void *window)
{
    const spryi_packed *s = storage;
    SPRY_V *to = window;
    const int64_t end = slice_of_row(s, part->end);
    to -= part->low;
    for (int64_t k = slice_of_row(s, part->begin); k < end; k++) SPRY_FN(scatter_slice)(s, k, x, to);
    for (int64_t n = 0; n < s->long_rows.count; n++) {
        const int64_t i = s->long_rows.rows[n];
        if (i < part->begin || i >= part->end) continue;
        const SPRY_V xi = ((const SPRY_V *)x)[i];
        const SPRY_S *Ax = s->long_rows.values;
        const SPRY_J *Aj = s->long_rows.columns;
        for (int64_t e = s->long_rows.pieces[s->long_rows.first[n]]; e < s->long_rows.pieces[s->long_rows.first[n + 1]];
             e++)
            to[Aj[e]] += Ax ? SPRY_VALUE(Ax[e]) * xi : xi;
    }
}

static spry_status SPRY_FN(run_t)(const spryi_run_args *args, spry_error *err)
{
    const spryi_packed *s = args->storage;
    return spryi_run_windows(args, &s->windows, s->a.columns, SPRY_FN(window), err);
}

#endif
