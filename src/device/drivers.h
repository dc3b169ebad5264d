/* The kinds of devices that there are. A new one is a folder and a line: DRIVER(NAME) stands for spryi_driver_NAME. */
#pragma once

#include "core/device.h"

/* clang-format off */
#define SPRYI_DRIVERS(DRIVER)                                                                                          \
    DRIVER(cpu)                                                                                                        \
    DRIVER(cuda)
/* clang-format on */

#define SPRYI_DECLARE_DRIVER(name) extern const spryi_driver spryi_driver_##name;
SPRYI_DRIVERS(SPRYI_DECLARE_DRIVER)
#undef SPRYI_DECLARE_DRIVER

extern const spryi_driver *const spryi_drivers[]; /* the CPU's is the first */
extern const int spryi_driver_count;
