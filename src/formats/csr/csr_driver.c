/*
 * CPU products with the storage of csr: y = alpha*A*x + beta*y, and y = alpha*A^T*x + beta*y.
 *
 * With A, threads multiply blocks of rows; the sums of the pieces of long rows are added at the end. With A^T, row i
 * adds a_ij x_i to y_j. Chunks of rows are scattered into y, phase by phase, or all in parallel into windows, which are
 * then added in order. Only the matrix determines whether phases or windows are used, and in which order the products
 * are added to y_j.
 */
#ifndef SPRYI_TEMPLATE
#include "formats/csr/csr_driver.h"
#include "formats/shared/run_blocks.h"

#include <string.h>

/* ---- jobs and blocks ----------------------------------------------------------------------------------- */

static spryi_csr_job job_of(const spryi_run_args *args)
{
    const spryi_csr *s = args->storage;
    const size_t size = spry_type_bytes(args->vector_type);
    spryi_csr_job job = {
        .offsets = s->a.offsets,
        .wide_offsets = s->a.offset_type == SPRY_I64,
        .columns = s->a.indices,
        .values = s->a.values,
        .x = args->x,
        .y = args->y,
        .x_stride = args->x_stride,
        .y_stride = args->y_stride,
    };
    memcpy(&job.alpha, args->alpha, size);
    memcpy(&job.beta, args->beta, size);
    return job;
}

static const spryi_csr_loops *pick_loops(const spryi_csr *s, const spryi_csr_loops loops[2])
{
    return &loops[s->a.value_type != SPRY_PATTERN];
}

static void run_block(const spryi_csr *s, const spryi_csr_job *job, const spryi_csr_loops *loops,
                      const spryi_csr_block *block)
{
    if (block->piece >= 0) {
        loops->piece(job, block);
        return;
    }
    for (int64_t r = block->runs_begin; r < block->runs_end; r++) {
        const spryi_csr_run *run = &s->runs.list[r];
        const int64_t begin = block->begin + run->begin, end = block->begin + run->end;
        const bool by_spans = run->least_spans > 0 && loops->span_rows;
        if (run->kind == SPRYI_RUN_STRIDED)
            loops->strided(job, begin, end);
        else if (run->kind == SPRYI_RUN_SHARED && by_spans)
            loops->span_groups(job, begin, end, &s->spans.list[run->first_span], run->group);
        else if (run->kind == SPRYI_RUN_SHARED)
            loops->shared(job, begin, end, run->group);
        else if (by_spans)
            loops->span_rows(job, begin, end, &s->spans.list[run->first_span], run->least_spans);
        else
            loops->rows(job, begin, end);
    }
}

/* ---- y = alpha*A*x + beta*y ---------------------------------------------------------------------------- */

/* A product with A. */
typedef struct product {
    spryi_run_args args; /* first member: the driver of blocks passes a pointer to it */
    spryi_csr_job job;
    const spryi_csr_loops *loops;
    int64_t columns; /* vectors in this pass over the matrix */
} product;

static void run_blocks(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const product *p = (const product *)args;
    const spryi_csr *s = args->storage;
    for (int64_t b = begin; b < end; b++) run_block(s, &p->job, p->loops, &s->blocks.list[b]);
}

/* Returns the job for the vectors from number `column` on. The vectors are row-major. */
static spryi_csr_job from_column(spryi_csr_job job, spry_type type, int64_t column)
{
    const int64_t bytes = column * (int64_t)spry_type_bytes(type);
    job.x = (const char *)job.x + bytes;
    job.y = (char *)job.y + bytes;
    return job;
}

/* Multiplies a row by all vectors before the next row, so that the row's entries are read from memory once. */
static void run_blocks_of_columns(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const product *p = (const product *)args;
    const spryi_csr *s = args->storage;
    for (int64_t b = begin; b < end; b++) {
        const spryi_csr_block *block = &s->blocks.list[b];
        if (block->piece >= 0)
            p->loops->panel_piece(&p->job, block, s->blocks.piece_count, p->columns);
        else
            p->loops->panel_rows(&p->job, block->begin, block->end, p->columns);
    }
}

