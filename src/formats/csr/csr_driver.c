#include "core/assemble.h"
#include "core/error.h"
#include "core/shares.h"
#include "formats/csr/csr.h"

#include <omp.h>

static void run_block(const spryi_csr *s, const spryi_csr_job *job, const spryi_csr_leaves *leaves,
                      const spryi_csr_block *block, double *sums)
{
    if (block->piece >= 0) {
        sums[block->piece] = leaves->piece(job, block->begin, block->end);
        return;
    }
    for (int64_t r = block->runs_begin; r < block->runs_end; r++) {
        const spryi_csr_run *run = &s->runs[r];
        int64_t begin = block->begin + run->begin, end = block->begin + run->end;
        if (run->least > 0 && leaves->span_rows) {
            const spryi_csr_span *w = s->spans + run->spans;
            if (run->kind == SPRYI_RUN_SHARED)
                leaves->span_groups(job, begin, end, w, run->group);
            else
                leaves->span_rows(job, begin, end, w, run->least);
            continue;
        }
        switch ((spryi_csr_run_kind)run->kind) {
        case SPRYI_RUN_GENERAL: leaves->rows(job, begin, end); break;
        case SPRYI_RUN_STEPPED: leaves->stepped(job, begin, end); break;
        case SPRYI_RUN_SHARED: leaves->shared(job, begin, end, run->group); break;
        }
    }
}

/* The pieces of each long row, in order. */
static void finish_long_rows(const spryi_csr *s, const spryi_csr_job *job, spry_type type, const double *sums)
{
    for (int64_t l = 0; l < s->long_count; l++) {
        const spryi_csr_long_row *row = &s->long_rows[l];
        double sum = 0;
        for (int64_t p = 0; p < row->count; p++) sum += sums[row->first + p];
        if (type == SPRY_F64) {
            double *y = (double *)job->y + row->row;
            *y = job->beta == 0 ? job->alpha * sum : job->alpha * sum + job->beta * *y;
        } else {
            float *y = (float *)job->y + row->row;
            *y = (float)(job->beta == 0 ? job->alpha * sum : job->alpha * sum + job->beta * (double)*y);
        }
    }
}

static void run_shares(const spryi_csr *s, const spryi_csr_job *job, const spryi_csr_leaves *leaves, double *sums,
                       int threads)
{
    spryi_share shares[SPRYI_MOST_SHARES];
    spryi_cut_shares(shares, threads, s->block_count);
#pragma omp parallel num_threads(threads)
    {
        int turn = 0;
        for (int64_t b; (b = spryi_take_block(shares, threads, omp_get_thread_num(), &turn)) >= 0;)
            run_block(s, job, leaves, &s->blocks[b], sums);
    }
}

spry_status spryi_csr_drive(const spryi_run_args *args, const spryi_csr_leaves *leaves)
{
    const spryi_csr *s = args->storage;
    spryi_csr_job job = {
        .offsets = s->a.offsets,
        .columns = s->a.indices,
        .values = s->a.values,
        .x = args->x,
        .y = args->y,
        .alpha = spryi_value_at(args->alpha, args->vector_type, 0),
        .beta = spryi_value_at(args->beta, args->vector_type, 0),
    };
    job.stream_y = job.beta == 0 && s->a.rows * (int64_t)spry_type_bytes(args->vector_type) >= SPRYI_STREAM_BYTES;
    double *sums = args->workspace;
    int threads = args->threads < s->block_count ? args->threads : (int)s->block_count;
    if (threads <= 1) {
        for (int64_t b = 0; b < s->block_count; b++) run_block(s, &job, leaves, &s->blocks[b], sums);
    } else if (threads <= SPRYI_MOST_SHARES) {
        run_shares(s, &job, leaves, sums, threads);
    } else {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t b = 0; b < s->block_count; b++) run_block(s, &job, leaves, &s->blocks[b], sums);
    }
    finish_long_rows(s, &job, args->vector_type, sums);
    return SPRY_OK;
}
