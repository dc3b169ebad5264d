/*
 * Device memory that the process keeps for reuse, because cudaMalloc and cudaFree take as long as a product of small
 * matrices (docs/decisions.md, 15). There are two kinds of functions that allocate and release:
 *   any stream   The memory is usable in all streams and is released after all work of the device, as by cudaFree.
 *   in order     The memory is usable only in the default stream. No call waits.
 * Functions of one kind may release memory that functions of the other kind allocated.
 * Blocks below LARGE bytes come from a CUDA memory pool of the library. Larger blocks come from cudaMalloc, which takes
 * a tenth of the time that a pool takes to map new memory. After their release, they are kept in a list. The pool and
 * the list each keep at most 1/KEPT_SHARE of the device's memory; the pool's limit includes used memory. Kept memory is
 * freed by trim and when the last context is destroyed.
 * The library calls cudaMalloc and cudaFree directly if a device has no pools, if the environment sets SPRY_CUDA_POOL
 * to "off", and for contexts without caches. The lists do not contain such blocks.
 */
#include "device/cuda/cuda_common.cuh"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POOLS = 64, KEPT_SHARE = 8, LARGE = 32 << 20, MOST_LIVE = 256, MOST_KEPT = 16, SPARE_SHARE = 8 };

typedef struct large_block {
    void *at;
    size_t bytes;
    bool in_order; /* for a kept block: work in the default stream may still use the block */
} large_block;

typedef struct device_pool {
    bool resolved;
    cudaMemPool_t pool;  /* NULL: none, cudaMalloc is used */
    cudaStream_t stream; /* orders the pool's allocations that are for any stream; runs no kernels */
    size_t most_kept, kept_bytes;
    int live_count, kept_count;
    large_block live[MOST_LIVE], kept[MOST_KEPT]; /* kept: the oldest first */
} device_pool;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects all variables below */
static device_pool pools[MOST_POOLS];
static int contexts;

/* Creates a pool. After a failure there is no pool, and cudaMalloc is used. The device is current. */
static void create_pool(device_pool *p, int device)
{
    int supported = 0;
    size_t unused = 0, memory = 0;
    cudaError_t code = cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device);
    if (code == cudaSuccess && supported) code = cudaMemGetInfo(&unused, &memory);
    p->most_kept = memory / KEPT_SHARE;
    if (code == cudaSuccess && supported) {
        cudaMemPoolProps wanted;
        memset(&wanted, 0, sizeof wanted);
        wanted.allocType = cudaMemAllocationTypePinned;
        wanted.location.type = cudaMemLocationTypeDevice;
        wanted.location.id = device;
        code = cudaMemPoolCreate(&p->pool, &wanted);
        if (code != cudaSuccess) p->pool = NULL;
        uint64_t kept = p->most_kept;
        if (p->pool) code = cudaMemPoolSetAttribute(p->pool, cudaMemPoolAttrReleaseThreshold, &kept);
        if (code == cudaSuccess) code = cudaStreamCreateWithFlags(&p->stream, cudaStreamNonBlocking);
    }
    if (code == cudaSuccess) return;
    (void)cudaGetLastError();
    if (p->pool) spry_cuda_ignore(cudaMemPoolDestroy(p->pool));
    p->pool = NULL;
}

/* Returns the device's pool, or NULL if cudaMalloc is used. The device is current. */
static device_pool *pool_of(int device)
{
    if (device < 0 || device >= MOST_POOLS) return NULL;
    device_pool *p = &pools[device];
    pthread_mutex_lock(&lock);
    const char *choice = p->resolved ? "off" : getenv("SPRY_CUDA_POOL");
    if (!choice || strcmp(choice, "off") != 0) create_pool(p, device);
    p->resolved = true;
    pthread_mutex_unlock(&lock);
    return p->pool ? p : NULL; /* constant after the first call */
}

/* ---- large blocks ------------------------------------------------------------------------------------------- */

static void forget(large_block *list, int *count, int b)
{
    (*count)--;
    memmove(list + b, list + b + 1, (size_t)(*count - b) * sizeof *list);
}

/*
 * Takes the smallest kept block that is large enough and of which at most 1/SPARE_SHARE would be unused, and records it
 * as in use. Returns an empty block if there is none.
 */
