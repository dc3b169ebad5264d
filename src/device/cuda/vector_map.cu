/*
 * Computes to_i = from[permutation_i] + beta*to_i. Plans with an ordering read x and write y this way.
 *
 * Idea: elements are written in order and read by index. The vector read at random often fits the L2 cache.
 * Random writes would take 1.6 to 2.6 times as long on an H200, since they write parts of sectors.
 * Work distribution: one element per thread. More elements per thread (2, 4, 8) were not faster, since the L2 cache is
 * the bottleneck.
 * Multiple vectors pass through shared memory in tiles of TILE_ROWS by TILE_COLUMNS, so that row-major and column-major
 * vectors are both read and written in whole sectors.
 * Cost: 4 bytes and two values per element, and a third value if beta is not 0. Each gathered element takes a 32-byte
 * sector of the L2 cache.
 */
#include "device/cuda/cuda_common.cuh"

enum { THREADS = 256, TILE_ROWS = 128, TILE_COLUMNS = 16 };

template <typename V> static __global__ void
map_kernel(V *to, const V *__restrict__ from, const int32_t *__restrict__ permutation, int64_t length, scalar<V> beta)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < length) put(to, i, __ldg(from + load_once(permutation + i)), V(1), beta.get());
}

/* Computes the map for strided vectors, with or without a permutation. */
template <typename V> static __global__ void strided_kernel(V *to, const V *__restrict__ from,
                                                            const int32_t *__restrict__ permutation, int64_t length,
                                                            int64_t to_stride, int64_t from_stride, scalar<V> beta)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= length) return;
    const int64_t p = permutation ? load_once(permutation + i) : i;
    put(to, i * to_stride, __ldg(from + p * from_stride), V(1), beta.get());
}

/* Strides between rows and between columns. */
typedef struct strides {
    int64_t row, column;
} strides;

/* Finds the row and column of element k of a tile. Consecutive threads get elements that are consecutive in memory. */
static __device__ __forceinline__ void place_of(int k, int rows, int columns, bool by_columns, int *row, int *column)
{
    *row = by_columns ? k % rows : k / columns;
    *column = by_columns ? k / rows : k % columns;
}

template <typename V> static __global__ void __launch_bounds__(THREADS)
    columns_kernel(V *to, const V *__restrict__ from, int64_t length, int64_t columns, strides to_at, strides from_at,
                   scalar<V> beta)
{
    __shared__ V tile[TILE_ROWS][TILE_COLUMNS + 1];
    const int64_t i = (int64_t)blockIdx.x * TILE_ROWS, c = (int64_t)blockIdx.y * TILE_COLUMNS;
    const int rows = (int)min((int64_t)TILE_ROWS, length - i), many = (int)min((int64_t)TILE_COLUMNS, columns - c);
    int row, column;
    for (int k = threadIdx.x; k < rows * many; k += THREADS) {
        place_of(k, rows, many, from_at.row == 1, &row, &column);
        tile[row][column] = __ldg(from + (i + row) * from_at.row + (c + column) * from_at.column);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < rows * many; k += THREADS) {
        place_of(k, rows, many, to_at.row == 1, &row, &column);
        put(to + (c + column) * to_at.column, (i + row) * to_at.row, tile[row][column], V(1), beta.get());
    }
}

template <typename V> static void start(const spryi_vector_map *m)
{
    const unsigned blocks = (unsigned)ceil_div(m->length, THREADS);
    const scalar<V> beta = m->beta ? scalar_of<V>(m->beta, m->beta_on_device) : scalar<V>();
    const int64_t to_stride = m->to_stride > 1 ? m->to_stride : 1,
                  from_stride = m->from_stride > 1 ? m->from_stride : 1;
    const strides to_at = {to_stride, m->to_column_stride}, from_at = {from_stride, m->from_column_stride};
    const dim3 tiles((unsigned)ceil_div(m->length, TILE_ROWS), (unsigned)ceil_div(m->columns, TILE_COLUMNS));
    if (m->columns > 1)
        columns_kernel<<<tiles, THREADS, 0, (cudaStream_t)m->stream>>>((V *)m->to, (const V *)m->from, m->length,
                                                                       m->columns, to_at, from_at, beta);
    else if (m->permutation && to_stride == 1 && from_stride == 1)
        map_kernel<<<blocks, THREADS, 0, (cudaStream_t)m->stream>>>((V *)m->to, (const V *)m->from, m->permutation,
                                                                    m->length, beta);
    else
        strided_kernel<<<blocks, THREADS, 0, (cudaStream_t)m->stream>>>((V *)m->to, (const V *)m->from, m->permutation,
                                                                        m->length, to_stride, from_stride, beta);
}

spry_status spry_cuda_map(const spryi_device *device, const spryi_vector_map *m, spry_error *err)
{
    (void)device; /* the device is already current */
    if (m->length == 0) return SPRY_OK;
    if (m->scaling)
        return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "row_scaling and column_scaling need a plan on the CPU");
    SPRY_BY_TYPE(m->type, V, start<V>(m));
    return launched(err, "vector map");
}
