/*
 * Parts shared by bsr's CUDA kernels. The values of a block row are contiguous columns of r values. These columns are
 * assigned to lanes. Index q counts them: q is column q % r of block q / r. A lane needs one column index and one
 * element of x for a column.
 *
 *     lanes 0 1 2 3   0 1 2 3 ...        a block row has a group of 4 to 32 lanes, depending on the mean length
 *     q     0 1 2 3   4 5 6 7 ...
 *
 * Block rows of more than BSR_LONG columns per lane are cut into pieces. A thread block runs one piece.
 */
#pragma once

#include "device/cuda/cuda_common.cuh"

extern "C" {
#include "formats/bsr/bsr.h"
}

enum {
    BSR_THREADS = 256,
    BSR_LONG = 64,               /* most columns of a lane; longer block rows are cut */
    BSR_PIECE = 8 * BSR_THREADS, /* most columns of a piece of a longer block row */
    BSR_PANEL = 64, /* most vectors per launch; a row of a piece has this number of sums in the workspace */
    BSR_ANY = SPRYI_BSR_MOST_BLOCK,   /* template parameter R for block sizes 9 to 16 */
    BSR_OWN = SPRYI_BSR_MOST_DETECTED /* largest size with its own code */
};

/* Number of columns that a lane loads at a time. They have about eight values in total. */
template <int R> struct bsr_shape {
    static const int steps = R == 1 ? 8 : R == 2 ? 4 : R == 3 ? 3 : R <= 5 ? 2 : 1;
};

typedef struct bsr_piece {
    int64_t row;         /* block row */
    uint32_t begin, end; /* columns, counted from the first column of the block row */
    int64_t long_row;    /* index in long_rows */
} bsr_piece;

typedef struct bsr_long_row {
    int64_t first, pieces; /* the pieces of the row are first .. first + pieces - 1 */
} bsr_long_row;

/* Data that prepare builds. Pointers are device addresses. */
typedef struct bsr_splits {
    int lanes; /* lanes per block row: a power of two, at least the rows of a block */
    int64_t long_count, piece_count;
    bsr_piece *pieces;
    bsr_long_row *long_rows;
} bsr_splits;

/* The storage as passed to kernels. */
typedef struct bsr_view {
    const void *offsets, *values;
    const int32_t *columns;
    const void *masks; /* NULL: no fill */
    int64_t block_rows, rows, cols;
    int block, wide; /* wide: 64-bit offsets */
} bsr_view;

static inline bsr_view view_of(const spryi_bsr *s)
{
    bsr_view v = {};
    v.offsets = s->offsets;
    v.values = s->values;
    v.columns = (const int32_t *)s->columns;
    v.masks = spryi_bsr_masks(s);
    v.block_rows = s->head.block_rows;
    v.rows = s->head.rows;
    v.cols = s->head.cols;
    v.block = (int)s->head.block;
    v.wide = s->head.offset_type == SPRY_I64;
    return v;
}

/* One block row, from its first block on. */
template <typename S> struct bsr_row {
    const int32_t *columns;
    const S *values;
    const uint8_t *masks; /* uint16_t for blocks of BSR_ANY; NULL: no fill */
    unsigned count;       /* columns: r times the number of blocks */
};

static __device__ __forceinline__ int64_t offset_at(const bsr_view &s, int64_t I)
{
    return s.wide ? __ldg((const long long *)s.offsets + I) : (int64_t)__ldg((const int32_t *)s.offsets + I);
}

/* Returns the number of rows of a block: a constant, unless R is BSR_ANY. */
template <int R> static __device__ __forceinline__ int rows_of(const bsr_view &s)
{
    return R <= BSR_OWN ? R : s.block;
}

template <int R, typename S> static __device__ __forceinline__ bsr_row<S> row_of(const bsr_view &s, int64_t I)
{
    const int64_t r = rows_of<R>(s), begin = offset_at(s, I);
    bsr_row<S> row;
    row.columns = s.columns + begin;
    row.values = (const S *)s.values + begin * r * r;
    row.masks = s.masks ? (const uint8_t *)s.masks + begin * r * (R <= BSR_OWN ? 1 : 2) : NULL;
    row.count = (unsigned)((offset_at(s, I + 1) - begin) * r);
    return row;
}

template <int R, typename S> static __device__ __forceinline__ unsigned mask_at(const bsr_row<S> &a, unsigned q)
{
    return R <= BSR_OWN ? a.masks[q] : ((const uint16_t *)a.masks)[q];
}

/*
 * These functions load values through the first-level cache, where adjacent lanes share cache lines. Lines with values
 * are the first to be evicted.
 */
static __device__ __forceinline__ void stream(const float *p, float *a)
{
    asm("ld.global.nc.L1::evict_first.f32 %0, [%1];" : "=f"(*a) : "l"(p));
}
static __device__ __forceinline__ void stream(const double *p, double *a)
{
    asm("ld.global.nc.L1::evict_first.f64 %0, [%1];" : "=d"(*a) : "l"(p));
}
static __device__ __forceinline__ void stream_two(const float *p, float *a)
{
    asm("ld.global.nc.L1::evict_first.v2.f32 {%0, %1}, [%2];" : "=f"(a[0]), "=f"(a[1]) : "l"(p));
}
static __device__ __forceinline__ void stream_two(const double *p, double *a)
{
    asm("ld.global.nc.L1::evict_first.v2.f64 {%0, %1}, [%2];" : "=d"(a[0]), "=d"(a[1]) : "l"(p));
}
static __device__ __forceinline__ void stream_four(const float *p, float *a)
{
    asm("ld.global.nc.L1::evict_first.v4.f32 {%0, %1, %2, %3}, [%4];"
        : "=f"(a[0]), "=f"(a[1]), "=f"(a[2]), "=f"(a[3])
        : "l"(p));
}
static __device__ __forceinline__ void stream_four(const double *p, double *a)
{
    stream_two(p, a);
    stream_two(p + 2, a + 2);
}

