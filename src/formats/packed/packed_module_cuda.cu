/* Instances of packed_slices_cuda's kernels. cmake/SpryCuda.cmake builds one module for each list in SPRY_INSTANCES. */
#include "formats/packed/packed_columns.cuh"
#include "formats/packed/packed_rows.cuh"

#define ROWS(tag, s, v, c, ones)                                                                                       \
    template void spry_cuda_packed_rows<spryi_##s, spryi_##v, ones>(const spryi_run_args *args);
#define BLOCKS(tag, s, v, c, b)                                                                                        \
    template void spry_cuda_packed_blocks<spryi_##s, spryi_##v, b>(const spryi_run_args *args);
#define COLUMNS(tag, s, v, c, b)                                                                                       \
    template void spry_cuda_packed_columns<spryi_##s, spryi_##v, b>(const spryi_run_args *args);

SPRY_INSTANCES
