/* kokkos_kernels_cuda: the module kokkos_kernels, compiled with Kokkos's headers for CUDA. */
#include "bench/peers/kokkos_kernels.cpp"
