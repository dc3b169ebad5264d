/* Device registry. Device 0 is the CPU; behind it the GPUs, or, when there is none to use, "cuda" with the reason. */
#include "core/context.h"
#include "core/cuda_plugin.h"
#include "core/error.h"
#include "spry/spry.h"

#include <unistd.h>

int spry_device_count(const spry_context *context)
{
    if (!context) return 0;
    int gpus = spryi_cuda_devices(context, NULL);
    return 1 + (gpus > 0 ? gpus : 1);
}

static void describe_cpu(const spry_context *context, spry_device_info *info)
{
    int64_t cache = spryi_cache_bytes(3);
    *info = (spry_device_info){
        .struct_size = sizeof *info,
        .name = "cpu",
        .description = spryi_cpu_name(),
        .available = 1,
        .reason = "",
        .units = (int)sysconf(_SC_NPROCESSORS_ONLN),
        .simd = spryi_simd_name(context->simd),
        .memory_bytes = spryi_memory_bytes(),
        .cache_bytes = cache > 0 ? cache : spryi_cache_bytes(2),
    };
}

static void describe_gpu(const spry_context *context, int number, spry_device_info *info)
{
    const char *reason;
    int available = spryi_cuda_devices(context, &reason) > 0;
    *info = (spry_device_info){
        .struct_size = sizeof *info,
        .name = available ? context->cuda->gpus[number].name : "cuda",
        .description = available ? context->cuda->gpus[number].description : "NVIDIA GPU",
        .available = available,
        .reason = available ? "" : reason,
        .units = context->cuda->gpus[number].multiprocessors,
        .simd = "",
        .memory_bytes = context->cuda->gpus[number].memory_bytes,
        .cache_bytes = context->cuda->gpus[number].cache_bytes,
        .compute_capability = 10 * context->cuda->gpus[number].major + context->cuda->gpus[number].minor,
    };
}

spry_status spry_device_get_info(const spry_context *context, int device, spry_device_info *info, spry_error *err)
{
    if (!context || !info)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, !context ? "context" : "info",
                          "context and info must not be NULL");
    spry_status status = SPRYI_CHECK_OPTIONS(info, err);
    if (status != SPRY_OK) return status;
    if (device < 0 || device >= spry_device_count(context))
        return spryi_fail_value(err, SPRY_UNKNOWN_NAME, "device", device, spry_device_count(context) - 1,
                                "device %d does not exist, expected 0 to %d", device, spry_device_count(context) - 1);
    if (device > 0)
        describe_gpu(context, device - 1, info);
    else
        describe_cpu(context, info);
    return SPRY_OK;
}

spry_status spryi_cuda_usable(const spry_context *context, int device, const spryi_cuda_plugin **plugin,
                              spry_error *err)
{
    const char *reason;
    const spryi_cuda_plugin *loaded = spryi_cuda(context, &reason);
    if (plugin) *plugin = loaded;
    int gpus = spryi_cuda_devices(context, NULL);
    if (device < 1 || (gpus > 0 && device > gpus))
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "device", device, gpus,
                                "device is %d, expected a GPU: 1 to %d", device, gpus);
    if (gpus == 0)
        return spryi_fail(err, SPRY_DEVICE_UNAVAILABLE, "device", "device %d cannot be used: %s", device, reason);
    return SPRY_OK;
}

spry_status spry_device_allocate(const spry_context *context, void **data, int device, int64_t bytes, spry_error *err)
{
    if (!context || !data || bytes < 0)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT,
                                !context ? "context"
                                : !data  ? "data"
                                         : "bytes",
                                bytes, 0, "context and data must not be NULL, bytes not negative");
    const spryi_cuda_plugin *plugin;
    spry_status status = spryi_cuda_usable(context, device, &plugin, err);
    if (status != SPRY_OK) return status;
    return plugin->allocate(device - 1, data, bytes, "device memory", err);
}

void spry_device_free(const spry_context *context, int device, void *data)
{
    const spryi_cuda_plugin *plugin;
    if (!context || !data || spryi_cuda_usable(context, device, &plugin, NULL) != SPRY_OK) return;
    plugin->release(device - 1, data);
}

spry_status spry_device_copy(const spry_context *context, void *to, int to_device, const void *from, int from_device,
                             int64_t bytes, void *stream, spry_error *err)
{
    if (!context || bytes < 0 || (bytes > 0 && (!to || !from)))
        return spryi_fail(err, SPRY_INVALID_ARGUMENT,
                          !context    ? "context"
                          : bytes < 0 ? "bytes"
                          : !to       ? "to"
                                      : "from",
                          "context, to and from must not be NULL, bytes not negative");
    if (to_device > 0 && from_device > 0 && to_device != from_device)
        return spryi_fail(err, SPRY_UNSUPPORTED, "from_device", "copies between two GPUs are not there yet");
    if (to_device == 0 && from_device == 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "to_device", "neither side is a GPU: use memcpy");
    const spryi_cuda_plugin *plugin;
    int device = to_device > 0 ? to_device : from_device;
    spry_status status = spryi_cuda_usable(context, device, &plugin, err);
    if (status != SPRY_OK) return status;
    spryi_copy kind = from_device == 0 ? SPRYI_TO_DEVICE : to_device == 0 ? SPRYI_FROM_DEVICE : SPRYI_WITHIN_DEVICE;
    return plugin->copy(device - 1, to, from, bytes, kind, stream, err);
}

spry_status spry_device_synchronize(const spry_context *context, int device, void *stream, spry_error *err)
{
    if (!context) return spryi_fail(err, SPRY_INVALID_ARGUMENT, "context", "context must not be NULL");
    const spryi_cuda_plugin *plugin;
    spry_status status = spryi_cuda_usable(context, device, &plugin, err);
    if (status != SPRY_OK) return status;
    return plugin->synchronize(device - 1, stream, err);
}

spry_status spry_device_measure_copy(const spry_context *context, int device, double *gbps, spry_error *err)
{
    if (!context || !gbps)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, !context ? "context" : "gbps",
                          "context and gbps must not be NULL");
    const spryi_cuda_plugin *plugin;
    spry_status status = spryi_cuda_usable(context, device, &plugin, err);
    if (status != SPRY_OK) return status;
    return plugin->copy_bandwidth(device - 1, 8 * context->cuda->gpus[device - 1].cache_bytes, gbps, err);
}
