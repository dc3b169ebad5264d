/*
 * bsr_blocks_cuda: BSR, a group of lanes for each block row.
 *
 * Idea: adjacent lanes have adjacent columns of a block row's blocks. A lane loads the r values of its column, two or
 *       four at a time if r is even, and one element of x. It keeps r sums. Shuffles add the sums of the lanes, and r
 *       lanes write the rows of y.
 * Work: 4 to 32 lanes for each block row, depending on the mean length, 256 threads per thread block. Block rows with
 *       over 64 columns per lane are cut into pieces of at most 2048 columns. A thread block multiplies one piece.
 *       Pieces start first. The thread block that finishes last adds the sums of all pieces of the block row in order.
 *       Block sizes 1 to 8 have their own code; sizes 9 to 16 share one instance.
 * Cost: bytes of BSR without the masks. A lane loads one column index and one element of x for r values. Fill is
 *       multiplied, since 0 times a finite number changes nothing. If a sum is NaN, the block row is summed again with
 *       the masks in the same order. Deterministic. Block rows of very different lengths in one warp cause imbalance.
 * Source: Buatois, Caumon and Levy, Concurrent number cruncher, 2009 (BCRS on GPUs). One lane for each column of a
 *         block, with one load of x, and the pieces: this library.
 */
#include "device/cuda/reduce.cuh"
#include "formats/bsr/bsr_cuda.cuh"

/*
 * Adds the products of row i to sum[i], for columns first, first + step, ... below end. Loads past the end repeat a
 * column and are not added. MASKED: adds only entries, in the same order.
 */
template <int MASKED, int R, typename S, typename V>
static __device__ __forceinline__ void add_columns(const bsr_view &s, const bsr_row<S> &a, unsigned first, unsigned end,
                                                   unsigned step, const V *__restrict__ x, V (&sum)[R])
{
    constexpr int U = MASKED ? 1 : bsr_shape<R>::steps;
    const unsigned r = (unsigned)rows_of<R>(s);
    for (unsigned q = first; q < end; q += U * step) {
        V v[U][R], of_x[U];
        unsigned at[U];
        int64_t j[U];
        load_columns<R, U>(a, r, q, end, step, at, v, j);
#pragma unroll
        for (int u = 0; u < U; u++) of_x[u] = __ldg(x + (j[u] < s.cols ? j[u] : 0));
#pragma unroll
        for (int u = 0; u < U; u++) {
            if (q + u * step >= end) continue;
            const V factor = j[u] < s.cols ? of_x[u] : V(0);
            const unsigned mask = MASKED ? mask_at<R>(a, at[u]) : 0;
#pragma unroll
            for (int i = 0; i < R; i++)
                if ((R <= BSR_OWN || i < (int)r) && (!MASKED || (mask >> i & 1))) sum[i] = fma(v[u][i], factor, sum[i]);
        }
    }
}

/*
 * Adds the sums of a group's lanes. Returns the sum of row i of the block row in lane i of the group, and 0 in the
 * other lanes. Called by the whole warp.
 */
template <int R, typename V> static __device__ __forceinline__ V sum_of_group(V (&sum)[R], int lane, int lanes)
{
    for (int step = lanes / 2; step > 0; step /= 2)
#pragma unroll
        for (int i = 0; i < R; i++) sum[i] += __shfl_xor_sync(0xffffffffu, sum[i], step);
    V mine = 0;
#pragma unroll
    for (int i = 0; i < R; i++)
        if (lane == i) mine = sum[i];
    return mine;
}

/*
 * Adds the sums of all threads. Returns the sum of row i of the block row in thread i, and 0 in the other threads.
 * scratch may be reused after the call. Called by the whole block.
 */
template <int R, typename V> static __device__ V sum_of_threads(V (&sum)[R], V *scratch)
{
    const int warp = threadIdx.x / 32;
#pragma unroll
    for (int i = 0; i < R; i++) {
        const V of_warp = lanes_sum(sum[i], 32);
        if (threadIdx.x % 32 == 0) scratch[warp * R + i] = of_warp;
    }
    __syncthreads();
    V mine = 0;
    if (threadIdx.x < R)
        for (int w = 0; w < BSR_THREADS / 32; w++) mine += scratch[w * R + threadIdx.x];
    __syncthreads();
    return mine;
}

/* Adds the sums of a block row's pieces. Returns the sum of row i in thread i. Called by the whole block. */
template <typename V> static __device__ V sum_of_pieces(const V *partial, int64_t pieces, int r, V *scratch)
{
    const int slots = BSR_THREADS / r, slot = threadIdx.x / r;
    V own = 0;
    if (slot < slots)
        for (int64_t p = slot; p < pieces; p += slots) own += __ldcg(partial + p * r + threadIdx.x % r);
    scratch[threadIdx.x] = own;
    __syncthreads();
    for (int n = slots; n > 1;) {
        const int half = (n + 1) / 2;
        if (slot + half < n) scratch[threadIdx.x] += scratch[threadIdx.x + half * r];
        __syncthreads();
        n = half;
    }
    return scratch[threadIdx.x];
}

