/* The plug-in's entry: devices, copies, and the list of kernels; memory is memory.cu's. */
#include "cuda/cuda_common.cuh"

#include "core/build_id.h"
#include "cuda/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

spry_status spry_cuda_fail(spry_error *err, cudaError_t code, const char *what)
{
    spry_status status = code == cudaErrorMemoryAllocation ? SPRY_OUT_OF_MEMORY : SPRY_DEVICE_FAILED;
    return spryi_fail(err, status, NULL, "%s: CUDA says \"%s\" (%s)", what, cudaGetErrorString(code),
                      cudaGetErrorName(code));
}

static int count(char *reason, size_t reason_size)
{
    int devices = 0;
    cudaError_t code = cudaGetDeviceCount(&devices);
    if (code == cudaSuccess && devices > 0) return devices;
    (void)cudaGetLastError();
    snprintf(reason, reason_size, "%s", code == cudaSuccess ? "no CUDA device is visible" : cudaGetErrorString(code));
    return 0;
}

static spry_status describe(int device, spryi_cuda_device *info, spry_error *err)
{
    cudaDeviceProp p;
    int driver = 0;
    cudaError_t code = cudaGetDeviceProperties(&p, device);
    if (code == cudaSuccess) code = cudaDriverGetVersion(&driver);
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "device properties");
    memset(info, 0, sizeof *info);
    snprintf(info->name, sizeof info->name, "%.95s", p.name);
    snprintf(info->driver, sizeof info->driver, "%d.%d", driver / 1000, driver % 1000 / 10);
    info->multiprocessors = p.multiProcessorCount;
    info->major = p.major;
    info->minor = p.minor;
    info->shared_bytes = (int)p.sharedMemPerBlockOptin;
    info->memory_bytes = (int64_t)p.totalGlobalMem;
    info->cache_bytes = p.l2CacheSize;
    return SPRY_OK;
}

static spry_status clear(int device, void *pointer, int64_t bytes, spry_error *err)
{
    device_scope scope(device);
    cudaError_t code = scope.code;
    if (code == cudaSuccess) code = cudaMemset(pointer, 0, (size_t)bytes);
    if (code == cudaSuccess) code = cudaDeviceSynchronize();
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "clear");
}

static spry_status copy(int device, void *to, const void *from, int64_t bytes, spryi_copy kind, void *stream,
                        spry_error *err)
{
    if (bytes == 0) return SPRY_OK;
    device_scope scope(device);
    cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice};
    cudaError_t code = scope.code;
    if (code == cudaSuccess) code = cudaMemcpyAsync(to, from, (size_t)bytes, kinds[kind], (cudaStream_t)stream);
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "copy");
}

static spry_status synchronize(int device, void *stream, spry_error *err)
{
    device_scope scope(device);
    cudaError_t code = scope.code;
    if (code == cudaSuccess) code = cudaStreamSynchronize((cudaStream_t)stream);
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "synchronize");
}

/* ---- y = beta*y ----------------------------------------------------------------------------------- */

template <typename V> static __global__ void scale_kernel(V *y, int64_t length, V beta)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < length) y[i] = beta == 0 ? V(0) : beta * y[i];
}

static spry_status scale(int device, void *y, spry_type type, int64_t length, double beta, void *stream,
                         spry_error *err)
{
    if (length == 0 || beta == 1) return SPRY_OK;
    device_scope scope(device);
    if (scope.code != cudaSuccess) return spry_cuda_fail(err, scope.code, "device");
    unsigned blocks = (unsigned)ceil_div(length, 256);
    if (type == SPRY_F64)
        scale_kernel<<<blocks, 256, 0, (cudaStream_t)stream>>>((double *)y, length, beta);
    else
        scale_kernel<<<blocks, 256, 0, (cudaStream_t)stream>>>((float *)y, length, (float)beta);
    return launched(err, "scale");
}

