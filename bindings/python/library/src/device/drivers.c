/* The list of devices, which tests replace: this file has nothing else. */
#include "device/drivers.h"

#define DRIVER(name) &spryi_driver_##name,
const spryi_driver *const spryi_drivers[] = {SPRYI_DRIVERS(DRIVER)};
const int spryi_driver_count = sizeof spryi_drivers / sizeof *spryi_drivers;
