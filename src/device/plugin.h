/*
 * Interface between libspry and libspry-cuda.so. libspry knows the names and descriptions of the CUDA kernels and links
 * nothing of CUDA. The plug-in is a shared library that is loaded at run time and contains the functions. The library
 * and the plug-in must come from the same build: the loader rejects plug-ins of other builds (build_id).
 */
#pragma once

#include "core/device.h"

typedef struct spryi_plugin {
    const char *build_id;
    const spryi_device_ops *ops;
    /* Returns the number of devices. Writes the reason if there are none or the driver cannot be used. */
    int (*count)(char *reason, size_t reason_size);
    /* Fills in the description, units and other properties of the device with this ordinal. Reads no field. */
    spry_status (*describe)(int ordinal, spryi_device *device, spry_error *err);
    int64_t (*trim)(void);         /* frees unused kept memory on all devices; returns the freed bytes */
    int64_t (*cached_bytes)(void); /* upper bound of the bytes that trim would free */
    void (*open)(void);            /* registers a context */
    void (*close)(void);           /* unregisters a context; for the last context, frees all kept memory */
} spryi_plugin;

/* The plug-in exports one function of this type under this name. */
typedef const spryi_plugin *(*spryi_plugin_entry_fn)(void);
#define SPRYI_PLUGIN_ENTRY "spryi_plugin_entry"
