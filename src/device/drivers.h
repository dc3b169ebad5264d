/* The kinds of devices that there are. A new one is a folder and a line in drivers.c. */
#ifndef SPRYI_DRIVERS_H
#define SPRYI_DRIVERS_H

#include "core/device.h"

extern const spryi_driver spryi_driver_cpu, spryi_driver_cuda;

extern const spryi_driver *const spryi_drivers[]; /* the CPU's is the first */
extern const int spryi_driver_count;

#endif
