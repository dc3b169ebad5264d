/*
 * Runs of rows for a level: row_runs.tmpl.h in the vectors of the value_vectors_*.h that stands before this, and
 * RUN_FUNCTIONS, a name, of what the phases call. Included once, in the level's own file.
 */
#include "spgemm/kernels/cpu/row_runs.tmpl.h"
#define SPRYI_TEMPLATE "spgemm/kernels/cpu/row_runs.tmpl.h"
#include "base/instantiate.h"

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

const spryi_run_functions RUN_FUNCTIONS = {
    .bytes = sizeof(spryi_vector_f64),
    .find = find_run,
    .order = order_run,
    .fill = fill_run,
    .finish = finish,
};
