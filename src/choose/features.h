/* What the choice knows of a matrix: its row lengths exactly, its columns by samples. */
#pragma once

#include "core/device.h"
#include "core/estimate.h"

/*
 * Of a matrix whose offsets are in host memory, and, but for CSR, its indices. SPRYI_QUICK: of many rows a part is
 * counted, and the longest is a guess.
 */
spry_status spryi_find_row_profile(spryi_row_profile *profile, spry_context *context, const spry_arrays *A,
                                   spryi_effort effort, spry_error *err);

/* Returns whether all rows but a hundredth have about one length (SPRYI_UNIFORM). */
int spryi_rows_are_uniform(const spryi_row_profile *rows);

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
 * where the columns lie; NULL: in host memory. features->guesses: zeroed room for the guesses.
 */
spry_status spryi_find_features(spry_context *context, spryi_features *features, const spry_arrays *csr,
                                const struct spryi_device *device, const spryi_row_profile *lengths,
                                const spryi_look *look, spry_error *err);
