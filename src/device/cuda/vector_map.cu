/*
 * Computes to_i = from[permutation_i] + beta*to_i. Plans with an ordering read x and write y this way.
 *
 * Idea: elements are written in order and read by index. The vector read at random often fits the L2 cache.
 * Random writes would take 1.6 to 2.6 times as long on an H200, since they write parts of sectors.
 * Work distribution: one element per thread. More elements per thread (2, 4, 8) were not faster, since the L2 cache is
 * the bottleneck.
 * Multiple vectors pass through shared memory in tiles of TILE elements, so that row-major and column-major vectors are
 * both read and written in whole sectors.
 * Cost: 4 bytes and two values per element, and a third value if beta is not 0. Each gathered element takes a 32-byte
 * sector of the L2 cache.
 */
#include "device/cuda/cuda_common.cuh"

enum { THREADS = 256, TILE_BITS = 11, TILE = 1 << TILE_BITS, TILE_COLUMNS = 16, EACH = TILE / THREADS };

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

/*
 * Finds the row and column of element k of a tile of TILE elements: 2^row_bits rows and 2^column_bits columns.
 * Consecutive k are consecutive in memory.
 */
static __device__ __forceinline__ void place_of(int k, int row_bits, int column_bits, bool by_columns, int *row,
                                                int *column)
{
    *row = by_columns ? k & ((1 << row_bits) - 1) : k >> column_bits;
    *column = by_columns ? k >> row_bits : k & ((1 << column_bits) - 1);
}

template <typename V> static __global__ void __launch_bounds__(THREADS)
    columns_kernel(V *to, const V *__restrict__ from, int64_t length, int64_t columns, int column_bits, strides to_at,
                   strides from_at, scalar<V> beta)
{
    __shared__ V tile[TILE + TILE_COLUMNS]; /* column-major, with one unused element after each column */
    const int row_bits = TILE_BITS - column_bits, pitch = (1 << row_bits) + 1;
    const int64_t i = (int64_t)blockIdx.x << row_bits, c = (int64_t)blockIdx.y << column_bits;
    V own[EACH];
    int row, column;
    wait_for_previous_kernel();
#pragma unroll
    for (int u = 0; u < EACH; u++) {
        place_of(u * THREADS + threadIdx.x, row_bits, column_bits, from_at.row == 1, &row, &column);
        if (i + row < length && c + column < columns)
            own[u] = __ldg(from + (i + row) * from_at.row + (c + column) * from_at.column);
    }
#pragma unroll
    for (int u = 0; u < EACH; u++) {
        place_of(u * THREADS + threadIdx.x, row_bits, column_bits, from_at.row == 1, &row, &column);
        tile[column * pitch + row] = own[u];
    }
    __syncthreads();
#pragma unroll
    for (int u = 0; u < EACH; u++) {
        place_of(u * THREADS + threadIdx.x, row_bits, column_bits, to_at.row == 1, &row, &column);
        if (i + row < length && c + column < columns)
            put(to + (c + column) * to_at.column, (i + row) * to_at.row, tile[column * pitch + row], V(1), beta.get());
    }
}

/*
 * Copies multiple vectors. The number of columns of a tile is the number of vectors rounded up to a power of two, at
 * most TILE_COLUMNS.
 */
template <typename V>
static void start_columns(int device, const spryi_vector_map *m, strides to_at, strides from_at, scalar<V> beta)
{
    int column_bits = 1;
    while (1 << column_bits < TILE_COLUMNS && 1 << column_bits < m->columns) column_bits++;
    cudaLaunchAttribute early = {};
    cudaLaunchConfig_t config =
        early_launch(&early, ceil_div(m->length, TILE >> column_bits), THREADS, 0, m->stream);
    config.gridDim.y = (unsigned)ceil_div(m->columns, 1 << column_bits);
    config.numAttrs = spry_cuda_launches_early(device) ? 1 : 0;
    (void)cudaLaunchKernelEx(&config, columns_kernel<V>, (V *)m->to, (const V *)m->from, m->length, m->columns,
                             column_bits, to_at, from_at, beta);
}

template <typename V> static void start(int device, const spryi_vector_map *m)
{
    const unsigned blocks = (unsigned)ceil_div(m->length, THREADS);
    const scalar<V> beta = m->beta ? scalar_of<V>(m->beta, m->beta_on_device) : scalar<V>();
    const int64_t to_stride = m->to_stride > 1 ? m->to_stride : 1,
                  from_stride = m->from_stride > 1 ? m->from_stride : 1;
    const strides to_at = {to_stride, m->to_column_stride}, from_at = {from_stride, m->from_column_stride};
    if (m->columns > 1)
        start_columns<V>(device, m, to_at, from_at, beta);
    else if (m->permutation && to_stride == 1 && from_stride == 1)
        map_kernel<<<blocks, THREADS, 0, (cudaStream_t)m->stream>>>((V *)m->to, (const V *)m->from, m->permutation,
                                                                    m->length, beta);
    else
        strided_kernel<<<blocks, THREADS, 0, (cudaStream_t)m->stream>>>((V *)m->to, (const V *)m->from, m->permutation,
                                                                        m->length, to_stride, from_stride, beta);
}

spry_status spry_cuda_map(const spryi_device *device, const spryi_vector_map *m, spry_error *err)
{
    if (m->length == 0) return SPRY_OK;
    if (m->scaling)
        return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "row_scaling and column_scaling need a plan on the CPU");
    SPRY_BY_TYPE(m->type, V, start<V>(device->ordinal, m));
    return launched(err, "vector map");
}
