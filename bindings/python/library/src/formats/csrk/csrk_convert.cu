/*
 * CSR to CSR-2 and CSR-3 on the device: the pointers over groups beside the arrays of CSR, which stay where they are.
 *
 * Work: a thread a pointer.
 * Cost: 8 bytes a pointer.
 */
extern "C" {
#include "formats/csrk/csrk.h"
}
#include "device/cuda/convert.cuh"
#include "device/cuda/kernels.h"

/* size at a time of 0 .. count; the last group may be shorter. */
static __global__ void set_pointers(int64_t *__restrict__ pointers, int64_t groups, int64_t count, int64_t size)
{
    int64_t g = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (g <= groups) pointers[g] = g < groups ? g * size : count;
}

static spry_status group(spryi_conversion *c, int64_t **pointers, int64_t groups, int64_t count, int64_t size,
                         const char *what, spry_error *err)
{
    SPRY_CUDA_TRY(spry_cuda_make(c, (void **)pointers, (groups + 1) * (int64_t)sizeof(int64_t), what, err));
    set_pointers<<<convert_blocks(groups + 1), CONVERT_THREADS>>>(*pointers, groups, count, size);
    return launched(err, what);
}

static spry_status convert(spryi_conversion *c, int levels, spry_error *err)
{
    spryi_csrk *s = (spryi_csrk *)c->storage;
    if (c->request->options->groups) /* an ordering's are in host memory, and the host uploads them */
        return spryi_fail(err, SPRY_UNSUPPORTED, "groups", "csr-k: groups of an ordering are taken on the host");
    if (levels == 3 && c->request->parameters[SPRYI_CSR3_BY] == SPRYI_CSRK_BY_LONGEST)
        return spryi_fail(err, SPRY_UNSUPPORTED, "format", "csr3: the longest row is looked for on the host");
    s->csr.a = c->csr;
    s->csr.vector_type = c->request->options->vector_type;
    s->owns_arrays = c->csr.device == 0; /* else they are the matrix's */
    SPRY_CUDA_TRY(spryi_csrk_resolve(s, &c->cost, c->request->tuning, c->request, &c->csr, levels, err));
    c->cost.borrowed = c->cost.bytes - spryi_csrk_pointers(s) * (int64_t)sizeof(int64_t);
    SPRY_CUDA_TRY(c->guard(c->request, levels == 3 ? "csr3" : "csr2", &c->cost, err));
    SPRY_CUDA_TRY(group(c, &s->sr_ptr, s->sr_count, c->csr.rows, s->srs, "super-rows", err));
    if (levels == 3) SPRY_CUDA_TRY(group(c, &s->ssr_ptr, s->ssr_count, s->sr_count, s->ssrs, "super-super-rows", err));
    SPRY_CUDA_CHECK(cudaStreamSynchronize(0), "csr-k", err);
    return SPRY_OK;
}

static spry_status convert_2(spryi_conversion *c, spry_error *err)
{
    return convert(c, 2, err);
}

static spry_status convert_3(spryi_conversion *c, spry_error *err)
{
    return convert(c, 3, err);
}

const spryi_converter spry_cuda_to_csr2 = {"csr2", convert_2};
const spryi_converter spry_cuda_to_csr3 = {"csr3", convert_3};
