/* The CPU as a device: host memory, with the context's allocator and threads. */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "core/device.h"
#include "device/drivers.h"
#include "device/vector_ops.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- memory ------------------------------------------------------------------------------------------ */

static spry_status allocate(const spryi_device *device, void **pointer, int64_t bytes, const char *what,
                            spry_error *err)
{
    return spryi_allocate(device->context, pointer, bytes, 1, what, err);
}

static void release(const spryi_device *device, void *pointer)
{
    spryi_release(device->context, pointer);
}

static spry_status clear(const spryi_device *device, void *pointer, int64_t bytes, spry_error *err)
{
    (void)device, (void)err;
    if (bytes > 0) memset(pointer, 0, (size_t)bytes);
    return SPRY_OK;
}

static spry_status copy(const spryi_device *device, void *to, const void *from, int64_t bytes, spryi_copy kind,
                        void *stream, spry_error *err)
{
    (void)device, (void)kind, (void)stream, (void)err;
    if (bytes > 0) memcpy(to, from, (size_t)bytes);
    return SPRY_OK;
}

static spry_status synchronize(const spryi_device *device, void *stream, spry_error *err)
{
    (void)device, (void)stream, (void)err;
    return SPRY_OK;
}

static spry_status enter(const spryi_device *device, int *previous, spry_error *err)
{
    (void)device, (void)err;
    *previous = 0;
    return SPRY_OK;
}

static void leave(const spryi_device *device, int previous)
{
    (void)device, (void)previous;
}

/* ---- passes over vectors -------------------------------------------------------------------------------- */

enum { PARALLEL_FROM = 65536, MAP_BLOCK = 8192 }; /* entries */

#define SPRYI_TEMPLATE "device/cpu/vector_map.tmpl.c"
#include "base/instantiate_types.h"

static spry_status scale(const spryi_device *device, void *y, spry_type type, int64_t length, const void *beta,
                         void *stream, spry_error *err)
{
    (void)device, (void)stream, (void)err;
    spryi_scale(y, type, 0, length, beta);
    return SPRY_OK;
}

static spry_status map(const spryi_device *device, const spryi_vector_map *request, spry_error *err)
{
    (void)device, (void)err;
    SPRYI_BY_TYPE(request->type, map, (request));
    return SPRY_OK;
}

/* Returns the fastest passes that the processor and SPRY_SIMD permit. */
static const spryi_vector_ops *vector_ops(const spryi_device *device)
{
#ifdef SPRY_HAVE_X86
    if (device->context->simd >= SPRYI_AVX2) return &spryi_vector_ops_avx2;
#else
    (void)device;
#endif
    return &spryi_vector_ops_cpu;
}

/* ---- kernels ------------------------------------------------------------------------------------------- */

static int64_t workspace_bytes(const spryi_prepare_request *request, const void *auxiliary)
{
    (void)auxiliary;
    return spryi_storage_workspace(request->format, request->storage, request->vector_type);
}

/* Copies the functions from the descriptor. Returns whether the processor can run them, with a reason if not. */
static int find_kernel(const spryi_device *device, const spryi_kernel *kernel, spryi_kernel_functions *functions,
                       const char **reason)
{
    *functions = (spryi_kernel_functions){.name = kernel->name,
                                          .spmv = kernel->spmv,
                                          .spmv_t = kernel->spmv_t,
                                          .multi_row_major = kernel->multi_row_major,
                                          .multi_column_major = kernel->multi_column_major,
                                          .supports_column_major = kernel->supports_column_major,
                                          .workspace_bytes = workspace_bytes};
    *reason = kernel->simd <= device->context->simd ? ""
              : kernel->simd == SPRYI_AVX512
                  ? "needs AVX-512 (f, dq, bw, vl), which this processor lacks or SPRY_SIMD disables"
                  : "needs AVX2 and FMA, which this processor lacks or SPRY_SIMD disables";
    return kernel->simd <= device->context->simd;
}

/* ---- the driver ---------------------------------------------------------------------------------------- */

static const spryi_device_ops ops = {
    .allocate = allocate,
    .release = release,
    .allocate_in_order = allocate,
    .release_in_order = release,
    .clear = clear,
    .copy = copy,
    .synchronize = synchronize,
    .enter = enter,
    .leave = leave,
    .scale = scale,
    .map = map,
    .find_kernel = find_kernel,
    .vector_ops = vector_ops,
};

static char cpu_name[96] = "unknown processor";

static void read_cpu_name(void)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file) return;
    char line[256];
    while (fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        snprintf(cpu_name, sizeof cpu_name, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    fclose(file);
}

/* Returns, for example, "Intel(R) Xeon(R) Processor", or "unknown processor" if the system has no name. */
static const char *name_of_cpu(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_cpu_name);
    return cpu_name;
}

static int find(spry_context *context, spryi_device *devices, int most, const void **state, char *reason,
                size_t reason_size)
{
    (void)most, (void)state, (void)reason, (void)reason_size;
    const int64_t cache = spryi_cache_bytes(3);
    *devices = (spryi_device){
        .ops = &ops,
        .units = (int)sysconf(_SC_NPROCESSORS_ONLN),
        .simd = spryi_simd_name(context->simd),
        .memory_bytes = spryi_memory_bytes(),
        .cache_bytes = cache > 0 ? cache : spryi_cache_bytes(2),
    };
    snprintf(devices->description, sizeof devices->description, "%s", name_of_cpu());
    return 1;
}

const spryi_driver spryi_driver_cpu = {
    .name = "cpu",
    .title = "CPU",
    .device_title = "CPU",
    .host_memory = 1,
    .indices = "32/32 64/32 64/64",
    .find = find,
};
