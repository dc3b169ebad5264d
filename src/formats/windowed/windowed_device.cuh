/* What the steps of the conversion to windowed on the device have in common; see windowed_layout.h for the steps. */
#pragma once

#include "device/cuda/convert.cuh"
#include "device/cuda/reduce.cuh"

extern "C" {
#include "formats/windowed/windowed_layout.h"
}

enum { LANES = SPRYI_WINDOWED_LANES, ROW_LANES = 8 }; /* ROW_LANES threads go through a row together */
static const unsigned FULL_WARP = 0xffffffffu;
static const uint32_t NO_ROW = SPRYI_WINDOWED_NO_ROW;

/* Rows are counted in 30 bits: sort keys hold two more, tables of patterns twice as many. */
static const int64_t MOST_ROWS = (int64_t)1 << 30;

static __device__ __forceinline__ unsigned lanes_before()
{
    return (1u << lane_of_warp()) - 1;
}

/* The matrix, of which no step needs the values but the last. */
template <typename P> struct windowed_csr {
    const P *Ap;
    const int32_t *Aj;
    int64_t rows, cols;
    __device__ int64_t length(int64_t i) const
    {
        return (int64_t)(Ap[i + 1] - Ap[i]);
    }
};

/* Steps 1 to 4. */
struct windowed_order {
    scratch space;    /* of the arrays */
    uint32_t *rows;   /* in order; long rows lie behind the others, rising */
    uint32_t *leader; /* of each row of the matrix, NO_ROW where it is long */
    int64_t count;    /* rows that are not long */
    int64_t of_runs;  /* the first so many are made of runs */
    int64_t long_count, long_nnz, piece_count;
};

/* The order of the rows of c->csr, and run, stride and cells of the storage, whose window is resolved. */
spry_status spry_cuda_windowed_order(spryi_conversion *c, windowed_order *order, spry_error *err);
