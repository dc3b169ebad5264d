/* Inspects one matrix twice: through arrays in host memory, and through arrays in device memory. */
#pragma once

#include "choices_support.h"
#include "choose/rank.h"

typedef struct inspected {
    const char *spec;
    double share; /* largest share of the column indices that a quick inspection may fetch */
} inspected;

/*
 * Matrices with a few megabytes of column indices. A ball is a set of rows that the estimator of the format "windowed"
 * finds breadth first from a sampled row. The ball is full when it has as many rows as a window.
 */
extern const inspected inspected_matrices[];
extern const int inspected_count;

/* One matrix in host memory and in device memory. */
typedef struct both_places {
    spry_matrix *on_host, *on_device;
    spry_arrays arrays;
} both_places;

both_places in_both_places(spry_context *context, const char *spec);
void free_both_places(spry_context *context, both_places *both);

spry_status rank_for_h100(spryi_ranking *r, const spry_matrix *A, spryi_effort effort, spry_type type, spry_error *err);

/* Inspects both matrices and asserts that the two rankings of formats have equal estimates. */
void check_same_inspection(const char *spec, const both_places *both, spryi_effort effort, spry_type type);