static large_block take_kept(device_pool *p, size_t bytes)
{
    large_block found = {NULL, 0, false};
    int best = -1;
    pthread_mutex_lock(&lock);
    for (int b = 0; b < p->kept_count; b++) {
        const size_t size = p->kept[b].bytes;
        if (size < bytes || size - bytes > size / SPARE_SHARE) continue;
        if (best < 0 || size < p->kept[best].bytes) best = b;
    }
    if (best >= 0 && p->live_count < MOST_LIVE) {
        found = p->kept[best];
        p->kept_bytes -= found.bytes;
        forget(p->kept, &p->kept_count, best);
        p->live[p->live_count++] = found;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* Records a block in use. If the list is full, the block is not recorded and is freed on release. */
static void record_live(device_pool *p, void *at, size_t bytes)
{
    const large_block block = {at, bytes, false};
    pthread_mutex_lock(&lock);
    if (p->live_count < MOST_LIVE) p->live[p->live_count++] = block;
    pthread_mutex_unlock(&lock);
}

/* Removes the oldest kept blocks until `bytes` more can be kept. Returns their number; the caller frees them. */
static int make_room(device_pool *p, size_t bytes, large_block *removed)
{
    int count = 0;
    while (p->kept_count > 0 && (p->kept_count == MOST_KEPT || p->kept_bytes + bytes > p->most_kept)) {
        removed[count++] = p->kept[0];
        p->kept_bytes -= p->kept[0].bytes;
        forget(p->kept, &p->kept_count, 0);
    }
    return count;
}

/* Keeps or frees a recorded large block. Returns false if the block was not recorded. */
static bool give_large(device_pool *p, void *at, bool in_order)
{
    large_block removed[MOST_KEPT + 1];
    int count = 0, found = 0;
    pthread_mutex_lock(&lock);
    while (found < p->live_count && p->live[found].at != at) found++;
    const bool known = found < p->live_count;
    if (known) {
        large_block block = p->live[found];
        forget(p->live, &p->live_count, found);
        block.in_order = in_order;
        if (block.bytes > p->most_kept) {
            removed[count++] = block;
        } else {
            count = make_room(p, block.bytes, removed);
            p->kept[p->kept_count++] = block;
            p->kept_bytes += block.bytes;
        }
    }
    pthread_mutex_unlock(&lock);
    for (int b = 0; b < count; b++) spry_cuda_ignore(cudaFree(removed[b].at));
    return known;
}

/* ---- blocks of all sizes ----------------------------------------------------------------------------------- */

/* Frees all unused memory, and returns its bytes. The device is current. */
static int64_t trim(device_pool *p)
{
    large_block removed[MOST_KEPT];
    uint64_t before = 0, after = 0;
    pthread_mutex_lock(&lock);
    const int count = p->kept_count;
    int64_t given = (int64_t)p->kept_bytes;
    memcpy(removed, p->kept, sizeof removed);
    p->kept_count = 0;
    p->kept_bytes = 0;
    pthread_mutex_unlock(&lock);
    for (int b = 0; b < count; b++) spry_cuda_ignore(cudaFree(removed[b].at));
    spry_cuda_ignore(cudaStreamSynchronize(NULL)); /* blocks released in order are in use until this wait ends */
    spry_cuda_ignore(cudaStreamSynchronize(p->stream));
    cudaError_t code = cudaMemPoolGetAttribute(p->pool, cudaMemPoolAttrReservedMemCurrent, &before);
    if (code == cudaSuccess) code = cudaMemPoolTrimTo(p->pool, 0);
    if (code == cudaSuccess) code = cudaMemPoolGetAttribute(p->pool, cudaMemPoolAttrReservedMemCurrent, &after);
    if (code == cudaSuccess && before > after) given += (int64_t)(before - after);
    if (code != cudaSuccess) (void)cudaGetLastError();
    return given;
}

/*
 * Returns the number of bytes that are kept: large blocks, and the unused part of the pool. The driver cannot free all
 * of the unused part if used memory is in the same blocks of the pool.
 */
static int64_t cached_bytes(device_pool *p)
{
    uint64_t reserved = 0, used = 0;
    spry_cuda_ignore(cudaStreamSynchronize(NULL)); /* waits for blocks released in order, like trim */
    spry_cuda_ignore(cudaStreamSynchronize(p->stream));
    pthread_mutex_lock(&lock);
    const int64_t large = (int64_t)p->kept_bytes;
    pthread_mutex_unlock(&lock);
    cudaError_t code = cudaMemPoolGetAttribute(p->pool, cudaMemPoolAttrReservedMemCurrent, &reserved);
    if (code == cudaSuccess) code = cudaMemPoolGetAttribute(p->pool, cudaMemPoolAttrUsedMemCurrent, &used);
    if (code != cudaSuccess) (void)cudaGetLastError();
    return large + (code == cudaSuccess && reserved > used ? (int64_t)(reserved - used) : 0);
}

/* Allocates by cudaMalloc. If memory is short, frees all kept memory and tries again. */
static cudaError_t take_new(device_pool *p, void **made, size_t bytes)
{
    cudaError_t code = cudaMalloc(made, bytes);
    if (code != cudaErrorMemoryAllocation) return code;
    (void)cudaGetLastError();
    spry_cuda_ignore(spry_cuda_wait_for_device());
    (void)trim(p);
    return cudaMalloc(made, bytes);
}

/*
 * Allocates from the pool or the list. An error of the default stream is reported by the next call that waits for that
 * stream.
 */
static cudaError_t take(device_pool *p, void **made, size_t bytes, bool any_stream, bool uncached)
{
    if (!p) return cudaMalloc(made, bytes);
    if (uncached) return take_new(p, made, bytes);
    if (bytes >= LARGE) {
        const large_block kept = take_kept(p, bytes);
        *made = kept.at;
        if (kept.at) return any_stream && kept.in_order ? cudaStreamSynchronize(NULL) : cudaSuccess;
        const cudaError_t code = take_new(p, made, bytes);
        if (code == cudaSuccess) record_live(p, *made, bytes);
        return code;
    }
    const cudaStream_t stream = any_stream ? p->stream : NULL;
    cudaError_t code = cudaMallocFromPoolAsync(made, bytes, p->pool, stream);
    if (code != cudaSuccess) {
        (void)cudaGetLastError();
        return take_new(p, made, bytes);
    }
    if (any_stream) code = cudaStreamSynchronize(stream);
    if (code != cudaSuccess) spry_cuda_ignore(cudaFreeAsync(*made, stream));
    return code;
}

static spry_status allocate(const spryi_device *device, void **pointer, int64_t bytes, const char *what,
                            bool any_stream, spry_error *err)
{
    device_scope scope(device->ordinal);
    void *made = NULL;
    cudaError_t code = scope.code;
    if (code == cudaSuccess)
        code = take(pool_of(device->ordinal), &made, bytes > 0 ? (size_t)bytes : 1, any_stream, device->uncached);
    if (code == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return spryi_fail_value(err, SPRY_OUT_OF_MEMORY, NULL, bytes, 0, "out of device memory: %lld bytes for %s",
                                (long long)bytes, what);
    }
    if (code != cudaSuccess) return spry_cuda_fail(err, code, what);
    *pointer = made;
    return SPRY_OK;
}

/* ---- host memory that kernels access ------------------------------------------------------------------------- */

/*
 * A block of host memory that kernels access directly, for data so small that a copy would take longer than the kernel
 * takes. The process has one such block, from the first use until the last context is destroyed.
 */
static pthread_mutex_t host_lock = PTHREAD_MUTEX_INITIALIZER;
static void *host_block;

int spry_cuda_lock_host_block(void **taken)
{
    pthread_mutex_lock(&host_lock);
    cudaError_t code = cudaSuccess;
    if (!host_block) code = cudaHostAlloc(&host_block, SPRY_CUDA_HOST_BLOCK_BYTES, cudaHostAllocPortable);
    *taken = host_block;
    if (code != cudaSuccess) pthread_mutex_unlock(&host_lock);
    return code;
}

void spry_cuda_unlock_host_block(void)
{
    pthread_mutex_unlock(&host_lock);
}

void spry_cuda_free_host_block(void)
{
    pthread_mutex_lock(&host_lock);
    if (host_block) spry_cuda_ignore(cudaFreeHost(host_block));
    host_block = NULL;
    pthread_mutex_unlock(&host_lock);
}

/* ---- the plug-in's functions ----------------------------------------------------------------------------------- */

spry_status spry_cuda_allocate(const spryi_device *device, void **pointer, int64_t bytes, const char *what,
                               spry_error *err)
{
    return allocate(device, pointer, bytes, what, true, err);
}

spry_status spry_cuda_allocate_in_order(const spryi_device *device, void **pointer, int64_t bytes, const char *what,
                                        spry_error *err)
{
    return allocate(device, pointer, bytes, what, false, err);
}

/* Memory of the pool is not released by cudaFree, which would not wait and would leave the memory counted as used. */
void spry_cuda_release(const spryi_device *device, void *pointer)
{
    if (!pointer) return;
    device_scope scope(device->ordinal);
    device_pool *p = pool_of(device->ordinal);
    if (p) spry_cuda_ignore(spry_cuda_wait_for_device());
    if (p && (give_large(p, pointer, false) || cudaFreeAsync(pointer, p->stream) == cudaSuccess)) return;
    if (p) (void)cudaGetLastError(); /* clears the error of cudaFreeAsync: the block came from cudaMalloc */
    spry_cuda_ignore(cudaFree(pointer));
}

void spry_cuda_release_in_order(const spryi_device *device, void *pointer)
{
    if (!pointer) return;
    device_scope scope(device->ordinal);
    device_pool *p = pool_of(device->ordinal);
    if (p && give_large(p, pointer, true)) return;
    if (p && cudaFreeAsync(pointer, NULL) == cudaSuccess) return;
    (void)cudaGetLastError(); /* clears the error of cudaFreeAsync: the block came from cudaMalloc */
    spry_cuda_ignore(cudaFree(pointer));
}

/* Sums count() over all pools, with each pool's device current. */
static int64_t sum_of_pools(int64_t (*count)(device_pool *))
{
    int64_t sum = 0;
    for (int device = 0; device < MOST_POOLS; device++) {
        pthread_mutex_lock(&lock);
        const bool exists = pools[device].pool != NULL;
        pthread_mutex_unlock(&lock);
        if (!exists) continue;
        device_scope scope(device);
        sum += count(&pools[device]);
    }
    return sum;
}

int64_t spry_cuda_trim(void)
{
    return sum_of_pools(trim);
}

int64_t spry_cuda_cached_bytes(void)
{
    return sum_of_pools(cached_bytes);
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
    const bool last = --contexts == 0;
    pthread_mutex_unlock(&lock);
    if (!last) return;
    (void)spry_cuda_trim();
    spry_cuda_free_host_block();
}
