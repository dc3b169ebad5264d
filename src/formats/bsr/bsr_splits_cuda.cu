/*
 * Determines the number of lanes per block row and the pieces of long block rows, for bsr's CUDA kernels. When a plan
 * is built, a kernel finds the long block rows, and the host cuts them into pieces.
 */
#include "formats/bsr/bsr_cuda.cuh"

#include <stdlib.h>

typedef struct found_row {
    int64_t row, columns;
} found_row;

/*
 * Lists the block rows of over `limit` columns, in any order. Only the positions of their sums in the workspace depend
 * on this order.
 */
static __global__ void find_long_rows(bsr_view s, int64_t limit, found_row *found, unsigned long long *count)
{
    const int64_t I = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (I >= s.block_rows) return;
    const int64_t columns = (offset_at(s, I + 1) - offset_at(s, I)) * s.block;
    if (columns <= limit) return;
    const unsigned long long at = atomicAdd(count, 1ull);
    found[at].row = I;
    found[at].columns = columns;
}

/*
 * Returns the lanes of a block row: at least the rows of a block, at most 32. Doubles the lanes until a block row of
 * mean length takes at most two passes.
 */
static int resolve_lanes(const spryi_bsr_head *h)
{
    static const int steps[BSR_OWN + 1] = {1,
                                           bsr_shape<1>::steps,
                                           bsr_shape<2>::steps,
                                           bsr_shape<3>::steps,
                                           bsr_shape<4>::steps,
                                           bsr_shape<5>::steps,
                                           bsr_shape<6>::steps,
                                           bsr_shape<7>::steps,
                                           bsr_shape<8>::steps};
    const int64_t mean = h->block_rows > 0 ? h->blocks * h->block / h->block_rows : 0;
    int lanes = h->block == 1 ? 8 : 4;
    while (lanes < h->block) lanes *= 2;
    while (lanes < 32 && 2 * lanes * steps[h->block <= BSR_OWN ? h->block : 0] < mean) lanes *= 2;
    return lanes;
}

void spry_cuda_bsr_discard(const spryi_device *device, void *auxiliary)
{
    bsr_splits *c = (bsr_splits *)auxiliary;
    spry_cuda_free(device, c->pieces);
    spry_cuda_free(device, c->long_rows);
    free(c);
}

static spry_status cut(const spryi_device *device, bsr_splits *c, const found_row *found, spry_error *err)
{
    spry_status status = SPRY_OK;
    cudaError_t code = cudaSuccess;
    for (int64_t l = 0; l < c->long_count; l++) c->piece_count += ceil_div(found[l].columns, BSR_PIECE);
    const size_t piece_bytes = (size_t)c->piece_count * sizeof(bsr_piece);
    const size_t row_bytes = (size_t)c->long_count * sizeof(bsr_long_row);
    bsr_piece *pieces = (bsr_piece *)malloc(piece_bytes);
    bsr_long_row *rows = (bsr_long_row *)malloc(row_bytes);
    if (!pieces || !rows) {
        status = spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: %lld pieces", (long long)c->piece_count);
        goto done;
    }
    for (int64_t l = 0, p = 0; l < c->long_count; l++) {
        rows[l].first = p;
        rows[l].pieces = ceil_div(found[l].columns, BSR_PIECE);
        for (int64_t q = 0; q < rows[l].pieces; q++, p++) {
            pieces[p].row = found[l].row;
            pieces[p].begin = (uint32_t)(found[l].columns * q / rows[l].pieces);
            pieces[p].end = (uint32_t)(found[l].columns * (q + 1) / rows[l].pieces);
            pieces[p].long_row = l;
        }
    }
    status = spry_cuda_new(device, (void **)&c->pieces, (int64_t)piece_bytes, "pieces of block rows", err);
    if (status == SPRY_OK)
        status = spry_cuda_new(device, (void **)&c->long_rows, (int64_t)row_bytes, "long block rows", err);
    if (status != SPRY_OK) goto done;
    code = cudaMemcpy(c->pieces, pieces, piece_bytes, cudaMemcpyHostToDevice);
    if (code == cudaSuccess) code = cudaMemcpy(c->long_rows, rows, row_bytes, cudaMemcpyHostToDevice);
    if (code != cudaSuccess) status = spry_cuda_fail(err, code, "bsr: pieces of block rows");
done:
    free(pieces);
    free(rows);
    return status;
}

/*
 * Finds the long block rows and cuts them into pieces. The list on the device has room for the largest possible number
 * of such block rows. The 8 bytes after the list hold the count.
 */
static spry_status find_splits(const spryi_device *device, bsr_splits *c, const spryi_bsr *s, spry_error *err)
{
    const int64_t limit = (int64_t)BSR_LONG * c->lanes, most = s->head.blocks * s->head.block / limit + 1;
    const int64_t bytes = most * (int64_t)sizeof(found_row) + 8;
    char *found = NULL;
    found_row *on_host = NULL;
    unsigned long long count = 0;
    cudaError_t code = cudaSuccess;
    spry_status status = spry_cuda_new(device, (void **)&found, bytes, "long block rows", err);
    if (status != SPRY_OK) return status;
    char *counter = found + most * (int64_t)sizeof(found_row);
    code = cudaMemset(counter, 0, 8);
    if (code == cudaSuccess) {
        find_long_rows<<<(unsigned)ceil_div(s->head.block_rows, 256), 256>>>(view_of(s), limit, (found_row *)found,
                                                                             (unsigned long long *)counter);
        status = launched(err, "bsr: long block rows");
        if (status == SPRY_OK) code = cudaMemcpy(&count, counter, 8, cudaMemcpyDeviceToHost);
    }
    if (status == SPRY_OK && code == cudaSuccess && count > 0) {
        on_host = (found_row *)malloc((size_t)count * sizeof *on_host);
        if (on_host)
            code = cudaMemcpy(on_host, found, (size_t)count * sizeof *on_host, cudaMemcpyDeviceToHost);
        else
            status = spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: long block rows");
    }
    if (code != cudaSuccess) status = spry_cuda_fail(err, code, "bsr: long block rows");
    c->long_count = (int64_t)count;
    if (status == SPRY_OK && count > 0) status = cut(device, c, on_host, err);
    free(on_host);
    spry_cuda_free(device, found);
    return status;
}

spry_status spry_cuda_bsr_prepare(const spryi_prepare_request *request, void **auxiliary, int64_t *bytes,
                                  spry_error *err)
{
    const spryi_bsr *s = (const spryi_bsr *)request->storage;
    bsr_splits *c = (bsr_splits *)calloc(1, sizeof *c);
    if (!c) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: splits");
    c->lanes = resolve_lanes(&s->head);
    const spry_status status = s->head.blocks > 0 ? find_splits(request->device, c, s, err) : SPRY_OK;
    if (status != SPRY_OK) {
        spry_cuda_bsr_discard(request->device, c);
        return status;
    }
    *auxiliary = c;
    *bytes = c->piece_count * (int64_t)sizeof(bsr_piece) + c->long_count * (int64_t)sizeof(bsr_long_row);
    return SPRY_OK;
}
