/*
 * CUDA plug-in that needs no GPU. libspry loads the plug-in through SPRY_CUDA_PLUGIN. Its only device is the mock of
 * tests/mock, in host memory. A CUDA kernel runs as the mock's kernel of the same format, if the mock has one. Results
 * are right and records are complete; times mean nothing.
 */
#include "base/build_id.h"
#include "base/clock.h"
#include "base/error.h"
#include "device/plugin.h"
#include "mock/mock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int count(char *reason, size_t reason_size)
{
    (void)reason, (void)reason_size;
    return 1;
}

/*
 * Reports the sizes of an H100, because they decide which formats and kernels are chosen. Memory and cache are small,
 * to keep the work small.
 */
static spry_status describe(int ordinal, spryi_device *device, spry_error *err)
{
    (void)ordinal, (void)err;
    snprintf(device->description, sizeof device->description, "mock: host memory, no GPU");
    device->units = 132;
    device->major = 9;
    device->shared_bytes = 227 << 10;
    device->memory_bytes = (int64_t)2 << 30;
    device->cache_bytes = 1 << 20;
    return SPRY_OK;
}

static int find_kernel(const spryi_device *device, const spryi_kernel *kernel, spryi_kernel_functions *functions,
                       const char **reason)
{
    const spryi_kernel *served = mock_kernel_of(kernel->format);
    (void)device;
    *reason = served ? "" : "the mock has no kernel of its format";
    if (!served) return 0;
    *functions = (spryi_kernel_functions){.name = kernel->name};
    if (kernel->operations & SPRYI_OP_SPMV) functions->spmv = served->spmv;
    if (kernel->operations & SPRYI_OP_SPMV_T) functions->spmv_t = served->spmv_t;
    if (kernel->operations & SPRYI_OP_SPGEMM) functions->spgemm = &mock_spgemm_phases;
    return 1;
}

/* Measures a memory copy of at most 64 KB, since records need a bandwidth. The value means nothing. */
static spry_status copy_bandwidth(const spryi_device *device, int64_t bytes, double *gbps, spry_error *err)
{
    const int64_t copied = bytes < 64 << 10 ? bytes : 64 << 10;
    void *to = NULL, *from = NULL;
    SPRYI_OK_OR_RETURN(mock_ops.allocate(device, &from, copied, "copy bandwidth", err));
    const spry_status status = mock_ops.allocate(device, &to, copied, "copy bandwidth", err);
    if (status == SPRY_OK) {
        mock_open_memory();
        const double start = spryi_now_us();
        memcpy(to, from, (size_t)copied);
        *gbps = 2e-3 * (double)copied / (spryi_now_us() - start);
        mock_close_memory();
    }
    mock_ops.release(device, to);
    mock_ops.release(device, from);
    return status;
}

static int64_t none(void)
{
    return 0;
}

/* ---- contexts that use the plug-in --------------------------------------------------------------------------- */

/*
 * Context in which storages are decoded. The first user creates the context, and the last user to close the plug-in
 * destroys it.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static spry_context *own;
static int users;

static void open_plugin(void)
{
    spry_context_options options = SPRY_INIT(spry_context_options);
    options.threads = 1;
    pthread_mutex_lock(&lock);
    if (users++ == 0 && spry_context_create(&own, &options, NULL) != SPRY_OK) abort();
    mock_use(own);
    pthread_mutex_unlock(&lock);
}

static void close_plugin(void)
{
    pthread_mutex_lock(&lock);
    if (--users == 0) {
        spry_context_destroy(own);
        mock_use(own = NULL);
    }
    pthread_mutex_unlock(&lock);
}

__attribute__((visibility("default"))) const spryi_plugin *spryi_plugin_entry(void);

const spryi_plugin *spryi_plugin_entry(void)
{
    static spryi_device_ops ops;
    static const spryi_plugin plugin = {
        .build_id = SPRYI_BUILD_ID,
        .ops = &ops,
        .count = count,
        .describe = describe,
        .trim = none,
        .cached_bytes = none,
        .open = open_plugin,
        .close = close_plugin,
    };
    ops = mock_ops;
    ops.copy_bandwidth = copy_bandwidth;
    ops.find_kernel = find_kernel;
    return &plugin;
}
