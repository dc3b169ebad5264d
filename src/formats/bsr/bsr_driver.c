#include "core/assemble.h"
#include "formats/bsr/bsr.h"

#include <string.h>

enum { ROW_COST = 2, LEAST_COST = 4096, MOST_COST = 32768, CHUNKS = 256, COLLECT = 8192 };

/* Work of the block rows before I, in entries. */
static int64_t cost_before(const spryi_bsr *s, int64_t I)
{
    return spryi_index_at(s->offsets, s->types.offset_type, I) * s->head.block * s->head.block +
           ROW_COST * s->head.block * I;
}

int64_t spryi_bsr_cut(const spryi_bsr *s, int64_t share, int64_t shares)
{
    int64_t low = 0, high = s->head.block_rows, total = cost_before(s, high);
    if (share >= shares) return high;
    int64_t cost = total / shares * share + total % shares * share / shares;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (cost_before(s, middle) < cost)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static spryi_bsr_job job_of(const spryi_bsr *s, const spryi_run_args *args)
{
    return (spryi_bsr_job){
        .offsets = s->offsets,
        .columns = s->columns,
        .values = s->values,
        .masks = spryi_bsr_masks(s),
        .x = args->x,
        .y = args->y,
        .alpha = spryi_value_at(args->alpha, args->vector_type, 0),
        .beta = spryi_value_at(args->beta, args->vector_type, 0),
        .block = s->head.block,
        .tail_column = -1,
    };
}

spry_status spryi_bsr_drive(const spryi_run_args *args, const spryi_bsr_leaves *leaves)
{
    const spryi_bsr *s = args->storage;
    const spryi_bsr_head *h = &s->head;
    spryi_bsr_job job = job_of(s, args);
    job.x_length = h->cols;
    job.y_length = h->rows;
    size_t size = spry_type_bytes(args->vector_type), left = (size_t)(h->cols % h->block);
    if (left > 0) {
        job.tail_column = h->block_cols - 1;
        memcpy(job.tail, (const char *)args->x + (size_t)(job.tail_column * h->block) * size, left * size);
    }
    int64_t cost = cost_before(s, h->block_rows), chunk = cost / CHUNKS;
    chunk = chunk < LEAST_COST ? LEAST_COST : chunk > MOST_COST ? MOST_COST : chunk;
    int64_t chunks = cost / chunk + 1;
    int threads = args->threads < chunks ? args->threads : (int)chunks;
    /* static: a thread meets the same rows in every run, so they stay in its cache and on its node */
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t c = 0; c < chunks; c++)
        leaves->rows(&job, spryi_bsr_cut(s, c, chunks), spryi_bsr_cut(s, c + 1, chunks));
    return SPRY_OK;
}

/* Parts of the block rows into windows of their own, which are then added in order: no atomics on y. */
spry_status spryi_bsr_drive_transposed(const spryi_run_args *args, const spryi_bsr_leaves *leaves)
{
    const spryi_bsr *s = args->storage;
    const spryi_bsr_head *h = &s->head;
    spryi_bsr_job job = job_of(s, args);
    job.x_length = h->rows;
    job.y_length = h->cols;
    const size_t block_bytes = (size_t)h->block * spry_type_bytes(args->vector_type);
    const int64_t pieces = (h->cols + COLLECT - 1) / COLLECT;
    int threads = args->threads < h->parts ? args->threads : h->parts;
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(dynamic, 1)
        for (int p = 0; p < h->parts; p++) {
            int64_t before = 0, blocks = h->window_end[p] - h->window_begin[p];
            for (int q = 0; q < p; q++) before += h->window_end[q] - h->window_begin[q];
            char *t = (char *)args->workspace + (size_t)before * block_bytes;
            memset(t, 0, (size_t)blocks * block_bytes);
            leaves->part(&job, spryi_bsr_cut(s, p, h->parts), spryi_bsr_cut(s, p + 1, h->parts), h->window_begin[p], t);
        }
#pragma omp for schedule(static)
        for (int64_t c = 0; c < pieces; c++)
            leaves->collect(&job, h, args->workspace, c * COLLECT, c + 1 < pieces ? (c + 1) * COLLECT : h->cols);
    }
    return SPRY_OK;
}
