/*
 * Pieces of an array that lies on the device, packed side by side and copied to the host at once. 16 threads take a
 * piece, four bytes each. It moves the pieces once; the launch and the two copies take longer where they are few.
 */
#include "device/cuda/cuda_common.cuh"
#include "device/cuda/kernels.h"

enum { WORDS = SPRYI_PIECE_BYTES / 4, PIECES = 16 /* a block */ };

static __global__ void __launch_bounds__(WORDS *PIECES)
    gather_pieces(uint32_t *__restrict__ to, const uint32_t *__restrict__ from, int64_t words,
                  const int64_t *__restrict__ pieces, int64_t count)
{
    const int64_t n = (int64_t)blockIdx.x * PIECES + threadIdx.x / WORDS;
    if (n >= count) return;
    const int64_t word = pieces[n] * WORDS + threadIdx.x % WORDS;
    to[n * WORDS + threadIdx.x % WORDS] = word < words ? from[word] : 0;
}

static cudaError_t gather(const spryi_gather *r, char *packed, int64_t *pieces)
{
    cudaError_t code = cudaMemcpyAsync(pieces, r->pieces, (size_t)r->count * sizeof *pieces, cudaMemcpyHostToDevice, 0);
    if (code != cudaSuccess) return code;
    gather_pieces<<<(unsigned)ceil_div(r->count, PIECES), WORDS * PIECES>>>((uint32_t *)packed,
                                                                            (const uint32_t *)r->from, r->bytes / 4,
                                                                            pieces, r->count);
    code = cudaGetLastError();
    if (code != cudaSuccess) return code;
    return cudaMemcpy(r->to, packed, (size_t)r->count * SPRYI_PIECE_BYTES, cudaMemcpyDeviceToHost);
}

spry_status spry_cuda_gather(const spryi_device *device, const spryi_gather *request, spry_error *err)
{
    device_scope scope(device->ordinal);
    char *packed = NULL; /* and the list behind it */
    if (request->count == 0) return SPRY_OK;
    if (scope.code != cudaSuccess) return spry_cuda_fail(err, scope.code, "device");
    const int64_t bytes = request->count * SPRYI_PIECE_BYTES;
    spry_status status = spry_cuda_allocate_in_order(device, (void **)&packed,
                                                     bytes + request->count * (int64_t)sizeof(int64_t),
                                                     "pieces of an array", err);
    if (status != SPRY_OK) return status;
    const cudaError_t code = gather(request, packed, (int64_t *)(packed + bytes));
    spry_cuda_release_in_order(device, packed);
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "pieces of an array");
}
