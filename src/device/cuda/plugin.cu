/* The plug-in's entry point: devices, copies, and the list of kernels. Memory is in memory.cu. */
#include "device/cuda/cuda_common.cuh"

#include "base/build_id.h"
#include "device/plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

spry_status spry_cuda_fail(spry_error *err, cudaError_t code, const char *what)
{
    spry_status status = code == cudaErrorMemoryAllocation ? SPRY_OUT_OF_MEMORY : SPRY_DEVICE_FAILED;
    (void)cudaGetLastError();
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

static spry_status describe(int ordinal, spryi_device *device, spry_error *err)
{
    cudaDeviceProp p;
    int driver = 0;
    cudaError_t code = cudaGetDeviceProperties(&p, ordinal);
    if (code == cudaSuccess) code = cudaDriverGetVersion(&driver);
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "device properties");
    snprintf(device->description, sizeof device->description, "%.95s, compute capability %d.%d, driver for CUDA %d.%d",
             p.name, p.major, p.minor, driver / 1000, driver % 1000 / 10);
    device->units = p.multiProcessorCount;
    device->major = p.major;
    device->minor = p.minor;
    device->shared_bytes = (int)p.sharedMemPerBlockOptin;
    device->memory_bytes = (int64_t)p.totalGlobalMem;
    device->cache_bytes = p.l2CacheSize;
    return SPRY_OK;
}

/* ---- memory (memory.cu) and copies -------------------------------------------------------------------- */

static spry_status clear(const spryi_device *device, void *pointer, int64_t bytes, spry_error *err)
{
    if (bytes == 0) return SPRY_OK;
    device_scope scope(device->ordinal);
    cudaError_t code = scope.code;
    if (code == cudaSuccess) code = cudaMemset(pointer, 0, (size_t)bytes);
    if (code == cudaSuccess) code = cudaStreamSynchronize(NULL);
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "clear");
}

static spry_status copy(const spryi_device *device, void *to, const void *from, int64_t bytes, spryi_copy kind,
                        void *stream, spry_error *err)
{
    if (bytes == 0) return SPRY_OK;
    device_scope scope(device->ordinal);
    cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice};
    cudaError_t code = scope.code;
    if (code == cudaSuccess) code = cudaMemcpyAsync(to, from, (size_t)bytes, kinds[kind], (cudaStream_t)stream);
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "copy");
}

static spry_status synchronize(const spryi_device *device, void *stream, spry_error *err)
{
    device_scope scope(device->ordinal);
    cudaError_t code = scope.code;
    if (code == cudaSuccess) code = cudaStreamSynchronize((cudaStream_t)stream);
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "synchronize");
}

static bool is_capturing(void *stream)
{
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaError_t code = cudaStreamIsCapturing((cudaStream_t)stream, &status);
    return code == cudaSuccess && status != cudaStreamCaptureStatusNone;
}

static spry_status finish(const spryi_device *device, spry_error *err)
{
    device_scope scope(device->ordinal);
    cudaError_t code = scope.code;
    if (code == cudaSuccess) code = spry_cuda_wait_for_device();
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "synchronize");
}

/* ---- y = beta*y ----------------------------------------------------------------------------------- */

template <typename V> static __global__ void scale_kernel(V *y, int64_t length, V beta)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < length) y[i] = beta == 0 ? V(0) : beta * y[i];
}

template <typename V> static spry_status start_scale(void *y, int64_t length, V beta, void *stream, spry_error *err)
{
    if (length == 0 || beta == 1) return SPRY_OK;
    scale_kernel<<<(unsigned)ceil_div(length, 256), 256, 0, (cudaStream_t)stream>>>((V *)y, length, beta);
    return launched(err, "scale");
}