/* Multiplies one piece of a long block row. Called by the whole block. */
template <int R, typename S, typename V> static __device__ void run_piece(const bsr_view &s, const bsr_splits &c,
                                                                          int64_t p, const V *x, V *y, V alpha, V beta,
                                                                          V *partial, unsigned *arrived)
{
    __shared__ V scratch[BSR_THREADS];
    __shared__ int is_last;
    const int r = rows_of<R>(s);
    const bsr_piece piece = c.pieces[p];
    const bsr_long_row whole = c.long_rows[piece.long_row];
    const bsr_row<S> a = row_of<R, S>(s, piece.row);
    V sum[R] = {};
    add_columns<0, R>(s, a, piece.begin + threadIdx.x, piece.end, BSR_THREADS, x, sum);
    V mine = sum_of_threads<R>(sum, scratch);
    if (a.masks && __syncthreads_or(isnan(mine))) {
        V again[R] = {};
        add_columns<1, R>(s, a, piece.begin + threadIdx.x, piece.end, BSR_THREADS, x, again);
        const V by_masks = sum_of_threads<R>(again, scratch);
        if (isnan(mine)) mine = by_masks;
    }
    if ((int)threadIdx.x < r) {
        partial[p * r + threadIdx.x] = mine;
        __threadfence(); /* other blocks must see the sums before the arrival */
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        is_last = atomicAdd(arrived + piece.long_row, 1u) == (unsigned)whole.pieces - 1;
        if (is_last) arrived[piece.long_row] = 0; /* the next run expects zero */
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    const V total = sum_of_pieces(partial + whole.first * r, whole.pieces, r, scratch);
    const int64_t i = piece.row * r + threadIdx.x;
    if ((int)threadIdx.x < r && i < s.rows) put(y, i, total, alpha, beta);
}

template <int R, typename S, typename V> static __global__ void __launch_bounds__(BSR_THREADS, R <= 4 ? 4 : 2)
    bsr_blocks(const bsr_view s, const bsr_splits c, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha,
               scalar<V> beta, V *partial, unsigned *arrived)
{
    wait_for_previous_kernel();
    if ((int64_t)blockIdx.x < c.piece_count) { /* pieces take longest, so they start first */
        run_piece<R, S>(s, c, blockIdx.x, x, y, alpha.get(), beta.get(), partial, arrived);
        return;
    }
    const int lane = (int)threadIdx.x & (c.lanes - 1), r = rows_of<R>(s);
    const int64_t I = ((int64_t)blockIdx.x - c.piece_count) * (BSR_THREADS / c.lanes) + threadIdx.x / c.lanes;
    bsr_row<S> a = {};
    int writes = lane < r && I * r + lane < s.rows;
    if (I < s.block_rows) a = row_of<R, S>(s, I);
    if (a.count > (unsigned)(BSR_LONG * c.lanes)) a.count = writes = 0; /* multiplied as pieces */
    V sum[R] = {};
    add_columns<0, R>(s, a, lane, a.count, c.lanes, x, sum);
    V mine = sum_of_group<R>(sum, lane, c.lanes);
    if (s.masks && __any_sync(0xffffffffu, isnan(mine))) {
        V again[R] = {};
        add_columns<1, R>(s, a, lane, a.count, c.lanes, x, again);
        const V by_masks = sum_of_group<R>(again, lane, c.lanes);
        if (isnan(mine)) mine = by_masks;
    }
    if (writes) put(y, I * r + lane, mine, alpha.get(), beta.get());
}

static int64_t workspace_bytes(const spryi_prepare_request *request, const void *auxiliary)
{
    const bsr_splits *c = (const bsr_splits *)auxiliary;
    const int64_t block = ((const spryi_bsr *)request->storage)->head.block;
    return c->long_count > 0 ? (c->piece_count * block * BSR_PANEL * 8) + c->long_count * 4 : 0;
}

template <typename S, typename V> struct blocks_launch {
    template <int R> static void of(const bsr_view &s, const bsr_splits *c, const spryi_run_args *args)
    {
        const int64_t blocks = c->piece_count + ceil_div(s.block_rows, BSR_THREADS / c->lanes);
        launch_early(args, bsr_blocks<R, S, V>, blocks, BSR_THREADS, 0, s, *c, (const V *)args->x, (V *)args->y,
                     SPRY_ALPHA(V, args), SPRY_BETA(V, args), (V *)args->workspace,
                     bsr_arrivals(c, s.block, args->workspace));
    }
};

template <typename S, typename V> void spry_cuda_bsr_launch(const spryi_run_args *args)
{
    const bsr_view s = view_of((const spryi_bsr *)args->storage);
    typedef blocks_launch<S, V> launch;
    SPRY_BSR_DISPATCH(s.block, launch::template of, s, (const bsr_splits *)args->auxiliary, args);
}
#define INSTANCE(tag, s, v, c, unused)                                                                                 \
    SPRY_CUDA_SELDOM template void spry_cuda_bsr_launch<spryi_##s, spryi_##v>(const spryi_run_args *);
SPRYI_MIXED_ROWS(INSTANCE, 0)
#ifndef SPRY_SELDOM_MODULE

template <typename S, typename V, typename P, typename J>
static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const bsr_view s = view_of((const spryi_bsr *)args->storage);
    if (s.rows == 0) return SPRY_OK;
    if (args->columns > 1) {
        spry_cuda_bsr_columns<S, V>(args);
        return launched(err, "bsr_blocks_cuda: multiple vectors");
    }
    spry_cuda_bsr_launch<S, V>(args);
    return launched(err, "bsr_blocks_cuda");
}

static const spryi_run_table runs = SPRY_CUDA_MIXED_TABLE(run);

const spryi_kernel_functions spry_cuda_bsr_blocks =
    {"bsr_blocks_cuda",     &runs,           NULL, spry_cuda_bsr_prepare,
     spry_cuda_bsr_discard, workspace_bytes, NULL, SPRYI_OP_SPMV};
#endif
