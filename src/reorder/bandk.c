/*
 * Band-k: an ordering whose groups of rows, and groups of those, are the super-rows and super-super-rows of CSR-k.
 *
 *     G0  --aggregate-->  G1  --aggregate-->  G2        rows; super-rows; super-super-rows
 *     |                   |                   |
 *     Cuthill-McKee       weighted C-McK.     weighted C-McK.      each graph is ordered, and its levels guide
 *     |                   |                   |                    the next coarsening
 *     order in groups <-- order in groups <-- its order            back: inside a group by its own edges
 *
 * Weights are rows, links are entries; the coarse orderings take distances in rows and nodes by the links they have.
 * All is reversed at the end, as RCM is. Cost: RCM's, then three passes over the edges; memory two graphs of 1/srs and
 * 1/(srs ssrs) of the size beside the first. Source: listing 2 of P. A. Lane, J. D. Booth, Heterogeneous Sparse
 * Matrix-Vector Multiplication via Compressed Sparse Row Format, 2022, section 2.2; aggregation is this library's.
 */
#include "core/error.h"
#include "core/memory.h"
#include "reorder/groups.h"

#include <string.h>

enum { DEPTH = 2 }; /* levels of G0 that a super-row spans: in one level of a grid no two nodes are joined */

void spryi_bandk_clear(spry_context *context, spryi_bandk *bandk)
{
    spryi_release(context, bandk->order);
    spryi_release(context, bandk->sr_ptr);
    spryi_release(context, bandk->ssr_ptr);
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

/* Second level: the order of the super-rows, and ssr_ptr. super_rows is put in another order meanwhile. */
static spry_status order_super_rows(spry_context *context, spryi_bandk *to, int32_t *order, spryi_graph *super_rows,
                                    int64_t ssrs, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_groups groups = {0};
    spryi_graph coarse = {0};
    spryi_levels levels = {0}, coarse_levels = {0};
    SPRYI_TRY(put_in_order(context, super_rows, &levels, NULL, err));
    SPRYI_TRY(spryi_aggregate(context, &groups, super_rows, &levels, ssrs, 1, NULL, err));
    SPRYI_TRY(spryi_coarsen(context, &coarse, super_rows, &groups, err));
    SPRYI_TRY(spryi_cuthill_mckee(context, &coarse_levels, &coarse, NULL, err));
    SPRYI_TRY(spryi_expand(context, order, super_rows, &groups, coarse_levels.order, err));
    SPRYI_TRY(SPRYI_NEW(context, &to->ssr_ptr, (int64_t)groups.count + 1, "ssr_ptr", err));
    rename_all(order, super_rows->nodes, levels.order);
    reverse(coarse_levels.order, groups.count);
    point_to_groups(to->ssr_ptr, &to->ssr_count, coarse_levels.order, &groups, super_rows->weight, 0);
done:
    spryi_groups_clear(context, &groups);
    spryi_graph_clear(context, &coarse);
    spryi_levels_clear(context, &levels);
    spryi_levels_clear(context, &coarse_levels);
    return status;
}

spry_status spryi_bandk_make(spry_context *context, spryi_bandk *bandk, spryi_local *local, int64_t srs, int64_t ssrs,
                             spry_error *err)
{
    spryi_graph *g = &local->graph;
    spry_status status = SPRY_OK;
    spryi_bandk made = {0};
    spryi_levels levels = {0}, coarse_levels = {0};
    spryi_groups groups = {0};
    spryi_graph coarse = {0};
    int32_t *super_rows = NULL; /* their order */
    SPRYI_TRY(put_in_order(context, g, &levels, local->starts, err));
    SPRYI_TRY(spryi_aggregate(context, &groups, g, &levels, srs, DEPTH, g->weight, err));
    SPRYI_TRY(spryi_coarsen(context, &coarse, g, &groups, err));
    SPRYI_TRY(SPRYI_NEW(context, &super_rows, groups.count, "order of super-rows", err));
    SPRYI_TRY(SPRYI_NEW(context, &made.order, g->nodes, "ordering", err));
    SPRYI_TRY(SPRYI_NEW(context, &made.sr_ptr, (int64_t)groups.count + 1, "sr_ptr", err));
    if (ssrs > 0) {
        SPRYI_TRY(order_super_rows(context, &made, super_rows, &coarse, ssrs, err));
    } else {
        SPRYI_TRY(spryi_cuthill_mckee(context, &coarse_levels, &coarse, NULL, err));
        memcpy(super_rows, coarse_levels.order, (size_t)groups.count * sizeof *super_rows);
    }
    SPRYI_TRY(spryi_expand(context, made.order, g, &groups, super_rows, err));
    rename_all(made.order, g->nodes, levels.order);
    reverse(made.order, g->nodes);
    reverse(super_rows, groups.count);
    point_to_groups(made.sr_ptr, &made.sr_count, super_rows, &groups, g->weight, 1);
    *bandk = made;
    made = (spryi_bandk){0};
done:
    spryi_bandk_clear(context, &made);
    spryi_levels_clear(context, &levels);
    spryi_levels_clear(context, &coarse_levels);
    spryi_groups_clear(context, &groups);
    spryi_graph_clear(context, &coarse);
    spryi_release(context, super_rows);
    return status;
}
