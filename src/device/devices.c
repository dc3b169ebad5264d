/* The list of a context's devices, and what the public header tells of them and does with their memory. */
#include "device/devices.h"
#include "spry/tools.h"

#include "core/context.h"
#include "core/error.h"
#include "device/drivers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Devices of one driver, behind those that are there; an entry that cannot be used where there is none. */
static void ask_driver(spry_context *context, spryi_device_list *list, int d)
{
    const spryi_driver *driver = spryi_drivers[d];
    spryi_device *first = list->device + list->count;
    const int most = SPRYI_MOST_DEVICES - list->count - (spryi_driver_count - d - 1);
    memset(first, 0, (size_t)most * sizeof *first);
    const int found = driver->find(context, first, most, &list->state[d], list->reason[d], sizeof list->reason[d]);
    for (int n = 0; n < found || n == 0; n++) {
        spryi_device *device = first + n;
        device->driver = driver;
        device->context = context;
        device->number = list->count + n;
        device->uncached = context->no_caches;
        device->reason = found > 0 ? "" : list->reason[d];
        if (n == 0)
            snprintf(device->name, sizeof device->name, "%s", driver->name);
        else
            snprintf(device->name, sizeof device->name, "%s:%d", driver->name, n);
        if (found == 0) snprintf(device->description, sizeof device->description, "%s", driver->title);
    }
    if (found > 0 && list->hooked_memory.allocate && !driver->host_memory) {
        list->hooked[d] = *first->ops;
        spryi_hook_memory(&list->hooked[d]);
        for (int n = 0; n < found; n++) first[n].ops = &list->hooked[d];
    }
    list->count += found > 0 ? found : 1;
}

int64_t spryi_trim_devices(const spry_context *context)
{
    spryi_device_list *list = context->devices;
    int64_t bytes = 0;
    pthread_mutex_lock(&list->lock);
    for (int d = 0; d < spryi_driver_count; d++)
        if (spryi_drivers[d]->trim && list->state[d]) bytes += spryi_drivers[d]->trim(list->state[d]);
    pthread_mutex_unlock(&list->lock);
    return bytes;
}

int64_t spryi_cached_device_bytes(const spry_context *context)
{
    spryi_device_list *list = context->devices;
    int64_t bytes = 0;
    pthread_mutex_lock(&list->lock);
    for (int d = 0; d < spryi_driver_count; d++)
        if (spryi_drivers[d]->trim && list->state[d]) bytes += spryi_drivers[d]->cached_bytes(list->state[d]);
    pthread_mutex_unlock(&list->lock);
    return bytes;
}

/* The list is the context's one part that changes after it was made. */
static const spryi_device_list *known_devices(const spry_context *context)
{
    spryi_device_list *list = context->devices;
    pthread_mutex_lock(&list->lock);
    for (int d = 1; d < spryi_driver_count && !list->known; d++) ask_driver(list->device[0].context, list, d);
    list->known = 1;
    pthread_mutex_unlock(&list->lock);
    return list;
}

static const spryi_device *device_at(const spry_context *context, int number)
{
    if (number == 0) return &context->devices->device[0];
    const spryi_device_list *list = known_devices(context);
    return number > 0 && number < list->count ? &list->device[number] : NULL;
}

void spryi_open_devices(spry_context *context, spryi_device_list *list)
{
    memset(list, 0, sizeof *list);
    pthread_mutex_init(&list->lock, NULL); /* cannot fail with default attributes where we build for */
    context->devices = list;
    context->device_at = device_at;
    ask_driver(context, list, 0);
}

void spryi_close_devices(spry_context *context)
{
    spryi_device_list *list = context->devices;
    for (int d = 0; d < spryi_driver_count; d++)
        if (spryi_drivers[d]->close && list->state[d]) spryi_drivers[d]->close(list->state[d]);
    spryi_close_hooked_memory(context);
    pthread_mutex_destroy(&list->lock);
}

int spryi_devices_are_known(const spry_context *context)
{
    spryi_device_list *list = context->devices;
    pthread_mutex_lock(&list->lock);
    const int known = list->known;
    pthread_mutex_unlock(&list->lock);
    return known;
}

/* The number behind "kind:", 0 without one; -1: `name` is not of this kind. */
static int number_in_name(const spryi_driver *driver, const char *name)
{
    const size_t length = strlen(driver->name);
    if (strncmp(name, driver->name, length) != 0) return -1;
    if (name[length] == '\0') return 0;
    char *end = NULL;
    const int is_number = name[length] == ':' && name[length + 1] >= '0' && name[length + 1] <= '9';
    const long number = is_number && !driver->host_memory ? strtol(name + length + 1, &end, 10) : -1;
    return number >= 0 && number <= INT32_MAX && end > name + length + 1 && *end == '\0' ? (int)number : -1;
}

const spryi_driver *spryi_driver_named(const char *name)
{
    for (int d = 0; d < spryi_driver_count; d++)
        if (number_in_name(spryi_drivers[d], name) >= 0) return spryi_drivers[d];
    return NULL;
}

const spryi_device *spryi_device_of_kind(const spry_context *context, const char *kind)
{
    const spryi_device *device = spryi_device_at(context, 0);
    for (int n = 1; device && strcmp(device->driver->name, kind) != 0; n++) device = spryi_device_at(context, n);
    return device;
}

/* "cpu, cuda or cuda:N", of all kinds. */
static void list_names(char *text, size_t size)
{
    text[0] = '\0';
    for (int d = 0; d < spryi_driver_count; d++) {
        const size_t used = strlen(text);
        const char *name = spryi_drivers[d]->name, *before = d > 0 ? ", " : "";
        if (spryi_drivers[d]->host_memory)
            snprintf(text + used, size - used, "%s%s", before, name);
        else
            snprintf(text + used, size - used, "%s%s or %s:N", before, name, name);
    }
}

