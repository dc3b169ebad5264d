/* A module of packed_slices_cuda: blocks of 2 x 2. */
#include "formats/packed/packed_slices.cuh"

template void spry_cuda_packed_blocks<float, float, 2>(const spryi_run_args *args);
template void spry_cuda_packed_blocks<double, double, 2>(const spryi_run_args *args);
