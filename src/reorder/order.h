/*
 * Graphs and their orderings. A square matrix is the graph of A + A^T without its diagonal. A rectangular matrix is the
 * graph of rows and columns, with an edge for each entry; of its ordering only the rows' order is kept. Rows that share
 * columns come together, and A * A^T is never formed.
 *
 * All orderings walk the graph breadth first several times. In the order of the file, each step of a walk may miss
 * every cache, so the first walk renumbers the graph (spryi_localise): neighbours are near each other from then on.
 * Orderings map positions to nodes. They are the same for any number of threads.
 */
#pragma once

#include "matrix/assemble.h"
#include "matrix/matrix.h"
#include "spry/spry.h"

/* ---- graph.c ------------------------------------------------------------------------------------ */

enum { SPRYI_LEVEL_THREADS = 8 }; /* threads from which on wide levels of a walk are shared */

/*
 * Returns whether the pattern of A, CSR or CSC, is symmetric; false for COO. If symmetry is not known to hold, sums of
 * hashes over both halves decide in one pass. They are wrong for one pattern in 2^64, which would be ordered as the
 * directed graph that it is: badly, but by a permutation.
 */
bool spryi_pattern_is_symmetric(const spry_context *context, const spry_matrix *A);

/* An undirected graph without loops. Every edge is stored from both ends. */
typedef struct spryi_graph {
    int64_t nodes;
    int64_t *offsets;  /* nodes + 1 */
    int32_t *adjacent; /* offsets[nodes] */
    int32_t *links;    /* entries that an edge stands for; NULL: 1 each */
    int32_t *degree;   /* sum of a node's links */
    int32_t *weight;   /* rows that a node stands for; NULL: 1 each */
} spryi_graph;

void spryi_graph_clear(spry_context *context, spryi_graph *g);

/* Makes g with node order[p] as node p. Parallel over nodes. */
spry_status spryi_renumber(spry_context *context, spryi_graph *to, const spryi_graph *g, const int32_t *order,
                           spry_error *err);

/* The graph of a matrix in the order of a walk, component by component. */
typedef struct spryi_local {
    spryi_graph graph;
    int32_t *original; /* nodes (+ 1): the row of a node, or the number of rows + the column */
    int32_t *starts;   /* components + 1: each is a range of nodes, whose last one is far from its first */
    int64_t components;
} spryi_local;

/* Makes the graph of A, which is sound and in host memory. */
spry_status spryi_localise(spry_context *context, spryi_local *local, const spry_matrix *A, spry_error *err);
void spryi_local_clear(spry_context *context, spryi_local *local);

/* A Cuthill-McKee ordering and its levels. */
typedef struct spryi_levels {
    int32_t *order;      /* nodes (+ 1): position -> node, component by component */
    int32_t *levels;     /* level_count + 1 positions where levels begin, and the number of nodes */
    int32_t *components; /* component_count + 1 positions of `levels` where components begin, and level_count */
    int64_t level_count, component_count;
} spryi_levels;

/*
 * Computes Cuthill-McKee from a pseudo-peripheral node of each component. starts: the ranges that are components
 * (spryi_local), NULL if they are not known. If the graph has weights, distances are counted in them.
 */
spry_status spryi_cuthill_mckee(spry_context *context, spryi_levels *levels, const spryi_graph *g,
                                const int32_t *starts, spry_error *err);
void spryi_levels_clear(spry_context *context, spryi_levels *levels);

/* Sorts keys in place, O(n log n), without memory. */
void spryi_sort_keys(uint64_t *keys, int64_t count);

/* Sorts nodes by degree. Up to SPRYI_FEW nodes stably, more by degree and number with `keys`. */
enum { SPRYI_FEW = 24 };
void spryi_sort_by_degree(int32_t *nodes, int64_t count, const int32_t *degree, uint64_t *keys);

/* ---- bandk.c ------------------------------------------------------------------------------------ */

enum { SPRYI_BANDK_LEVELS = 3 };

/*
 * Computes Band-k: rows in groups of about sizes[0], these in groups of about sizes[1], and these in groups of about
 * sizes[2]. With k = 2 sizes[1] is 0, with k = 3 sizes[2]. order: position -> node of the local graph, as many as the
 * graph has; the graph itself is put in another order. *to gets the groups.
 */
spry_status spryi_bandk_make(spry_context *context, spry_ordering *to, int32_t *order, spryi_local *local,
                             const int64_t sizes[SPRYI_BANDK_LEVELS], spry_error *err);
