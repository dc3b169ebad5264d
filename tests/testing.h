/*
 * Every test includes this header. It includes cmocka, the C library and the public interface, and declares contexts
 * whose allocations can fail.
 */
#pragma once

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
#include "spry/matrix.h"
#include "spry/solve.h"
#include "spry/spgemm.h"
#include "spry/spry.h"
#include "spry/study.h"
#include "spry/tune.h"
#include "studies.h"

/* Most tests do not read cmocka's state. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Allocations of one context. */
typedef struct test_memory {
    _Atomic int64_t calls, blocks, bytes, most_bytes;
    _Atomic int64_t faults;        /* requests with a bad size or alignment, and releases with the wrong size */
    int64_t fail_from, fail_until; /* first and last failing call, counted from 1; 0: none */
    int64_t limit;                 /* bytes that the context may hold; 0: no limit */
} test_memory;

spry_context *context_of(int threads); /* with the default allocator */

/* Creates a context whose allocations `memory` counts. NULL: the default allocator. */
spry_context *counted_context(test_memory *memory, int threads);

/*
 * Set-up and tear-down functions for cmocka. open_context sets *state to a context of two threads. close_context fails
 * if the context still holds memory.
 */
int open_context(void **state);
int close_context(void **state);

/* Fields of spry_context_info. */
int64_t context_bytes(const spry_context *context);
int64_t context_peak_bytes(const spry_context *context);
int64_t context_cached_bytes(const spry_context *context);
int context_threads(const spry_context *context);

/* Creates an ordering from the caller's groups. */
spry_status create_groups(spry_context *context, spry_ordering **ordering, const spry_groups *groups, spry_error *err);

uint64_t next_random(uint64_t *state); /* xorshift64; state is not 0 */

enum { SKIPPED = 77 }; /* exit status of a test that cannot run on this machine */
int has_gpu(void);     /* prints the device's name, or why no device is available */

/*
 * Makes the n-th of the next allocation calls fail, counted from 1. onwards: all later calls also fail. n = 0: no call
 * fails.
 */
void fail_call(test_memory *memory, int64_t n, int onwards);

/* Returns 1 if the call that fail_call selected has been made. */
int call_failed(const test_memory *memory);

/*
 * Runs `work` in a new context for each n = 1, 2, ..., with the n-th allocation failing, until no allocation fails.
 * Then repeats all of this with every allocation after the n-th also failing. If an allocation failed, `work` must
 * return SPRY_OUT_OF_MEMORY with its message, otherwise SPRY_OK, and no block may remain. `work` destroys what it
 * creates. Returns the number of allocations of the last run.
 */
typedef spry_status (*test_work)(spry_context *context, const void *input, spry_error *err);
int64_t fail_every_allocation(test_work work, const void *input, int threads);

/* Fails the test with the library's message unless the call, whose last argument is `err`, returns SPRY_OK. */
#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        spry_error err_ = {0}, *err = &err_;                                                                           \
        if ((call) != SPRY_OK) fail_msg("%s: %s", #call, err->message);                                                \
    } while (0)

/*
 * Describes borrowed CSR arrays with 32-bit indices and offsets[rows] entries. values is NULL if the type is
 * SPRY_PATTERN.
 */
spry_arrays csr_arrays(int64_t rows, int64_t cols, const int32_t *offsets, const int32_t *columns, const void *values,
                       spry_type type);

/* Each function fails the test with the library's message if the library's call fails. */
spry_matrix *generate_matrix(spry_context *context, const char *spec);
spry_matrix *create_matrix(spry_context *context, const spry_arrays *arrays);
spry_matrix *convert_matrix(spry_context *context, const spry_matrix *A, const spry_matrix_options *options);
/*
 * Creates B from all rows and columns of A in another order and keeps duplicates. If a permutation is NULL, the order
 * of its rows or columns does not change.
 */
spry_status permute_matrix(spry_context *context, spry_matrix **B, const spry_matrix *A, const int64_t *row_perm,
                           const int64_t *col_perm, spry_error *err);
spry_matrix *borrow_csr(spry_context *context, int64_t rows, int64_t cols, const int32_t *offsets,
                        const int32_t *columns, const double *values);
spry_matrix *read_matrix(spry_context *context, const char *path, const spry_read_options *options);
spry_arrays arrays_of(const spry_matrix *A);
spry_vector create_vector(spry_context *context, int64_t length, spry_type type, int device);
spry_ordering *create_ordering(spry_context *context, const spry_matrix *A, const spry_ordering_options *options);
spry_kernel_info kernel_info(const spry_context *context, int index);
spry_format_info format_info(int index);

/* Gets the info of a kernel of sparse products. index counts only these kernels. */
spry_status get_spgemm_kernel(const spry_context *context, spry_kernel_info *info, int index, spry_error *err);

/*
 * Lengths of the library's lists. In the list of kernels, kernels of products with vectors come before kernels of
 * sparse products.
 */
int spmv_kernel_count(void);
int spgemm_kernel_count(void);
int format_count(void);
int generator_count(void);
int device_class_count(void);
int choice_count(const spry_context *context);

spry_spmv_plan *create_plan(spry_context *context, const spry_matrix *A, const spry_spmv_options *options);
spry_spmv_plan_info plan_info(const spry_spmv_plan *plan);
spry_matrix *multiply_matrices(spry_context *context, const spry_matrix *A, const spry_matrix *B,
                               const spry_spgemm_options *options);
/* Multiplies and fills the info. */
spry_matrix *multiply_with_info(spry_context *context, spry_spgemm_info *info, const spry_matrix *A,
                                const spry_matrix *B, const spry_spgemm_options *options);
spry_spgemm_plan *create_spgemm_plan(spry_context *context, const spry_matrix *A, const spry_matrix *B,
                                     const spry_spgemm_options *options);
void multiply_f64(const spry_spmv_plan *plan, double *y, int64_t y_length, const double *x, int64_t x_length);

/*
 * Fails the test unless the call's status and err.status are `wanted`, err.argument is `name` (NULL: any), and the
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
