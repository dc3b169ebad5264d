/* Coarsening: groups of nodes become the nodes of a smaller graph, and back. */
#ifndef SPRYI_REORDER_GROUPS_H
#define SPRYI_REORDER_GROUPS_H

#include "reorder/order.h"

typedef struct spryi_groups {
    int32_t count;
    int32_t *of;      /* node -> its group */
    int32_t *starts;  /* count + 1 */
    int32_t *members; /* of group g: members[starts[g] .. starts[g+1]-1] */
} spryi_groups;

void spryi_groups_clear(spry_context *context, spryi_groups *groups);

/*
 * Groups of about `target` (1/2 to 3/2 of it, but for remains that nothing can take): connected pieces of bands of
 * `depth` levels or more. g's nodes are numbered in the order that has these levels (spryi_renumber). weight: what a
 * node counts for, NULL: 1.
 */
spry_status spryi_aggregate(spry_context *context, spryi_groups *groups, const spryi_graph *g,
                            const spryi_levels *levels, int64_t target, int depth, const int32_t *weight,
                            spry_error *err);

/* The graph of the groups: weights and links are sums. */
spry_status spryi_coarsen(spry_context *context, spryi_graph *coarse, const spryi_graph *g, const spryi_groups *groups,
                          spry_error *err);

/*
 * From an order of the groups to one of their members, group after group: inside, Cuthill-McKee on the group's own
 * edges, going on from the members that have links to earlier groups, furthest back first. order: nodes of g.
 */
spry_status spryi_expand(spry_context *context, int32_t *order, const spryi_graph *g, const spryi_groups *groups,
                         const int32_t *coarse, spry_error *err);

#endif
