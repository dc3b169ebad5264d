/* Shared by the steps of the conversion to windowed on the device. windowed_layout.h lists the steps. */
#pragma once

#include "device/cuda/convert.cuh"
#include "device/cuda/reduce.cuh"

extern "C" {
#include "formats/windowed/windowed_layout.h"
}

enum { LANES = SPRYI_WINDOWED_LANES, ROW_LANES = 8 }; /* ROW_LANES threads read a row together */
static const unsigned FULL_WARP = 0xffffffffu;
static const uint32_t NO_ROW = SPRYI_WINDOWED_NO_ROW;

/*
 * Row indices have at most 30 bits. Sort keys have two more bits. Hash tables of patterns have at least two slots per
 * row.
 */
static const int64_t MOST_ROWS = (int64_t)1 << 30;

static __device__ __forceinline__ unsigned lanes_before()
{
    return (1u << lane_of_warp()) - 1;
}

/* The matrix without values. Only the last step needs values. */
template <typename P> struct windowed_csr {
    const P *Ap;
    const int32_t *Aj;
    int64_t rows, cols;
    __device__ int64_t length(int64_t i) const
    {
        return (int64_t)(Ap[i + 1] - Ap[i]);
    }
};

/* Result of steps 1 to 4. */
struct windowed_order {
    scratch space;    /* holds the arrays */
    uint32_t *rows;   /* rows in their new order; long rows follow, in increasing order */
    uint32_t *leader; /* leader of each row of the matrix; NO_ROW if the row is long */
    int64_t count;    /* rows that are not long */
    int64_t of_runs;  /* number of rows that consist of runs; they come first */
    int64_t long_count, long_nnz, piece_count;
};

/*
 * Computes the order of the rows of c->csr, and run, stride and cells of the storage. The storage's window must be set.
 */
spry_status spry_cuda_windowed_order(spryi_conversion *c, windowed_order *order, spry_error *err);
