/* A module of packed_slices_cuda: blocks of values that are narrower than vectors. */
#include "formats/packed/packed_slices.cuh"

#define INSTANCES(tag, s, v, c, argument)                                                                              \
    template void spry_cuda_packed_blocks<spryi_##s, spryi_##v, 2>(const spryi_run_args *args);                        \
    template void spry_cuda_packed_blocks<spryi_##s, spryi_##v, 3>(const spryi_run_args *args);                        \
    template void spry_cuda_packed_blocks<spryi_##s, spryi_##v, 4>(const spryi_run_args *args);                        \
    template void spry_cuda_packed_blocks<spryi_##s, spryi_##v, 5>(const spryi_run_args *args);
SPRYI_MIXED_ROWS(INSTANCES, 0)
