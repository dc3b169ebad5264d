/* The devices of a context. The CPU is there from the start, the others are looked for at the first need. */
#pragma once

#include "core/device.h"

#include <pthread.h>

/*
 * Device memory of the caller's hooks (spry_context_options.device_allocate): a driver's table of functions whose
 * memory comes from them, so that nobody who allocates knows the difference.
 */
enum { SPRYI_HOOKED_CHAINS = 256 };

/* Hooks get the size of a block back, which those who release it need not know. */
typedef struct spryi_hooked_memory {
    void *(*allocate)(void *user, int device, int64_t bytes); /* NULL: there are no hooks */
    void (*release)(void *user, int device, void *pointer, int64_t bytes);
    void *user;
    pthread_mutex_t lock; /* of the blocks that are held, in chains by address */
    struct spryi_hooked_block *chains[SPRYI_HOOKED_CHAINS];
} spryi_hooked_memory;

enum { SPRYI_MOST_DEVICES = 20, SPRYI_MOST_DRIVERS = 8 };

/* It is filled under the lock and constant then. */
typedef struct spryi_device_list {
    pthread_mutex_t lock;
    int known; /* 1: all drivers have been asked; before, device[0] alone is there */
    int count;
    spryi_device device[SPRYI_MOST_DEVICES];
    const void *state[SPRYI_MOST_DRIVERS]; /* the drivers' own */
    char reason[SPRYI_MOST_DRIVERS][512];
    char plugin_path[1024]; /* of the context's options, "" for the default */
    spryi_hooked_memory hooked_memory;
    spryi_device_ops hooked[SPRYI_MOST_DRIVERS]; /* the drivers' tables, with memory of the hooks */
} spryi_device_list;

/* For a context that is made; close undoes it. */
void spryi_open_devices(spry_context *context, spryi_device_list *list);
void spryi_close_devices(spry_context *context);

void spryi_open_hooked_memory(spry_context *context, const spry_context_options *options);

/* Gives back what the drivers keep: how many bytes. Devices that are not known are not looked for. */
int64_t spryi_trim_devices(const spry_context *context);
int64_t spryi_cached_device_bytes(const spry_context *context); /* which that would be */
