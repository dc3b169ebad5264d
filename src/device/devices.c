/*
 * Contexts and their devices: the list of devices, their public properties and memory, and vectors. The list contains
 * the CPU from the start. The first call that needs another device finds all others.
 */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "core/device.h"
#include "device/drivers.h"
#include "spry/cuda.h"
#include "spry/tune.h"

#include <stdbool.h>
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

static void insert(spryi_hooked_memory *memory, block *made)
{
    block **chain = chain_of(memory, made->at);
    pthread_mutex_lock(&memory->lock);
    made->next = *chain;
    *chain = made;
    pthread_mutex_unlock(&memory->lock);
}

/* Removes a block from the chains. Returns NULL if the hooks did not allocate it. */
static block *remove_block(spryi_hooked_memory *memory, int device, const void *at)
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
                                      "out of device memory: device_hooks.allocate returned no %s for %s",
                                      spryi_show_size(bytes).text, what);
    }
    if (status != SPRY_OK) {
        spryi_release(device->context, made);
        return status;
    }
    *pointer = made->at;
    insert(memory, made);
    return SPRY_OK;
}

/* Passes a block to the release hook. All work with the block must be done. */
static void release_to_hook(const spryi_device *device, block *removed)
{
    const spryi_hooked_memory *memory = &device->context->devices->hooked_memory;
    int previous;
    const bool entered = device->ops->enter(device, &previous, NULL) == SPRY_OK;
    memory->release(memory->user, removed->device, removed->at, removed->bytes);
    if (entered) device->ops->leave(device, previous);
    spryi_release(device->context, removed);
}

/*
 * Releases a block of the hooks. Ignores a failure of finish, because no work on the device uses the memory after a
 * fault.
 */
static void release(const spryi_device *device, void *pointer)
{
    block *removed = pointer ? remove_block(&device->context->devices->hooked_memory, device->number, pointer) : NULL;
    if (!removed) return;
    (void)device->ops->finish(device, NULL);
    release_to_hook(device, removed);
}

static void release_in_order(const spryi_device *device, void *pointer)
{
    block *removed = pointer ? remove_block(&device->context->devices->hooked_memory, device->number, pointer) : NULL;
    if (!removed) return;
    (void)device->ops->synchronize(device, NULL, NULL);
    release_to_hook(device, removed);
}

static void init_hooked_memory(spry_context *context, const spry_device_hooks *hooks)
{
    spryi_hooked_memory *memory = &context->devices->hooked_memory;
    pthread_mutex_init(&memory->lock, NULL); /* cannot fail with default attributes on the supported systems */
    memory->allocate = hooks->allocate;
    memory->release = hooks->release;
    memory->user = hooks->user;
}

/* Frees the records of blocks that were not released. Their device memory remains allocated by the caller's hooks. */
static void close_hooked_memory(spry_context *context)
{
    spryi_hooked_memory *memory = &context->devices->hooked_memory;
    for (int c = 0; c < SPRYI_HOOKED_CHAINS; c++)
        while (memory->chains[c]) {
            block *removed = memory->chains[c];
            memory->chains[c] = removed->next;
            spryi_release(context, removed);
        }
    pthread_mutex_destroy(&memory->lock);
}

/* ---- the list ------------------------------------------------------------------------------------------ */

/* Appends the devices of one driver to the list. A driver without devices gets one entry that is unavailable. */
static void append_devices(spry_context *context, spryi_device_list *list, int d)
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
        list->hooked[d].allocate = list->hooked[d].allocate_in_order = allocate;
        list->hooked[d].release = release;
        list->hooked[d].release_in_order = release_in_order;
        for (int n = 0; n < found; n++) first[n].ops = &list->hooked[d];
    }
    list->count += found > 0 ? found : 1;
}

/*
 * Returns the number of bytes that drivers keep for reuse. If trims is true, frees these bytes. Drivers without state
 * keep none.
 */
static int64_t kept_bytes(const spry_context *context, bool trims)
{
    spryi_device_list *list = context->devices;
    int64_t bytes = 0;
    pthread_mutex_lock(&list->lock);
    for (int d = 0; d < spryi_driver_count; d++) {
        const spryi_driver *driver = spryi_drivers[d];
        if (driver->trim && list->state[d]) bytes += (trims ? driver->trim : driver->cached_bytes)(list->state[d]);
    }
    pthread_mutex_unlock(&list->lock);
    return bytes;
}

/* Returns the complete list. The first call finds the devices of all drivers; the list does not change afterwards. */
static const spryi_device_list *known_devices(const spry_context *context)
{
    spryi_device_list *list = context->devices;
    pthread_mutex_lock(&list->lock);
    for (int d = 1; d < spryi_driver_count && !list->is_complete; d++) append_devices(list->device[0].context, list, d);
    list->is_complete = true;
    pthread_mutex_unlock(&list->lock);
    return list;
}