static int64_t first_block_of(const spryi_csr_blocks *blocks, int64_t unit)
{
    for (int level = 0; level < 2 && blocks->unit_ptr[level]; level++) unit = blocks->unit_ptr[level][unit];
    return unit;
}

static void run_units(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_csr_blocks *blocks = &((const spryi_csr *)args->storage)->blocks;
    run_blocks(args, first_block_of(blocks, begin), first_block_of(blocks, end));
}

/*
 * Adds the sums of each long row's pieces, in order. stride: distance between the elements of neighbouring rows in y.
 */
static void finish_long_rows(const spryi_csr *s, const spryi_csr_job *job, spry_type type, int64_t stride)
{
    const double alpha = spryi_value_at(&job->alpha, type, 0), beta = spryi_value_at(&job->beta, type, 0);
    for (int64_t l = 0; l < s->blocks.long_count; l++) {
        const spryi_csr_long_row *row = &s->blocks.long_rows[l];
        double sum = 0;
        for (int64_t p = 0; p < row->count; p++) sum += job->sums[row->first + p];
        double y = alpha * sum;
        if (beta != 0) y += beta * spryi_value_at(job->y, type, row->row * stride);
        spryi_set_value(job->y, type, row->row * stride, y);
    }
}

/*
 * Multiplies all vectors in one pass. If some rows are cut into pieces, a pass multiplies at most SPRYI_CSR_SUMS
 * vectors, because the workspace has sums for only so many vectors. Each pass must then fill whole cache lines of y.
 */
static void drive_columns(product *p, int stream_part)
{
    const spryi_csr *s = p->args.storage;
    const spry_type type = p->args.vector_type;
    const int64_t most = s->blocks.piece_count > 0 ? SPRYI_CSR_SUMS : p->args.columns;
    const spryi_streams streams = spryi_panels_stream(&p->args, s->a.rows, stream_part);
    p->job.stream_y = p->args.columns > most ? streams == SPRYI_STREAMS_ANY_ORDER : streams != SPRYI_STREAMS_NOTHING;
    const spryi_csr_job whole = p->job;
    for (int64_t first = 0; first < p->args.columns; first += most) {
        p->columns = p->args.columns - first < most ? p->args.columns - first : most;
        p->job = from_column(whole, type, first);
        spryi_run_blocks(&p->args, s->blocks.count, run_blocks_of_columns);
        for (int64_t c = 0; c < p->columns && s->blocks.long_count > 0; c++) {
            spryi_csr_job job = from_column(p->job, type, c);
            job.sums += c * s->blocks.piece_count;
            finish_long_rows(s, &job, type, p->args.y_stride);
        }
    }
}

static spry_status run_column_major(const spryi_run_args *args)
{
    const spry_arrays *a = &((const spryi_csr *)args->storage)->a;
    const int row = spryi_value_row(a->value_type, args->vector_type);
    return spryi_csr_column_major[row][spryi_index_pair(a->offset_type, a->index_type)](args, NULL);
}

spry_status spryi_csr_drive_parts(const spryi_run_args *args, const spryi_csr_loops loops[2], int stream_part)
{
    const spryi_csr *s = args->storage;
    if (args->columns > 1 && args->x_column_stride != 1) return run_column_major(args);
    product p = {.args = *args, .job = job_of(args), .loops = pick_loops(s, loops)};
    p.job.sums = args->workspace;
    const int64_t columns = args->columns > 1 ? args->columns : 1;
    p.job.large_y = s->a.rows * columns * (int64_t)spry_type_bytes(args->vector_type) >= SPRYI_STREAM_BYTES;
    p.job.stream_y = p.job.large_y && spryi_value_at(args->beta, args->vector_type, 0) == 0;
    if (args->columns > 1) {
        drive_columns(&p, stream_part);
        return SPRY_OK;
    }
    if (s->blocks.units > 0)
        spryi_run_shares(&p.args, s->blocks.units, run_units);
    else
        spryi_run_blocks(&p.args, s->blocks.count, run_blocks);
    finish_long_rows(s, &p.job, args->vector_type, 1);
    return SPRY_OK;
}

