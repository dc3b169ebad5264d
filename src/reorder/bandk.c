/*
 * Band-k: an ordering whose groups of rows, and groups of those, are the super-rows and super-super-rows of CSR-k. With
 * k = 4 there is a level more, G3.
 *
 *     G0  --aggregate-->  G1  --aggregate-->  G2        rows; super-rows; super-super-rows
 *     |                   |                   |
 *     Cuthill-McKee       weighted C-McK.     weighted C-McK.      each graph is ordered, and its levels guide
 *     |                   |                   |                    the next coarsening
 *     order in groups <-- order in groups <-- its order            back: inside a group by its own edges
 *
 * Weights are rows, links are entries; the coarse orderings take distances in rows and nodes by the links they have.
 * All is reversed at the end, as RCM is. Cost: RCM's, then three passes over the edges; memory graphs of 1/srs and
 * 1/(srs ssrs) of the size beside the first. Source: listing 2 of P. A. Lane, J. D. Booth, Heterogeneous Sparse
 * Matrix-Vector Multiplication via Compressed Sparse Row Format, 2022, section 2.2; aggregation is this library's.
 */
#include "core/error.h"
#include "core/memory.h"
#include "reorder/order.h"

#include <string.h>

enum { DEPTH = 2 }; /* levels of G0 that a super-row spans: in one level of a grid no two nodes are joined */

void spryi_bandk_clear(spry_context *context, spryi_bandk *bandk)
{
    spryi_release(context, bandk->order);
    for (int level = 0; level < SPRYI_BANDK_LEVELS; level++) spryi_release(context, bandk->ptr[level]);
    *bandk = (spryi_bandk){0};
}

static void reverse(int32_t *order, int64_t count)
{
    for (int64_t p = 0, q = count - 1; p < q; p++, q--) {
        int32_t swap = order[p];
        order[p] = order[q];
        order[q] = swap;
    }
}

/*
 * Where the groups begin, in that order, in rows or in super-rows that have any; weight is that of members, NULL: 1.
 * Groups that hold columns alone (of a rectangular matrix) are left out.
 */
static void point_to_groups(int64_t *ptr, int64_t *count, const int32_t *order, const spryi_groups *groups,
                            const int32_t *weight, int in_rows)
{
    ptr[0] = 0;
    for (int32_t p = 0; p < groups->count; p++) {
        int64_t size = 0;
        for (int32_t m = groups->starts[order[p]]; m < groups->starts[order[p] + 1]; m++) {
            const int32_t rows = weight ? weight[groups->members[m]] : 1;
            size += in_rows ? rows : rows > 0;
        }
        if (size == 0) continue;
        ptr[*count + 1] = ptr[*count] + size;
        ++*count;
    }
}

/* g in Cuthill-McKee order, with its levels, and that order. */
static spry_status put_in_order(spry_context *context, spryi_graph *g, spryi_levels *levels, const int32_t *starts,
                                spry_error *err)
{
    spryi_graph ordered;
    SPRYI_OK_OR_RETURN(spryi_cuthill_mckee(context, levels, g, starts, err));
    SPRYI_OK_OR_RETURN(spryi_renumber(context, &ordered, g, levels->order, err));
    spryi_graph_clear(context, g);
    *g = ordered;
    return SPRY_OK;
}

/* list[p] = names[list[p]] */
static void rename_all(int32_t *list, int64_t count, const int32_t *names)
{
    for (int64_t p = 0; p < count; p++) list[p] = names[list[p]];
}

/*
 * The order of g's nodes from `level` on, and the pointers of that level and of those above. g is put in another order
 * meanwhile. starts: as for spryi_cuthill_mckee.
 */
static spry_status order_level(spry_context *context, spryi_bandk *to, int32_t *order, spryi_graph *g,
                               const int32_t *starts, const int64_t *sizes, int level, spry_error *err)
{
    spry_status status = SPRY_OK;
    const int last = level == SPRYI_BANDK_LEVELS || sizes[level] == 0;
    spryi_groups groups = {0};
    spryi_graph coarse = {0};
    spryi_levels levels = {0};
    int32_t *outer = NULL; /* the order of the groups */
    if (last) {
        SPRYI_TRY(spryi_cuthill_mckee(context, &levels, g, starts, err));
        memcpy(order, levels.order, (size_t)g->nodes * sizeof *order);
        goto done;
    }
    SPRYI_TRY(put_in_order(context, g, &levels, starts, err));
    SPRYI_TRY(spryi_aggregate(context, &groups, g, &levels, sizes[level], level == 0 ? DEPTH : 1,
                              level == 0 ? g->weight : NULL, err));
    SPRYI_TRY(spryi_coarsen(context, &coarse, g, &groups, err));
    SPRYI_TRY(SPRYI_NEW(context, &outer, groups.count, "order of groups", err));
    SPRYI_TRY(SPRYI_NEW(context, &to->ptr[level], (int64_t)groups.count + 1, "pointers of groups", err));
    SPRYI_TRY(order_level(context, to, outer, &coarse, NULL, sizes, level + 1, err));
    SPRYI_TRY(spryi_expand(context, order, g, &groups, outer, err));
    rename_all(order, g->nodes, levels.order);
    reverse(outer, groups.count);
    point_to_groups(to->ptr[level], &to->count[level], outer, &groups, g->weight, level == 0);
done:
    spryi_groups_clear(context, &groups);
    spryi_graph_clear(context, &coarse);
    spryi_levels_clear(context, &levels);
    spryi_release(context, outer);
    return status;
}

spry_status spryi_bandk_make(spry_context *context, spryi_bandk *bandk, spryi_local *local,
                             const int64_t sizes[SPRYI_BANDK_LEVELS], spry_error *err)
{
    spryi_graph *g = &local->graph;
    spry_status status = SPRY_OK;
    spryi_bandk made = {0};
    SPRYI_TRY(SPRYI_NEW(context, &made.order, g->nodes, "ordering", err));
    SPRYI_TRY(order_level(context, &made, made.order, g, local->starts, sizes, 0, err));
    reverse(made.order, g->nodes);
    *bandk = made;
    made = (spryi_bandk){0};
done:
    spryi_bandk_clear(context, &made);
    return status;
}
