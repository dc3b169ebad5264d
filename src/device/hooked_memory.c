#include "device/hooked_memory.h"

#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "device/devices.h"

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

void spryi_hook_memory(spryi_device_ops *ops)
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
void spryi_close_hooked_memory(spry_context *context)
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
