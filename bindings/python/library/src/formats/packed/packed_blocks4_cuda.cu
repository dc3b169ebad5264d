/* A module of packed_slices_cuda: blocks of 4 x 4. */
#include "formats/packed/packed_slices.cuh"

template void spry_cuda_packed_blocks<float, float, 4>(const spryi_run_args *args);
template void spry_cuda_packed_blocks<double, double, 4>(const spryi_run_args *args);
