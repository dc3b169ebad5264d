#include "formats/csr/csr_driver.h"

#include "formats/shared/run_blocks.h"

#include <string.h>

spryi_csr_job spryi_csr_job_of(const spryi_run_args *args)
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

void spryi_csr_run_block(const spryi_csr *s, const spryi_csr_job *job, const spryi_csr_loops *loops,
                         const spryi_csr_block *block)
{
    if (block->piece >= 0) {
        loops->piece(job, block);
        return;
    }
    for (int64_t r = block->runs_begin; r < block->runs_end; r++) {
        const spryi_csr_run *run = &s->runs.list[r];
        const int64_t begin = block->begin + run->begin, end = block->begin + run->end;
        const int by_spans = run->least_spans > 0 && loops->span_rows;
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

/* A product under way. */
typedef struct product {
    spryi_run_args args; /* first, for the driver of blocks */
    spryi_csr_job job;
    const spryi_csr_loops *loops;
    int64_t columns; /* of this pass over the matrix */
} product;

static void run_blocks(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const product *p = (const product *)args;
    const spryi_csr *s = args->storage;
    for (int64_t b = begin; b < end; b++) spryi_csr_run_block(s, &p->job, p->loops, &s->blocks.list[b]);
}

/* The job with x and y from that column on. */
static spryi_csr_job from_column(spryi_csr_job job, spry_type type, int64_t column)
{
    const int64_t bytes = column * (int64_t)spry_type_bytes(type);
    job.x = (const char *)job.x + bytes;
    job.y = (char *)job.y + bytes;
    return job;
}

/* The same for several columns, which are multiplied row by row: a row's entries are in a cache for all of them. */
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

/* The pieces of each long row, in order; rows of y are `stride` apart. */
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

/* As many columns a pass as there are sums for; all where no row is in pieces. */
static void drive_columns(product *p)
{
    const spryi_csr *s = p->args.storage;
    const spryi_csr_job whole = p->job;
    const spry_type type = p->args.vector_type;
    const int64_t most = s->blocks.piece_count > 0 ? SPRYI_CSR_SUMS : p->args.columns;
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

static spry_status run_apart(const spryi_run_args *args)
{
    const spry_arrays *a = &((const spryi_csr *)args->storage)->a;
    const int row = spryi_value_row(a->value_type, args->vector_type);
    return spryi_csr_apart[row][spryi_index_pair(a->offset_type, a->index_type)](args, NULL);
}

spry_status spryi_csr_drive(const spryi_run_args *args, const spryi_csr_loops loops[2])
{
    const spryi_csr *s = args->storage;
    if (args->columns > 1 && args->x_apart != 1) return run_apart(args);
    product p = {.args = *args, .job = spryi_csr_job_of(args), .loops = spryi_csr_pick_loops(s, loops)};
    p.job.sums = args->workspace;
    const int64_t y_bytes = s->a.rows * (int64_t)spry_type_bytes(args->vector_type) *
                            (args->columns > 1 ? args->columns : 1);
    p.job.stream_y = spryi_value_at(args->beta, args->vector_type, 0) == 0 && y_bytes >= SPRYI_STREAM_BYTES;
    if (args->columns > 1) {
        drive_columns(&p);
        return SPRY_OK;
    }
    if (s->blocks.units > 0)
        spryi_run_shares(&p.args, s->blocks.units, run_units);
    else
        spryi_run_blocks(&p.args, s->blocks.count, run_blocks);
    finish_long_rows(s, &p.job, args->vector_type, 1);
    return SPRY_OK;
}