/* ---- the public view --------------------------------------------------------------------------------- */

int spry_device_count(const spry_context *context)
{
    return context ? known_devices(context)->count : 0;
}

spry_status spry_device_find(const spry_context *context, int *device, const char *name, spry_error *err)
{
    const char *missing = !context ? "context" : !device ? "device" : !name ? "name" : NULL;
    if (missing) return spryi_fail(err, SPRY_INVALID_ARGUMENT, missing, "context, device and name must not be NULL");
    const spryi_driver *driver = spryi_driver_named(name);
    if (!driver) {
        char names[128];
        list_names(names, sizeof names);
        return spryi_fail(err, SPRY_UNKNOWN_NAME, "name", "no device \"%s\", expected %s", name, names);
    }
    const spryi_device *first = spryi_device_of_kind(context, driver->name);
    int count = 1;
    if (!driver->host_memory) SPRYI_OK_OR_RETURN(spryi_device_usable(context, NULL, first->number, err));
    while (first->number + count < context->devices->count && first[count].driver == driver) count++;
    const int number = number_in_name(driver, name);
    if (number >= count)
        return spryi_fail_value(err, SPRY_DEVICE_UNAVAILABLE, "name", number, count - 1,
                                "device %s does not exist, there are %d %s devices", name, count, driver->device_title);
    if (number > 0) SPRYI_OK_OR_RETURN(spryi_device_usable(context, NULL, first->number + number, err));
    *device = spryi_told_device(first + number);
    return SPRY_OK;
}

spry_status spry_device_get_info(const spry_context *context, spry_device_info *info, int device, spry_error *err)
{
    if (!context || !info) return spryi_fail_missing(err, !context ? "context" : "info");
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(info, err));
    const spryi_device *d = spryi_device_at(context, spryi_device_number(device));
    if (!d)
        return spryi_fail_value(err, SPRY_UNKNOWN_NAME, "device", device, spry_device_count(context) - 1,
                                "device %d does not exist, expected 0 to %d", device, spry_device_count(context) - 1);
    const spry_device_info told = {
        .struct_size = sizeof told,
        .device = spryi_told_device(d),
        .name = d->name,
        .kind = d->driver->name,
        .ordinal = d->ordinal,
        .description = d->description,
        .available = d->ops != NULL,
        .reason = d->reason,
        .units = d->units,
        .simd = d->simd ? d->simd : "",
        .memory_bytes = d->memory_bytes,
        .cache_bytes = d->cache_bytes,
        .compute_capability = 10 * d->major + d->minor,
    };
    SPRYI_GIVE(info, &told);
    return SPRY_OK;
}

static spry_status fail_bytes(int64_t bytes, spry_error *err)
{
    return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "bytes", bytes, 0, "bytes is %lld, expected 0 or more",
                            (long long)bytes);
}

spry_status spry_device_allocate(const spry_context *context, void **data, int device, int64_t bytes, spry_error *err)
{
    if (!context || !data || bytes < 0)
        return context && data ? fail_bytes(bytes, err) : spryi_fail_missing(err, !context ? "context" : "data");
    const spryi_device *d;
    spry_status status = spryi_device_usable(context, &d, device, err);
    return status == SPRY_OK ? d->ops->allocate(d, data, bytes, "device memory", err) : status;
}

void spry_device_free(const spry_context *context, int device, void *data)
{
    const spryi_device *d;
    if (!context || !data || spryi_device_usable(context, &d, device, NULL) != SPRY_OK) return;
    d->ops->release(d, data);
}

spry_status spry_device_copy(const spry_context *context, void *to, int to_device, const void *from, int from_device,
                             int64_t bytes, void *stream, spry_error *err)
{
    to_device = spryi_device_number(to_device);
    from_device = spryi_device_number(from_device);
    if (!context || bytes < 0 || (bytes > 0 && (!to || !from)))
        return context && bytes < 0 ? fail_bytes(bytes, err)
                                    : spryi_fail_missing(err, !context ? "context"
                                                              : !to    ? "to"
                                                                       : "from");
    if (to_device > 0 && from_device > 0 && to_device != from_device)
        return spryi_fail(err, SPRY_UNSUPPORTED, "from_device", "copies between two GPUs are not there yet");
    if (to_device == 0 && from_device == 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "to_device", "neither side is a GPU: use memcpy");
    const spryi_device *d;
    SPRYI_OK_OR_RETURN(spryi_device_usable(context, &d, to_device > 0 ? to_device : from_device, err));
    spryi_copy kind = from_device == 0 ? SPRYI_TO_DEVICE : to_device == 0 ? SPRYI_FROM_DEVICE : SPRYI_WITHIN_DEVICE;
    return d->ops->copy(d, to, from, bytes, kind, stream, err);
}

spry_status spry_device_synchronize(const spry_context *context, int device, void *stream, spry_error *err)
{
    if (!context) return spryi_fail_missing(err, "context");
    const spryi_device *d;
    spry_status status = spryi_device_usable(context, &d, device, err);
    return status == SPRY_OK ? d->ops->synchronize(d, stream, err) : status;
}

spry_status spry_device_measure_copy(const spry_context *context, double *gbps, int device, spry_error *err)
{
    if (!context || !gbps) return spryi_fail_missing(err, !context ? "context" : "gbps");
    const spryi_device *d;
    SPRYI_OK_OR_RETURN(spryi_device_usable(context, &d, device, err));
    if (!d->ops->copy_bandwidth)
        return spryi_fail(err, SPRY_UNSUPPORTED, "device", "device %s does not measure its copies", d->name);
    return d->ops->copy_bandwidth(d, 8 * d->cache_bytes, gbps, err);
}