static const spryi_device *device_at(const spry_context *context, int number)
{
    if (number == 0) return &context->devices->device[0];
    const spryi_device_list *list = known_devices(context);
    return number > 0 && number < list->count ? &list->device[number] : NULL;
}

static void open_devices(spry_context *context, spryi_device_list *list)
{
    memset(list, 0, sizeof *list);
    pthread_mutex_init(&list->lock, NULL); /* cannot fail with default attributes on the supported systems */
    context->devices = list;
    context->device_at = device_at;
    append_devices(context, list, 0);
}

static void close_devices(spry_context *context)
{
    spryi_device_list *list = context->devices;
    for (int d = 0; d < spryi_driver_count; d++)
        if (spryi_drivers[d]->close && list->state[d]) spryi_drivers[d]->close(list->state[d]);
    close_hooked_memory(context);
    pthread_mutex_destroy(&list->lock);
}

/* Returns the number after "kind:" in a name, 0 without a number, or -1 if the name does not match the driver. */
static int number_in_name(const spryi_driver *driver, const char *name)
{
    const size_t length = strlen(driver->name);
    if (strncmp(name, driver->name, length) != 0) return -1;
    if (name[length] == '\0') return 0;
    char *end = NULL;
    const bool is_number = name[length] == ':' && name[length + 1] >= '0' && name[length + 1] <= '9';
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

/* Writes the names of all kinds: "cpu, cuda or cuda:N". */
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

/* ---- contexts ------------------------------------------------------------------------------------ */

enum { BLOCK = sizeof(spry_context) + sizeof(spryi_device_list) + SPRYI_POOL_ROOM };
_Static_assert(sizeof(spryi_device_list) % _Alignof(pthread_t) == 0, "room for threads follows the list");
_Static_assert(sizeof(spry_context) % _Alignof(spryi_device_list) == 0, "the list follows the context");

static spry_status check_options(const spry_context_options *options, const spry_device_hooks *hooks, spry_error *err)
{
    if (!options->allocate != !options->release)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "allocate",
                          "context: allocate and release must both be given or both be NULL");
    if (hooks && (!hooks->allocate || !hooks->release))
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "device_hooks",
                          "context: device_hooks has no %s, expected both functions",
                          hooks->allocate ? "release" : "allocate");
    if (options->cuda_plugin && strlen(options->cuda_plugin) >= sizeof((spryi_device_list *)0)->plugin_path)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "cuda_plugin", "context: cuda_plugin is longer than %zu bytes",
                          sizeof((spryi_device_list *)0)->plugin_path - 1);
    return spryi_check_threads(options->threads, "context", err);
}

static void close_context(spry_context *context)
{
    spryi_pool_close(&context->pool);
    spryi_attached *choose = atomic_load(&context->choose);
    if (choose) choose->close(context, choose);
    close_devices(context);
    (void)spryi_block_cache_release(context);
    pthread_mutex_destroy(&context->cached_blocks.lock);
    if (context->release) {
        context->release(context->user, context, BLOCK);
    } else {
        free(context);
    }
}

spry_status spry_context_create(spry_context **context, const spry_context_options *options, spry_error *err)
{
    if (!context) return spryi_fail_missing(err, "context");
    spry_context_options chosen;
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(&chosen, options, err));
    spry_device_hooks hooks;
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(&hooks, chosen.device_hooks, err));
    SPRYI_OK_OR_RETURN(check_options(&chosen, chosen.device_hooks ? &hooks : NULL, err));

    spryi_simd simd;
    if (!spryi_allowed_simd(&simd))
        return spryi_fail(err, SPRY_UNKNOWN_NAME, "SPRY_SIMD",
                          "the environment variable SPRY_SIMD is \"%s\", expected portable, avx2 or avx512",
                          getenv("SPRY_SIMD"));
    /* one block contains the context, the list of devices and the threads */
    spry_context *made = chosen.allocate ? chosen.allocate(chosen.user, BLOCK, _Alignof(spry_context))
                                         : aligned_alloc(_Alignof(spry_context), (BLOCK + 63) / 64 * 64);
    if (!made)
        return spryi_fail(err, SPRY_OUT_OF_MEMORY, "context", "out of memory: a context needs %zu bytes",
                          (size_t)BLOCK);
    spryi_device_list *devices = (spryi_device_list *)(made + 1);
    *made = (spry_context){
        .allocate = chosen.allocate,
        .release = chosen.release,
        .user = chosen.user,
        .no_caches = chosen.no_caches,
        .simd = simd,
        .amd = spryi_cpu_is_amd(),
    };
    atomic_init(&made->references, 1);
    made->close = close_context;
    pthread_mutex_init(&made->cached_blocks.lock, NULL); /* cannot fail, as above */
    made->threads = spryi_pool_open(&made->pool, &chosen, devices + 1);
    open_devices(made, devices);
    init_hooked_memory(made, &hooks);
    if (chosen.cuda_plugin) snprintf(devices->plugin_path, sizeof devices->plugin_path, "%s", chosen.cuda_plugin);
    *context = made;
    return SPRY_OK;
}

