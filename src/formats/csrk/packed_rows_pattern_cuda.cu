/* packed's kernels of patterns, whose lanes are rows. */
#include "formats/csrk/packed_rows.cuh"

template void spry_cuda_packed_rows<float, true>(const spryi_run_args *args);
template void spry_cuda_packed_rows<double, true>(const spryi_run_args *args);
