/*
 * to_i = from[permutation_i] + beta*to_i: how plans with an ordering read x and write y.
 *
 * Idea: writes in order, reads by an index. What is read at random is x or t, which fit a large GPU's second-level
 * cache. Writing at random instead takes 1.6 to 2.6 times as long on an H200: sectors there would be known in
 * part alone.
 * Work: an entry a thread; two, four or eight of them were no faster, since the second-level cache is what is busy.
 *       Several vectors go through shared memory, TILE_ROWS entries of TILE_COLUMNS at a time, so that they are read
 *       and written in whole sectors, whether they lie row by row or column by column.
 * Cost: 4 bytes and two numbers an entry, one more where beta is not 0, and of that cache a sector of 32 bytes for each
 * number that is gathered.
 */
#include "device/cuda/cuda_common.cuh"

enum { THREADS = 256, TILE_ROWS = 128, TILE_COLUMNS = 16 };

template <typename V> static __global__ void
map_kernel(V *to, const V *__restrict__ from, const int32_t *__restrict__ permutation, int64_t length, scalar<V> beta)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < length) put(to, i, __ldg(from + load_once(permutation + i)), V(1), beta.get());
}

/* The same of entries that do not lie one behind the other, maybe without a permutation. */
template <typename V> static __global__ void strided_kernel(V *to, const V *__restrict__ from,
                                                            const int32_t *__restrict__ permutation, int64_t length,
                                                            int64_t to_stride, int64_t from_stride, scalar<V> beta)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= length) return;
    const int64_t p = permutation ? load_once(permutation + i) : i;
    put(to, i * to_stride, __ldg(from + p * from_stride), V(1), beta.get());
}

/* Where columns of vectors lie. */
typedef struct strides {
    int64_t row, apart;
} strides;

/* Entry k of a tile's `rows` by `columns`: the ones that lie side by side are of threads side by side. */
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
        tile[row][column] = __ldg(from + (i + row) * from_at.row + (c + column) * from_at.apart);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < rows * many; k += THREADS) {
        place_of(k, rows, many, to_at.row == 1, &row, &column);
        put(to + (c + column) * to_at.apart, (i + row) * to_at.row, tile[row][column], V(1), beta.get());
    }
}

template <typename V> static void start(const spryi_vector_map *m)
{
    const unsigned blocks = (unsigned)ceil_div(m->length, THREADS);
    const scalar<V> beta = m->beta ? scalar_of<V>(m->beta, m->beta_on_device) : scalar<V>();
    const int64_t to_stride = m->to_stride > 1 ? m->to_stride : 1,
                  from_stride = m->from_stride > 1 ? m->from_stride : 1;
    const strides to_at = {to_stride, m->to_apart}, from_at = {from_stride, m->from_apart};
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
    (void)device; /* it is current */
    if (m->length == 0) return SPRY_OK;
    if (m->scaling) return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "vectors are not scaled on a GPU");
    SPRY_BY_TYPE(m->type, V, start<V>(m));
    return launched(err, "vector map");
}
