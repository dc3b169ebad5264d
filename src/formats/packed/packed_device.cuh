/* Loads of a slice's record and masks, for all CUDA kernels of packed. */
#pragma once

#include "device/cuda/reduce.cuh"

extern "C" {
#include "formats/packed/packed.h"
}

enum { LANES = SPRYI_PACKED_LANES, UNITS = 132 /* multiprocessors of an H200, for which launches are sized */ };
/*
 * Launch shape of kernels that copy a table of values to shared memory: threads per block, blocks per multiprocessor.
 * These kernels launch one wave of blocks, so that a block copies the table only once. Measured on an H200.
 */
static const int TABLE_THREADS = 512, TABLE_BLOCKS = 2;
static const unsigned ALL = 0xffffffffu; /* mask of all lanes, or of all slots */

static __device__ __forceinline__ spryi_packed_slice load_slice(const spryi_packed_slice *p)
{
    const uint4 v = __ldg((const uint4 *)p);
    spryi_packed_slice slice;
    slice.values = v.x;
    slice.indices = v.y;
    slice.row = v.z;
    slice.info = v.w;
    return slice;
}

/* Returns the slots of a lane, one bit each. */
static __device__ __forceinline__ unsigned load_mask(const uint8_t *masks, int width, int lane)
{
    if (width <= 8) return __ldg(masks + lane);
    if (width <= 16) return __ldg((const uint16_t *)masks + lane);
    return __ldg((const unsigned *)masks + lane);
}
