/*
 * Builds the row blocks on the host from a copy of the offsets, when a plan is built. A binary search finds the end of
 * each block.
 */
#include "formats/csr/csr_row_blocks.cuh"

extern "C" {
#include "formats/csr/csr.h"
}

#include <stdlib.h>

/* State of the cut. block and long_rows are NULL while blocks are only counted. */
typedef struct cutter {
    int nnz_per_wg, part;
    int vector; /* a row that is alone in its block is cut into parts if it has more than `vector` entries */
    int64_t blocks, long_count, part_count;
    csr_row_block *block;
    csr_long_row *long_rows;
} cutter;

static void add_block(cutter *c, int64_t row, int64_t part, int64_t long_row)
{
    if (c->block) {
        c->block[c->blocks].row = row;
        c->block[c->blocks].part = (int32_t)part;
        c->block[c->blocks].long_row = (int32_t)long_row;
    }
    c->blocks++;
}

static void add_long_row(cutter *c, int64_t row, int64_t length)
{
    const int64_t parts = ceil_div(length, c->part);
    if (c->long_rows) {
        c->long_rows[c->long_count].row = row;
        c->long_rows[c->long_count].first = c->part_count;
        c->long_rows[c->long_count].parts = parts;
    }
    for (int64_t p = 0; p < parts; p++) add_block(c, row, p, c->long_count);
    c->long_count++;
    c->part_count += parts;
}

template <typename P> static void cut(cutter *c, const P *Ap, int64_t m)
{
    c->blocks = c->long_count = c->part_count = 0;
    for (int64_t row = 0; row < m;) {
        const int64_t base = (int64_t)Ap[row], length = (int64_t)Ap[row + 1] - base;
        if (length > c->nnz_per_wg) {
            add_long_row(c, row, length);
            row++;
            continue;
        }
        const int64_t most = c->nnz_per_wg - base % CSR_SECTOR; /* loads also read the sector's preceding entries */
        int64_t low = row + 1, high = m - row > c->nnz_per_wg ? row + c->nnz_per_wg : m;
        while (low < high) { /* finds the largest end with which the block has at most `most` entries */
            int64_t middle = low + (high - low + 1) / 2;
            if ((int64_t)Ap[middle] - base <= most)
                low = middle;
            else
                high = middle - 1;
        }
        if (low == row + 1 && length > c->vector)
            add_long_row(c, row, length);
        else
            add_block(c, row, 0, -1);
        row = low;
    }
}

static void cut_any(cutter *c, const void *offsets, spry_index_type type, int64_t m)
{
    if (type == SPRY_I32)
        cut(c, (const int32_t *)offsets, m);
    else
        cut(c, (const int64_t *)offsets, m);
}

/* Copies a host array to a new device array. */
static spry_status to_device(const spryi_device *device, void **array, const void *host, int64_t bytes,
                             const char *name, spry_error *err)
{
    spry_status status = spry_cuda_new(device, array, bytes, name, err);
    if (status != SPRY_OK || bytes == 0) return status;
    cudaError_t code = cudaMemcpy(*array, host, (size_t)bytes, cudaMemcpyHostToDevice);
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, name);
}

void spry_cuda_row_blocks_discard(const spryi_device *device, void *auxiliary)
{
    csr_row_blocks *s = (csr_row_blocks *)auxiliary;
    spry_cuda_free(device, s->block);
    spry_cuda_free(device, s->long_rows);
    free(s);
}

spry_status spry_cuda_row_blocks_prepare(const spryi_prepare_request *request, void **auxiliary, int64_t *bytes,
                                         spry_error *err)
{
    const spry_arrays *a = &((const spryi_csr *)request->storage)->a;
    const size_t offset_bytes = (size_t)(a->rows + 1) * spryi_index_type_bytes(a->offset_type);
    spry_status status = SPRY_OK;
    cutter c = {};
    csr_row_blocks *s = (csr_row_blocks *)calloc(1, sizeof *s);
    void *offsets = malloc(offset_bytes);
    if (!s || !offsets) {
        status = spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: row blocks");
        goto done;
    }
    {
        cudaError_t code = cudaMemcpy(offsets, a->offsets, offset_bytes, cudaMemcpyDeviceToHost);
        if (code != cudaSuccess) {
            status = spry_cuda_fail(err, code, "row blocks: offsets");
            goto done;
        }
    }
    c.nnz_per_wg = SPRY_BY_TYPE(request->vector_type, V, int(row_block_shape<V>::nnz_per_wg));
    if (request->kernel_parameters[SPRYI_CSR_NNZ_PER_WG] > 0)
        /* value 1 of the parameter means 256, value 2 means 512, and so on */
        c.nnz_per_wg = 128 << (int)request->kernel_parameters[SPRYI_CSR_NNZ_PER_WG];
    c.part = 2 * c.nnz_per_wg;
    c.vector = c.nnz_per_wg;
    if (request->kernel_parameters[SPRYI_CSR_VECTOR] > 0) c.vector = (int)request->kernel_parameters[SPRYI_CSR_VECTOR];
    cut_any(&c, offsets, a->offset_type, a->rows); /* only counts */
    c.block = (csr_row_block *)malloc((size_t)(c.blocks + 1) * sizeof *c.block);
    c.long_rows = (csr_long_row *)malloc((size_t)(c.long_count + 1) * sizeof *c.long_rows);
    if (!c.block || !c.long_rows) {
        status = spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: %lld row blocks", (long long)c.blocks);
        goto done;
    }
    cut_any(&c, offsets, a->offset_type, a->rows);
    add_block(&c, a->rows, 0, -1); /* the end of the last block */
    s->blocks = c.blocks - 1;
    s->long_count = c.long_count;
    s->part_count = c.part_count;
    *bytes = c.blocks * (int64_t)sizeof *c.block + c.long_count * (int64_t)sizeof *c.long_rows;
    status =
        to_device(request->device, (void **)&s->block, c.block, c.blocks * (int64_t)sizeof *c.block, "row blocks", err);
    if (status == SPRY_OK)
        status = to_device(request->device, (void **)&s->long_rows, c.long_rows,
                           c.long_count * (int64_t)sizeof *c.long_rows, "long rows", err);
    if (status != SPRY_OK) goto done;
    *auxiliary = s;
    s = NULL;
done:
    if (s) spry_cuda_row_blocks_discard(request->device, s);
    free(offsets);
    free(c.block);
    free(c.long_rows);
    return status;
}
