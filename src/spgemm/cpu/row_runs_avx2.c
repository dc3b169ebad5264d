/*
 * Runs of rows (row_runs.tmpl.h) in vectors of 256 bits.
 *
 * Idea: rows that are each the one before moved add the same products in the same order: they are lanes of a vector.
 * Work: a piece's rows, a tile at a time.
 * Cost: see there.
 * Source: this library; as on the GPU (runs_cuda.cu).
 */
#include "spgemm/cpu/value_vectors_avx2.h"

#include "spgemm/cpu/row_runs.tmpl.h"
#define SPRYI_TEMPLATE "spgemm/cpu/row_runs.tmpl.h"
#include "core/instantiate.h"

static void fill_run(const spryi_spgemm_job *job, const spryi_row_run *run, int64_t i, int32_t *Cj, void *Cx)
{
    if (job->type == SPRY_F64)
        fill_run_f64_32_32(job, run, i, Cj, Cx);
    else
        fill_run_f32_32_32(job, run, i, Cj, Cx);
}

static void finish(void)
{
    _mm_sfence();
}

const spryi_run_functions spryi_runs_avx2 = {
    .bytes = 32,
    .find = find_run,
    .order = order_run,
    .fill = fill_run,
    .finish = finish,
};
