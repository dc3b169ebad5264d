/* List of devices of tests with the mock device. It replaces src/device/drivers.c. */
#include "device/drivers.h"

/* One device per line. MOCK(NAME) stands for NAME_driver, defined in a folder tests/mock*. */
/* clang-format off */
#define MOCKS(MOCK)                                                                                                    \
    MOCK(mock)                                                                                                         \

#define DECLARE(name) extern spryi_driver name##_driver;
MOCKS(DECLARE)

#define LIST(name) &name##_driver,
const spryi_driver *const spryi_drivers[] = {&spryi_driver_cpu, MOCKS(LIST) &spryi_driver_cuda};
const int spryi_driver_count = sizeof spryi_drivers / sizeof *spryi_drivers;
/* clang-format on */
