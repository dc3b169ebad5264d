/* A module of packed_slices_cuda: several columns, lanes that are rows. */
#include "formats/packed/packed_columns.cuh"

template void spry_cuda_packed_columns<float, float, 1>(const spryi_run_args *args);
template void spry_cuda_packed_columns<double, double, 1>(const spryi_run_args *args);
