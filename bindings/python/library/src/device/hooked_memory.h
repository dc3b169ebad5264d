/*
 * Device memory of the caller's hooks (spry_context_options.device_allocate): a driver's table of functions whose
 * memory comes from them, so that nobody who allocates knows the difference.
 */
#ifndef SPRYI_HOOKED_MEMORY_H
#define SPRYI_HOOKED_MEMORY_H

#include "core/device.h"

#include <pthread.h>

enum { SPRYI_HOOKED_CHAINS = 256 };

/* Hooks get the size of a block back, which those who release it need not know. */
typedef struct spryi_hooked_memory {
    void *(*allocate)(void *user, int device, int64_t bytes); /* NULL: there are no hooks */
    void (*release)(void *user, int device, void *pointer, int64_t bytes);
    void *user;
    pthread_mutex_t lock; /* of the blocks that are held, in chains by address */
    struct spryi_hooked_block *chains[SPRYI_HOOKED_CHAINS];
} spryi_hooked_memory;

void spryi_open_hooked_memory(spry_context *context, const spry_context_options *options);
void spryi_close_hooked_memory(spry_context *context);

/* The functions that allocate and release are replaced. */
void spryi_hook_memory(spryi_device_ops *ops);

#endif
