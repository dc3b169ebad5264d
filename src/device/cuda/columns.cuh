/*
 * Columns of x and y for kernels that multiply a matrix with multiple columns at a time.
 *
 *     row-major     x_j = c c c c c c c c   a thread has C pieces of W columns of one row of y. Below each column c is
 *                         0 0 1 1 2 2 3 3   its thread, for 4 threads per row (`lanes`), W = 2 and C = 1
 *     column-major  a thread has one row of y and C columns; consecutive threads have consecutive rows
 *
 * A warp reads and writes 32-byte sectors as completely as the layout permits. If there are more columns than one set
 * has (see `sets`), there are multiple sets.
 */
#pragma once

#include "device/cuda/cuda_common.cuh"

template <typename V> struct many_columns {
    const V *x;
    V *y;
    int count;        /* columns */
    int lanes;        /* threads per row; 1 if column-major */
    int sets;         /* number of sets of columns; a set has lanes * W * C columns, or C if column-major */
    uint32_t x_row_bytes; /* from one row of x to the next; plan/run.c checks that strides in bytes fit 32 bits */
    int y_row;            /* elements from one row of y to the next */
    int64_t x_column_stride, y_column_stride; /* strides between columns */
};

/* The template parameters of a kernel: the layout of columns, W and C. */
template <bool BY_ROWS_, int W_, int C_> struct column_shape {
    static const bool BY_ROWS = BY_ROWS_;
    static const int W = W_, C = C_;
};

template <int W, typename V> struct __align__(W * sizeof(V)) column_piece
{
    V of[W];
};

/*
 * The columns of a thread. Piece c starts at column first + c * step. If column-major, x[c] is the address of piece c
 * in row 0 of x. If row-major, x[0] is the address of piece 0 in row 0 of x.
 */
template <typename SHAPE, typename V> struct column_place {
    const V *x[SHAPE::BY_ROWS ? 1 : SHAPE::C];
    int first, step;

    __device__ __forceinline__ column_place(const many_columns<V> &m, int set, int lane)
    {
        if (SHAPE::BY_ROWS) {
            first = (set * SHAPE::C * m.lanes + lane) * SHAPE::W;
            step = m.lanes * SHAPE::W;
            x[0] = m.x + (first < m.count ? first : 0);
        } else {
            first = set * SHAPE::C;
            step = 1;
#pragma unroll
            for (int c = 0; c < SHAPE::C; c++) x[c] = m.x + (int64_t)min(first + c, m.count - 1) * m.x_column_stride;
        }
    }
    /* Returns whether the thread has a piece c. */
    __device__ __forceinline__ bool has(const many_columns<V> &m, int c) const
    {
        return first + c * step < m.count;
    }
    /*
     * Loads row j >= 0 of piece c. Loads without a branch, so that multiple loads are in flight. If has() is false,
     * returns values of the first piece or the last column, which are not used.
     */
    __device__ __forceinline__ column_piece<SHAPE::W, V> load(const many_columns<V> &m, int c, int32_t j) const
    {
        typedef column_piece<SHAPE::W, V> piece;
        if (!SHAPE::BY_ROWS) return *(const piece *)(x[SHAPE::BY_ROWS ? 0 : c] + j);
        const uint64_t row = (uint64_t)(uint32_t)j * m.x_row_bytes; /* one instruction */
        return *(const piece *)((const V *)((const char *)x[0] + row) + (has(m, c) ? c * step : 0));
    }
};

/*
 * Stores the thread's columns of one row of y, by the rules of put(). y: address of the row's element in the thread's
 * first column. SIMPLE: beta is 0 and alpha is not.
 */
template <bool SIMPLE, typename SHAPE, typename V>
static __device__ __forceinline__ void put_columns_at(V *y, const many_columns<V> &m,
                                                      const column_place<SHAPE, V> &place,
                                                      const column_piece<SHAPE::W, V> *sum, V alpha, V beta)
{
    typedef column_piece<SHAPE::W, V> piece;
#pragma unroll
    for (int c = 0; c < SHAPE::C; c++) {
        if (!place.has(m, c)) continue;
        if (!SHAPE::BY_ROWS) {
            put(y, c * m.y_column_stride, sum[c].of[0], alpha, SIMPLE ? V(0) : beta);
            continue;
        }
        V *to = y + c * place.step;
        piece before, result;
        if (!SIMPLE && beta != 0) before = *(const piece *)to;
#pragma unroll
        for (int w = 0; w < SHAPE::W; w++) {
            result.of[w] = !SIMPLE && alpha == 0 ? V(0) : alpha * sum[c].of[w];
            if (!SIMPLE && beta != 0) result.of[w] += beta * before.of[w];
        }
        *(piece *)to = result;
    }
}

/* Stores the thread's columns of row `row` of y. */
template <typename SHAPE, typename V>
static __device__ __forceinline__ void put_columns(const many_columns<V> &m, const column_place<SHAPE, V> &place,
                                                   int64_t row, const column_piece<SHAPE::W, V> *sum, V alpha, V beta)
{
    V *y = m.y + row * m.y_row + place.first * (SHAPE::BY_ROWS ? 1 : m.y_column_stride);
    put_columns_at<false>(y, m, place, sum, alpha, beta);
}

/* Returns the columns of a run. The caller then sets `lanes` and `sets`. */
template <typename V> static inline many_columns<V> columns_of(const spryi_run_args *args)
{
    many_columns<V> m = {};
    m.x = (const V *)args->x;
    m.y = (V *)args->y;
    m.count = (int)args->columns;
    m.x_row_bytes = (uint32_t)((uint64_t)args->x_stride * sizeof(V));
    m.y_row = (int)args->y_stride;
    m.x_column_stride = args->x_column_stride;
    m.y_column_stride = args->y_column_stride;
    return m;
}

/* Returns whether rows of x and y can be accessed in aligned pieces of `width` columns. */
static inline bool columns_fit(const spryi_run_args *args, int width, size_t bytes)
{
    const uintptr_t piece = width * bytes;
    return args->columns % width == 0 && args->x_stride % width == 0 && args->y_stride % width == 0 &&
           (uintptr_t)args->x % piece == 0 && (uintptr_t)args->y % piece == 0;
}