/* The same loads for stored types narrower than the vectors'. */
static __device__ __forceinline__ void stream(const float *p, double *a)
{
    float v;
    stream(p, &v);
    *a = (double)v;
}
static __device__ __forceinline__ void stream_two(const float *p, double *a)
{
    float v[2];
    stream_two(p, v);
    a[0] = (double)v[0], a[1] = (double)v[1];
}
static __device__ __forceinline__ void stream_four(const float *p, double *a)
{
    float v[4];
    stream_four(p, v);
#pragma unroll
    for (int i = 0; i < 4; i++) a[i] = (double)v[i];
}
template <typename S> static __device__ __forceinline__ void widen_two(unsigned both, float *a)
{
    const S low = {(uint16_t)(both & 0xffff)}, high = {(uint16_t)(both >> 16)};
    a[0] = widened(low), a[1] = widened(high);
}
template <typename S> static __device__ __forceinline__ void stream(const S *p, float *a)
{
    S v;
    asm("ld.global.nc.L1::evict_first.u16 %0, [%1];" : "=h"(v.bits) : "l"(p));
    *a = widened(v);
}
template <typename S> static __device__ __forceinline__ void stream_two(const S *p, float *a)
{
    unsigned v;
    asm("ld.global.nc.L1::evict_first.u32 %0, [%1];" : "=r"(v) : "l"(p));
    widen_two<S>(v, a);
}
template <typename S> static __device__ __forceinline__ void stream_four(const S *p, float *a)
{
    unsigned v[2];
    asm("ld.global.nc.L1::evict_first.v2.u32 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "l"(p));
    widen_two<S>(v[0], a);
    widen_two<S>(v[1], a + 2);
}

/* Loads the r values of a column. A column is aligned to the largest power of two that divides R values. */
template <int R, typename S, typename V> static __device__ __forceinline__ void load_column(const S *p, int r, V *a)
{
    if (R > BSR_OWN) {
#pragma unroll
        for (int i = 0; i < R; i++)
            if (i < r) stream(p + i, a + i);
    } else if (R % 4 == 0) {
#pragma unroll
        for (int i = 0; i < R; i += 4) stream_four(p + i, a + i);
    } else if (R % 2 == 0) {
#pragma unroll
        for (int i = 0; i < R; i += 2) stream_two(p + i, a + i);
    } else {
#pragma unroll
        for (int i = 0; i < R; i++) stream(p + i, a + i);
    }
}

/* Returns the column of A at index q of a block row. Results of cols or more are past the edge. */
template <int R, typename S>
static __device__ __forceinline__ int64_t column_at(const bsr_row<S> &a, unsigned r, unsigned q)
{
    const unsigned b = q / r;
    return (int64_t)((unsigned)__ldg(a.columns + b) * r + (q - b * r));
}

/*
 * Loads up to U columns of a lane: q, q + step, ... below end. Sets at[u] to the index of a column in the block row,
 * v[u] to its values, and j[u] to its column of A. All loads are issued together. Instead of a column past the end,
 * column q is loaded again.
 */
template <int R, int U, typename S, typename V>
static __device__ __forceinline__ void load_columns(const bsr_row<S> &a, unsigned r, unsigned q, unsigned end,
                                                    unsigned step, unsigned (&at)[U], V (&v)[U][R], int64_t (&j)[U])
{
#pragma unroll
    for (int u = 0; u < U; u++) at[u] = q + u * step < end ? q + u * step : q;
#pragma unroll
    for (int u = 0; u < U; u++) load_column<R>(a.values + (int64_t)at[u] * r, (int)r, v[u]);
#pragma unroll
    for (int u = 0; u < U; u++) j[u] = column_at<R>(a, r, at[u]);
}

/*
 * Returns the arrival counters of the long block rows. In the workspace they follow the sums of the pieces. They are
 * zero between runs.
 */
static inline unsigned *bsr_arrivals(const bsr_splits *c, int64_t block, void *workspace)
{
    return c->long_count > 0 ? (unsigned *)((char *)workspace + c->piece_count * block * BSR_PANEL * 8) : NULL;
}

/* Multiplies multiple vectors, stored row-major; in bsr_columns_cuda.cu. */
template <typename S, typename V> void spry_cuda_bsr_columns(const spryi_run_args *args);

/* Prepare and discard for both kernels. *auxiliary is a bsr_splits on the host. */
spry_status spry_cuda_bsr_prepare(const spryi_prepare_request *request, void **auxiliary, int64_t *bytes,
                                  spry_error *err);
void spry_cuda_bsr_discard(const spryi_device *device, void *auxiliary);

/* Calls f<R>(...) with the template size R for blocks of size `block`. */
#define SPRY_BSR_DISPATCH(block, f, ...)                                                                               \
    ((block) == 1   ? f<1>(__VA_ARGS__)                                                                                \
     : (block) == 2 ? f<2>(__VA_ARGS__)                                                                                \
     : (block) == 3 ? f<3>(__VA_ARGS__)                                                                                \
     : (block) == 4 ? f<4>(__VA_ARGS__)                                                                                \
     : (block) == 5 ? f<5>(__VA_ARGS__)                                                                                \
     : (block) == 6 ? f<6>(__VA_ARGS__)                                                                                \
     : (block) == 7 ? f<7>(__VA_ARGS__)                                                                                \
     : (block) == 8 ? f<8>(__VA_ARGS__)                                                                                \
                    : f<BSR_ANY>(__VA_ARGS__))
