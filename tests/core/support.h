/* What the tests of the interface share: a counting, failing allocator and a small matrix in every layout. */
#ifndef TESTS_CORE_SUPPORT_H
#define TESTS_CORE_SUPPORT_H

#include "testing.h"

/* Hooks that count, check sizes and alignment, and fail on demand. */
typedef struct hooks {
    _Atomic int64_t calls, blocks, bytes, faults;
    int64_t fail_from, fail_until; /* calls that fail, counted from 1; 0: none */
} hooks;

/* Of `threads` threads, with h as its allocator; h NULL: malloc. Never fails: the hooks are armed afterwards. */
spry_context *make_context(hooks *h, int threads);

int has_gpu(void); /* prints its name, or why there is none */

/*
 * The same matrix in each layout, borrowed: rows x cols, some rows empty, one longer than a block of any kernel when
 * `rows` allows. values hold what A's are multiplied with, so that tests can change them in place.
 */
typedef struct sample {
    int64_t rows, cols, nnz;
    int32_t *offsets, *row_of, *columns;           /* CSR; row_of for COO */
    int32_t *column_offsets, *rows_by_column;      /* CSC */
    double *values, *values_by_column, *x, *exact; /* exact: A*x, in integers, so without rounding */
} sample;

sample sample_make(int64_t rows, int64_t cols);
void sample_free(sample *s);

enum { INPUTS = 5 }; /* CSR, COO known sorted, COO, CSC, CSR pattern */
spry_arrays sample_arrays(const sample *s, int input);
spry_matrix *sample_matrix(spry_context *context, const sample *s, int input);

/* y is A*x exactly, of that input (a pattern's values are 1). */
int is_product(const sample *s, int input, const double *y);

/*
 * status is as wanted and err tells it: the argument's name (NULL: any), and one line that is no shorter than a
 * sentence. Fails the test otherwise.
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