static spry_status scale(const spryi_device *device, void *y, spry_type type, int64_t length, const void *beta,
                         void *stream, spry_error *err)
{
    device_scope scope(device->ordinal);
    if (scope.code != cudaSuccess) return spry_cuda_fail(err, scope.code, "device");
    return SPRY_BY_TYPE(type, V, start_scale(y, length, *(const V *)beta, stream, err));
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

/* Kernels compiled for less than capability 9.0 do not wait for the previous kernel. They must not start early. */
bool spry_cuda_launches_early(int device)
{
    enum { MOST = 64, NO = 1, YES = 2 };
    static int known[MOST]; /* 0: unknown; all threads that find it write the same value */
    if (device < 0 || device >= MOST) return false;
    int answer = __atomic_load_n(&known[device], __ATOMIC_RELAXED);
    if (answer == 0) {
        int major = 0;
        cudaFuncAttributes attributes;
        const bool can = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
                         major >= 9 && cudaFuncGetAttributes(&attributes, copy_kernel) == cudaSuccess &&
                         attributes.ptxVersion >= 90;
        answer = can ? YES : NO;
        __atomic_store_n(&known[device], answer, __ATOMIC_RELAXED);
    }
    return answer == YES;
}

static spry_status copy_bandwidth(const spryi_device *device, int64_t bytes, double *gbps, spry_error *err)
{
    enum { BATCHES = 9, RUNS = 10 };
    device_scope scope(device->ordinal);
    cudaError_t code = scope.code;
    float ms[BATCHES];
    void *from = NULL, *to = NULL;
    cudaEvent_t start = NULL, stop = NULL;
    int64_t length = bytes / 16;
    spry_status status = device->ops->allocate(device, &from, bytes, "copy bandwidth", err);
    if (status == SPRY_OK) status = device->ops->allocate(device, &to, bytes, "copy bandwidth", err);
    if (status != SPRY_OK) goto done;
    if (code == cudaSuccess) code = cudaMemset(from, 1, (size_t)bytes);
    if (code == cudaSuccess) code = cudaEventCreate(&start);
    if (code == cudaSuccess) code = cudaEventCreate(&stop);
    for (int b = -1; b < BATCHES && code == cudaSuccess; b++) { /* -1 warms up */
        spry_cuda_ignore(cudaEventRecord(start, 0));
        for (int r = 0; r < RUNS; r++)
            copy_kernel<<<(unsigned)ceil_div(length, 4 * 512), 512>>>((double2 *)to, (const double2 *)from, length);
        spry_cuda_ignore(cudaEventRecord(stop, 0));
        code = cudaEventSynchronize(stop);
        float elapsed = 0;
        if (code == cudaSuccess) code = cudaEventElapsedTime(&elapsed, start, stop);
        if (b >= 0) ms[b] = elapsed / RUNS;
    }
    if (code == cudaSuccess) {
        qsort(ms, BATCHES, sizeof *ms, by_value);
        *gbps = 2e-6 * (double)(length * 16) / ms[BATCHES / 2];
    }
    if (code != cudaSuccess) status = spry_cuda_fail(err, code, "copy bandwidth");
done:
    if (start) spry_cuda_ignore(cudaEventDestroy(start));
    if (stop) spry_cuda_ignore(cudaEventDestroy(stop));
    device->ops->release(device, from);
    device->ops->release(device, to);
    return status;
}

static spry_status enter(const spryi_device *device, int *previous, spry_error *err)
{
    cudaError_t code = cudaGetDevice(previous);
    if (code == cudaSuccess && *previous != device->ordinal) code = cudaSetDevice(device->ordinal);
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "device");
}

static void leave(const spryi_device *device, int previous)
{
    (void)device;
    (void)cudaSetDevice(previous);
}

/* ---- kernels ------------------------------------------------------------------------------------------- */

#define KERNEL(name) &spry_cuda_##name,
static const spryi_kernel_functions *const kernels[] = {SPRY_CUDA_KERNELS(KERNEL)};
#define CONVERTER(format) &spry_cuda_to_##format,
static const spryi_converter *const converters[] = {SPRY_CUDA_CONVERTERS(CONVERTER)};

static int find_kernel(const spryi_device *device, const spryi_kernel *kernel, spryi_kernel_functions *functions,
                       const char **reason)
{
    (void)device;
    *reason = "";
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        if (strcmp(kernels[k]->name, kernel->name) == 0) {
            *functions = *kernels[k];
            return 1;
        }
    *reason = "the CUDA plug-in was built without this kernel";
    return 0;
}

static const spryi_converter *find_converter(const spryi_device *device, const char *format)
{
    (void)device;
    for (size_t c = 0; c < sizeof converters / sizeof *converters; c++)
        if (strcmp(converters[c]->format, format) == 0) return converters[c];
    return NULL;
}

static const struct spryi_vector_ops *vector_ops(const spryi_device *device)
{
    (void)device;
    return &spry_cuda_vector_ops;
}

/* Sets the fields one by one, because C++17 has no designated initializers. */
static spryi_device_ops build_ops(void)
{
    spryi_device_ops ops = {};
    ops.allocate = spry_cuda_allocate;
    ops.release = spry_cuda_release;
    ops.allocate_in_order = spry_cuda_allocate_in_order;
    ops.release_in_order = spry_cuda_release_in_order;
    ops.clear = clear;
    ops.copy = copy;
    ops.gather = spry_cuda_gather;
    ops.synchronize = synchronize;
    ops.is_capturing = is_capturing;
    ops.finish = finish;
    ops.enter = enter;
    ops.leave = leave;
    ops.scale = scale;
    ops.map = spry_cuda_map;
    ops.copy_bandwidth = copy_bandwidth;
    ops.find_kernel = find_kernel;
    ops.find_converter = find_converter;
    ops.vector_ops = vector_ops;
    ops.matrix = &spry_cuda_matrix;
    ops.spgemm = &spry_cuda_spgemm;
    return ops;
}

extern "C" __attribute__((visibility("default"))) const spryi_plugin *spryi_plugin_entry(void)
{
    static spryi_device_ops ops = {};
    static spryi_plugin plugin = {};
    if (plugin.build_id) return &plugin; /* initialized under the loader's lock */
    ops = build_ops();
    plugin.ops = &ops;
    plugin.count = count;
    plugin.describe = describe;
    plugin.trim = spry_cuda_trim;
    plugin.cached_bytes = spry_cuda_cached_bytes;
    plugin.open = spry_cuda_open;
    plugin.close = spry_cuda_close;
    plugin.build_id = SPRYI_BUILD_ID;
    return &plugin;
}
