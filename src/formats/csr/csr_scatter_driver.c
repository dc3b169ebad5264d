#ifndef SPRYI_TEMPLATE
/*
 * y = alpha*A^T*x + beta*y, row i of A adding a_ij x_i to y_j. Chunks of rows are scattered phase by phase straight
 * into y, or all at once into windows that are then added in order (chunks.h). Which is done, and in which order the
 * terms of y_j are added, depends on the matrix alone.
 */
#include "formats/csr/csr_driver.h"
#include "formats/shared/run_blocks.h"

#include <string.h>

/* A product under way. */
typedef struct product {
    spryi_run_args args; /* first, for the driver of blocks */
    const spryi_csr *s;
    const spryi_csr_loops *loops;
    spryi_csr_job job;  /* its y is where phases scatter to */
    double alpha, beta; /* what is asked of them; loops have the job's */
    size_t bytes;       /* of a number */
    int64_t phase;      /* its first chunk */
} product;

static void scatter_chunk(const product *p, const spryi_csr_job *job, const spryi_csr_chunk *chunk)
{
    for (int64_t b = chunk->first; b < chunk->last; b++)
        spryi_csr_run_block(p->s, job, p->loops, &p->s->blocks.list[b]);
}

static void set_to_zero(const product *p, void *numbers, int64_t begin, int64_t end)
{
    memset((char *)numbers + (size_t)begin * p->bytes, 0, (size_t)(end - begin) * p->bytes);
}

enum { SLICE = 2048 }; /* columns a thread finishes at a time */

#define SPRYI_TEMPLATE "formats/csr/csr_scatter_driver.c" /* its second half */
#include "base/instantiate_types.h"

/* y = alpha*sums + beta*y from column `begin` on, where sums begins. */
static void finish_columns(const product *p, const void *sums, int64_t begin, int64_t count)
{
    SPRYI_BY_TYPE(p->args.vector_type, finish, (p, sums, begin, count));
}

/* Chunks begin .. end - 1, each into its window. */
static void fill_windows(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const product *p = (const product *)args;
    for (int64_t c = begin; c < end; c++) {
        const spryi_csr_chunk *chunk = &p->s->chunks.list[c];
        spryi_csr_job job = p->job;
        set_to_zero(p, args->workspace, chunk->at, chunk->at + chunk->window.end - chunk->window.begin);
        /* where column 0 would be */
        job.y = (void *)((uintptr_t)args->workspace + (uintptr_t)(chunk->at - chunk->window.begin) * p->bytes);
        scatter_chunk(p, &job, chunk);
    }
}

static void add_windows(const spryi_run_args *args, int64_t first, int64_t last)
{
    SPRYI_BY_TYPE(args->vector_type, add_windows, ((const product *)args, first, last));
}

static void with_windows(const product *p)
{
    const spryi_step steps[] = {{p->s->chunks.count, fill_windows},
                                {spryi_blocks_of(p->s->a.cols, SLICE), add_windows}};
    spryi_run_steps(&p->args, steps, 2);
}

static void scatter_one(const product *p, const spryi_csr_chunk *chunk)
{
    const spryi_csr_chunks *t = &p->s->chunks;
    for (int64_t r = chunk->ranges_begin; r < chunk->ranges_end; r++)
        if (p->job.y == p->args.y && p->beta != 0)
            spryi_scale(p->job.y, p->args.vector_type, t->ranges[r].begin, t->ranges[r].end, p->args.beta);
        else
            set_to_zero(p, p->job.y, t->ranges[r].begin, t->ranges[r].end);
    scatter_chunk(p, &p->job, chunk);
}

/* Chunks begin .. end - 1 of the phase. */
static void scatter_in_phase(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const product *p = (const product *)args;
    for (int64_t c = begin; c < end; c++) scatter_one(p, &p->s->chunks.list[p->phase + c]);
}

static void finish_slices(const spryi_run_args *args, int64_t first, int64_t last)
{
    const product *p = (const product *)args;
    const int64_t begin = first * SLICE, end = spryi_block_end(last - 1, SLICE, p->s->a.cols);
    finish_columns(p, (const char *)p->job.y + (size_t)begin * p->bytes, begin, end - begin);
}

static void with_phases(product *p)
{
    const spryi_csr_chunks *t = &p->s->chunks;
    for (int64_t phase = 0; phase < t->phase_count; phase++) {
        p->phase = t->phases[phase];
        spryi_run_blocks(&p->args, t->phases[phase + 1] - p->phase, scatter_in_phase);
    }
    if (p->alpha != 1) spryi_run_blocks(&p->args, spryi_blocks_of(p->s->a.cols, SLICE), finish_slices);
}

spry_status spryi_csr_drive_scatter(const spryi_run_args *args, const spryi_csr_loops loops[2])
{
    const spryi_csr *s = args->storage;
    if (s->a.cols == 0) return SPRY_OK; /* y may be NULL */
    product p = {.args = *args, .s = s, .job = spryi_csr_job_of(args), .loops = spryi_csr_pick_loops(s, loops)};
    p.bytes = spry_type_bytes(args->vector_type);
    p.alpha = spryi_value_at(args->alpha, args->vector_type, 0);
    p.beta = spryi_value_at(args->beta, args->vector_type, 0);
    /* beta*y and the sums can share y only where the sums need no factor: alpha*x could over- or underflow */
    if (p.beta != 0 && p.alpha != 1) p.job.y = args->workspace;
    if (s->chunks.phase_count > 0)
        with_phases(&p);
    else
        with_windows(&p);
    return SPRY_OK;
}

#else /* for each type of vectors: base/instantiate_types.h */

static void SPRY_FN(add)(SPRY_V *restrict sums, const SPRY_V *restrict window, int64_t count)
{
    for (int64_t j = 0; j < count; j++) sums[j] += window[j];
}

/* sums may be y from `begin` on if beta is 0. */
static void SPRY_FN(finish)(const product *p, const void *of_columns, int64_t begin, int64_t count)
{
    const SPRY_V *sums = of_columns, alpha = SPRY_SCALAR(p->job.alpha), beta = SPRY_SCALAR(p->job.beta);
    SPRY_V *y = (SPRY_V *)p->args.y + begin;
    if (beta == 0)
        for (int64_t j = 0; j < count; j++) y[j] = alpha * sums[j];
    else
        for (int64_t j = 0; j < count; j++) y[j] = alpha * sums[j] + beta * y[j];
}

/* The sums over the windows of all columns in slices first .. last - 1. */
static void SPRY_FN(add_windows)(const product *p, int64_t first, int64_t last)
{
    const spryi_csr_chunks *t = &p->s->chunks;
    SPRY_V sums[SLICE];
    for (int64_t slice = first; slice < last; slice++) {
        const int64_t begin = slice * SLICE, end = spryi_block_end(slice, SLICE, p->s->a.cols);
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
