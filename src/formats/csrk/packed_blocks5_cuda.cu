/* packed's kernels of blocks of 5 x 5. */
#include "formats/csrk/packed_blocks.cuh"

template void spry_cuda_packed_blocks<float, 5>(const spryi_run_args *args);
template void spry_cuda_packed_blocks<double, 5>(const spryi_run_args *args);
