/*
 * sell_chunks_cuda: SELL-C-sigma, a thread a row.
 *
 * Idea: as ell_slots_cuda, chunk by chunk; rows of about equal length meet in a chunk, so little is padded and lanes
 *       end together. Chunks whose rows follow each other and whose columns step read one column a slot.
 * Work: blocks of 256 threads, a lane a thread; c = 32 (the default on a GPU) makes a chunk a warp.
 * Cost: values and columns of the entries, 4 bytes of length and 2 of permutation a row, 8 of offset a chunk, x and y.
 * Source: Kreutzer, Hager, Wellein, Fehske, Bishop, A unified sparse matrix data format, 2014; Monakov and others 2010;
 *         stepped chunks: this library.
 */
extern "C" {
#include "formats/sell/sell.h"
}
#include "cuda/kernels.h"
#include "formats/ell/slots_cuda.cuh"

enum { THREADS = 256 };

/* A chunk that is not in the rows' order never steps: x would have to be read in another order. */
template <typename J>
static __global__ void find_steps(spryi_sell s, const J *Aj, uint8_t *steps)
{
    int64_t chunk = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (chunk >= s.chunk_count) return;
    int whole = (chunk + 1) * s.c <= s.a.rows;
    steps[chunk] = whole && slice_steps(Aj, s.lengths, chunk * s.c, s.offsets[chunk], s.c, (int)s.c);
}

template <typename V, typename J>
static __global__ void __launch_bounds__(THREADS)
    sell_chunks(const spryi_sell s, const J *__restrict__ Aj, const V *__restrict__ Ax,
                const uint8_t *__restrict__ steps, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha,
                scalar<V> beta)
{
    int64_t l = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (l >= s.a.rows) return;
    int64_t chunk = l / s.c, lane = l - chunk * s.c;
    V sum = sum_slots(Aj, Ax, x, s.offsets[chunk] + lane, s.c, s.lengths[l], steps[chunk], (int)lane);
    int64_t i = s.sigma > 1 ? l / s.sigma * s.sigma + s.permutation[l] : l;
    put(y, i, sum, alpha.get(), beta.get());
}

static spry_status prepare(const spryi_cuda_prepare *request, void **auxiliary, int64_t *bytes, spry_error *err)
{
    const spryi_sell *s = (const spryi_sell *)request->storage;
    spry_status status = spry_cuda_new(auxiliary, s->chunk_count, "stepped chunks", err);
    if (status != SPRY_OK) return status;
    *bytes = s->chunk_count;
    if (s->chunk_count == 0) return SPRY_OK;
    find_steps<<<(unsigned)ceil_div(s->chunk_count, 128), 128>>>(*s, (const int32_t *)s->columns,
                                                                 (uint8_t *)*auxiliary);
    return launched(err, "sell_chunks_cuda: chunks");
}

static void discard(int device, void *auxiliary)
{
    (void)device;
    (void)cudaFree(auxiliary);
}

template <typename V, typename P, typename J>
static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const spryi_sell *s = (const spryi_sell *)args->storage;
    const V *values = s->a.value_type == SPRY_PATTERN ? NULL : (const V *)s->values;
    if (s->a.rows == 0) return SPRY_OK;
    sell_chunks<V, J><<<(unsigned)ceil_div(s->a.rows, THREADS), THREADS, 0, stream_of(args)>>>(
        *s, (const J *)s->columns, values, (const uint8_t *)args->auxiliary, (const V *)args->x, (V *)args->y,
        SPRY_ALPHA(V, args), SPRY_BETA(V, args));
    return launched(err, "sell_chunks_cuda");
}

static const spryi_run_table runs = SPRY_CUDA_TABLE(run);

const spryi_cuda_kernel spry_cuda_sell_chunks = {"sell_chunks_cuda", &runs, NULL, prepare, discard, NULL};
