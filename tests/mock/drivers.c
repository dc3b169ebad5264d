/* The list of devices of tests with the mock device, in place of src/device/drivers.c. */
#include "device/drivers.h"

/* Devices of tests, a line each: MOCK(NAME) stands for NAME_driver, defined in a folder tests/mock*. */
/* clang-format off */
#define MOCKS(MOCK)                                                                                                    \
    MOCK(mock)                                                                                                         \

#define DECLARE(name) extern spryi_driver name##_driver;
MOCKS(DECLARE)

#define LIST(name) &name##_driver,
const spryi_driver *const spryi_drivers[] = {&spryi_driver_cpu, MOCKS(LIST) &spryi_driver_cuda};
const int spryi_driver_count = sizeof spryi_drivers / sizeof *spryi_drivers;
/* clang-format on */
