/*
 * CSR to COO on the device: row indices beside columns and values, which stay where they are.
 *
 * Work: blocks of 2048 entries; by bisection a block finds its first and last row, and each entry its own in between.
 * Cost: 4 bytes written an entry, and the offsets read.
 */
extern "C" {
#include "formats/coo/coo.h"
}
#include "device/cuda/convert.cuh"
#include "device/cuda/kernels.h"

static spry_status convert(spryi_conversion *c, spry_error *err)
{
    spryi_coo *s = (spryi_coo *)c->storage;
    void *rows = NULL;
    const int64_t row_bytes = c->csr.nnz * (int64_t)sizeof(int32_t);
    c->cost.borrowed = c->csr.nnz * (int64_t)(sizeof(int32_t) + spry_type_bytes(c->csr.value_type));
    c->cost.bytes = row_bytes + c->cost.borrowed;
    SPRY_CUDA_TRY(c->guard(c->request, "coo", &c->cost, err));
    SPRY_CUDA_TRY(spry_cuda_make(c, &rows, row_bytes, "row indices", err));
    s->a = c->csr;
    s->a.layout = SPRY_COO;
    s->a.offsets = NULL;
    s->a.row_indices = s->rows = rows;
    s->block_count = ceil_div(s->a.nnz, SPRYI_COO_BLOCK);
    SPRY_CUDA_TRY(spry_cuda_rows_of(&c->csr, (int32_t *)rows, err));
    SPRY_CUDA_CHECK(cudaStreamSynchronize(0), "coo", err);
    return SPRY_OK;
}

const spryi_converter spry_cuda_to_coo = {"coo", convert};
