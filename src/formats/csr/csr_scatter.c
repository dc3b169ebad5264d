/*
 * y = alpha*A^T*x + beta*y, row i of A adding a_ij x_i to y_j. Chunks of rows are scattered in turns, straight
 * into y, or at once into windows that are then added in order (csr_chunks.c tells when). Which is done, and in which
 * order the terms of y_j are added, depends on the matrix alone.
 */
#include "core/assemble.h"
#include "formats/csr/csr.h"

#include <string.h>

/* The long row that a piece is of: the last that begins at or before it. */
static int64_t row_of_piece(const spryi_csr *s, int64_t piece)
{
    int64_t low = 0, high = s->long_count;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (s->long_rows[middle].first <= piece)
            low = middle;
        else
            high = middle;
    }
    return s->long_rows[low].row;
}

static void scatter_chunk(const spryi_csr *s, const spryi_csr_job *job, const spryi_csr_scatter_leaves *leaves,
                          const spryi_csr_chunk *chunk)
{
    for (int64_t b = chunk->first; b < chunk->last; b++) {
        const spryi_csr_block *block = &s->blocks[b];
        if (block->piece >= 0) {
            leaves->piece(job, row_of_piece(s, block->piece), block->begin, block->end);
            continue;
        }
        for (int64_t r = block->runs_begin; r < block->runs_end; r++) {
            const spryi_csr_run *run = &s->runs[r];
            int64_t begin = block->begin + run->begin, end = block->begin + run->end;
            switch ((spryi_csr_run_kind)run->kind) {
            case SPRYI_RUN_GENERAL: leaves->rows(job, begin, end); break;
            case SPRYI_RUN_STEPPED: leaves->stepped(job, begin, end); break;
            case SPRYI_RUN_SHARED: leaves->shared(job, begin, end, run->group); break;
            }
        }
    }
}

/* A product under way. */
typedef struct scattering {
    const spryi_csr *s;
    const spryi_csr_scatter_leaves *leaves;
    spryi_csr_job job; /* its y is where turns scatter to */
    void *y, *workspace;
    spry_type type;
    size_t bytes; /* of a number */
    int threads;
} scattering;

static void set_to_zero(const scattering *p, void *numbers, int64_t begin, int64_t end)
{
    memset((char *)numbers + (size_t)begin * p->bytes, 0, (size_t)(end - begin) * p->bytes);
}

enum { SLICE = 2048 }; /* columns a thread finishes at a time */

/* y_j = alpha*(sum of t_j over the windows that hold j) + beta*y_j, begin <= j < end, at most SLICE of them. */
#define ADD_WINDOWS(V)                                                                                                 \
    static void add_windows_##V(const scattering *p, int64_t begin, int64_t end)                                       \
    {                                                                                                                  \
        const spryi_csr_scatter *t = &p->s->scatter;                                                                   \
        const V alpha = (V)p->job.alpha, beta = (V)p->job.beta;                                                        \
        V sums[SLICE] = {0}, *y = (V *)p->y + begin;                                                                   \
        for (int64_t c = 0; c < t->chunk_count; c++) {                                                                 \
            const spryi_csr_chunk *chunk = &t->chunks[c];                                                              \
            const V *window = (const V *)p->workspace + chunk->at;                                                     \
            int64_t from = begin > chunk->window.begin ? begin : chunk->window.begin;                                  \
            int64_t to = end < chunk->window.end ? end : chunk->window.end;                                            \
            for (int64_t j = from; j < to; j++) sums[j - begin] += window[j - chunk->window.begin];                    \
        }                                                                                                              \
        if (beta == 0)                                                                                                 \
            for (int64_t j = 0; j < end - begin; j++) y[j] = alpha * sums[j];                                          \
        else                                                                                                           \
            for (int64_t j = 0; j < end - begin; j++) y[j] = alpha * sums[j] + beta * y[j];                            \
    }
ADD_WINDOWS(float)
ADD_WINDOWS(double)

