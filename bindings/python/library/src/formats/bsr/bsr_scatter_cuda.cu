/*
 * bsr_scatter_cuda: y = alpha*A^T*x + beta*y from BSR, by atomics.
 *
 * Idea: a lane has a column of a block, as in bsr_blocks_cuda, and the block row's r values of x in registers; it
 *       adds up the column's r products and makes one atomic addition of them, to sums in the workspace; a second
 *       launch makes y of the sums, so that alpha and beta follow the rules everywhere, and leaves zeros for the next.
 * Work: lanes, long block rows and sizes as in bsr_blocks_cuda.
 * Cost: bytes of BSR, an atomic addition for r values, three passes over a vector as long as y; the masks where one of
 *       the block row's x is not finite, since 0 times that must not reach y. Not deterministic: additions come in any
 *       order.
 * Source: additions by atomics: the COO kernel of Evtushenko 2019; this library.
 */
#include "device/cuda/sums.cuh"
#include "formats/bsr/bsr_cuda.cuh"

#include "device/cuda/kernels.h"

/* Columns first, first + step, ... below end of a block row. MASKED: entries only. */
template <int MASKED, int R, typename V> static __device__ __forceinline__ void
scatter(const bsr_view &s, const bsr_row<V> &a, unsigned first, unsigned end, unsigned step, const V (&x)[R], V *sums)
{
    constexpr int U = MASKED ? 1 : bsr_shape<R>::steps;
    const unsigned r = (unsigned)rows_of<R>(s);
    for (unsigned q = first; q < end; q += U * step) {
        V v[U][R];
        int64_t j[U];
        unsigned at[U];
        load_columns<R, U>(a, r, q, end, step, at, v, j);
#pragma unroll
        for (int u = 0; u < U; u++) {
            if (q + u * step >= end || j[u] >= s.cols) continue;
            const unsigned mask = MASKED ? mask_at<R>(a, at[u]) : 0;
            V sum = 0;
#pragma unroll
            for (int i = 0; i < R; i++)
                if ((R <= BSR_OWN || i < (int)r) && (!MASKED || (mask >> i & 1))) sum = fma(v[u][i], x[i], sum);
            atomicAdd(sums + j[u], sum);
        }
    }
}

template <int R, typename V> static __global__ void __launch_bounds__(BSR_THREADS, R <= 4 ? 4 : 2)
    bsr_scatter(const bsr_view s, const bsr_splits c, const V *__restrict__ x, V *sums)
{
    const int r = rows_of<R>(s), in_pieces = (int64_t)blockIdx.x < c.piece_count;
    const int lanes = in_pieces ? BSR_THREADS : c.lanes;
    int64_t I = ((int64_t)blockIdx.x - c.piece_count) * (BSR_THREADS / lanes) + threadIdx.x / lanes;
    unsigned first = threadIdx.x & (lanes - 1), end = ~0u;
    if (in_pieces) {
        const bsr_piece piece = c.pieces[blockIdx.x];
        I = piece.row;
        first += piece.begin;
        end = piece.end;
    }
    if (I >= s.block_rows) return;
    const bsr_row<V> a = row_of<R, V>(s, I);
    if (!in_pieces) {
        if (a.count > (unsigned)(BSR_LONG * lanes)) return; /* in pieces */
        end = a.count;
    }
    V of_x[R];
    int finite = 1;
#pragma unroll
    for (int i = 0; i < R; i++) {
        of_x[i] = i < r && I * r + i < s.rows ? __ldg(x + I * r + i) : V(0);
        finite &= isfinite(of_x[i]);
    }
    if (finite || !a.masks)
        scatter<0, R>(s, a, first, end, lanes, of_x, sums);
    else
        scatter<1, R>(s, a, first, end, lanes, of_x, sums);
}

static int64_t workspace_bytes(const spryi_prepare_request *request, const void *auxiliary)
{
    (void)auxiliary;
    return ((const spryi_bsr *)request->storage)->head.cols * (int64_t)spry_type_bytes(request->vector_type);
}

template <typename V> struct scatter_launch {
    template <int R> static void of(const bsr_view &s, const bsr_splits *c, const spryi_run_args *args)
    {
        const int64_t blocks = c->piece_count + ceil_div(s.block_rows, BSR_THREADS / c->lanes);
        bsr_scatter<R, V>
            <<<(unsigned)blocks, BSR_THREADS, 0, stream_of(args)>>>(s, *c, (const V *)args->x, (V *)args->workspace);
    }
};

template <typename V, typename P, typename J> static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const bsr_view s = view_of((const spryi_bsr *)args->storage);
    if (s.cols == 0) return SPRY_OK;
    if (s.rows > 0)
        SPRY_BSR_DISPATCH(s.block, scatter_launch<V>::template of, s, (const bsr_splits *)args->auxiliary, args);
    launch_take_sums(s.cols, (V *)args->workspace, args);
    return launched(err, "bsr_scatter_cuda");
}

static const spryi_run_table runs = SPRY_CUDA_TABLE(run);

const spryi_kernel_functions spry_cuda_bsr_scatter =
    {"bsr_scatter_cuda", NULL, &runs, spry_cuda_bsr_prepare, spry_cuda_bsr_discard, workspace_bytes};
