#include "core/assemble.h"
#include "formats/coo/coo.h"

#include <math.h>

/* Each block's first row, in order; a row that fills several blocks gets its sums one after the other. */
static void add_first_rows(const spryi_coo *s, const spryi_coo_job *job, const double *sums)
{
    for (int64_t b = 0; b < s->block_count;) {
        int64_t i = spryi_index_at(s->a.row_indices, s->a.index_type, b * SPRYI_COO_BLOCK);
        double sum = sums[b];
        for (b++; b < s->block_count; b++) {
            if (spryi_index_at(s->a.row_indices, s->a.index_type, b * SPRYI_COO_BLOCK) != i) break;
            sum += sums[b];
        }
        if (s->a.value_type == SPRY_F64) {
            ((double *)job->y)[i] += job->alpha * sum;
        } else {
            float *y = (float *)job->y + i;
            *y = (float)((double)*y + job->alpha * sum);
        }
    }
}

void spryi_coo_spoil_empty_rows(const spryi_coo *s, void *y)
{
    for (int64_t i = 0, k = 0; i < s->a.rows; i++) {
        int64_t first = k;
        while (k < s->a.nnz && spryi_index_at(s->a.row_indices, s->a.index_type, k) == i) k++;
        if (k > first) continue;
        if (s->a.value_type == SPRY_F64)
            ((double *)y)[i] = NAN;
        else
            ((float *)y)[i] = NAN;
    }
}

spry_status spryi_coo_drive(const spryi_run_args *args, spryi_coo_block block)
{
    enum { SCALE_ROWS = 65536 };
    const spryi_coo *s = args->storage;
    const spryi_coo_job job = {
        .rows = s->a.row_indices,
        .columns = s->a.indices,
        .values = s->a.values,
        .x = args->x,
        .y = args->y,
        .alpha = spryi_value_at(args->alpha, args->vector_type, 0),
        .beta = spryi_value_at(args->beta, args->vector_type, 0),
    };
    /* Parts of one row times Inf do not add up to its sum times Inf: the reference adds before it multiplies. */
    if (!isfinite(job.alpha)) {
        const int slot = spryi_value_slot(s->a.value_type), pair = spryi_index_pair(s->a.index_type, s->a.index_type);
        return (*spryi_coo_reference_cpu.spmv)[slot][pair](args, NULL);
    }
    double *sums = args->workspace;
    int64_t m = s->a.rows, nnz = s->a.nnz, scales = (m + SCALE_ROWS - 1) / SCALE_ROWS;
    int64_t most = scales > s->block_count ? scales : s->block_count;
    int threads = args->threads < most ? args->threads : (int)(most > 0 ? most : 1);
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static)
        for (int64_t c = 0; c < scales; c++)
            spryi_scale(job.y, s->a.value_type, c * SCALE_ROWS, c + 1 < scales ? (c + 1) * SCALE_ROWS : m, job.beta);
#pragma omp for schedule(static)
        for (int64_t b = 0; b < s->block_count; b++)
            sums[b] = block(&job, b * SPRYI_COO_BLOCK, b + 1 < s->block_count ? (b + 1) * SPRYI_COO_BLOCK : nnz);
    }
    add_first_rows(s, &job, sums);
    return SPRY_OK;
}
