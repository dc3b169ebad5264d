/*
 * Graphs that orderings work on. A square matrix is the graph of A + A^T without its diagonal; a rectangular one the
 * graph of rows and columns, an edge an entry, of which the rows' order is kept and the columns' dropped: rows that
 * share columns come together, and A * A^T is never formed.
 *
 * All orderings walk the graph breadth first, again and again. In the order of the file each step of a walk may miss
 * every cache, so the graph is renumbered once, while it is walked for the first time (spryi_localise): neighbours lie
 * near each other from then on.
 */
#pragma once

#include "matrix/assemble.h"
#include "spry/spry.h"

/* Adjacency as it was found or made: A's own arrays where its pattern is symmetric. */
typedef struct spryi_pattern {
    int64_t nodes, rows; /* nodes from `rows` on are columns of a rectangular matrix */
    int64_t entries;
    spry_index_type offset_type, index_type;
    const void *offsets, *indices; /* may hold the diagonal and an entry twice */
    spryi_compressed made;         /* what was made for it */
} spryi_pattern;

/*
 * 1: the pattern of A, CSR or CSC, is symmetric; 0: it is not, or A is COO. Unless symmetry is known to hold, sums of
 * hashes over both halves tell it in one pass. They say yes wrongly for one pattern in 2^64, which would be ordered as
 * the directed graph it is: badly, but by a permutation all the same.
 */
int spryi_pattern_is_symmetric(const spry_context *context, const spry_matrix *A);

/* A must be sound and in host memory. */
spry_status spryi_pattern_make(spry_context *context, spryi_pattern *pattern, const spry_matrix *A, spry_error *err);
void spryi_pattern_clear(spry_context *context, spryi_pattern *pattern);

/* An undirected graph without loops; every edge is stored from both ends. */
typedef struct spryi_graph {
    int64_t nodes;
    int64_t *offsets;  /* nodes + 1 */
    int32_t *adjacent; /* offsets[nodes] */
    int32_t *links;    /* entries that an edge stands for; NULL: 1 each */
    int32_t *degree;   /* sum of a node's links */
    int32_t *weight;   /* rows that a node stands for; NULL: 1 each */
} spryi_graph;

void spryi_graph_clear(spry_context *context, spryi_graph *g);

/* g with node order[p] as node p. Parallel over nodes. */
spry_status spryi_renumber(spry_context *context, spryi_graph *to, const spryi_graph *g, const int32_t *order,
                           spry_error *err);

/* The pattern's graph in the order of a walk, component by component. */
typedef struct spryi_local {
    spryi_graph graph;
    int32_t *original; /* nodes (+ 1): what a node is in the pattern */
    int32_t *starts;   /* components + 1: each is a range of nodes, whose last one is far from its first */
    int64_t components;
} spryi_local;

spry_status spryi_localise(spry_context *context, spryi_local *local, const spryi_pattern *pattern, spry_error *err);
void spryi_local_clear(spry_context *context, spryi_local *local);