void spry_context_destroy(spry_context *context)
{
    spryi_context_release(context);
}

spry_status spry_context_get_info(const spry_context *context, spry_context_info *info, spry_error *err)
{
    if (!context || !info) return spryi_fail_missing(err, !context ? "context" : "info");
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(info, err));
    const spry_context_info filled = {
        .struct_size = sizeof filled,
        .threads = spryi_team(context->threads),
        .bytes = atomic_load(&context->bytes),
        .peak_bytes = atomic_load(&context->peak_bytes),
        .cached_bytes = spryi_block_cache_bytes(context) + kept_bytes(context, false),
        .available_memory_bytes = spryi_available_memory_bytes(),
    };
    SPRYI_GIVE(info, &filled);
    return SPRY_OK;
}

int64_t spry_context_trim(spry_context *context)
{
    if (!context) return 0;
    return spryi_block_cache_release(context) + kept_bytes(context, true);
}

/* ---- the public view --------------------------------------------------------------------------------- */

int spry_device_count(const spry_context *context)
{
    return context ? known_devices(context)->count : 0;
}

/* Fails, with "name" as the argument, if a GPU is not usable. */
static spry_status find_usable(const spry_context *context, int number, spry_error *err)
{
    spry_error why = SPRY_ERROR_INIT;
    if (number == 0 || spryi_device_usable(context, NULL, number, &why) == SPRY_OK) return SPRY_OK;
    snprintf(why.argument, sizeof why.argument, "name");
    return spryi_hand_on(err, &why);
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
    SPRYI_OK_OR_RETURN(find_usable(context, first->number, err));
    while (first->number + count < context->devices->count && first[count].driver == driver) count++;
    const int number = number_in_name(driver, name);
    if (number >= count)
        return spryi_fail_value(err, SPRY_DEVICE_UNAVAILABLE, "name", number, count - 1,
                                "device %s does not exist, there are %d %s devices", name, count, driver->device_title);
    SPRYI_OK_OR_RETURN(find_usable(context, first->number + number, err));
    *device = spryi_reported_device(first + number);
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
    const spry_device_info result = {
        .struct_size = sizeof result,
        .device = spryi_reported_device(d),
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
    SPRYI_GIVE(info, &result);
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
        return spryi_fail(err, SPRY_UNSUPPORTED, "from_device",
                          "copies between two GPUs are not supported, copy by way of the host");
    if (to_device == 0 && from_device == 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "to_device", "both arrays are in host memory, use memcpy");
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

/* ---- vectors that the library allocates ----------------------------------------------------------- */

spry_status spry_vector_create(spry_context *context, spry_vector *v, int64_t length, spry_type type, int device,
                               spry_error *err)
{
    if (!context || !v)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, !context ? "context" : "v", "vector: %s is NULL",
                          !context ? "context" : "v");
    if (spryi_value_slot(type) < 0)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "type", type, SPRY_F64,
                                "vector: type is %d, expected SPRY_F32 or SPRY_F64", (int)type);
    if (length < 0)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "length", length, 0, "vector: length is %lld, expected >= 0",
                                (long long)length);
    if (length > INT64_MAX / 8)
        return spryi_fail_value(err, SPRY_TOO_LARGE, "length", length, INT64_MAX / 8,
                                "vector: %lld entries overflow what can be addressed", (long long)length);
    void *data = NULL;
    device = spryi_device_number(device);
    const spryi_device *d = spryi_device_at(context, 0);
    const int64_t bytes = length * (int64_t)spry_type_bytes(type);
    spry_status status = device == 0 ? SPRY_OK : spryi_device_usable(context, &d, device, err);
    if (status == SPRY_OK) status = d->ops->allocate(d, &data, bytes, "vector", err);
    if (status != SPRY_OK) return status;
    status = d->ops->clear(d, data, bytes, err);
    if (status != SPRY_OK) {
        d->ops->release(d, data);
        return status;
    }
    *v = (spry_vector){.data = data,
                       .length = length,
                       .count = 1,
                       .row_stride = 1,
                       .column_stride = length,
                       .type = type,
                       .device = device};
    return SPRY_OK;
}

void spry_vector_destroy(spry_context *context, spry_vector *v)
{
    if (!context || !v) return;
    const spryi_device *d = spryi_device_at(context, spryi_device_number(v->device));
    if (d && d->ops) d->ops->release(d, v->data);
    *v = (spry_vector){0};
}
