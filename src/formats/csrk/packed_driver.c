#include "core/assemble.h"
#include "core/shares.h"
#include "formats/csrk/packed.h"

#include <omp.h>

/* Values and lanes before slice k. */
static int64_t cost_of(const spryi_packed *s, int64_t k)
{
    return spryi_packed_values_at(&s->slices[k]) + k * SPRYI_PACKED_LANES;
}

/* The slice at which block c of equal cost begins. */
static int64_t block_begin(const spryi_packed *s, int64_t c)
{
    int64_t low = 0, high = s->slice_count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (cost_of(s, middle) < c * SPRYI_PACKED_BLOCK_COST)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t spryi_packed_slice_of(const spryi_packed *s, int64_t row)
{
    int64_t low = 0, high = s->slice_count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if ((int64_t)s->slices[middle].row * SPRYI_PACKED_LANES < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Sums of pieces, or the windows of the transposed product. A pattern's vectors are f64 at most. */
int64_t spryi_packed_workspace(const void *storage)
{
    const spryi_packed *s = storage;
    const int64_t numbers = s->windows.count > 0 ? s->windows.numbers : s->piece_count;
    return numbers * (int64_t)(s->a.value_type == SPRY_PATTERN ? sizeof(double) : spry_type_bytes(s->a.value_type));
}

/* Blocks of slices, then pieces of long rows, then those. */
static void run_shares(const spryi_packed_job *job, const spryi_packed_leaves *leaves, int64_t blocks, int threads)
{
    const spryi_packed *s = job->s;
    spryi_share shares[SPRYI_MOST_SHARES];
    const int shared = threads <= SPRYI_MOST_SHARES;
    if (shared) spryi_cut_shares(shares, threads, blocks);
#pragma omp parallel num_threads(threads)
    {
        int turn = 0;
        for (int64_t c; shared && (c = spryi_take_block(shares, threads, omp_get_thread_num(), &turn)) >= 0;)
            leaves->slices(job, block_begin(s, c), block_begin(s, c + 1));
#pragma omp for schedule(static) nowait
        for (int64_t c = shared ? blocks : 0; c < blocks; c++)
            leaves->slices(job, block_begin(s, c), block_begin(s, c + 1));
#pragma omp for schedule(static)
        for (int64_t p = 0; p < s->piece_count; p++) leaves->pieces(job, p, p + 1);
#pragma omp for schedule(static)
        for (int64_t n = 0; n < s->long_count; n++) leaves->rows(job, n, n + 1);
    }
}

spry_status spryi_packed_drive(const spryi_run_args *args, const spryi_packed_leaves *leaves)
{
    const spryi_packed *s = args->storage;
    spryi_packed_job job = {
        .s = s,
        .x = args->x,
        .y = args->y,
        .sums = args->workspace,
        .alpha = spryi_value_at(args->alpha, args->vector_type, 0),
        .beta = spryi_value_at(args->beta, args->vector_type, 0),
    };
    job.stream_y = job.beta == 0 &&
                   s->a.rows * (int64_t)spry_type_bytes(args->vector_type) >= SPRYI_PACKED_STREAM_BYTES;
    const int64_t cost = cost_of(s, s->slice_count), pieces = s->piece_count;
    const int64_t blocks = (cost + SPRYI_PACKED_BLOCK_COST - 1) / SPRYI_PACKED_BLOCK_COST;
    const int64_t most = blocks > pieces ? blocks : pieces;
    const int threads = args->threads < most ? args->threads : (int)most;
    if (threads > 1) {
        run_shares(&job, leaves, blocks, threads);
        return SPRY_OK;
    }
    leaves->slices(&job, 0, s->slice_count);
    leaves->pieces(&job, 0, pieces);
    leaves->rows(&job, 0, s->long_count);
    return SPRY_OK;
}
