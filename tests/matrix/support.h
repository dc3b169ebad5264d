/*
 * Helpers for tests of matrices: matrices from lists of entries, access to arrays of any type, random numbers, hashes.
 */
#pragma once

#include "spry/io.h"
#include "testing.h"

#define TEST_COUNT(array) (int)(sizeof(array) / sizeof *(array))

int test_setup(void **state); /* for cmocka: *state is a context with defaults */

/* Fails the test if the library refuses. */
spry_matrix *test_generate(spry_context *context, const char *spec, const spry_read_options *options);

uint64_t test_random(uint64_t *state);

void test_set(void *data, spry_type type, int64_t i, double value); /* f64 or f32 */
void test_set_index(void *array, spry_index_type type, int64_t k, int64_t value);

/* One entry of a matrix: value at row i, column j. */
typedef struct test_entry {
    int64_t i, j;
    double value;
} test_entry;

typedef struct test_form {
    spry_layout layout;
    spry_type value_type;
    spry_index_type offset_type, index_type;
} test_form;

enum { TEST_FORMS = 27 };
test_form test_form_number(int number);

/*
 * Creates a matrix from entries. form: layout and types. Entries must be in row order for CSR, and in column order for
 * CSC. The matrix owns copies of the arrays.
 */
spry_matrix *test_matrix(spry_context *context, int64_t rows, int64_t cols, const test_entry *entries, int64_t nnz,
                         test_form form);

/*
 * Describes the lower triangle of a symmetric matrix as CSR with 32-bit indices and f64 values. The arrays remain the
 * caller's.
 */
spry_arrays test_lower_triangle(int64_t rows, const int32_t *offsets, const int32_t *columns, const double *values);

/* Reads elements of arrays of any type. */
int64_t test_offset(const spry_arrays *a, int64_t k);
int64_t test_index(const spry_arrays *a, int64_t k);
int64_t test_row(const spry_arrays *a, int64_t k);
double test_value(const spry_arrays *a, int64_t k);

/* FNV-1a over 64-bit words. Structure: sizes, offsets and indices. Values: the bits of the values as doubles. */
uint64_t test_structure_hash(const spry_arrays *a);
uint64_t test_value_hash(const spry_arrays *a);
