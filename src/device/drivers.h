/*
 * Kinds of devices, and the devices of a context. A new kind is a folder and a line below. DRIVER(NAME) refers to
 * spryi_driver_NAME.
 */
#pragma once

#include "core/device.h"

#include <pthread.h>

/* clang-format off */
#define SPRYI_DRIVERS(DRIVER)                                                                                          \
    DRIVER(cpu)                                                                                                        \
    DRIVER(cuda)
/* clang-format on */

#define SPRYI_DECLARE_DRIVER(name) extern const spryi_driver spryi_driver_##name;
SPRYI_DRIVERS(SPRYI_DECLARE_DRIVER)
#undef SPRYI_DECLARE_DRIVER

extern const spryi_driver *const spryi_drivers[]; /* the first is the CPU's */
extern const int spryi_driver_count;

/*
 * Device memory from the caller's hooks (spry_context_options.device_hooks). A context with hooks uses copies of the
 * drivers' tables, in which the functions for memory call the hooks. `chains` records the size of each block, because
 * the release hook receives the size.
 */
enum { SPRYI_HOOKED_CHAINS = 256 };

typedef struct spryi_hooked_memory {
    void *(*allocate)(void *user, int device, int64_t bytes); /* NULL: no hooks */
    void (*release)(void *user, int device, void *pointer, int64_t bytes);
    void *user;
    pthread_mutex_t lock; /* protects `chains`, a hash table of the blocks by address */
    struct spryi_hooked_block *chains[SPRYI_HOOKED_CHAINS];
} spryi_hooked_memory;

enum { SPRYI_MOST_DEVICES = 20, SPRYI_MOST_DRIVERS = 8 };

/* The devices of a context. The list is filled in once, under the lock, and constant afterwards. */
typedef struct spryi_device_list {
    pthread_mutex_t lock;
    bool is_complete; /* all drivers have appended their devices; false: only device[0] exists */
    int count;
    spryi_device device[SPRYI_MOST_DEVICES];
    const void *state[SPRYI_MOST_DRIVERS]; /* state of each driver; NULL: none */
    char reason[SPRYI_MOST_DRIVERS][512];
    char plugin_path[1024]; /* from the context's options; "" for the default */
    spryi_hooked_memory hooked_memory;
    spryi_device_ops hooked[SPRYI_MOST_DRIVERS]; /* the drivers' tables with the hooks as memory functions */
} spryi_device_list;
