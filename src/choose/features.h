/* What the choice knows of a matrix: its row lengths exactly, its columns by samples. */
#ifndef SPRYI_FEATURES_H
#define SPRYI_FEATURES_H

#include "choose/blocks.h"
#include "choose/rows.h"
#include "core/columns.h"
#include "formats/packed/packed.h"
#include "formats/windowed/windowed_guess.h"

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

#endif
