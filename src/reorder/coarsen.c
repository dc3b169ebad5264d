/* The graph of groups, and the way back to their members. Groups do not look at each other: threads share them. */
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "reorder/groups.h"

#include <omp.h>
#include <string.h>

/* ---- to groups -------------------------------------------------------------------------------------- */

/* Group c's neighbours: stamp[h] is c once h is among them, at slot[h]. adjacent NULL only counts. */
static int64_t neighbours(int32_t *adjacent, int32_t *links, const spryi_graph *g, const spryi_groups *groups,
                          int32_t c, int32_t *stamp, int32_t *slot)
{
    int64_t count = 0;
    for (int32_t m = groups->starts[c]; m < groups->starts[c + 1]; m++) {
        const int32_t u = groups->members[m];
        for (int64_t k = g->offsets[u]; k < g->offsets[u + 1]; k++) {
            const int32_t other = groups->of[g->adjacent[k]];
            if (other == c) continue;
            if (stamp[other] != c) {
                stamp[other] = c;
                slot[other] = (int32_t)count;
                if (adjacent) {
                    adjacent[count] = other;
                    links[count] = 0;
                }
                count++;
            }
            if (adjacent) links[slot[other]] += g->links ? g->links[k] : 1;
        }
    }
    return count;
}

/* Counts neighbours (adjacent not there yet) or lists them, and sums up what a group stands for. */
static void fill(spryi_graph *coarse, const spryi_graph *g, const spryi_groups *groups, int32_t *stamps, int threads)
{
    const int32_t count = groups->count;
#pragma omp parallel num_threads(threads)
    {
        int32_t *stamp = stamps + 2 * (int64_t)count * omp_get_thread_num(), *slot = stamp + count;
        memset(stamp, 0xff, (size_t)count * sizeof *stamp);
#pragma omp for schedule(dynamic, 16)
        for (int32_t c = 0; c < count; c++) {
            const int64_t at = coarse->adjacent ? coarse->offsets[c] : 0;
            const int64_t found = neighbours(coarse->adjacent ? coarse->adjacent + at : NULL,
                                             coarse->links ? coarse->links + at : NULL, g, groups, c, stamp, slot);
            if (!coarse->adjacent) {
                coarse->offsets[c + 1] = found;
                continue;
            }
            int32_t degree = 0, weight = 0;
            for (int64_t k = at; k < at + found; k++) degree += coarse->links[k];
            for (int32_t m = groups->starts[c]; m < groups->starts[c + 1]; m++)
                weight += g->weight ? g->weight[groups->members[m]] : 1;
            coarse->degree[c] = degree;
            coarse->weight[c] = weight;
        }
    }
}

spry_status spryi_coarsen(spry_context *context, spryi_graph *coarse, const spryi_graph *g, const spryi_groups *groups,
                          spry_error *err)
{
    const int threads = spryi_threads(context, g->offsets[g->nodes]);
    spry_status status = SPRY_OK;
    int32_t *stamps = NULL;
    spryi_graph made = {.nodes = groups->count};
    SPRYI_TRY(SPRYI_NEW(context, &stamps, 2 * (int64_t)threads * made.nodes, "marks of groups", err));
    SPRYI_TRY(SPRYI_NEW(context, &made.offsets, made.nodes + 1, "offsets of the coarse graph", err));
    SPRYI_TRY(SPRYI_NEW(context, &made.degree, made.nodes, "degrees", err));
    SPRYI_TRY(SPRYI_NEW(context, &made.weight, made.nodes, "weights", err));
    fill(&made, g, groups, stamps, threads);
    spryi_scan(made.offsets, made.nodes);
    SPRYI_TRY(SPRYI_NEW(context, &made.adjacent, made.offsets[made.nodes], "coarse graph", err));
    SPRYI_TRY(SPRYI_NEW(context, &made.links, made.offsets[made.nodes], "links of the coarse graph", err));
    fill(&made, g, groups, stamps, threads);
    *coarse = made;
    made = (spryi_graph){0};
done:
    spryi_release(context, stamps);
    spryi_graph_clear(context, &made);
    return status;
}

/* ---- and back --------------------------------------------------------------------------------------- */

typedef struct expansion {
    const spryi_graph *g;
    const spryi_groups *groups;
    int32_t *rank;   /* of a group in the coarse order */
    uint8_t *placed; /* of a node */
} expansion;

