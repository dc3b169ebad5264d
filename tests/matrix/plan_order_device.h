/*
 * Plans on a device with memory of its own that renumber by themselves, through the public interface alone: by every
 * kernel of the mock device, whose memory the host cannot touch, or of a GPU.
 */
#pragma once

#include "mock/mock.h"

extern const char *tested_device; /* the name of device 1 */
extern mock_state *tested_mock;   /* NULL: a GPU */

int plans_with_an_ordering(void); /* runs the tests; the number of those that failed */
