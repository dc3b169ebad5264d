/* The list of a context's devices, and what the public header tells of them and does with their memory. */
#include "device/devices.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "device/drivers.h"
#include "spry/tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory of the caller's hooks ---------------------------------------------------------------------- */

typedef struct spryi_hooked_block {
    struct spryi_hooked_block *next;
    void *at;
    int64_t bytes;
    int device;
} block;

static block **chain_of(spryi_hooked_memory *memory, const void *at)
{
    return &memory->chains[(uintptr_t)at / 256 * 0x9e3779b97f4a7c15u >> 56];
}

static void put_in(spryi_hooked_memory *memory, block *made)
{
    block **chain = chain_of(memory, made->at);
    pthread_mutex_lock(&memory->lock);
    made->next = *chain;
    *chain = made;
    pthread_mutex_unlock(&memory->lock);
}

/* NULL: no block of the hooks. */
static block *take_out(spryi_hooked_memory *memory, int device, const void *at)
{
    block **link = chain_of(memory, at);
    pthread_mutex_lock(&memory->lock);
    while (*link && ((*link)->at != at || (*link)->device != device)) link = &(*link)->next;
    block *found = *link;
    if (found) *link = found->next;
    pthread_mutex_unlock(&memory->lock);
    return found;
}

static spry_status allocate(const spryi_device *device, void **pointer, int64_t bytes, const char *what,
                            spry_error *err)
{
    spryi_hooked_memory *memory = &device->context->devices->hooked_memory;
    block *made = NULL;
    int previous;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(device->context, &made, 1, what, err));
    spry_status status = device->ops->enter(device, &previous, err);
    if (status == SPRY_OK) {
        made->bytes = bytes > 0 ? bytes : 1;
        made->device = device->number;
        made->at = memory->allocate(memory->user, device->number, made->bytes);
        device->ops->leave(device, previous);
        if (!made->at)
            status = spryi_fail_value(err, SPRY_OUT_OF_MEMORY, NULL, bytes, 0,
                                      "out of device memory: device_allocate has no %s for %s",
                                      spryi_show_size(bytes).text, what);
    }
    if (status != SPRY_OK) {
        spryi_release(device->context, made);
        return status;
    }
    *pointer = made->at;
    put_in(memory, made);
    return SPRY_OK;
}

/* Its work is done. */
static void give_back(const spryi_device *device, block *gone)
{
    const spryi_hooked_memory *memory = &device->context->devices->hooked_memory;
    int previous;
    const int entered = device->ops->enter(device, &previous, NULL) == SPRY_OK;
    memory->release(memory->user, gone->device, gone->at, gone->bytes);
    if (entered) device->ops->leave(device, previous);
    spryi_release(device->context, gone);
}

/* After a fault of the device there is no work that could use the memory. */
static void release(const spryi_device *device, void *pointer)
{
    block *gone = pointer ? take_out(&device->context->devices->hooked_memory, device->number, pointer) : NULL;
    if (!gone) return;
    (void)device->ops->finish(device, NULL);
    give_back(device, gone);
}

static void release_in_order(const spryi_device *device, void *pointer)
{
    block *gone = pointer ? take_out(&device->context->devices->hooked_memory, device->number, pointer) : NULL;
    if (!gone) return;
    (void)device->ops->synchronize(device, NULL, NULL);
    give_back(device, gone);
}

/* The functions that allocate and release are replaced. */
static void hook_memory(spryi_device_ops *ops)
{
    ops->allocate = ops->allocate_in_order = allocate;
    ops->release = release;
    ops->release_in_order = release_in_order;
}

void spryi_open_hooked_memory(spry_context *context, const spry_context_options *options)
{
    spryi_hooked_memory *memory = &context->devices->hooked_memory;
    pthread_mutex_init(&memory->lock, NULL); /* cannot fail with default attributes where we build for */
    memory->allocate = options->device_allocate;
    memory->release = options->device_release;
    memory->user = options->device_user;
}

/* What spry_device_allocate gave and nobody gave back is the caller's still. */
static void close_hooked_memory(spry_context *context)
{
    spryi_hooked_memory *memory = &context->devices->hooked_memory;
    for (int c = 0; c < SPRYI_HOOKED_CHAINS; c++)
        while (memory->chains[c]) {
            block *gone = memory->chains[c];
            memory->chains[c] = gone->next;
            spryi_release(context, gone);
        }
    pthread_mutex_destroy(&memory->lock);
}

/* ---- the list ------------------------------------------------------------------------------------------ */

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
        hook_memory(&list->hooked[d]);
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
    close_hooked_memory(context);
    pthread_mutex_destroy(&list->lock);
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
