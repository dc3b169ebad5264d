/* Looks at one matrix twice: at its arrays in host memory, and at those in a device's. */
#pragma once

#include "choices_support.h"
#include "choose/rank.h"

typedef struct looked {
    const char *spec;
    double quick, full; /* the most of all columns that may be gathered; 0: they are copied */
} looked;

/* Matrices of a few megabytes of columns, of which a full look would see most. */
extern const looked looked_at[];
extern const int looked_at_count;

/* The matrix in both places. */
typedef struct both_places {
    spry_matrix *here, *there;
    spry_arrays arrays;
} both_places;

both_places in_both_places(spry_context *context, const char *spec);
void free_both_places(spry_context *context, both_places *both);

spry_status rank_for_h100(spryi_ranking *r, const spry_matrix *A, spryi_effort effort, spry_type type, spry_error *err);

/* All estimates are the same. */
void check_same_look(const char *spec, const both_places *both, spryi_effort effort, spry_type type);
