#include "core/device.h"

#include "base/context.h"
#include "base/error.h"

const spryi_device *spryi_device_at(const spry_context *context, int number)
{
    return context->device_at(context, number);
}

int spryi_device_number(int device)
{
    return device == SPRY_CPU ? 0 : device;
}

int spryi_reported_device(const spryi_device *device)
{
    return device->number == 0 ? SPRY_CPU : device->number;
}

spry_status spryi_wait_for(const spryi_device *device, void *stream, spry_error *err)
{
    return device->driver->host_memory ? SPRY_OK : device->ops->synchronize(device, stream, err);
}

spry_status spryi_device_usable(const spry_context *context, const spryi_device **device, int number, spry_error *err)
{
    const spryi_device *found = number > 0 ? spryi_device_at(context, number) : NULL;
    if (!found) {
        const spryi_device *next;
        const char *reason = "";
        int last = 0, usable = 0;
        for (; (next = spryi_device_at(context, last + 1)); last++) {
            usable |= next->ops != NULL;
            reason = next->reason;
        }
        if (!usable)
            return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "device", number, 0,
                                    "device is %d, but there is no GPU that can be used: %s", number, reason);
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "device", number, last,
                                "device is %d, expected a GPU: 1 to %d", number, last);
    }
    if (!found->ops)
        return spryi_fail(err, SPRY_DEVICE_UNAVAILABLE, "device", "device %s cannot be used: %s", found->name,
                          found->reason);
    if (device) *device = found;
    return SPRY_OK;
}
