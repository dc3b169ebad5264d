/*
 * Plug-ins that cannot be used, for tests of what is said then: tests/CMakeLists.txt builds this file once for each
 * kind. Functions that are never called of one are left out.
 */
#include "core/build_id.h"
#include "core/cuda_plugin.h"

#include <stdio.h>
#include <string.h>

enum { NOTHING, OTHER_BUILD, NO_DRIVER, BROKEN_DEVICE };

static int count(char *reason, size_t size)
{
    if (FAKE_KIND == BROKEN_DEVICE) return 1;
    snprintf(reason, size, "fake: no driver is installed");
    return 0;
}

static spry_status describe(int device, spryi_cuda_device *info, spry_error *err)
{
    (void)device;
    memset(info, 0, sizeof *info);
    snprintf(err->message, sizeof err->message, "fake: the device does not answer");
    return SPRY_DEVICE_FAILED;
}

static int started(int device)
{
    return device < 0;
}

static int64_t trim(void)
{
    return 0;
}

static void opened_or_closed(void)
{
}

__attribute__((visibility("default"))) const spryi_cuda_plugin *spryi_cuda_plugin_entry(void);

const spryi_cuda_plugin *spryi_cuda_plugin_entry(void)
{
    static const spryi_cuda_plugin plugin = {
        .build_id = FAKE_KIND == OTHER_BUILD ? "0.0.1-another" : SPRYI_BUILD_ID,
        .count = count,
        .describe = describe,
        .started = started,
        .trim = trim,
        .open = opened_or_closed,
        .close = opened_or_closed,
    };
    return FAKE_KIND == NOTHING ? NULL : &plugin;
}
