/* The devices of a context. The CPU is there from the start, the others are looked for at the first need. */
#ifndef SPRYI_DEVICES_H
#define SPRYI_DEVICES_H

#include "device/hooked_memory.h"

#include <pthread.h>

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

/* Gives back what the drivers keep: how many bytes. Devices that are not known are not looked for. */
int64_t spryi_trim_devices(const spry_context *context);
int64_t spryi_cached_device_bytes(const spry_context *context); /* which that would be */

#endif
