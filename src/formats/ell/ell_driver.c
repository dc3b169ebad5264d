#include "core/assemble.h"
#include "formats/ell/ell.h"

/* Slices that are no run are handed over together. */
static void run_block(const spryi_ell *s, const spryi_ell_job *job, const spryi_ell_leaves *leaves, int64_t b)
{
    int64_t begin = b * s->block_rows, end = begin + s->block_rows < s->a.rows ? begin + s->block_rows : s->a.rows;
    for (int64_t i = begin, from = begin; i < end || from < end;) {
        int run = i < end ? s->runs[i / SPRYI_ELL_SLICE] : 0;
        if (from < i && (run > 0 || i >= end)) {
            leaves->rows(job, from, i < end ? i : end);
            from = i;
        }
        if (run > 0) {
            leaves->stepped(job, i, i + run * SPRYI_ELL_SLICE);
            from = i += run * SPRYI_ELL_SLICE;
        } else {
            i += SPRYI_ELL_SLICE;
        }
    }
}

spry_status spryi_ell_drive(const spryi_run_args *args, const spryi_ell_leaves *leaves)
{
    const spryi_ell *s = args->storage;
    spryi_ell_job job = {
        .values = s->values,
        .columns = s->columns,
        .lengths = s->lengths,
        .stride = s->a.rows,
        .x = args->x,
        .y = args->y,
        .alpha = spryi_value_at(args->alpha, args->vector_type, 0),
        .beta = spryi_value_at(args->beta, args->vector_type, 0),
    };
    job.stream_y = job.beta == 0 && s->a.rows * (int64_t)spry_type_bytes(s->a.value_type) >= SPRYI_ELL_STREAM_BYTES;
    int threads = args->threads < s->block_count ? args->threads : (int)s->block_count;
    if (threads <= 1) {
        for (int64_t b = 0; b < s->block_count; b++) run_block(s, &job, leaves, b);
    } else {
        /* static: a thread meets the same rows in every run, so they stay in its cache and on its node */
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t b = 0; b < s->block_count; b++) run_block(s, &job, leaves, b);
    }
    return SPRY_OK;
}