/* ---- y = alpha*A^T*x + beta*y -------------------------------------------------------------------------- */

/* A product with A^T. */
typedef struct scatter_product {
    spryi_run_args args; /* first member: the driver of blocks passes a pointer to it */
    const spryi_csr *s;
    const spryi_csr_loops *loops;
    spryi_csr_job job; /* job.y: vector to which phases add, y or the workspace */
    double alpha, beta;
    size_t bytes;  /* bytes of an element of a vector */
    int64_t phase; /* first chunk of the current phase */
} scatter_product;

static void scatter_chunk(const scatter_product *p, const spryi_csr_job *job, const spryi_csr_chunk *chunk)
{
    for (int64_t b = chunk->first; b < chunk->last; b++) run_block(p->s, job, p->loops, &p->s->blocks.list[b]);
}

static void set_to_zero(const scatter_product *p, void *elements, int64_t begin, int64_t end)
{
    memset((char *)elements + (size_t)begin * p->bytes, 0, (size_t)(end - begin) * p->bytes);
}

enum { SLICE = 2048 }; /* number of columns that a thread finishes together */

#define SPRYI_TEMPLATE "formats/csr/csr_driver.c" /* its second half */
#include "base/instantiate_types.h"

/* Sets y = alpha*sums + beta*y for `count` columns from `begin` on. sums[0] belongs to column `begin`. */
static void finish_columns(const scatter_product *p, const void *sums, int64_t begin, int64_t count)
{
    SPRYI_BY_TYPE(p->args.vector_type, finish, (p, sums, begin, count));
}

/* Scatters chunks begin .. end - 1, each into its window. */
static void fill_windows(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const scatter_product *p = (const scatter_product *)args;
    for (int64_t c = begin; c < end; c++) {
        const spryi_csr_chunk *chunk = &p->s->chunks.list[c];
        spryi_csr_job job = p->job;
        set_to_zero(p, args->workspace, chunk->at, chunk->at + chunk->window.end - chunk->window.begin);
        /* the address that the window's element of column 0 would have */
        job.y = (void *)((uintptr_t)args->workspace + (uintptr_t)(chunk->at - chunk->window.begin) * p->bytes);
        scatter_chunk(p, &job, chunk);
    }
}

static void add_windows(const spryi_run_args *args, int64_t first, int64_t last)
{
    SPRYI_BY_TYPE(args->vector_type, add_windows, ((const scatter_product *)args, first, last));
}

static void with_windows(const scatter_product *p)
{
    const spryi_step steps[] = {{p->s->chunks.count, fill_windows},
                                {spryi_blocks_of(p->s->a.columns, SLICE), add_windows}};
    spryi_run_steps(&p->args, steps, 2);
}

static void scatter_one(const scatter_product *p, const spryi_csr_chunk *chunk)
{
    const spryi_csr_chunks *t = &p->s->chunks;
    for (int64_t r = chunk->ranges_begin; r < chunk->ranges_end; r++)
        if (p->job.y == p->args.y && p->beta != 0)
            spryi_scale(p->job.y, p->args.vector_type, t->ranges[r].begin, t->ranges[r].end, p->args.beta);
        else
            set_to_zero(p, p->job.y, t->ranges[r].begin, t->ranges[r].end);
    scatter_chunk(p, &p->job, chunk);
}

/* Scatters chunks begin .. end - 1 of the phase. */
static void scatter_in_phase(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const scatter_product *p = (const scatter_product *)args;
    for (int64_t c = begin; c < end; c++) scatter_one(p, &p->s->chunks.list[p->phase + c]);
}

