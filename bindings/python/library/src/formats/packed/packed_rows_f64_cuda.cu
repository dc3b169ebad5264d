/* A module of packed_slices_cuda: rows of f64. */
#include "formats/packed/packed_rows.cuh"

template void spry_cuda_packed_rows<double, double, false>(const spryi_run_args *args);