static void with_windows(const scattering *p)
{
    const spryi_csr_scatter *t = &p->s->scatter;
    const int64_t n = p->s->a.cols, slices = (n + SLICE - 1) / SLICE;
#pragma omp parallel num_threads(p->threads)
    {
#pragma omp for schedule(static)
        for (int64_t c = 0; c < t->chunk_count; c++) {
            const spryi_csr_chunk *chunk = &t->chunks[c];
            spryi_csr_job job = p->job;
            set_to_zero(p, p->workspace, chunk->at, chunk->at + chunk->window.end - chunk->window.begin);
            /* where column 0 would be */
            job.y = (void *)((uintptr_t)p->workspace + (uintptr_t)(chunk->at - chunk->window.begin) * p->bytes);
            scatter_chunk(p->s, &job, p->leaves, chunk);
        }
#pragma omp for schedule(static)
        for (int64_t c = 0; c < slices; c++) {
            int64_t end = c + 1 < slices ? (c + 1) * SLICE : n;
            if (p->type == SPRY_F64)
                add_windows_double(p, c * SLICE, end);
            else
                add_windows_float(p, c * SLICE, end);
        }
    }
}

/* y = alpha*t + beta*y where turns have scattered into t, or y = alpha*y where into y itself. */
static void finish_columns(const scattering *p, int64_t begin, int64_t end)
{
    if (p->type == SPRY_F64) {
        const double alpha = p->job.alpha, beta = p->job.beta, *t = p->job.y;
        double *y = p->y;
        for (int64_t j = begin; j < end; j++) y[j] = t == y ? alpha * y[j] : alpha * t[j] + beta * y[j];
    } else {
        const float alpha = (float)p->job.alpha, beta = (float)p->job.beta, *t = p->job.y;
        float *y = p->y;
        for (int64_t j = begin; j < end; j++) y[j] = t == y ? alpha * y[j] : alpha * t[j] + beta * y[j];
    }
}

static void turn_of_chunk(const scattering *p, const spryi_csr_chunk *chunk)
{
    const spryi_csr_scatter *t = &p->s->scatter;
    for (int64_t r = chunk->ranges_begin; r < chunk->ranges_end; r++)
        if (p->job.y == p->y && p->job.beta != 0)
            spryi_scale(p->y, p->type, t->ranges[r].begin, t->ranges[r].end, p->job.beta);
        else
            set_to_zero(p, p->job.y, t->ranges[r].begin, t->ranges[r].end);
    scatter_chunk(p->s, &p->job, p->leaves, chunk);
}

/* static: a thread meets the same rows in every run, so they stay in its cache and on its node */
static void in_turns(const scattering *p)
{
    const spryi_csr_scatter *t = &p->s->scatter;
    const int64_t n = p->s->a.cols, slices = (n + SLICE - 1) / SLICE;
#pragma omp parallel num_threads(p->threads) if (p->threads > 1)
    {
        for (int64_t turn = 0; turn < t->turn_count; turn++) {
#pragma omp for schedule(static)
            for (int64_t c = t->turns[turn]; c < t->turns[turn + 1]; c++) turn_of_chunk(p, &t->chunks[c]);
        }
        if (p->job.alpha != 1) {
#pragma omp for schedule(static)
            for (int64_t c = 0; c < slices; c++) finish_columns(p, c * SLICE, c + 1 < slices ? (c + 1) * SLICE : n);
        }
    }
}

spry_status spryi_csr_drive_scatter(const spryi_run_args *args, const spryi_csr_scatter_leaves *leaves)
{
    const spryi_csr *s = args->storage;
    if (s->a.cols == 0) return SPRY_OK; /* y may be NULL */
    scattering p = {
        .s = s,
        .leaves = leaves,
        .job = {.offsets = s->a.offsets,
                .columns = s->a.indices,
                .values = s->a.values,
                .x = args->x,
                .alpha = spryi_value_at(args->alpha, args->vector_type, 0),
                .beta = spryi_value_at(args->beta, args->vector_type, 0)},
        .y = args->y,
        .workspace = args->workspace,
        .type = args->vector_type,
        .bytes = spry_type_bytes(args->vector_type),
        .threads = args->threads < s->scatter.chunk_count ? args->threads : (int)s->scatter.chunk_count,
    };
    /* beta*y and the sums can share y only where the sums need no factor: alpha*x could over- or underflow */
    p.job.y = p.job.beta == 0 || p.job.alpha == 1 ? p.y : p.workspace;
    if (s->scatter.turn_count > 0)
        in_turns(&p);
    else
        with_windows(&p);
    return SPRY_OK;
}
