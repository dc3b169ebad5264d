/* Helpers of the sparse product tests: random matrices in any form, and a triple loop as reference. */
#pragma once

#include "spry/spgemm.h"
#include "testing.h"

uint64_t test_random(uint64_t *state);
int64_t test_below(uint64_t *state, int64_t limit);

/* Entries in storage order. The same list creates a matrix in any layout. */
typedef struct test_entries {
    int64_t rows, cols, nnz;
    int64_t *i, *j;
    double *value;
} test_entries;

typedef enum test_kind {
    TEST_UNIFORM,  /* columns anywhere, sorted, unique */
    TEST_SHUFFLED, /* rows unsorted, with duplicates */
    TEST_BANDED,   /* columns near the diagonal */
    TEST_STENCIL,  /* the columns of a row are those of the row before, each plus 1 */
    TEST_GROUPED,  /* groups of consecutive rows with equal columns */
    TEST_IDENTITY, /* ones on the diagonal */
    TEST_PERMUTED, /* one entry per row; if square, each column once */
    TEST_ONE_ROW,  /* one dense row; the other rows are empty or short */
    TEST_ONE_COLUMN,
    TEST_DENSE,
    TEST_KINDS
} test_kind;

/* Values are small integers, so that sums are exact in f32. About one in five values is 0 or cancels. */
test_entries test_make(test_kind kind, int64_t rows, int64_t cols, double mean_row, uint64_t *state);
void test_add(test_entries *e, int64_t i, int64_t j, double value);
void test_discard(test_entries *e);

/* Matrix specs of the generator. Each has a different kind of rows. */
enum { TEST_SPECS = 6 };
extern const char *const test_specs[TEST_SPECS];
spry_matrix *test_generate(spry_context *context, int number);
spry_matrix *test_square(spry_context *context, const spry_matrix *A, const spry_spgemm_options *options); /* A*A */

typedef struct test_form {
    spry_layout layout;
    spry_type value_type;
    spry_index_type offset_type, index_type;
} test_form;

/*
 * Kernels of the CPU that support all index pairs. The first kernel is the reference. Some kernels are not available on
 * every processor.
 */
enum { TEST_KERNELS = 4 };
extern const char *const test_kernels[TEST_KERNELS];

/* Returns the transpose, which shares e's arrays. Only e is discarded. */
test_entries test_transposed(const test_entries *e);

/* The matrix owns copies of the arrays. COO stores the entries in a different order. */
spry_matrix *test_matrix(spry_context *context, const test_entries *e, test_form form);

/* alpha*A*op(B) by a triple loop over dense arrays of rows x cols elements. structure: 1 if a product contributes. */
typedef struct test_dense {
    int64_t rows, cols, products, nnz;
    double *value;
    unsigned char *structure;
} test_dense;
test_dense test_multiply(const test_entries *a, const test_entries *b, spry_op op_b, double alpha, int a_pattern,
                         int b_pattern);
void test_dense_free(test_dense *d);

/*
 * Fails the test unless C equals d exactly, with sorted rows and unique positions. drop: C must have no entries of
 * value 0.
 */
void test_equal(const spry_matrix *C, const test_dense *d, int drop, const char *what);

/* Returns 1 if the arrays of both matrices are equal bit for bit. */
int test_same_bits(const spry_matrix *C, const spry_matrix *D);

int64_t test_index(const void *array, spry_index_type type, int64_t k);
