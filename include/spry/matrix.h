/*
 * Spry: matrices from matrices, statistics, orderings.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SPRY_MATRIX_H
#define SPRY_MATRIX_H

#include "spry/spry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- New matrices ---- */

/*
 * New matrices are owned, sorted by row (CSC: column), and where the operands are, in host memory or on a GPU. They
 * have both triangles. Operands must be consistent (spry_matrix_check). A claim of symmetry is kept where it must hold.
 */

/* Form of a new matrix. On a GPU only CSR with 32-bit columns is supported. */
typedef struct spry_matrix_options {
    size_t struct_size;
    spry_layout layout;          /* not BSR; default: CSR */
    spry_type value_type;        /* default: A's, or that of scalings. An entry of a pattern has the value 1 */
    spry_index_type offset_type; /* default: the smallest that holds nnz */
    spry_index_type index_type;  /* default: A's */
    bool keep_duplicates;        /* false: entries at one position are summed in f64 and rounded once */
    void *stream;                /* GPU: the call waits for this stream */
} spry_matrix_options;

/* Effect of rounding to value_type. Rows and columns: of the first such entry; -1: none. */
typedef struct spry_rounding {
    size_t struct_size;
    int64_t rounded;    /* entries whose value changed */
    int64_t overflowed; /* became infinite */
    int64_t vanished;   /* became 0 */
    double largest;     /* largest |new - old| / |old| without overflow */
    int64_t largest_row, largest_column;
    int64_t overflowed_row, overflowed_column;
} spry_rounding;

/* Converts A to another layout or other types. rounding: NULL, or filled; host memory, costs 8 bytes per entry. */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_convert(spry_context *context, spry_matrix **B,
                                                         spry_rounding *rounding, const spry_matrix *A,
                                                         const spry_matrix_options *options, spry_error *err);

/* Computes B = A^T. */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_transpose(spry_context *context, spry_matrix **B, const spry_matrix *A,
                                                           const spry_matrix_options *options, spry_error *err);

/*
 * Computes C = alpha*A + beta*B in f64, rounded once. alpha and beta point to one element of C's value type in host
 * memory; NULL: 1. C has the positions of A and of B, also if their sum is 0. Its default value type is the wider of
 * both. bf16, f16 and keep_duplicates are SPRY_UNSUPPORTED.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_add(spry_context *context, spry_matrix **C, const void *alpha,
                                                     const spry_matrix *A, const void *beta, const spry_matrix *B,
                                                     const spry_matrix_options *options, spry_error *err);

/* Rows or columns: the range first .. first+count-1 (count 0: to the end), or a list, not NULL even if empty. */
typedef struct spry_selection {
    size_t struct_size;
    int64_t first, count;
    const int64_t *list; /* count indices in any order, with repeats; host memory; first is 0 */
} spry_selection;

/* Computes B = A[rows, columns]: b_ij = a_rows[i],columns[j]. NULL: all. Two permutations reorder A. */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_extract(spry_context *context, spry_matrix **B, const spry_matrix *A,
                                                         const spry_selection *rows, const spry_selection *columns,
                                                         const spry_matrix_options *options, spry_error *err);

/* Computes B = D1*A*D2. Diagonals: single f32 or f64 vectors of one type on A's device; without data: the identity. */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_scale(spry_context *context, spry_matrix **B, const spry_matrix *A,
                                                       spry_const_vector row_scaling, spry_const_vector column_scaling,
                                                       const spry_matrix_options *options, spry_error *err);

/* Computes diagonal[i] = a_ii, 0 if not stored. min(rows, columns) elements, f32 or f64, on A's device. */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_diagonal(const spry_matrix *A, spry_vector diagonal, spry_error *err);

/* ---- Statistics ---- */

enum { SPRY_HISTOGRAM_BINS = 40 };

/* Row lengths count stored entries. */
typedef struct spry_matrix_stats {
    size_t struct_size;
    int64_t rows, columns, nnz;
    int64_t min_row, max_row, empty_rows;
    int64_t longest_row; /* first row with max_row entries */
    double mean_row, variance_row;
    int64_t bandwidth;                             /* max |i - j| */
    int64_t profile;                               /* sum over rows of i - smallest column <= i */
    int64_t diagonal_entries;                      /* rows with a stored (i, i) */
    spry_known pattern_symmetric, value_symmetric; /* SPRY_KNOWN_NO if A is not square */
    double pattern_symmetry;                       /* share of entries off the diagonal with a stored mirror image */
    int64_t histogram[SPRY_HISTOGRAM_BINS];        /* row lengths 0; 1; 2-3; 4-7; ... */
} spry_matrix_stats;

/* Reads all entries; host memory. */
SPRY_API spry_status spry_matrix_get_stats(const spry_matrix *A, spry_matrix_stats *stats, spry_error *err);

/* ---- Orderings ---- */

typedef struct spry_ordering_options {
    size_t struct_size;
    const char *method; /* "rcm" (NULL): narrow band; "bandk": for CSR-k; "degree": longest rows first; "bfs": faster */
    int k;              /* "bandk", as all that follow, see study.h: levels, 2 to 4; 0: 3 */
    int64_t srs, ssrs, sssrs;         /* target sizes of the levels; 0: from tuning */
    const char *tuning;               /* NULL: "cpu" */
    const struct spry_groups *groups; /* the caller's groups in place of a method; A may be NULL */
} spry_ordering_options;

/*
 * Computes a permutation: of rows and columns together if A is square, else of rows. A is in host memory and has less
 * than 2^31 - 1 rows.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_ordering_create(spry_context *context, spry_ordering **ordering,
                                                          const spry_matrix *A, const spry_ordering_options *options,
                                                          spry_error *err);
SPRY_API void spry_ordering_destroy(spry_ordering *ordering);

typedef struct spry_ordering_info {
    size_t struct_size;
    const char *method;
    int64_t rows, columns;
    const int64_t *row_perm;          /* row_perm[new] = old; the ordering's array */
    const int64_t *column_perm;       /* NULL: columns keep their order */
    int64_t components;               /* connected components; 0: not computed */
    const struct spry_groups *groups; /* of "bandk" and of the caller, else empty */
    double setup_us;
} spry_ordering_info;

SPRY_API spry_status spry_ordering_get_info(const spry_ordering *ordering, spry_ordering_info *info, spry_error *err);

typedef struct spry_ordering_stats {
    size_t struct_size;
    int64_t bandwidth_before, bandwidth_after, profile_before, profile_after; /* as in spry_matrix_stats */
    double sectors_before, sectors_after; /* 32-byte sectors of x per entry, for 32 rows at a time */
} spry_ordering_stats;

/* Compares A with A in that order. A is in host memory. */
SPRY_API spry_status spry_ordering_get_stats(const spry_ordering *ordering, spry_ordering_stats *stats,
                                             const spry_matrix *A, spry_error *err);

#ifdef __cplusplus
}
#endif
#endif
