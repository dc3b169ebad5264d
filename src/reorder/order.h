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
 * Returns whether the pattern of A, which is CSR or CSC, is symmetric. Returns false for COO. If symmetry is not known,
 * compares in one pass the sums of hashes over the entries above and below the diagonal. The result is wrong for one
 * pattern in 2^64. Such a pattern is ordered as a directed graph, which gives a bad but valid permutation.
 */
bool spryi_pattern_is_symmetric(const spry_context *context, const spry_matrix *A);

/* An undirected graph without loops. Every edge is stored from both ends. */
typedef struct spryi_graph {
    int64_t nodes;
    int64_t *offsets;  /* nodes + 1 */
    int32_t *adjacent; /* offsets[nodes] */
    int32_t *links;    /* for each edge: number of matrix entries that it represents; NULL: 1 each */
    int32_t *degree;   /* for each node: sum of its links */
    int32_t *weight;   /* for each node: number of matrix rows that it represents; NULL: 1 each */
} spryi_graph;

void spryi_graph_clear(spry_context *context, spryi_graph *g);

/* Copies g with new numbers of nodes: node p of the copy is node order[p] of g. */
spry_status spryi_renumber(spry_context *context, spryi_graph *to, const spryi_graph *g, const int32_t *order,
                           spry_error *err);

/* The graph of a matrix, with nodes numbered in the order of a breadth-first walk, component by component. */
typedef struct spryi_local {
    spryi_graph graph;
    int32_t *original; /* for each node: its row, or the number of rows + its column; room for nodes + 1 elements */
    int32_t *starts;   /* first node of each component, then `nodes`. A component's last node is far from its first */
    int64_t components;
} spryi_local;

/* Builds the graph of A, which is valid and in host memory. */
spry_status spryi_localise(spry_context *context, spryi_local *local, const spry_matrix *A, spry_error *err);
void spryi_local_clear(spry_context *context, spryi_local *local);

/* A Cuthill-McKee ordering and its levels. */
typedef struct spryi_levels {
    int32_t *order;      /* position -> node, component by component; room for nodes + 1 elements */
    int32_t *levels;     /* level_count + 1 positions at which levels begin; the last is the number of nodes */
    int32_t *components; /* component_count + 1 indices of `levels` at which components begin; the last is
                          * level_count */
    int64_t level_count, component_count;
} spryi_levels;

/*
 * Computes a Cuthill-McKee ordering that starts at a pseudo-peripheral node of each component. starts: as in
 * spryi_local; NULL: the components are not known. If the graph has weights, the bandwidth is measured in weights.
 */
spry_status spryi_cuthill_mckee(spry_context *context, spryi_levels *levels, const spryi_graph *g,
                                const int32_t *starts, spry_error *err);
void spryi_levels_clear(spry_context *context, spryi_levels *levels);

/* Sorts keys in place, O(n log n), without additional memory. */
void spryi_sort_keys(uint64_t *keys, int64_t count);

/*
 * Sorts nodes by degree. Up to SPRYI_FEW nodes are sorted stably. More nodes are sorted by degree and then by number.
 * This needs `keys`, with one element per node.
 */
enum { SPRYI_FEW = 24 };
void spryi_sort_by_degree(int32_t *nodes, int64_t count, const int32_t *degree, uint64_t *keys);

/* ---- bandk.c ------------------------------------------------------------------------------------ */

enum { SPRYI_BANDK_LEVELS = 3 };

/*
 * Computes a Band-k ordering. A super-row has about sizes[0] rows, a super-super-row about sizes[1] super-rows, and a
 * group of the third level about sizes[2] super-super-rows. sizes[1] is 0 if k = 2, sizes[2] is 0 if k < 4. Stores the
 * groups in *to. order: position -> node of the local graph, one element per node. Renumbers the graph.
 */
spry_status spryi_bandk_make(spry_context *context, spry_ordering *to, int32_t *order, spryi_local *local,
                             const int64_t sizes[SPRYI_BANDK_LEVELS], spry_error *err);
