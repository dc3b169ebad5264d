/* A module of packed_slices_cuda: blocks of 3 x 3. */
#include "formats/packed/packed_slices.cuh"

template void spry_cuda_packed_blocks<float, float, 3>(const spryi_run_args *args);
template void spry_cuda_packed_blocks<double, double, 3>(const spryi_run_args *args);
