/* The list of drivers. Tests replace this file. */
#include "device/drivers.h"

#define DRIVER(name) &spryi_driver_##name,
const spryi_driver *const spryi_drivers[] = {SPRYI_DRIVERS(DRIVER)};
const int spryi_driver_count = sizeof spryi_drivers / sizeof *spryi_drivers;
