/* The list of devices of tests with the mock device, in place of src/device/drivers.c. */
#include "device/drivers.h"

#include "mock/mock.h"

/* clang-format off */
const spryi_driver *const spryi_drivers[] = {
    &spryi_driver_cpu,
    &mock_driver,
    &spryi_driver_cuda,
};
/* clang-format on */
const int spryi_driver_count = sizeof spryi_drivers / sizeof *spryi_drivers;