/* The earliest group that the node is linked to, if it comes before the node's own. */
static int32_t anchor_of(const expansion *x, int32_t u)
{
    const spryi_graph *g = x->g;
    const int32_t own = x->rank[x->groups->of[u]];
    int32_t anchor = INT32_MAX;
    for (int64_t k = g->offsets[u]; k < g->offsets[u + 1]; k++) {
        const int32_t other = x->rank[x->groups->of[g->adjacent[k]]];
        if (other < own && other < anchor) anchor = other;
    }
    return anchor;
}

/* Goes on from order[head .. count-1] through group c; returns the new end of order. */
static int64_t walk_group(const expansion *x, int32_t *order, int64_t head, int64_t count, int32_t c, uint64_t *keys)
{
    const spryi_graph *g = x->g;
    for (; head < count; head++) {
        const int64_t first = count;
        const int32_t u = order[head];
        for (int64_t k = g->offsets[u]; k < g->offsets[u + 1]; k++) {
            const int32_t v = g->adjacent[k];
            if (x->groups->of[v] != c || x->placed[v]) continue;
            x->placed[v] = 1;
            order[count++] = v;
        }
        if (count - first > 1) spryi_sort_by_degree(order + first, count - first, g->degree, keys);
    }
    return count;
}

/* Nearly sorted, mostly, since groups' members and their groups come along the same levels. */
static void sort_seeds(uint64_t *seeds, int64_t count)
{
    int64_t moves = 8 * count;
    for (int64_t s = 1; s < count; s++) {
        const uint64_t seed = seeds[s];
        int64_t at = s;
        for (; at > 0 && seeds[at - 1] > seed; at--, moves--) seeds[at] = seeds[at - 1];
        seeds[at] = seed;
        if (moves < 0) {
            spryi_sort_keys(seeds, count);
            return;
        }
    }
}

/* seeds, keys: room for as many as the group has members. */
static void order_group(const expansion *x, int32_t *order, int32_t c, uint64_t *seeds, uint64_t *keys)
{
    const int32_t first = x->groups->starts[c], count = x->groups->starts[c + 1] - first;
    const int32_t *members = x->groups->members + first;
    int64_t anchored = 0;
    for (int32_t m = 0; m < count; m++) {
        const int32_t anchor = anchor_of(x, members[m]);
        if (anchor != INT32_MAX) seeds[anchored++] = (uint64_t)anchor << 32 | (uint32_t)m;
    }
    sort_seeds(seeds, anchored);
    for (int64_t s = 0; s < anchored; s++) {
        order[s] = members[seeds[s] & UINT32_MAX];
        x->placed[order[s]] = 1;
    }
    int64_t done = walk_group(x, order, 0, anchored, c, keys);
    for (int32_t m = 0; m < count && done < count; m++) { /* what hangs together with nothing placed */
        if (x->placed[members[m]]) continue;
        order[done] = members[m];
        x->placed[members[m]] = 1;
        done = walk_group(x, order, done, done + 1, c, keys);
    }
}

spry_status spryi_expand(spry_context *context, int32_t *order, const spryi_graph *g, const spryi_groups *groups,
                         const int32_t *coarse, spry_error *err)
{
    const int threads = spryi_threads(context, g->offsets[g->nodes]);
    spry_status status = SPRY_OK;
    expansion x = {.g = g, .groups = groups};
    int64_t *begin = NULL;
    uint64_t *keys = NULL;
    int64_t most = 0;
    SPRYI_TRY(SPRYI_NEW(context, &x.rank, groups->count, "ranks of groups", err));
    SPRYI_TRY(SPRYI_NEW(context, &x.placed, g->nodes, "marks", err));
    SPRYI_TRY(SPRYI_NEW(context, &begin, (int64_t)groups->count + 1, "places of groups", err));
    memset(x.placed, 0, (size_t)g->nodes);
    begin[0] = 0;
    for (int32_t p = 0; p < groups->count; p++) {
        const int64_t size = groups->starts[coarse[p] + 1] - groups->starts[coarse[p]];
        x.rank[coarse[p]] = p;
        begin[p + 1] = begin[p] + size;
        if (size > most) most = size;
    }
    SPRYI_TRY(SPRYI_NEW(context, &keys, 2 * threads * most, "keys", err));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
    for (int32_t p = 0; p < groups->count; p++) {
        uint64_t *seeds = keys + 2 * omp_get_thread_num() * most;
        order_group(&x, order + begin[p], coarse[p], seeds, seeds + most);
    }
done:
    spryi_release(context, x.rank);
    spryi_release(context, x.placed);
    spryi_release(context, begin);
    spryi_release(context, keys);
    return status;
}
