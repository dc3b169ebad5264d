/*
 * Graphs and their orderings. The graph of a square matrix is that of A + A^T without its diagonal. The graph of a
 * rectangular matrix has its rows and columns as nodes and an edge for each entry. Only the order of the rows is kept.
 * Rows that share columns are then close together, and A * A^T is never computed.
 *
 * All orderings walk the graph breadth first multiple times. In the original order, each step of a walk may miss all
 * caches. The first walk therefore renumbers the graph (spryi_localise), so that neighbours are close together.
 * Orderings map positions to nodes. They are the same for any number of threads.
 */
#pragma once

#include "matrix/assemble.h"
#include "matrix/matrix.h"
#include "spry/spry.h"

/* ---- graph.c ------------------------------------------------------------------------------------ */

enum { SPRYI_LEVEL_THREADS = 8 }; /* least number of threads that share wide levels of a walk */

/*
 * Returns whether the pattern of A, CSR or CSC, is symmetric; false for COO. If symmetry is not known, the sums of
 * hashes over both halves decide in one pass. The sums are wrong for one pattern in 2^64. Such a pattern is ordered as
 * a directed graph: with a bad but valid permutation.
 */
bool spryi_pattern_is_symmetric(const spry_context *context, const spry_matrix *A);

/* An undirected graph without loops. Every edge is stored from both ends. */
typedef struct spryi_graph {
    int64_t nodes;
    int64_t *offsets;  /* nodes + 1 */
    int32_t *adjacent; /* offsets[nodes] */
    int32_t *links;    /* entries that an edge represents; NULL: 1 each */
    int32_t *degree;   /* sum of a node's links */
    int32_t *weight;   /* rows that a node represents; NULL: 1 each */
} spryi_graph;

void spryi_graph_clear(spry_context *context, spryi_graph *g);

/* Copies g with node order[p] as node p. Parallel over nodes. */
spry_status spryi_renumber(spry_context *context, spryi_graph *to, const spryi_graph *g, const int32_t *order,
                           spry_error *err);

/* The graph of a matrix, with nodes numbered in the order of a breadth-first walk, component by component. */
typedef struct spryi_local {
    spryi_graph graph;
    int32_t *original; /* nodes (+ 1): the row of a node, or the number of rows + the column */
    int32_t *starts;   /* components + 1: a component is a range of nodes, whose last node is far from its first */
    int64_t components;
} spryi_local;

/* Builds the graph of A, which is valid and in host memory. */
spry_status spryi_localise(spry_context *context, spryi_local *local, const spry_matrix *A, spry_error *err);
void spryi_local_clear(spry_context *context, spryi_local *local);

/* A Cuthill-McKee ordering and its levels. */
typedef struct spryi_levels {
    int32_t *order;      /* nodes (+ 1): position -> node, component by component */
    int32_t *levels;     /* level_count + 1 positions at which levels begin; the last is the number of nodes */
    int32_t *components; /* component_count + 1 indices of `levels` at which components begin; the last is
                          * level_count */
    int64_t level_count, component_count;
} spryi_levels;

/*
 * Computes Cuthill-McKee from a pseudo-peripheral node of each component. starts: ranges of the components
 * (spryi_local); NULL: unknown. If the graph has weights, distances are measured in weights.
 */
spry_status spryi_cuthill_mckee(spry_context *context, spryi_levels *levels, const spryi_graph *g,
                                const int32_t *starts, spry_error *err);
void spryi_levels_clear(spry_context *context, spryi_levels *levels);

/* Sorts keys in place, O(n log n), without additional memory. */
void spryi_sort_keys(uint64_t *keys, int64_t count);

/*
 * Sorts nodes by degree. Up to SPRYI_FEW nodes are sorted stably. More nodes are sorted by degree and then by number,
 * with `keys` as memory.
 */
enum { SPRYI_FEW = 24 };
void spryi_sort_by_degree(int32_t *nodes, int64_t count, const int32_t *degree, uint64_t *keys);

/* ---- bandk.c ------------------------------------------------------------------------------------ */

enum { SPRYI_BANDK_LEVELS = 3 };

/*
 * Computes Band-k: rows in groups of about sizes[0], these groups in groups of about sizes[1], and these in groups of
 * about sizes[2]. sizes[1] is 0 if k = 2, sizes[2] is 0 if k < 4. order: position -> node of the local graph, one
 * element per node. Renumbers the graph. *to gets the groups.
 */
spry_status spryi_bandk_make(spry_context *context, spry_ordering *to, int32_t *order, spryi_local *local,
                             const int64_t sizes[SPRYI_BANDK_LEVELS], spry_error *err);