/* ---- bandwidth ------------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static __global__ void copy_kernel(double2 *to, const double2 *from, int64_t length)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < length; i += step) to[i] = from[i];
}

static spry_status copy_bandwidth(int device, int64_t bytes, double *gbps, spry_error *err)
{
    enum { BATCHES = 9, RUNS = 10 };
    device_scope scope(device);
    cudaError_t code = scope.code;
    float ms[BATCHES];
    void *from = NULL, *to = NULL;
    cudaEvent_t start = NULL, stop = NULL;
    int64_t length = bytes / 16;
    if (code == cudaSuccess) code = cudaMalloc(&from, (size_t)bytes);
    if (code == cudaSuccess) code = cudaMalloc(&to, (size_t)bytes);
    if (code == cudaSuccess) code = cudaMemset(from, 1, (size_t)bytes);
    if (code == cudaSuccess) code = cudaEventCreate(&start);
    if (code == cudaSuccess) code = cudaEventCreate(&stop);
    for (int b = -1; b < BATCHES && code == cudaSuccess; b++) { /* -1 warms up */
        (void)cudaEventRecord(start, 0);
        for (int r = 0; r < RUNS; r++)
            copy_kernel<<<(unsigned)ceil_div(length, 4 * 512), 512>>>((double2 *)to, (const double2 *)from, length);
        (void)cudaEventRecord(stop, 0);
        code = cudaEventSynchronize(stop);
        float elapsed = 0;
        if (code == cudaSuccess) code = cudaEventElapsedTime(&elapsed, start, stop);
        if (b >= 0) ms[b] = elapsed / RUNS;
    }
    if (code == cudaSuccess) {
        qsort(ms, BATCHES, sizeof *ms, by_value);
        *gbps = 2e-6 * (double)(length * 16) / ms[BATCHES / 2];
    }
    if (start) (void)cudaEventDestroy(start);
    if (stop) (void)cudaEventDestroy(stop);
    (void)cudaFree(from);
    (void)cudaFree(to);
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "copy bandwidth");
}

static spry_status enter(int device, int *previous, spry_error *err)
{
    cudaError_t code = cudaGetDevice(previous);
    if (code == cudaSuccess && *previous != device) code = cudaSetDevice(device);
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "device");
}

static void leave(int previous)
{
    (void)cudaSetDevice(previous);
}

static const spryi_cuda_kernel *const kernels[] = {SPRY_CUDA_KERNELS};
static const spryi_cuda_converter *const converters[] = {SPRY_CUDA_CONVERTERS};

extern "C" __attribute__((visibility("default"))) const spryi_cuda_plugin *spryi_cuda_plugin_entry(void)
{
    static spryi_cuda_plugin plugin = {};
    if (plugin.build_id) return &plugin; /* filled under the loader's lock */
    plugin.kernels = kernels;
    plugin.kernel_count = (int)(sizeof kernels / sizeof *kernels);
    plugin.converters = converters;
    plugin.converter_count = (int)(sizeof converters / sizeof *converters);
    plugin.count = count;
    plugin.describe = describe;
    plugin.allocate = spry_cuda_allocate;
    plugin.release = spry_cuda_release;
    plugin.allocate_in_order = spry_cuda_allocate_in_order;
    plugin.release_in_order = spry_cuda_release_in_order;
    plugin.started = spry_cuda_started;
    plugin.trim = spry_cuda_trim;
    plugin.open = spry_cuda_open;
    plugin.close = spry_cuda_close;
    plugin.clear = clear;
    plugin.copy = copy;
    plugin.synchronize = synchronize;
    plugin.scale = scale;
    plugin.gather = spry_cuda_gather;
    plugin.copy_bandwidth = copy_bandwidth;
    plugin.enter = enter;
    plugin.leave = leave;
    plugin.vector_ops = &spry_cuda_vector_ops;
    plugin.spgemm = &spry_cuda_spgemm;
    plugin.build_id = SPRYI_BUILD_ID;
    return &plugin;
}
