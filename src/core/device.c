/* Device registry. Device 0 is the CPU; others are added by plug-ins. */
#include "core/context.h"
#include "core/error.h"
#include "spry/spry.h"

#include <unistd.h>

int spry_device_count(const spry_context *context)
{
    return context ? 1 : 0;
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
    return SPRY_OK;
}
