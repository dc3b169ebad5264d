/*
 * The product by rows (rows.h) with AVX2. Adds to the portable kernel a search for runs, whose rows are summed in
 * vectors.
 *
 * Idea: rows that share one order of products form a run, and are summed in the lanes of vectors. The portable code
 * computes all rows outside of runs.
 * Work: pieces of rows. Idle threads fetch the next piece.
 * Cost: products * (value + index) bytes read, mostly from caches; C written once.
 * Source: F. G. Gustavson, Two Fast Algorithms for Sparse Matrices, 1978; repeating rows: this library.
 */
#include "spgemm/kernels/cpu/rows.h"
#include "spgemm/kernels/cpu/value_vectors_avx2.h"

#define RUN_FUNCTIONS spryi_runs_avx2
#include "spgemm/kernels/cpu/row_runs.tmpl.h"

static spryi_spgemm_sizes sizes(const spryi_spgemm_job *job, spryi_spgemm_phase phase, int64_t most_bytes)
{
    return spryi_rows_sizes(job, phase, most_bytes, &spryi_runs_avx2);
}

static const spryi_spgemm_host_phases phases = {
    .uses_bitmaps = true,
    .sizes = sizes,
    .count = &spryi_rows_count,
    .fill = &spryi_rows_fill,
    .columns = &spryi_rows_columns,
    .list = &spryi_rows_list,
    .refill = &spryi_rows_renew,
};

const spryi_kernel spryi_spgemm_rows_avx2_cpu = {
    .name = "spgemm_rows_avx2_cpu",
    .format = "csr",
    .device = "cpu",
    .idea = "the same, where rows that are each the one before moved make lanes of AVX2's vectors",
    .source = "F. G. Gustavson, Two Fast Algorithms for Sparse Matrices, 1978; repeating rows: this library",
    .pattern = 1,
    .simd = SPRYI_AVX2,
    .spgemm = &phases,
};
