/* Samples of matrices, and dense reference versions of the operations on matrices. */
#pragma once

#include "matrix/matrix.h"
#include "support.h"

/* Structure of a sample. All samples are square except SAMPLE_GENERAL. */
typedef enum sample_kind {
    SAMPLE_GENERAL,
    SAMPLE_SYMMETRIC,  /* all entries, declared symmetric */
    SAMPLE_SKEW,       /* all entries, declared skew-symmetric */
    SAMPLE_LOWER,      /* the lower triangle of a symmetric matrix */
    SAMPLE_UPPER_SKEW, /* the upper triangle of a skew-symmetric matrix */
    SAMPLE_KINDS
} sample_kind;

typedef struct sample {
    sample_kind kind;
    int64_t rows, columns, entries;
    test_form form;
    int index_base;
    bool duplicates; /* positions may repeat */
    bool sorted;     /* rows are sorted (CSC: columns) */
    uint64_t seed;
} sample;

/* Creates a matrix of small integers, whose sums and products are exact. The matrix owns copies of the arrays. */
spry_matrix *sample_matrix(spry_context *context, const sample *s);

/* A dense matrix. */
typedef struct dense {
    int64_t rows, columns;
    double *value; /* row-major */
    int *stored;   /* number of entries at each position; 0: none */
} dense;

dense dense_new(int64_t rows, int64_t columns);
void dense_free(dense *d);

/*
 * Returns A, which is in host memory, as a dense matrix. Duplicates are summed. If A stores one triangle, the other
 * triangle is included. Entries of a pattern are ones.
 */
dense dense_of(const spry_matrix *A);

dense dense_transpose(const dense *a);
dense dense_add(double alpha, const dense *a, double beta, const dense *b);

/* Selects rows and columns. NULL: all. */
dense dense_extract(const dense *a, const int64_t *rows, int64_t row_count, const int64_t *columns,
                    int64_t column_count);
dense dense_scale(const dense *a, const double *rows, const double *columns);

/*
 * Returns NULL if B, in host memory, has the entries and values of *d, and its fields sorted, unique and symmetry are
 * true. Otherwise describes the first fault.
 */
const char *fault_of(spry_matrix *B, const dense *d, const spry_matrix_options *o);

/* Fails the test if fault_of finds a fault. Destroys B and frees *d. */
void expect_matrix(spry_matrix *B, dense *d, const spry_matrix_options *o, const char *what);

/* Expects the call to fail with this status, argument and message, and to leave the matrix B NULL. */
#define REFUSED(call, wanted, name, text)                                                                              \
    do {                                                                                                               \
        spry_error err = {0};                                                                                          \
        assert_int_equal(wanted, call);                                                                                \
        assert_string_equal(text, err.message);                                                                        \
        assert_string_equal(name, err.argument);                                                                       \
        assert_null(B);                                                                                                \
    } while (0)
