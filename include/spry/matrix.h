/*
 * Spry: checks, statistics, conversion and orderings of matrices.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rules at the top of spry/spry.h hold here too.
 */
#ifndef SPRY_MATRIX_H
#define SPRY_MATRIX_H

#include "spry/spry.h"

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

/* What a conversion did to the values. Products of the new matrix keep their bound against the new values. */
typedef struct spry_rounding {
    size_t struct_size;
    int64_t rounded;    /* entries whose value is another one now, of which */
    int64_t overflowed; /* were finite and are infinite, and */
    int64_t vanished;   /* were not 0 and are */
    double largest;     /* |new - old| / |old|, the largest of those that did not overflow; 1 where one vanished */
    int64_t largest_row, largest_column;       /* of the first entry that has it; -1: there is none */
    int64_t overflowed_row, overflowed_column; /* of the first that overflowed; -1: none did */
} spry_rounding;

typedef struct spry_matrix_options {
    size_t struct_size;
    spry_layout layout; /* default CSR */
    /* default: as A. Each entry of a pattern counts 1, so duplicates sum up; into a pattern, positions alone survive */
    spry_type value_type;
    spry_index_type offset_type; /* default: as A where it has offsets, else the smallest that holds nnz */
    spry_index_type index_type;  /* default: as A */
    int keep_duplicates; /* 1: keep entries at one position apart; 0: sum them in f64, in stored order, rounded once */
    /* Filled when the call succeeds, its struct_size set before: how values, or such sums, were rounded to value_type.
       NULL: nobody asks. It takes 8 bytes an entry while it converts. */
    spry_rounding *rounding;
} spry_matrix_options;

/*
 * Makes an owned matrix of another layout or type, sorted; A stays as it is and must be sound. options may be NULL. B
 * has A's claim of symmetry, except if duplicates of A are summed into values or kept in another type: their sums may
 * differ from their images after rounding. A pattern of a skew-symmetric A is claimed symmetric.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_matrix_convert(spry_context *context, spry_matrix **B, const spry_matrix *A,
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
/* B: owned, sorted CSR, b_ij = a_row_perm[i],col_perm[j]; NULL: stays. Types, field, duplicates (and, where both sides
   move alike, symmetry) are A's. */
SPRY_API spry_status spry_matrix_permute(spry_context *context, spry_matrix **B, const spry_matrix *A,
                                         const int64_t *row_perm, const int64_t *col_perm, spry_error *err);

#ifdef __cplusplus
}
#endif
#endif
