/*
 * The driver of NVIDIA GPUs. Finds, loads and checks the CUDA plug-in. No failure is fatal: it becomes the reason why
 * there is no device.
 */
#include "device/plugin.h"

#include "base/build_id.h"
#include "base/context.h"
#include "base/error.h"
#include "device/drivers.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Buffer for a reason. Longer texts are truncated. */
typedef struct reason_text {
    char *text;
    size_t size;
} reason_text;

__attribute__((format(printf, 2, 3))) static void set_reason(const reason_text *reason, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason->text, reason->size, format, arguments);
    va_end(arguments);
}

/*
 * Finds the folder of the library or program that contains this function, with a trailing slash. Writes "" if the
 * folder is unknown.
 */
static void own_folder(char *folder, size_t size)
{
    Dl_info info;
    folder[0] = '\0';
    union { /* ISO C has no conversion of function pointers to void * */
        void (*function)(char *, size_t);
        void *address;
    } self = {.function = own_folder};
    if (!dladdr(self.address, &info) || !info.dli_fname) return;
    const char *slash = strrchr(info.dli_fname, '/');
    if (slash && (size_t)(slash - info.dli_fname) + 2 <= size)
        snprintf(folder, size, "%.*s/", (int)(slash - info.dli_fname), info.dli_fname);
}

/* Writes the plug-in's path. Rejects bare names, because dlopen would search folders that others may write to. */
static bool path_of_plugin(const char *plugin_path, char *path, size_t size, const reason_text *reason)
{
    static const char file[] = "libspry-cuda.so";
    const char *given = plugin_path[0] ? plugin_path : getenv("SPRY_CUDA_PLUGIN");
    if (given && given[0]) {
        if (strchr(given, '/')) return snprintf(path, size, "%s", given) < (int)size;
        set_reason(reason, "plug-in \"%s\": expected a path with a slash in it", given);
        return 0;
    }
    char folder[3072];
    own_folder(folder, sizeof folder);
    if (!folder[0]) {
        set_reason(reason, "the folder of libspry is not known; set SPRY_CUDA_PLUGIN");
        return 0;
    }
    return snprintf(path, size, "%s%s", folder, file) < (int)size;
}

/* Loads a plug-in of this build. Returns NULL with a reason if that fails. */
static const spryi_plugin *load(const char *path, const reason_text *reason)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        const bool is_missing = access(path, F_OK) != 0;
        set_reason(reason, "no CUDA plug-in: %s%s", why ? why : path,
                   is_missing ? "; ./quickstart --gpu builds it" : "");
        return NULL;
    }
    union {
        void *symbol;
        spryi_plugin_entry_fn function;
    } entry = {.symbol = dlsym(library, SPRYI_PLUGIN_ENTRY)};
    const spryi_plugin *plugin = entry.symbol ? entry.function() : NULL;
    if (plugin && strcmp(plugin->build_id, SPRYI_BUILD_ID) == 0) return plugin; /* the plug-in remains loaded */
    if (plugin)
        set_reason(reason, "%s is of build %s, this library of %s: install both from one", path, plugin->build_id,
                   SPRYI_BUILD_ID);
    else
        set_reason(reason, "%s is not a plug-in of Spry", path);
    dlclose(library);
    return NULL;
}

/* Appends the devices. If a device's properties cannot be read, the list ends before that device. */
static int find(spry_context *context, spryi_device *devices, int most, const void **state, char *reason,
                size_t reason_size)
{
    const reason_text text = {reason, reason_size};
    char path[4096];
    if (!path_of_plugin(context->devices->plugin_path, path, sizeof path, &text)) return 0;
    const spryi_plugin *plugin = load(path, &text);
    if (!plugin) return 0;
    *state = plugin;
    plugin->open();
    const int count = plugin->count(reason, reason_size);
    for (int d = 0; d < count && d < most; d++) {
        spry_error err = SPRY_ERROR_INIT;
        if (plugin->describe(d, devices + d, &err) != SPRY_OK) {
            set_reason(&text, "%s", err.message);
            return d;
        }
        devices[d].ordinal = d;
        devices[d].ops = plugin->ops;
    }
    return count < most ? count : most;
}

static int64_t trim(const void *state)
{
    return ((const spryi_plugin *)state)->trim();
}

static int64_t cached_bytes(const void *state)
{
    return ((const spryi_plugin *)state)->cached_bytes();
}

static void close_plugin(const void *state)
{
    ((const spryi_plugin *)state)->close();
}

const spryi_driver spryi_driver_cuda = {
    .name = "cuda",
    .title = "NVIDIA GPU",
    .device_title = "CUDA",
    .massively_parallel = 1,
    .indices = "32/32 64/32",
    .start_us = 265e3, /* 140 ms for the plug-in and the driver, 125 ms for a CUDA context, memory and first kernels */
    .find = find,
    .trim = trim,
    .cached_bytes = cached_bytes,
    .close = close_plugin,
};
