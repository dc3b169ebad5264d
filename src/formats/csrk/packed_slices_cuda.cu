/*
 * packed_slices_cuda: packed CSR-k, a lane a row or block row.
 *
 * Idea: a slice's record of 16 bytes tells where everything is, so that values are asked for before anything else is
 *       known. Where the slice is stepped, lane d holds the d-th distance, and x is read at the lane's own place plus
 *       the distance: there are no columns. Two neighbouring slices of one list are added up together, so that
 *       distances, addresses and branches are those of one. Lanes that lack an entry load the padding beside it, but
 *       no x; where too many lack one it is packed, and a lane counts by the slot's mask how many come before it.
 * Work: where all slices are stepped, lanes are rows and slices have up to 5 slots, a warp takes eight, two together,
 *       and asks for masks and distances a step ahead (packed_steps.cuh); with more, up to 8, and where kinds of slices
 *       alternate, a warp takes one, three or, of wide ones, eight (packed_narrow.cuh); other stepped ones in blocks
 *       of two warps, a warp two slices (block rows: one), 7 slots in flight; else, of blocks, blocks of eight warps
 *       that take four slices each, the next record on its way (packed_slices.cuh). Long rows in pieces, a warp each,
 *       and a third launch that adds the pieces up in order; both are left out where there are none.
 * Cost: bytes of packed, x and y. Deterministic.
 * Source: slices of rows: Monakov, Lokhmotov, Avetisyan 2010; super-rows: Lane and Booth 2022 (seed 001); distances,
 *         masks and packed slots: this library.
 */
#include "cuda/reduce.cuh"
#include "formats/csrk/packed_launch.cuh"

extern "C" {
#include "formats/csrk/packed.h"
}
#include "cuda/kernels.h"

enum { LANES = 32, SUM_THREADS = 128 };

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

static int64_t workspace_bytes(const spryi_cuda_prepare *request, const void *auxiliary)
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
    V *sums = (V *)args->workspace;
    if (ONES)
        spry_cuda_packed_rows<V, ONES>(args); /* patterns have no blocks */
    else
        launch_blocks<V>(args);
    if (s->long_count == 0) return;
    packed_pieces<V, ONES>
        <<<(unsigned)ceil_div(s->piece_count * LANES, SUM_THREADS), SUM_THREADS, 0, stream_of(args)>>>(*s,
                                                                                                       (const V *)
                                                                                                           args->x,
                                                                                                       sums);
    packed_long_rows<V>
        <<<(unsigned)ceil_div(s->long_count * LANES, SUM_THREADS), SUM_THREADS, 0, stream_of(args)>>>(*s, sums,
                                                                                                      (V *)args->y,
                                                                                                      SPRY_ALPHA(V,
                                                                                                                 args),
                                                                                                      SPRY_BETA(V,
                                                                                                                args));
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

const spryi_cuda_kernel spry_cuda_packed_slices = {"packed_slices_cuda", &runs, NULL, NULL, NULL, workspace_bytes};
