/* packed's kernels of blocks of 3 x 3. */
#include "formats/csrk/packed_blocks.cuh"

template void spry_cuda_packed_blocks<float, 3>(const spryi_run_args *args);
template void spry_cuda_packed_blocks<double, 3>(const spryi_run_args *args);
