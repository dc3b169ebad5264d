/* Headers of every test: cmocka, the C library and the public interface. */
#ifndef TESTS_TESTING_H
#define TESTS_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instrumented.h"
#include "spry/io.h"
#include "spry/solve.h"
#include "spry/spry.h"
#include "spry/tools.h"
#include "studies.h"

/* Most tests do not read cmocka's state. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#endif
