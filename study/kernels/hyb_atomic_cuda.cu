/*
 * hyb_atomic_cuda: HYB with atomics for the COO part.
 *
 * Idea: a launch of ell_slots_cuda writes y of the ELL part. The next launch, which begins when all of y is written,
 *       adds the entries of the COO part with atomicAdd. (The listing in Sparse Methods computes both parts in one
 *       launch. That is a race, because a block may add to an element of y that another block has not written.)
 * Work: one thread per row, then one thread per entry of the COO part. If the 32 entries of a warp are in one row, the
 *       warp first adds up the products. So a row of a million entries needs only 31 250 atomic additions.
 * Cost: the cost of ell_slots_cuda, plus the bytes of COO. Each entry of the COO part costs one atomic addition, or a
 *       32nd of one if all entries of its warp are in one row. Not deterministic; with an infinite alpha, terms of both
 *       signs in a row may give NaN. Without an ELL part (width 0) the kernel equals coo_atomic_cuda.
 * Source: Evtushenko 2019, listing 8; Sparse Methods, HYB; Bell and Garland 2008, 4.5.
 */
#include "device/cuda/cuda_common.cuh"

extern "C" {
#include "formats/hyb/hyb.h"
}
#include "formats/coo/coo_cuda.cuh"

/* Prepares the ELL part. The COO part needs no auxiliary data. */
static spry_status prepare(const spryi_prepare_request *request, void **auxiliary, int64_t *bytes, spry_error *err)
{
    const spryi_ell first = spryi_hyb_ell((const spryi_hyb *)request->storage);
    spryi_prepare_request of_first = *request;
    of_first.storage = &first;
    return spry_cuda_ell_slots.prepare(&of_first, auxiliary, bytes, err);
}

static void discard(const spryi_device *device, void *auxiliary)
{
    spry_cuda_ell_slots.discard(device, auxiliary);
}

template <typename V, typename P, typename J> static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const spryi_hyb *s = (const spryi_hyb *)args->storage;
    const spryi_ell first = spryi_hyb_ell(s);
    const spryi_coo rest = spryi_hyb_coo(s);
    spryi_run_args part = *args;
    if (first.width == 0) {
        part.storage = &rest;
        return (*spry_cuda_coo_atomic.spmv)[sizeof(V) == 8][0](&part, err);
    }
    part.storage = &first;
    const spry_status status = (*spry_cuda_ell_slots.spmv)[sizeof(V) == 8][0](&part, err);
    return status == SPRY_OK ? spry_cuda_coo_atomics<V>(&rest.a, args, 1, err) : status;
}

static const spryi_run_table runs = SPRY_CUDA_TABLE(run);

const spryi_kernel_functions spry_cuda_hyb_atomic = {"hyb_atomic_cuda", &runs, NULL, prepare, discard, NULL};
