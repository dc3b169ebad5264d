/* A module of packed_slices_cuda: rows of values that are narrower than vectors. */
#include "formats/packed/packed_rows.cuh"

#define INSTANCE(tag, s, v, c, argument)                                                                               \
    template void spry_cuda_packed_rows<spryi_##s, spryi_##v, false>(const spryi_run_args *args);
SPRYI_MIXED_ROWS(INSTANCE, 0)
