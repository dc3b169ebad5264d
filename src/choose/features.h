/* Features of a matrix for the choice: row lengths, and properties of the columns that are found from samples. */
#pragma once

#include "core/device.h"
#include "core/estimate.h"

#include <stdbool.h>

/*
 * Computes the row profile of a matrix. The offsets of CSR, or the row indices of COO or CSC, must be in host memory.
 * If effort is SPRYI_QUICK and there are many rows, counts only a part of the rows. The longest row is then a guess.
 */
spry_status spryi_find_row_profile(spryi_row_profile *profile, spry_context *context, const spry_arrays *A,
                                   spryi_effort effort, spry_error *err);

/* Returns whether the row lengths, without the longest hundredth of the rows, vary little (SPRYI_UNIFORM). */
bool spryi_rows_are_uniform(const spryi_row_profile *rows);

/* Parameters of an inspection. */
typedef struct spryi_inspection {
    spry_type vector_type; /* type of x */
    bool on_gpu;           /* also find features that only GPUs need */
    spryi_effort effort;
} spryi_inspection;

/* Returns the features that need no inspection: sizes and types. */
spryi_features spryi_sizes_as_features(const spry_arrays *csr, spry_type vector_type);

/*
 * Inspects samples of the columns of csr, and of its values if they are in host memory. csr has entries. device: the
 * device whose memory contains the columns; NULL: host memory. features->guesses: zeroed memory for the guesses.
 */
spry_status spryi_find_features(spry_context *context, spryi_features *features, const spry_arrays *csr,
                                const struct spryi_device *device, const spryi_row_profile *lengths,
                                const spryi_inspection *inspection, spry_error *err);

/* Sets f->narrow from a sample of the values of *a. device: device with the values in its memory; NULL: the host. */
void spryi_find_narrow_bytes(spryi_features *f, const spry_arrays *a, const struct spryi_device *device,
                             spry_type vector_type);
