/* Launches of packed where lanes may be rows of blocks; a module defines the instances of one size. */
#ifndef SPRYI_PACKED_BLOCKS_CUH
#define SPRYI_PACKED_BLOCKS_CUH

#include "formats/csrk/packed_slices.cuh"

template <typename V, int B> void spry_cuda_packed_blocks(const spryi_run_args *args)
{
    launch_slices<V, false, B>(args);
}

#endif
