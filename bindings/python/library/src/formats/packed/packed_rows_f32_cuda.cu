/* A module of packed_slices_cuda: rows of f32. */
#include "formats/packed/packed_rows.cuh"

template void spry_cuda_packed_rows<float, float, false>(const spryi_run_args *args);
