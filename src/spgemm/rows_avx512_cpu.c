#include "spgemm/rows_instances.h"

const spryi_spgemm_kernel spryi_spgemm_rows_avx512_cpu = {
    .name = "spgemm_rows_avx512_cpu",
    .device = "cpu",
    .idea = "the same with AVX-512: row by row in the accumulator that suits the row: copied, the shape of the row "
            "before, a dense window "
            "whose bits are the order",
    .source = "F. G. Gustavson, Two Fast Algorithms for Sparse Matrices, 1978; repeating rows: this library",
    .deterministic = 1,
    .uses_words = 1,
    .simd = SPRYI_AVX512,
    .count_bytes = spryi_rows_count_bytes,
    .fill_bytes = spryi_rows_fill_runs_bytes,
    .count = &count_table,
    .fill = &fill_table,
    .refill = &refill_table,
    .once_bytes = spryi_rows_once_workspace,
    .once = &once_table,
};
