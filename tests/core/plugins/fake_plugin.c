/*
 * Unusable plug-ins, for tests of the messages. tests/CMakeLists.txt builds this file once for each kind of fault. The
 * plug-ins lack the functions that are never called.
 */
#include "base/build_id.h"
#include "device/plugin.h"

#include <stdio.h>
#include <string.h>

enum { NOTHING, OTHER_BUILD, NO_DRIVER, BROKEN_DEVICE };

static int count(char *reason, size_t size)
{
    if (FAKE_KIND == BROKEN_DEVICE) return 1;
    snprintf(reason, size, "fake: no driver is installed");
    return 0;
}

static spry_status describe(int ordinal, spryi_device *device, spry_error *err)
{
    (void)ordinal;
    memset(device, 0, sizeof *device);
    snprintf(err->message, sizeof err->message, "fake: the device does not answer");
    return SPRY_DEVICE_FAILED;
}

static int64_t trim(void)
{
    return 0;
}

static void opened_or_closed(void)
{
}

__attribute__((visibility("default"))) const spryi_plugin *spryi_plugin_entry(void);

const spryi_plugin *spryi_plugin_entry(void)
{
    static const spryi_plugin plugin = {
        .build_id = FAKE_KIND == OTHER_BUILD ? "0.0.1-another" : SPRYI_BUILD_ID,
        .count = count,
        .describe = describe,
        .trim = trim,
        .cached_bytes = trim,
        .open = opened_or_closed,
        .close = opened_or_closed,
    };
    return FAKE_KIND == NOTHING ? NULL : &plugin;
}
