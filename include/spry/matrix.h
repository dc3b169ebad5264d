/*
 * Spry: checks, statistics, conversion, operations and orderings of matrices.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rules at the top of spry/spry.h hold here too.
 */
#ifndef SPRY_MATRIX_H
#define SPRY_MATRIX_H

#include "spry/spry.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SPRY_HISTOGRAM_BINS = 40 };

/* Figures of a matrix's structure. Row lengths count stored entries. */
typedef struct spry_matrix_stats {
    size_t struct_size;
    int64_t rows, columns, nnz;
    int64_t min_row, max_row, empty_rows;
    int64_t longest_row;                           /* index of the first row of max_row entries */
    double mean_row, variance_row;                 /* variance over rows, divided by rows */
    int64_t bandwidth;                             /* max |i - j| */
    int64_t profile;                               /* sum over rows of i - (smallest column <= i of the row, or i) */
    int64_t diagonal_entries;                      /* rows whose (i,i) is stored */
    spry_known pattern_symmetric, value_symmetric; /* of square matrices; KNOWN_NO for others */
    /* rows of length 0; 1; 2..3; 4..7; ... bin b > 0 counts lengths 2^(b-1) .. 2^b - 1 */
    int64_t histogram[SPRY_HISTOGRAM_BINS];
    /* Of square matrices, the share of the entries off the diagonal whose mirror image is stored, from 0 to 1 (1 where
       there are none); duplicates count once. 0 for others. In value_symmetric duplicates count as their sum in f64,
       and each of a pattern as 1 */
    double pattern_symmetry;
} spry_matrix_stats;

/* O(nnz). A must be sound (spry_matrix_check); CSR, COO or CSC in host memory. */
SPRY_API spry_status spry_matrix_get_stats(const spry_matrix *A, spry_matrix_stats *stats, spry_error *err);

/* Rounding of the values of a matrix. Products with the new values keep their error bound. */
typedef struct spry_rounding {
    size_t struct_size;
    int64_t rounded;                           /* values that changed */
    int64_t overflowed;                        /* of these, finite values that became infinite */
    int64_t vanished;                          /* of these, values that became 0 */
    double largest;                            /* largest |new - old| / |old| of values that did not overflow */
    int64_t largest_row, largest_column;       /* first entry with that change; -1: none */
    int64_t overflowed_row, overflowed_column; /* first entry that overflowed; -1: none */
} spry_rounding;

/*
 * Form of a new matrix. On a GPU the layout has to be CSR with 32-bit indices, and only spry_matrix_convert changes the
 * value type: SPRY_UNSUPPORTED otherwise.
 */
typedef struct spry_matrix_options {
    size_t struct_size;
    spry_layout layout;          /* default: CSR */
    spry_type value_type;        /* default: that of A. Entries of a pattern count 1 */
    spry_index_type offset_type; /* default: the smallest that holds the entries */
    spry_index_type index_type;  /* default: that of A */
    bool keep_duplicates;        /* false: entries at one position are summed, in f64 and rounded once */
    void *stream;                /* of a GPU: work in it is awaited before A is read */
} spry_matrix_options;

/*
 * Creates B = A in another layout or with other types, in host memory or on A's GPU: an owned matrix with sorted rows.
 * rounding: filled with the rounding of values, which takes 8 bytes for each entry; host only, NULL: not wanted. A has
 * to be sound. options may be NULL. B keeps A's claim of symmetry unless rounded sums of duplicates can break it. A
 * pattern of a skew-symmetric A is claimed symmetric.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_convert(spry_context *context, spry_matrix **B,
                                                         spry_rounding *rounding, const spry_matrix *A,
                                                         const spry_matrix_options *options, spry_error *err);

/*
 * perm[new] = old. Of a square matrix rows and columns take one ordering, found on the pattern of A + A^T: B = P A P^T,
 * and with x'[i] = x[perm[i]], B*x' is (A*x)[perm[i]]. Of others only rows move. docs/csr-k.md has methods and costs.
 */
typedef struct spry_ordering_options {
    size_t struct_size;
    /* "rcm" (NULL): a narrow band; "bandk": one made of CSR-k's groups (docs/csr-k.md); "degree": longest rows first;
       "bfs": breadth first, a wider band than rcm's, but as good for products, in about half of its time */
    const char *method;
    int k;              /* bandk: 2 (super-rows alone), 3, or 4 (groups of super-super-rows too); 0: 3 */
    int64_t srs, ssrs;  /* bandk: rows a super-row and super-rows a super-super-row, about; 0: those of `tuning` */
    const char *tuning; /* "cpu" (NULL), "volta", "ampere", "hopper", "table", "volta-ssrs", "ampere-ssrs": as in */
                        /* csr3; the context's table counts */
    int64_t sssrs;      /* bandk with k = 4: super-super-rows a group of them, about; 0: 8 */
    const struct spry_groups *groups; /* the caller's groups (study.h); A may be NULL then */
} spry_ordering_options;
/* A: sound, in host memory, under 2^31 - 1 rows (not square: and columns). The same for any number of threads. */
SPRY_API spry_status spry_ordering_create(spry_context *context, spry_ordering **ordering, const spry_matrix *A,
                                          const spry_ordering_options *options, spry_error *err);
