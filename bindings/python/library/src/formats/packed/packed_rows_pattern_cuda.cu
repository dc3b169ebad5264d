/* A module of packed_slices_cuda: rows of patterns. */
#include "formats/packed/packed_rows.cuh"

template void spry_cuda_packed_rows<float, float, true>(const spryi_run_args *args);
template void spry_cuda_packed_rows<double, double, true>(const spryi_run_args *args);
