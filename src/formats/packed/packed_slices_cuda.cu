/*
 * packed_slices_cuda: packed CSR-k, a warp a slice, a lane a row or block row.
 *
 * Idea: where columns lie on diagonals there are no columns: x is read at the lane's own row plus the slot's distance.
 * Work: by the kind of the slices one of four kernels, see packed_rows.cuh: packed_pairs for up to 5 slots on
 *       diagonals, packed_narrow for up to 8 and where kinds alternate, packed_diagonals for more slots on diagonals
 *       and for block rows, packed_mixed for block rows with indices. Long rows in pieces, a warp each, and a third
 *       launch that adds the pieces up in order; both are left out where there are none.
 * Cost: bytes of packed, x and y. Deterministic.
 * Source: slices of rows: Monakov, Lokhmotov, Avetisyan 2010; super-rows: Lane and Booth 2022 (seed 001); distances,
 *         masks and packed slots: this library.
 *
 * A GPU loads a module whole when one of its kernels is launched for the first time in a process, so the instances of
 * the four kernels stand in modules of their own: rows by value type, patterns, and each size of blocks.
 */
#include "formats/packed/packed_device.cuh"

#include "device/cuda/kernels.h"

enum { SUM_THREADS = 128 };

/* packed_rows_*_cuda.cu: slices whose lanes are rows; ONES: a pattern. */
template <typename V, bool ONES> void spry_cuda_packed_rows(const spryi_run_args *args);
/* packed_blocks*_cuda.cu: slices whose lanes may be rows of blocks of B x B, B > 1. */
template <typename V, int B> void spry_cuda_packed_blocks(const spryi_run_args *args);

/* ---- long rows -------------------------------------------------------------------------------------- */

/* A warp a piece. */
template <typename V, bool ONES> static __global__ void __launch_bounds__(SUM_THREADS)
    packed_pieces(const spryi_packed s, const V *__restrict__ x, V *sums)
{
    const int64_t p = ((int64_t)blockIdx.x * SUM_THREADS + threadIdx.x) / LANES;
    if (p >= s.piece_count) return;
    const int32_t *Aj = (const int32_t *)s.long_columns;
    const V *Ax = (const V *)s.long_values;
    const int64_t end = s.pieces[p + 1];
    V sum = 0;
#pragma unroll 4
    for (int64_t e = s.pieces[p] + threadIdx.x % LANES; e < end; e += LANES)
        sum += (ONES ? V(1) : load_once(Ax + e)) * x[load_once(Aj + e)];
    sum = lanes_sum(sum, LANES);
    if (threadIdx.x % LANES == 0) sums[p] = sum;
}

/* A warp a row; the sums are left zero, as the next run expects them. */
template <typename V> static __global__ void __launch_bounds__(SUM_THREADS)
    packed_long_rows(const spryi_packed s, V *sums, V *y, scalar<V> alpha, scalar<V> beta)
{
    const int64_t n = ((int64_t)blockIdx.x * SUM_THREADS + threadIdx.x) / LANES;
    if (n >= s.long_count) return;
    const int64_t end = s.long_first[n + 1];
    V sum = 0;
    for (int64_t p = s.long_first[n] + threadIdx.x % LANES; p < end; p += LANES) {
        sum += sums[p];
        sums[p] = 0;
    }
    sum = lanes_sum(sum, LANES);
    if (threadIdx.x % LANES == 0) put(y, s.long_rows[n], sum, alpha.get(), beta.get());
}

/* ---- launches --------------------------------------------------------------------------------------- */

static int64_t workspace_bytes(const spryi_prepare_request *request, const void *auxiliary)
{
    (void)auxiliary;
    return ((const spryi_packed *)request->storage)->piece_count * (int64_t)spry_type_bytes(request->vector_type);
}

template <typename V> static void launch_blocks(const spryi_run_args *args)
{
    switch (((const spryi_packed *)args->storage)->block) {
    case 1: spry_cuda_packed_rows<V, false>(args); break;
    case 2: spry_cuda_packed_blocks<V, 2>(args); break;
    case 3: spry_cuda_packed_blocks<V, 3>(args); break;
    case 4: spry_cuda_packed_blocks<V, 4>(args); break;
    default: spry_cuda_packed_blocks<V, SPRYI_PACKED_MOST_BLOCK>(args); break;
    }
}

template <typename V, bool ONES> static void launch(const spryi_run_args *args)
{
    const spryi_packed *s = (const spryi_packed *)args->storage;
    if (ONES)
        spry_cuda_packed_rows<V, ONES>(args); /* patterns have no blocks */
    else
        launch_blocks<V>(args);
    if (s->long_count == 0) return;
    const unsigned piece_blocks = (unsigned)ceil_div(s->piece_count * LANES, SUM_THREADS);
    const unsigned row_blocks = (unsigned)ceil_div(s->long_count * LANES, SUM_THREADS);
    const scalar<V> alpha = SPRY_ALPHA(V, args), beta = SPRY_BETA(V, args);
    V *sums = (V *)args->workspace, *y = (V *)args->y;
    packed_pieces<V, ONES><<<piece_blocks, SUM_THREADS, 0, stream_of(args)>>>(*s, (const V *)args->x, sums);
    packed_long_rows<V><<<row_blocks, SUM_THREADS, 0, stream_of(args)>>>(*s, sums, y, alpha, beta);
}

template <typename V, typename P, typename J> static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const spryi_packed *s = (const spryi_packed *)args->storage;
    if (s->slice_count == 0) return SPRY_OK;
    if (s->a.value_type == SPRY_PATTERN)
        launch<V, true>(args);
    else
        launch<V, false>(args);
    return launched(err, "packed_slices_cuda");
}

static const spryi_run_table runs = SPRY_CUDA_TABLE(run);

const spryi_kernel_functions spry_cuda_packed_slices = {"packed_slices_cuda", &runs, NULL, NULL, NULL, workspace_bytes};
