/* The choice of a format on a GPU; policies of choose.c call it. */
#ifndef SPRYI_CHOOSE_GPU_H
#define SPRYI_CHOOSE_GPU_H

#include "core/matrix.h"
#include "formats/bsr/bsr.h"
#include "ops/choice.h"

/* How long the rows of a matrix are. */
typedef struct spryi_row_profile {
    double mean, longest;
    double body_deviation; /* of the lengths without the longest hundredth, as a share of their mean */
    double empty;          /* share of the rows */
} spryi_row_profile;

/* Rows of one length but for few: a deviation of at most half the mean. */
int spryi_rows_are_uniform(const spryi_row_profile *rows);

/*
 * The format for many products of A, which is in host memory and has values and entries: choice->format, with the
 * reason. Looks at samples of the columns; A that is not CSR is converted for that.
 */
spry_status spryi_choose_on_gpu(spryi_choice *choice, const spry_matrix *A, const spryi_row_profile *rows,
                                const spry_spmv_options *options, spry_error *err);

/* Share of the entries, by a sample of rows, whose right neighbour is an entry too: half and more in dense blocks. */
double spryi_adjacent_share(const spry_arrays *csr);

/* *guess: the blocks that a sample of rows finds; block 1 and csr's bytes where a first look sees none. */
spry_status spryi_find_blocks(const spry_arrays *csr, spry_context *context, spryi_bsr_guess *guess, spry_error *err);

/* Bytes of CSR an entry. */
double spryi_csr_entry_bytes(const spry_arrays *csr);

#endif
