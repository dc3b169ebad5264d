/* packed's kernels of f32 values where lanes are rows. */
#include "formats/csrk/packed_rows.cuh"

template void spry_cuda_packed_rows<float, false>(const spryi_run_args *args);
