/*
 * Copies pieces of a device array to consecutive host memory.
 * Work distribution: 16 threads copy a piece, four bytes each.
 * Cost: each piece once. If there are few pieces, the kernel reads their list from host memory and writes the pieces to
 * host memory, which takes a third of the time of two copies. If there are more pieces, the kernel packs them in device
 * memory, and a copy to the host follows.
 */
#include "device/cuda/cuda_common.cuh"

#include <string.h>

enum { WORDS = SPRYI_PIECE_BYTES / 4, PIECES = 16 /* per block */ };

static __global__ void __launch_bounds__(WORDS *PIECES)
    gather_pieces(uint32_t *__restrict__ to, const uint32_t *__restrict__ from, int64_t words,
                  const int64_t *__restrict__ pieces, int64_t count)
{
    const int64_t n = (int64_t)blockIdx.x * PIECES + threadIdx.x / WORDS;
    if (n >= count) return;
    const int64_t word = pieces[n] * WORDS + threadIdx.x % WORDS;
    to[n * WORDS + threadIdx.x % WORDS] = word < words ? from[word] : 0;
}

static size_t list_bytes(const spryi_gather *r)
{
    return (size_t)r->count * sizeof *r->pieces;
}

static size_t gathered_bytes(const spryi_gather *r)
{
    return (size_t)r->count * SPRYI_PIECE_BYTES;
}

static cudaError_t start(const spryi_gather *r, char *packed, const int64_t *pieces)
{
    gather_pieces<<<(unsigned)ceil_div(r->count, PIECES), WORDS * PIECES>>>((uint32_t *)packed,
                                                                            (const uint32_t *)r->from, r->bytes / 4,
                                                                            pieces, r->count);
    return cudaGetLastError();
}

/* Gathers few pieces. Uses the host block (kernels.h), first for the pieces and then for their list. */
static cudaError_t gather_few(const spryi_gather *r)
{
    void *block = NULL;
    cudaError_t code = (cudaError_t)spry_cuda_lock_host_block(&block);
    if (code != cudaSuccess) return code;
    char *packed = (char *)block, *list = packed + gathered_bytes(r);
    memcpy(list, r->pieces, list_bytes(r));
    code = start(r, packed, (const int64_t *)list);
    if (code == cudaSuccess) code = cudaStreamSynchronize(NULL);
    if (code == cudaSuccess) memcpy(r->to, packed, gathered_bytes(r));
    spry_cuda_unlock_host_block();
    return code;
}

/* Gathers many pieces. `packed` is device memory, first for the pieces and then for their list. */
static cudaError_t gather_many(const spryi_gather *r, char *packed)
{
    int64_t *list = (int64_t *)(packed + gathered_bytes(r));
    cudaError_t code = cudaMemcpyAsync(list, r->pieces, list_bytes(r), cudaMemcpyHostToDevice, 0);
    if (code == cudaSuccess) code = start(r, packed, list);
    return code == cudaSuccess ? cudaMemcpy(r->to, packed, gathered_bytes(r), cudaMemcpyDeviceToHost) : code;
}

spry_status spry_cuda_gather(const spryi_device *device, const spryi_gather *request, spry_error *err)
{
    device_scope scope(device->ordinal);
    const int64_t bytes = (int64_t)(gathered_bytes(request) + list_bytes(request));
    const char *what = "pieces of an array";
    char *packed = NULL;
    cudaError_t code = scope.code;
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "device");
    if (request->count == 0) return SPRY_OK;
    if (bytes <= SPRY_CUDA_HOST_BLOCK_BYTES) {
        code = gather_few(request);
        return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, what);
    }
    SPRYI_OK_OR_RETURN(spry_cuda_allocate_in_order(device, (void **)&packed, bytes, what, err));
    code = gather_many(request, packed);
    spry_cuda_release_in_order(device, packed);
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, what);
}
