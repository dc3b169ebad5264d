/*
 * The edge between libspry and libspry-cuda.so. libspry knows the names and the meaning of the CUDA kernels and links
 * nothing of CUDA; the plug-in, one shared library that is looked for at run time, supplies the functions. Both sides
 * are of one build: the loader refuses any other (build_id).
 */
#pragma once

#include "core/device.h"

typedef struct spryi_plugin {
    const char *build_id;
    const spryi_device_ops *ops;
    /* Devices; 0 with the reason where there are none or the driver cannot be used. */
    int (*count)(char *reason, size_t reason_size);
    /* Fills in what tells of a device: ordinal, description, units, ..., reading no field. */
    spry_status (*describe)(int ordinal, spryi_device *device, spry_error *err);
    int64_t (*trim)(void); /* gives unused memory that is kept back to the driver: how many bytes, of all devices */
    int64_t (*cached_bytes)(void); /* that trim would give back, at most */
    void (*open)(void);            /* a context begins to use the plug-in */
    void (*close)(void);           /* and is gone; with the last one goes what trim gives back */
} spryi_plugin;

/* The plug-in exports one function of this type under this name. */
typedef const spryi_plugin *(*spryi_plugin_entry_fn)(void);
#define SPRYI_PLUGIN_ENTRY "spryi_plugin_entry"
