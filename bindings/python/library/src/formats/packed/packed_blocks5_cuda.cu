/* A module of packed_slices_cuda: blocks of 5 x 5. */
#include "formats/packed/packed_slices.cuh"

template void spry_cuda_packed_blocks<float, float, 5>(const spryi_run_args *args);
template void spry_cuda_packed_blocks<double, double, 5>(const spryi_run_args *args);
