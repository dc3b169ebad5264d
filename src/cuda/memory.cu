/*
 * Device memory: a CUDA memory pool of the library's own on each device, since cudaMalloc and cudaFree take as long as
 * a product of small matrices (docs/decisions/0015-device-memory-pool.md). Two kinds of calls:
 *   any stream   like cudaMalloc and cudaFree: usable everywhere on return, given back after all work of the device;
 *   in order     of the default stream, where alone the memory may be used: nobody waits.
 * Memory of either kind may be given back by the other. Where a device has no pools, or SPRY_CUDA_POOL is "off" in the
 * environment, both are cudaMalloc and cudaFree.
 *
 * Kept while idle: at most KEPT_SHARE of the device's memory, live memory included in it (the driver gives back what is
 * above at the next synchronization); nothing after the last context is gone, or after trim.
 */
#include "cuda/cuda_common.cuh"
#include "cuda/kernels.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POOLS = 64, KEPT_SHARE = 4 };

typedef struct device_pool {
    int settled;
    cudaMemPool_t pool;  /* NULL: none, cudaMalloc serves */
    cudaStream_t stream; /* in which allocations for any stream are ordered, and nothing else */
} device_pool;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static device_pool pools[MOST_POOLS];
static int contexts;

static int pools_wanted(void)
{
    const char *choice = getenv("SPRY_CUDA_POOL");
    return !choice || strcmp(choice, "off") != 0;
}

/* Whatever fails leaves no pool, which is no error. The device is current. */
static void make_pool(device_pool *p, int device)
{
    int supported = 0;
    size_t unused = 0, memory = 0;
    cudaError_t code = cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device);
    if (code == cudaSuccess && supported) code = cudaMemGetInfo(&unused, &memory);
    if (code == cudaSuccess && supported) {
        cudaMemPoolProps wanted;
        memset(&wanted, 0, sizeof wanted);
        wanted.allocType = cudaMemAllocationTypePinned;
        wanted.location.type = cudaMemLocationTypeDevice;
        wanted.location.id = device;
        code = cudaMemPoolCreate(&p->pool, &wanted);
        if (code != cudaSuccess) p->pool = NULL;
        uint64_t kept = memory / KEPT_SHARE;
        if (p->pool) code = cudaMemPoolSetAttribute(p->pool, cudaMemPoolAttrReleaseThreshold, &kept);
        if (code == cudaSuccess) code = cudaStreamCreateWithFlags(&p->stream, cudaStreamNonBlocking);
    }
    if (code == cudaSuccess) return;
    (void)cudaGetLastError();
    if (p->pool) (void)cudaMemPoolDestroy(p->pool);
    p->pool = NULL;
}

/* The device is current. */
static device_pool pool_of(int device)
{
    device_pool none = {1, NULL, NULL};
    if (device < 0 || device >= MOST_POOLS) return none;
    pthread_mutex_lock(&lock);
    device_pool *p = &pools[device];
    if (!p->settled && pools_wanted()) make_pool(p, device);
    p->settled = 1;
    const device_pool found = *p;
    pthread_mutex_unlock(&lock);
    return found;
}

/* The stream's error, if it has one, is found by whoever waits for the stream next. */
static cudaError_t take(const device_pool *p, void **made, size_t bytes, int any_stream)
{
    if (!p->pool) return cudaMalloc(made, bytes);
    const cudaStream_t stream = any_stream ? p->stream : NULL;
    cudaError_t code = cudaMallocFromPoolAsync(made, bytes, p->pool, stream);
    if (code != cudaSuccess) { /* what is kept may lie in pieces that are too small: with it given back, once more */
        (void)cudaGetLastError();
        (void)cudaDeviceSynchronize();
        (void)cudaMemPoolTrimTo(p->pool, 0);
        return cudaMalloc(made, bytes);
    }
    if (any_stream) code = cudaStreamSynchronize(stream);
    if (code != cudaSuccess) (void)cudaFreeAsync(*made, stream);
    return code;
}

static spry_status allocate(int device, void **pointer, int64_t bytes, const char *what, int any_stream,
                            spry_error *err)
{
    device_scope scope(device);
    void *made = NULL;
    cudaError_t code = scope.code;
    if (code == cudaSuccess) {
        const device_pool p = pool_of(device);
        code = take(&p, &made, bytes > 0 ? (size_t)bytes : 1, any_stream);
    }
    if (code == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return spryi_fail_value(err, SPRY_OUT_OF_MEMORY, NULL, bytes, 0, "out of device memory: %lld bytes for %s",
                                (long long)bytes, what);
    }
    if (code != cudaSuccess) return spry_cuda_fail(err, code, what);
    *pointer = made;
    return SPRY_OK;
}

spry_status spry_cuda_allocate(int device, void **pointer, int64_t bytes, const char *what, spry_error *err)
{
    return allocate(device, pointer, bytes, what, 1, err);
}

spry_status spry_cuda_allocate_in_order(int device, void **pointer, int64_t bytes, const char *what, spry_error *err)
{
    return allocate(device, pointer, bytes, what, 0, err);
}

/* cudaFree of memory of a pool waits for nobody. */
void spry_cuda_release(int device, void *pointer)
{
    if (!pointer) return;
    device_scope scope(device);
    if (pool_of(device).pool) (void)cudaDeviceSynchronize();
    (void)cudaFree(pointer);
}

void spry_cuda_release_in_order(int device, void *pointer)
{
    if (!pointer) return;
    device_scope scope(device);
    if (pool_of(device).pool && cudaFreeAsync(pointer, NULL) == cudaSuccess) return;
    (void)cudaGetLastError(); /* of cudaMalloc, when the pool could not serve */
    (void)cudaFree(pointer);
}

spry_status spry_cuda_new(void **made, int64_t bytes, const char *what, spry_error *err)
{
    int device = 0;
    cudaError_t code = cudaGetDevice(&device);
    return code == cudaSuccess ? allocate(device, made, bytes, what, 1, err) : spry_cuda_fail(err, code, what);
}

void spry_cuda_free(void *pointer)
{
    cudaPointerAttributes about;
    if (!pointer) return;
    if (cudaPointerGetAttributes(&about, pointer) == cudaSuccess)
        spry_cuda_release(about.device, pointer);
    else
        (void)cudaGetLastError();
}

/* Bytes of the pool that are not in use go back to the driver. The device is current. */
static int64_t trim(cudaMemPool_t pool)
{
    uint64_t before = 0, after = 0;
    (void)cudaStreamSynchronize(NULL); /* what was given back in its order counts as unused behind it */
    cudaError_t code = cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &before);
    if (code == cudaSuccess) code = cudaMemPoolTrimTo(pool, 0);
    if (code == cudaSuccess) code = cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &after);
    if (code == cudaSuccess) return before > after ? (int64_t)(before - after) : 0;
    (void)cudaGetLastError();
    return 0;
}

int64_t spry_cuda_trim(void)
{
    int64_t given = 0;
    for (int device = 0; device < MOST_POOLS; device++) {
        pthread_mutex_lock(&lock);
        const cudaMemPool_t pool = pools[device].pool;
        pthread_mutex_unlock(&lock);
        if (!pool) continue;
        device_scope scope(device);
        given += trim(pool);
    }
    return given;
}

void spry_cuda_open(void)
{
    pthread_mutex_lock(&lock);
    contexts++;
    pthread_mutex_unlock(&lock);
}

void spry_cuda_close(void)
{
    pthread_mutex_lock(&lock);
    const int last = --contexts == 0;
    pthread_mutex_unlock(&lock);
    if (last) (void)spry_cuda_trim();
}
