/* Tests of operations on matrices in device memory. Results must equal those in host memory. */
#pragma once

#include "mock/mock.h"

extern mock_state *operations_mock; /* NULL: device 1 is a GPU */

int operations_on_device(void);
