/* Orderings of a graph: position -> node. All are the same for any number of threads. */
#pragma once

#include "matrix/matrix.h"
#include "reorder/graph.h"

/* A Cuthill-McKee ordering and the levels it went by. */
typedef struct spryi_levels {
    int32_t *order;      /* nodes (+ 1): position -> node, component by component */
    int32_t *levels;     /* level_count + 1 positions where levels begin, and the number of nodes */
    int32_t *components; /* component_count + 1 positions of `levels` where components begin, and level_count */
    int64_t level_count, component_count;
} spryi_levels;

/*
 * Cuthill-McKee from a pseudo-peripheral node of each component. starts: the ranges that are components
 * (spryi_local), NULL where they are not known. Where the graph has weights, distances are counted in them.
 */
spry_status spryi_cuthill_mckee(spry_context *context, spryi_levels *levels, const spryi_graph *g,
                                const int32_t *starts, spry_error *err);
void spryi_levels_clear(spry_context *context, spryi_levels *levels);

/* Sorts keys, in place, O(n log n), no memory. */
void spryi_sort_keys(uint64_t *keys, int64_t count);

/* Sorts nodes by degree; up to SPRYI_FEW stably, from there on by degree and number through `keys`. */
enum { SPRYI_FEW = 24 };
void spryi_sort_by_degree(int32_t *nodes, int64_t count, const int32_t *degree, uint64_t *keys);

/*
 * Band-k: rows in groups of about sizes[0], those in groups of about sizes[1], and those in groups of about sizes[2];
 * with k = 2 sizes[1] is 0, with k = 3 sizes[2]. order: position -> node of the local graph as it was given; it comes
 * back in another order. ptr: sr_ptr, ssr_ptr and so on, NULL: none.
 */
enum { SPRYI_BANDK_LEVELS = 3 };
typedef struct spryi_bandk {
    int32_t *order;
    int64_t count[SPRYI_BANDK_LEVELS], *ptr[SPRYI_BANDK_LEVELS];
} spryi_bandk;

spry_status spryi_bandk_make(spry_context *context, spryi_bandk *bandk, spryi_local *local,
                             const int64_t sizes[SPRYI_BANDK_LEVELS], spry_error *err);
void spryi_bandk_clear(spry_context *context, spryi_bandk *bandk);
