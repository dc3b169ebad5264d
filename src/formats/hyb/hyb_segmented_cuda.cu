/*
 * hyb_segmented_cuda: HYB, whose rest (the COO part) is multiplied by segmented sums.
 *
 * Idea: the launch of ell_slots_cuda writes y of the ELL part. The launch of coo_segmented_cuda starts after it and
 *       adds the sum of each row of the rest to y once.
 * Work: one thread per row, then blocks of threads with equal numbers of entries of the rest. Rows longer than a block
 *       are cut into parts, and the block that finishes last adds up the parts in order.
 * Cost: as ell_slots_cuda, and the bytes of COO for the rest. In rows with a rest, y is written twice. Deterministic.
 *       With an infinite alpha, a row gives NaN if the sums of its two parts differ in sign. Without an ELL part (width
 *       0) the kernel does the same as coo_segmented_cuda.
 * Source: Bell and Garland 2008, 4.4 and 4.5; Sparse Methods, HYB, with segmented sums instead of atomics; this
 *         library.
 */
#include "device/cuda/cuda_common.cuh"

extern "C" {
#include "formats/hyb/hyb.h"
}
#include "formats/coo/coo_cuda.cuh"

#include <stdlib.h>

/* Auxiliary data of the two launches: steps for ell_slots_cuda, splits for coo_segmented_cuda. */
typedef struct hyb_parts {
    void *steps, *splits;
} hyb_parts;

static void discard(const spryi_device *device, void *auxiliary)
{
    hyb_parts *p = (hyb_parts *)auxiliary;
    if (p->steps) spry_cuda_ell_slots.discard(device, p->steps);
    if (p->splits) spry_cuda_coo_discard(device, p->splits);
    free(p);
}

static spry_status prepare(const spryi_prepare_request *request, void **auxiliary, int64_t *bytes, spry_error *err)
{
    const spryi_hyb *s = (const spryi_hyb *)request->storage;
    const spryi_ell first = spryi_hyb_ell(s);
    const spryi_coo rest = spryi_hyb_coo(s);
    spryi_prepare_request of_first = *request;
    of_first.storage = &first;
    int64_t of_steps = 0, of_splits = 0;
    hyb_parts *p = (hyb_parts *)calloc(1, sizeof *p);
    if (!p) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: parts");
    spry_status status = spry_cuda_ell_slots.prepare(&of_first, &p->steps, &of_steps, err);
    if (status == SPRY_OK)
        status = spry_cuda_coo_split(request->device, &p->splits, &of_splits, &rest.a, request->vector_type,
                                     first.width == 0, err);
    if (status != SPRY_OK) {
        discard(request->device, p);
        return status;
    }
    *auxiliary = p;
    *bytes = of_steps + of_splits;
    return SPRY_OK;
}

static int64_t workspace_bytes(const spryi_prepare_request *request, const void *auxiliary)
{
    (void)request;
    return spry_cuda_coo_workspace(((const hyb_parts *)auxiliary)->splits);
}

template <typename V, typename P, typename J> static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const spryi_hyb *s = (const spryi_hyb *)args->storage;
    const hyb_parts *p = (const hyb_parts *)args->auxiliary;
    const spryi_ell first = spryi_hyb_ell(s);
    const spryi_coo rest = spryi_hyb_coo(s);
    if (first.width == 0) return spry_cuda_coo_segments<V>(p->splits, &rest.a, args, SPRY_BETA(V, args), err);
    spryi_run_args part = *args;
    part.storage = &first;
    part.auxiliary = p->steps;
    const spry_status status = (*spry_cuda_ell_slots.spmv)[sizeof(V) == 8][0](&part, err);
    scalar<V> one = {};
    one.value = 1;
    return status == SPRY_OK ? spry_cuda_coo_segments<V>(p->splits, &rest.a, args, one, err) : status;
}

static const spryi_run_table runs = SPRY_CUDA_TABLE(run);

const spryi_kernel_functions spry_cuda_hyb_segmented = {"hyb_segmented_cuda", &runs, NULL, prepare, discard,
                                                        workspace_bytes};
