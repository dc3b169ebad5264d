/* What the tests of sparse times sparse share: random matrices in any form, and a triple loop to compare with. */
#pragma once

#include "spry/spgemm.h"
#include "testing.h"

uint64_t test_random(uint64_t *state);
int64_t test_below(uint64_t *state, int64_t limit);

/* Entries in the order in which they are stored; the same list makes any layout. */
typedef struct test_entries {
    int64_t rows, cols, nnz;
    int64_t *i, *j;
    double *value;
} test_entries;

typedef enum test_kind {
    TEST_UNIFORM,  /* columns anywhere, sorted, unique */
    TEST_SHUFFLED, /* rows unsorted, with duplicates */
    TEST_BANDED,   /* near the diagonal */
    TEST_STENCIL,  /* each row the one before, moved by one */
    TEST_GROUPED,  /* rows in groups of one pattern */
    TEST_IDENTITY, /* values 1 */
    TEST_PERMUTED, /* one entry a row, all columns once where square */
    TEST_ONE_ROW,  /* one dense row, the others empty or short */
    TEST_ONE_COLUMN,
    TEST_DENSE,
    TEST_KINDS
} test_kind;

/* Values are small integers, so that sums are exact in f32; those of about one in five are 0 or cancel. */
test_entries test_make(test_kind kind, int64_t rows, int64_t cols, double mean_row, uint64_t *state);
void test_add(test_entries *e, int64_t i, int64_t j, double value);
void test_discard(test_entries *e);

/* Matrices of the generator, of one kind of rows each. */
enum { TEST_SPECS = 6 };
extern const char *const test_specs[TEST_SPECS];
spry_matrix *test_generate(spry_context *context, int number);
spry_matrix *test_square(spry_context *context, const spry_matrix *A, const spry_spgemm_options *options); /* A*A */

typedef struct test_form {
    spry_layout layout;
    spry_type value_type;
    spry_index_type offset_type, index_type;
} test_form;

/* Kernels of the CPU with all index pairs, from the reference on; some are not available on any processor. */
enum { TEST_KERNELS = 4 };
extern const char *const test_kernels[TEST_KERNELS];

/* The transpose: the same arrays, not to be discarded. */
test_entries test_transposed(const test_entries *e);

/* The arrays are the matrix's own copies. COO takes the entries in an order of its own. */
spry_matrix *test_matrix(spry_context *context, const test_entries *e, test_form form);

/* alpha*A*op(B) by a triple loop over dense arrays; structure: 1 where a product fell. rows x cols numbers each. */
typedef struct test_dense {
    int64_t rows, cols, products, nnz;
    double *value;
    unsigned char *structure;
} test_dense;
test_dense test_multiply(const test_entries *a, const test_entries *b, spry_op op_b, double alpha, int a_pattern,
                         int b_pattern);
void test_dense_free(test_dense *d);

/* Fails the test unless C is exactly d, sorted, each position once. drop: without the entries whose value is 0. */
void test_equal(const spry_matrix *C, const test_dense *d, int drop, const char *what);

/* C's arrays, bit for bit. */
int test_same_bits(const spry_matrix *C, const spry_matrix *D);

int64_t test_index(const void *array, spry_index_type type, int64_t k);
