/*
 * Plans with an ordering on a device with separate memory, tested only through the public interface. Runs every kernel
 * of the mock device, whose memory the host cannot access, or of a GPU.
 */
#pragma once

#include "mock/mock.h"

extern const char *tested_device; /* the name of device 1 */
extern mock_state *tested_mock;   /* NULL: a GPU */

int plans_with_an_ordering(void); /* runs the tests; returns the number of failures */