SPRY_API void spry_ordering_destroy(spry_ordering *ordering);

typedef struct spry_ordering_info {
    size_t struct_size;
    const char *method;
    int64_t rows, columns;
    const int64_t *row_perm, *column_perm; /* one array, the ordering's own; column_perm is NULL where columns stay */
    int64_t components;                    /* connected components of the graph; 0: not computed */
    const struct spry_groups *groups;      /* of "bandk" and of the caller, else empty, see study.h */
    double setup_us;
} spry_ordering_info;
SPRY_API spry_status spry_ordering_get_info(const spry_ordering *ordering, spry_ordering_info *info, spry_error *err);
typedef struct spry_ordering_stats {
    size_t struct_size;
    int64_t bandwidth_before, bandwidth_after, profile_before, profile_after; /* as in spry_matrix_stats */
    /* Sectors of x an entry, a sector being 4 numbers that lie together (32 bytes of f64): 32 rows that follow each
       other meet each of theirs once. From 0.25 / rows that share a column, where x is met in order, to 1, where it is
       scattered. 0 without entries. */
    double sectors_before, sectors_after;
} spry_ordering_stats;
/* Of A as it is and in that order, without making B. O(nnz). A has the sizes of the matrix that was ordered. */
SPRY_API spry_status spry_ordering_get_stats(const spry_ordering *ordering, spry_ordering_stats *figures,
                                             const spry_matrix *A, spry_error *err);

/* ------------------------------------------------------------------------------------------------ *
 * Matrices from matrices
 * ------------------------------------------------------------------------------------------------ */

/*
 * These functions create an owned matrix with sorted rows, in host memory or on the GPU that has the operands. Operands
 * are sound, of any layout, and do not change. Values may be f32, f64, bf16, f16 or a pattern; bf16 and f16 cannot be
 * added or scaled. options may be NULL. The new matrix is complete on return, has the index base of A, and has the same
 * bits for any number of threads.
 */

/* Computes B = A^T. B keeps A's claim of symmetry. */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_transpose(spry_context *context, spry_matrix **B, const spry_matrix *A,
                                                           const spry_matrix_options *options, spry_error *err);

/*
 * Computes C = alpha*A + beta*B, in f64 and rounded once. alpha and beta are scalars of C's value type in host memory;
 * NULL: 1. C has an entry where A or B has one, also if its value is 0. The default value type is the wider of A's and
 * B's; two patterns give a pattern. keep_duplicates is SPRY_UNSUPPORTED. C is marked symmetric if A and B are.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_add(spry_context *context, spry_matrix **C, const void *alpha,
                                                     const spry_matrix *A, const void *beta, const spry_matrix *B,
                                                     const spry_matrix_options *options, spry_error *err);

/* Some rows or columns, counted from 0. */
typedef struct spry_selection {
    size_t struct_size;
    int64_t first;       /* without a list: first .. first + count - 1 */
    int64_t count;       /* length of the list; without a list, 0 means up to the last row or column */
    const int64_t *list; /* in any order, repeats allowed; NULL: a range */
} spry_selection;

/*
 * Computes B = A[rows, columns]: b_ij is the entry of A in the i-th selected row and the j-th selected column. NULL
 * selects all. B keeps A's claim of symmetry if both selections are equal.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_extract(spry_context *context, spry_matrix **B, const spry_matrix *A,
                                                         const spry_selection *rows, const spry_selection *columns,
                                                         const spry_matrix_options *options, spry_error *err);

/*
 * Computes B = D1*A*D2 with diagonal matrices D1 and D2. A scaling is one vector, f32 or f64, on A's device; data NULL
 * means the identity. A pattern gets values of the vectors' type. B keeps A's claim of symmetry if both scalings are
 * the same vector.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_scale(spry_context *context, spry_matrix **B, const spry_matrix *A,
                                                       spry_const_vector row_scaling, spry_const_vector column_scaling,
                                                       const spry_matrix_options *options, spry_error *err);

/*
 * Sets diagonal[i] to entry (i, i) of A: the sum of the entries stored there, or 0. diagonal: one vector with
 * min(rows, columns) elements, f32 or f64, on A's device.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_diagonal(const spry_matrix *A, spry_vector diagonal, spry_error *err);

#ifdef __cplusplus
}
#endif
#endif
