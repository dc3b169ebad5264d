#include "spgemm/rows_instances.h"

void spryi_rows_count_64_64(spryi_spgemm_job *job)
{
    count_64_64(job);
}

void spryi_rows_fill_f32_64_64(spryi_spgemm_job *job)
{
    fill_f32_64_64(job);
}

void spryi_rows_fill_f64_64_64(spryi_spgemm_job *job)
{
    fill_f64_64_64(job);
}

void spryi_rows_refill_f32_64_64(spryi_spgemm_job *job)
{
    refill_f32_64_64(job);
}

void spryi_rows_refill_f64_64_64(spryi_spgemm_job *job)
{
    refill_f64_64_64(job);
}

const spryi_spgemm_kernel spryi_spgemm_rows_cpu = {
    .name = "spgemm_rows_cpu",
    .device = "cpu",
    .idea = "row by row in the accumulator that suits the row: copied, the shape of the row before, a dense window "
            "whose bits are the order",
    .source = "F. G. Gustavson, Two Fast Algorithms for Sparse Matrices, 1978; repeating rows: this library",
    .deterministic = 1,
    .uses_words = 1,
    .simd = SPRYI_PORTABLE,
    .count_bytes = spryi_rows_count_bytes,
    .fill_bytes = spryi_rows_fill_bytes,
    .count = &count_table,
    .fill = &fill_table,
    .refill = &refill_table,
};
