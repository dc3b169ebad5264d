/* Finding, loading and refusing the CUDA plug-in. Nothing of it is fatal: what is wrong becomes a device's reason. */
#include "core/cuda_plugin.h"

#include "core/build_id.h"
#include "core/context.h"
#include "core/error.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A reason that is too long is cut. */
__attribute__((format(printf, 2, 3))) static void say(spryi_cuda_state *state, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(state->reason, sizeof state->reason, format, arguments);
    va_end(arguments);
}

/* The folder of the library or program that holds this function, with a slash; "" when it cannot be told. */
static void own_folder(char *folder, size_t size)
{
    Dl_info info;
    folder[0] = '\0';
    union { /* ISO C knows no conversion of function pointers to void * */
        int (*function)(const spry_context *, const char **);
        void *address;
    } here = {.function = spryi_cuda_devices};
    if (!dladdr(here.address, &info) || !info.dli_fname) return;
    const char *slash = strrchr(info.dli_fname, '/');
    if (slash && (size_t)(slash - info.dli_fname) + 2 <= size)
        snprintf(folder, size, "%.*s/", (int)(slash - info.dli_fname), info.dli_fname);
}

/* Never a bare name: dlopen would search folders that others may write. */
static int path_of_plugin(spryi_cuda_state *state, char *path, size_t size)
{
    static const char file[] = "libspry-cuda.so";
    const char *given = state->path[0] ? state->path : getenv("SPRY_CUDA_PLUGIN");
    if (given && given[0]) {
        if (strchr(given, '/')) return snprintf(path, size, "%s", given) < (int)size;
        say(state, "plug-in \"%s\": expected a path with a slash in it", given);
        return 0;
    }
    char folder[3072];
    own_folder(folder, sizeof folder);
    if (!folder[0]) {
        say(state, "the folder of libspry is not known; set SPRY_CUDA_PLUGIN");
        return 0;
    }
    return snprintf(path, size, "%s%s", folder, file) < (int)size;
}

/* A device that cannot be asked for its properties ends the list: those before it can be used. */
static void describe_devices(spryi_cuda_state *state, const spryi_cuda_plugin *plugin)
{
    int count = plugin->count(state->reason, sizeof state->reason);
    for (int d = 0; d < count && d < SPRYI_MOST_GPUS; d++) {
        spryi_cuda_device gpu;
        spry_error err = SPRY_ERROR_INIT;
        if (plugin->describe(d, &gpu, &err) != SPRY_OK) {
            say(state, "%s", err.message);
            return;
        }
        snprintf(state->gpus[d].name, sizeof state->gpus[d].name, d == 0 ? "cuda" : "cuda:%d", d);
        snprintf(state->gpus[d].description, sizeof state->gpus[d].description,
                 "%s, compute capability %d.%d, driver for CUDA %s", gpu.name, gpu.major, gpu.minor, gpu.driver);
        state->gpus[d].multiprocessors = gpu.multiprocessors;
        state->gpus[d].shared_bytes = gpu.shared_bytes;
        state->gpus[d].major = gpu.major;
        state->gpus[d].minor = gpu.minor;
        state->gpus[d].memory_bytes = gpu.memory_bytes;
        state->gpus[d].cache_bytes = gpu.cache_bytes;
        state->devices = d + 1;
    }
}

static void load(spryi_cuda_state *state)
{
    char path[4096];
    if (!path_of_plugin(state, path, sizeof path)) return;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        say(state, "no CUDA plug-in: %s", why ? why : path);
        return;
    }
    union {
        void *symbol;
        spryi_cuda_entry function;
    } entry = {.symbol = dlsym(library, SPRYI_CUDA_ENTRY)};
    const spryi_cuda_plugin *plugin = entry.symbol ? entry.function() : NULL;
    if (!plugin) {
        say(state, "%s is no plug-in of Spry", path);
    } else if (strcmp(plugin->build_id, SPRYI_BUILD_ID) != 0) {
        say(state, "%s is of build %s, this library of %s: install both from one", path, plugin->build_id,
            SPRYI_BUILD_ID);
    } else {
        describe_devices(state, plugin);
        state->plugin = plugin;
        plugin->open();
    }
    if (!state->plugin) dlclose(library); /* a plug-in in use stays: CUDA's run-time does not survive being unloaded */
}

/* The state is the context's one mutable part; once made it does not change. */
static spryi_cuda_state *settle(const spry_context *context)
{
    spryi_cuda_state *state = context->cuda;
    pthread_mutex_lock(&state->lock);
    if (!state->settled) load(state);
    state->settled = 1;
    pthread_mutex_unlock(&state->lock);
    return state;
}

const spryi_cuda_plugin *spryi_cuda(const spry_context *context, const char **reason)
{
    spryi_cuda_state *state = settle(context);
    if (reason) *reason = state->reason;
    return state->plugin;
}

int spryi_cuda_devices(const spry_context *context, const char **reason)
{
    spryi_cuda_state *state = settle(context);
    if (reason) *reason = state->reason;
    return state->devices;
}

spry_status spryi_cuda_device_of(const spry_context *context, const char *name, int *device, spry_error *err)
{
    const char *reason;
    int devices = spryi_cuda_devices(context, &reason);
    char *end = NULL;
    long number = strcmp(name, "cuda") == 0 ? 0 : strncmp(name, "cuda:", 5) == 0 ? strtol(name + 5, &end, 10) : -1;
    if (number < 0 || (end && (*end != '\0' || end == name + 5)))
        return spryi_fail(err, SPRY_UNKNOWN_NAME, "device", "no device \"%s\", expected cpu, cuda or cuda:N", name);
    if (devices == 0)
        return spryi_fail(err, SPRY_DEVICE_UNAVAILABLE, "device", "device %s cannot be used: %s", name, reason);
    if (number >= devices)
        return spryi_fail_value(err, SPRY_DEVICE_UNAVAILABLE, "device", number, devices - 1,
                                "device %s does not exist, there are %d CUDA devices", name, devices);
    *device = (int)number;
    return SPRY_OK;
}

const spryi_cuda_kernel *spryi_cuda_find_kernel(const spryi_cuda_plugin *plugin, const char *name)
{
    for (int k = 0; k < plugin->kernel_count; k++)
        if (strcmp(plugin->kernels[k]->name, name) == 0) return plugin->kernels[k];
    return NULL;
}

const spryi_cuda_converter *spryi_cuda_find_converter(const spryi_cuda_plugin *plugin, const char *format)
{
    for (int k = 0; k < plugin->converter_count; k++)
        if (strcmp(plugin->converters[k]->format, format) == 0) return plugin->converters[k];
    return NULL;
}
