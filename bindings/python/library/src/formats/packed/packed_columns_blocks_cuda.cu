/* A module of packed_slices_cuda: several columns, lanes that may be rows of blocks. */
#include "formats/packed/packed_columns.cuh"

template void spry_cuda_packed_columns<float, float, 2>(const spryi_run_args *args);
template void spry_cuda_packed_columns<double, double, 2>(const spryi_run_args *args);
template void spry_cuda_packed_columns<float, float, 3>(const spryi_run_args *args);
template void spry_cuda_packed_columns<double, double, 3>(const spryi_run_args *args);
template void spry_cuda_packed_columns<float, float, 4>(const spryi_run_args *args);
template void spry_cuda_packed_columns<double, double, 4>(const spryi_run_args *args);
template void spry_cuda_packed_columns<float, float, 5>(const spryi_run_args *args);
template void spry_cuda_packed_columns<double, double, 5>(const spryi_run_args *args);