static void finish_slices(const spryi_run_args *args, int64_t first, int64_t last)
{
    const scatter_product *p = (const scatter_product *)args;
    const int64_t begin = first * SLICE, end = spryi_block_end(last - 1, SLICE, p->s->a.columns);
    finish_columns(p, (const char *)p->job.y + (size_t)begin * p->bytes, begin, end - begin);
}

static void with_phases(scatter_product *p)
{
    const spryi_csr_chunks *t = &p->s->chunks;
    for (int64_t phase = 0; phase < t->phase_count; phase++) {
        p->phase = t->phases[phase];
        spryi_run_blocks(&p->args, t->phases[phase + 1] - p->phase, scatter_in_phase);
    }
    if (p->alpha != 1) spryi_run_blocks(&p->args, spryi_blocks_of(p->s->a.columns, SLICE), finish_slices);
}

spry_status spryi_csr_drive_scatter(const spryi_run_args *args, const spryi_csr_loops loops[2])
{
    const spryi_csr *s = args->storage;
    if (s->a.columns == 0) return SPRY_OK; /* y may be NULL then */
    scatter_product p = {.args = *args, .s = s, .job = job_of(args), .loops = pick_loops(s, loops)};
    p.bytes = spry_type_bytes(args->vector_type);
    p.alpha = spryi_value_at(args->alpha, args->vector_type, 0);
    p.beta = spryi_value_at(args->beta, args->vector_type, 0);
    /*
     * Phases add the products to job.y. If beta is not 0, y has the values beta*y. The products can be added to these
     * values only if alpha is 1. If alpha is not 1, job.y is the workspace. The alternative, to multiply x by alpha,
     * could overflow or underflow.
     */
    if (p.beta != 0 && p.alpha != 1) p.job.y = args->workspace;
    if (s->chunks.phase_count > 0)
        with_phases(&p);
    else
        with_windows(&p);
    return SPRY_OK;
}

#else /* for each vector type (base/instantiate_types.h) */

static void SPRY_FN(add)(SPRY_V *restrict sums, const SPRY_V *restrict window, int64_t count)
{
    for (int64_t j = 0; j < count; j++) sums[j] += window[j];
}

/* Sets y = alpha*sums + beta*y. If beta is 0, `of_columns` may point to y + begin. */
static void SPRY_FN(finish)(const scatter_product *p, const void *of_columns, int64_t begin, int64_t count)
{
    const SPRY_V *sums = of_columns, alpha = SPRY_SCALAR(p->job.alpha), beta = SPRY_SCALAR(p->job.beta);
    SPRY_V *y = (SPRY_V *)p->args.y + begin;
    if (beta == 0)
        for (int64_t j = 0; j < count; j++) y[j] = alpha * sums[j];
    else
        for (int64_t j = 0; j < count; j++) y[j] = alpha * sums[j] + beta * y[j];
}

/* Adds up the windows for the columns of slices first .. last - 1, and sets y. */
static void SPRY_FN(add_windows)(const scatter_product *p, int64_t first, int64_t last)
{
    const spryi_csr_chunks *t = &p->s->chunks;
    SPRY_V sums[SLICE];
    for (int64_t slice = first; slice < last; slice++) {
        const int64_t begin = slice * SLICE, end = spryi_block_end(slice, SLICE, p->s->a.columns);
        memset(sums, 0, (size_t)(end - begin) * sizeof *sums);
        for (int64_t c = 0; c < t->count; c++) {
            const spryi_csr_range w = t->list[c].window;
            const int64_t from = begin > w.begin ? begin : w.begin, to = end < w.end ? end : w.end;
            if (to <= from) continue;
            SPRY_FN(add)
            (sums + (from - begin), (const SPRY_V *)p->args.workspace + t->list[c].at + from - w.begin, to - from);
        }
        SPRY_FN(finish)(p, sums, begin, end - begin);
    }
}

#endif
