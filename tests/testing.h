/* What every test includes: cmocka, the C library, the public interface, and contexts whose allocations can fail. */
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

/* Allocations of one context. */
typedef struct test_memory {
    _Atomic int64_t calls, blocks, bytes, most_bytes;
    _Atomic int64_t faults;        /* requests of a bad size or alignment, releases of another size */
    int64_t fail_from, fail_until; /* calls that fail, counted from 1; 0: none */
    int64_t limit;                 /* bytes that the context may hold; 0: any number */
} test_memory;

spry_context *context_of(int threads); /* with the default allocator */

/* Creates a context whose allocations `memory` counts. NULL: the default allocator. */
spry_context *counted_context(test_memory *memory, int threads);

/* For cmocka: *state is a context of two threads. close_context fails if the context still holds memory. */
int open_context(void **state);
int close_context(void **state);

enum { SKIPPED = 77 }; /* exit status of a test that cannot run on this machine */
int has_gpu(void);     /* prints its name, or why there is none */

/* Makes the n-th of the next calls fail, counted from 1, and with `onwards` all after it. n = 0: no call fails. */
void fail_call(test_memory *memory, int64_t n, int onwards);

/* Returns 1 if the call that fail_call named was made. */
int call_failed(const test_memory *memory);

/*
 * Runs `work` in new contexts, where the first allocation fails, then the second, and so on until none fails; then
 * again with all after it failing, too. Fails the test unless the work returns SPRY_OUT_OF_MEMORY with its message if an
 * allocation failed, SPRY_OK otherwise, and leaves no block. The work destroys what it creates. Returns the number of
 * allocations of the last run.
 */
typedef spry_status (*test_work)(spry_context *context, const void *input, spry_error *err);
int64_t fail_every_allocation(test_work work, const void *input, int threads);

/*
 * Fails the test unless `got` and the error's status are `wanted`, the argument is `argument` (NULL: any), and the
 * message is a sentence on one line.
 */
#define expect_error(call, wanted, name)                                                                               \
    do {                                                                                                               \
        spry_error err = {0};                                                                                          \
        spry_status got_ = (call);                                                                                     \
        check_error(got_, &err, (wanted), (name), __FILE__, __LINE__);                                                 \
    } while (0)
void check_error(spry_status got, const spry_error *err, spry_status wanted, const char *argument, const char *file,
                 int line);

#endif
