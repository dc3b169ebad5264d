/* What the choice knows of a matrix: its row lengths exactly, its columns by samples. */
#pragma once

#include "core/columns.h"
#include "core/kernel.h"
#include "formats/bsr/bsr.h"
#include "formats/csr/relations.h"
#include "formats/packed/packed.h"
#include "formats/windowed/windowed_guess.h"

/* How long the rows of a matrix are. */
typedef struct spryi_row_profile {
    double mean, longest;
    int64_t longest_row;   /* one of that length */
    double deviation;      /* of the lengths, as a share of their mean, */
    double body_deviation; /* and without the longest hundredth */
    double empty;          /* share of the rows */
    double long_rows;      /* rows of over SPRYI_LONG_ROW times the mean, */
    double excess;         /* and their entries beyond that */
    double beyond_mean;    /* entries of rows beyond the mean, which is rounded: COO's part of format hyb */
    double variance;       /* of the lengths */
    double quantiles[3];   /* lengths that a half, nine tenths and 99 hundredths of the rows do not pass */
} spryi_row_profile;

/*
 * Of a matrix whose offsets are in host memory, and, but for CSR, its indices. SPRYI_QUICK: of many rows a part is
 * counted, and the longest is a guess.
 */
spry_status spryi_find_row_profile(spryi_row_profile *profile, spry_context *context, const spry_arrays *A,
                                   spryi_effort effort, spry_error *err);

#define SPRYI_LONG_ROW 8 /* times the mean */

/* Rows of one length but for few: */
#define SPRYI_UNIFORM 0.5 /* the most that body_deviation may be */
int spryi_rows_are_uniform(const spryi_row_profile *rows);

/* Of CSR. Sectors are 32 bytes of x; shares are by entry. */
typedef struct spryi_features {
    spryi_effort effort; /* of the look */
    int64_t rows, cols, nnz;
    int value_bytes, index_bytes, offset_bytes; /* value: 0 of a pattern, */
    int number_bytes;                           /* of x and y, */
    int stored_bytes;                           /* of values where a format needs a pattern's ones, as of x and y */
    spryi_row_profile lengths;
    double slots;        /* of slices of 32 rows that are sorted by length within 256: an entry */
    double ragged;       /* share of these slots that not all rows of a slice have */
    double slot_sectors; /* that the n-th entries of 32 rows that follow each other meet, all n: an entry */
    double warp_sectors; /* that 32 entries that follow each other meet: an entry */
    double near_sectors; /* that 128 rows that follow each other meet: an entry */
    double far_sectors;  /* of these, the ones over 512 KB of x from the diagonal */
    spryi_row_relations relations;
    spryi_packed_guess packed;
    spryi_bsr_guess blocks;
    double longest_blocks; /* of the block row with the longest row; 0 without blocks */
    spryi_windowed_guess windowed;
    int scattered; /* 1: neighbouring entries gather x from all over: of row blocks that sweep it */
} spryi_features;

/* For whom and how a look is taken. */
typedef struct spryi_look {
    spry_type vector_type; /* of x */
    int on_gpu;            /* 1: features that matter to GPUs alone, too */
    spryi_effort effort;
} spryi_look;

/* What needs no look: sizes and types. */
spryi_features spryi_sizes_as_features(const spry_arrays *csr, spry_type vector_type);

/*
 * Looks at samples of the columns of csr, which has entries, and of its values where these are in host memory. device:
 * where the columns lie; NULL: in host memory.
 */
spry_status spryi_find_features(spry_context *context, spryi_features *features, const spry_arrays *csr,
                                const struct spryi_device *device, const spryi_row_profile *lengths,
                                const spryi_look *look, spry_error *err);
