/*
 * sell_columns, the kernel of sell_chunks_cuda for multiple vectors.
 *
 * Idea: adjacent threads share a row of the matrix. Each of these threads has a piece of 16 bytes of the row of y and
 *       of the rows of x that the row's entries multiply. The threads of a warp have adjacent rows of a chunk, so slots
 *       are read in whole sectors. A thread loads multiple slots at a time. Padding is not read.
 * Work: threads are ordered by row, then by piece. If the vectors need more than 32 threads per row, the next blocks
 *       have the same rows and the remaining vectors.
 * Cost: values and columns of the entries, 4 bytes of length and 2 of permutation per row; X and Y once if reads of
 *       nearby warps hit the caches. Deterministic: the entries of a row are added in the order of its slots, as for a
 *       single vector.
 * Source: Kreutzer and others, A unified sparse matrix data format, 2014; Anzt, Tomov and Dongarra, Accelerating the
 *         LOBPCG method on GPUs using a blocked sparse matrix vector product, 2015.
 */
#include "device/cuda/columns.cuh"
#include "formats/sell/sell_cuda.cuh"

enum { COLUMNS_THREADS = 256, LANES = 32 };

/*
 * slots: number of slots that a thread loads at a time. blocks: minimum number of thread blocks per multiprocessor.
 * Without this bound the compiler uses too few registers, so that loads wait for earlier loads.
 */
template <typename SHAPE, typename V> struct columns_flight {
    static const int slots = SHAPE::C > 3 ? 2 : 4, blocks = sizeof(V) == 8 || SHAPE::C > 3 ? 4 : 5;
};

/*
 * Adds the products of the next N slots to `sum`, and advances Aj and Ax. Consecutive slots are c elements apart. All N
 * slots must exist, so that the loads need no condition and are in flight together.
 */
template <int N, typename SHAPE, typename S, typename V>
static __device__ __forceinline__ void add_slots(column_piece<SHAPE::W, V> (&sum)[SHAPE::C], const int32_t **Aj,
                                                 const S **Ax, int64_t c, const many_columns<V> &m,
                                                 const column_place<SHAPE, V> &place)
{
    int32_t j[N];
    V a[N];
    column_piece<SHAPE::W, V> x[N][SHAPE::C];
#pragma unroll
    for (int u = 0; u < N; u++) j[u] = __ldg(*Aj + u * c);
#pragma unroll
    for (int u = 0; u < N; u++) a[u] = *Ax ? element_kept<V>(*Ax + u * c) : V(1);
#pragma unroll
    for (int u = 0; u < N; u++)
#pragma unroll
        for (int p = 0; p < SHAPE::C; p++) x[u][p] = place.load(m, p, j[u]);
#pragma unroll
    for (int u = 0; u < N; u++)
#pragma unroll
        for (int p = 0; p < SHAPE::C; p++)
#pragma unroll
            for (int w = 0; w < SHAPE::W; w++) sum[p].of[w] += a[u] * x[u][p].of[w];
    *Aj += N * c;
    if (*Ax) *Ax += N * c;
}

template <typename S, typename V, typename SHAPE> static __global__ void
__launch_bounds__(COLUMNS_THREADS, columns_flight<SHAPE, V>::blocks)
    sell_columns(const __grid_constant__ spryi_sell s, const __grid_constant__ many_columns<V> m, scalar<V> alpha,
                 scalar<V> beta)
{
    const int64_t block = blockIdx.x / (unsigned)m.sets;
    const int set = (int)(blockIdx.x % (unsigned)m.sets);
    const int rows = COLUMNS_THREADS / m.lanes, own = (int)threadIdx.x / m.lanes;
    const int64_t l = block * rows + own;
    wait_for_previous_kernel();
    if (own == rows || l >= s.a.rows) return;
    const column_place<SHAPE, V> place(m, set, (int)threadIdx.x % m.lanes);
    const int64_t chunk = s.c == LANES ? l / LANES : l / s.c, at = s.offsets[chunk] + l - chunk * s.c;
    const int32_t *Aj = (const int32_t *)s.columns + at;
    const S *Ax = s.values ? (const S *)s.values + at : NULL;
    column_piece<SHAPE::W, V> sum[SHAPE::C] = {};
    constexpr int N = columns_flight<SHAPE, V>::slots; /* 2 or 4 */
    const int length = s.lengths[l];
#pragma unroll 1
    for (int left = length; left >= N; left -= N) add_slots<N, SHAPE>(sum, &Aj, &Ax, s.c, m, place);
    if (N > 2 && length & 2) add_slots<2, SHAPE>(sum, &Aj, &Ax, s.c, m, place);
    if (length & 1) add_slots<1, SHAPE>(sum, &Aj, &Ax, s.c, m, place);
    put_columns(m, place, row_of(s, l), sum, alpha.get(), beta.get());
}

template <typename S, typename V, typename SHAPE> static void launch(const spryi_run_args *args)
{
    const spryi_sell *s = (const spryi_sell *)args->storage;
    many_columns<V> m = columns_of<V>(args);
    const int64_t threads = ceil_div(m.count, SHAPE::W * SHAPE::C);
    m.sets = (int)ceil_div(threads, LANES);
    m.lanes = (int)ceil_div(threads, m.sets);
    launch_early(args, sell_columns<S, V, SHAPE>, ceil_div(s->a.rows, COLUMNS_THREADS / m.lanes) * m.sets,
                 COLUMNS_THREADS, 0, *s, m, SPRY_ALPHA(V, args), SPRY_BETA(V, args));
}

/*
 * Uses loads of 16 bytes, or of two elements, if all rows of x and y are aligned for them. A thread has more loads if
 * there are many vectors.
 */
template <typename S, typename V> void spry_cuda_sell_columns(const spryi_run_args *args)
{
    constexpr int WIDE = 16 / (int)sizeof(V);
    if (columns_fit(args, WIDE, sizeof(V))) {
        if (args->columns >= 16 * WIDE)
            launch<S, V, column_shape<true, WIDE, 4>>(args);
        else if (args->columns >= 4 * WIDE)
            launch<S, V, column_shape<true, WIDE, 2>>(args);
        else
            launch<S, V, column_shape<true, WIDE, 1>>(args);
    } else if (WIDE > 2 && columns_fit(args, 2, sizeof(V))) {
        launch<S, V, column_shape<true, 2, 2>>(args);
    } else {
        launch<S, V, column_shape<true, 1, 3>>(args);
    }
}

#define INSTANCES(tag, s, v, c, argument)                                                                              \
    template void spry_cuda_sell_columns<spryi_##s, spryi_##v>(const spryi_run_args *args);
SPRYI_PLAIN_ROWS(INSTANCES, 0)
SPRYI_MIXED_ROWS(INSTANCES, 0)
