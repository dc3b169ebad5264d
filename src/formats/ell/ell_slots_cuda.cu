/*
 * ell_slots_cuda: ELL, one thread per row.
 *
 * Idea: threads read slot by slot, so neighbouring threads read neighbouring entries in whole sectors. In slices of 32
 *       rows with a constant stride (grids) all threads read the same column of each slot. These slices are found when
 *       the plan is built.
 * Work: blocks of 256 threads. A warp takes as long as the longest of its rows.
 * Cost: values and columns of the entries, lengths, x and y. Padding is read only if it shares a sector with an entry.
 *       In strided slices one of 32 columns is read.
 * Source: Bell and Garland 2008, 4.1; Evtushenko 2019; Meister 2013; Sparse Methods; strided slices: this library.
 */
extern "C" {
#include "formats/ell/ell.h"
}
#include "formats/ell/slots_cuda.cuh"

enum { SLICE = 32, THREADS = 256 };

template <typename J> static __global__ void find_steps(int64_t m, const J *Aj, const int32_t *lengths, uint8_t *steps)
{
    int64_t slice = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, first = slice * SLICE;
    if (first >= m) return;
    steps[slice] = first + SLICE <= m && slice_steps(Aj, lengths, first, first, m, SLICE);
}

template <typename V, typename J> static __global__ void __launch_bounds__(THREADS)
    ell_slots(int64_t m, const J *__restrict__ Aj, const V *__restrict__ Ax, const int32_t *__restrict__ lengths,
              const uint8_t *__restrict__ steps, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha,
              scalar<V> beta)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= m) return;
    V sum = sum_slots(Aj, Ax, x, i, m, lengths[i], steps[i / SLICE], (int)(i % SLICE));
    put(y, i, sum, alpha.get(), beta.get());
}

static spry_status prepare(const spryi_prepare_request *request, void **auxiliary, int64_t *bytes, spry_error *err)
{
    const spryi_ell *s = (const spryi_ell *)request->storage;
    int64_t slices = ceil_div(s->a.rows, SLICE);
    SPRYI_OK_OR_RETURN(spry_cuda_new(request->device, auxiliary, slices, "strided slices", err));
    *bytes = slices;
    if (slices == 0) return SPRY_OK;
    find_steps<<<(unsigned)ceil_div(slices, 128), 128>>>(s->a.rows, (const int32_t *)s->columns, s->lengths,
                                                         (uint8_t *)*auxiliary);
    return launched(err, "ell_slots_cuda: slices");
}

static void discard(const spryi_device *device, void *auxiliary)
{
    spry_cuda_free(device, auxiliary);
}

template <typename V, typename P, typename J> static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const spryi_ell *s = (const spryi_ell *)args->storage;
    if (s->a.rows == 0) return SPRY_OK;
    ell_slots<V, J>
        <<<(unsigned)ceil_div(s->a.rows, THREADS), THREADS, 0, stream_of(args)>>>(s->a.rows, (const J *)s->columns,
                                                                                  (const V *)s->values, s->lengths,
                                                                                  (const uint8_t *)args->auxiliary,
                                                                                  (const V *)args->x, (V *)args->y,
                                                                                  SPRY_ALPHA(V, args),
                                                                                  SPRY_BETA(V, args));
    return launched(err, "ell_slots_cuda");
}

static const spryi_run_table runs = SPRY_CUDA_TABLE(run);

const spryi_kernel_functions spry_cuda_ell_slots = {"ell_slots_cuda", &runs, NULL, prepare, discard, NULL};
