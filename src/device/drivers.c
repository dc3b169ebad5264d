#include "device/drivers.h"

/* A line each; in tests a list of their own stands in place of this file. */
/* clang-format off */
const spryi_driver *const spryi_drivers[] = {
    &spryi_driver_cpu,
    &spryi_driver_cuda,
};
/* clang-format on */
const int spryi_driver_count = sizeof spryi_drivers / sizeof *spryi_drivers;
