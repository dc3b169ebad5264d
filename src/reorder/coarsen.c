/* The graph of groups, and the way back to their members. Groups do not look at each other: threads share them. */
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "reorder/order.h"

#include <string.h>

/* ---- to groups -------------------------------------------------------------------------------------- */

/* Where a part of the work lists the neighbours of one group: stamp[h] is c once h is among those of c, at slot[h]. */
typedef struct list {
    int32_t *stamp, *slot;
    int32_t *adjacent, *links; /* room for every group */
} list;

static int32_t list_neighbours(list *l, const spryi_graph *g, const spryi_groups *groups, int32_t c)
{
    int32_t count = 0;
    for (int32_t m = groups->starts[c]; m < groups->starts[c + 1]; m++) {
        const int32_t u = groups->members[m];
        for (int64_t k = g->offsets[u]; k < g->offsets[u + 1]; k++) {
            const int32_t other = groups->of[g->adjacent[k]];
            if (other == c) continue;
            if (l->stamp[other] != c) {
                l->stamp[other] = c;
                l->slot[other] = count;
                l->adjacent[count] = other;
                l->links[count++] = 0;
            }
            l->links[l->slot[other]] += g->links ? g->links[k] : 1;
        }
    }
    return count;
}

/* The first pass keeps lists that fit `room`, so that the second has only the long ones to make again. */
typedef struct passes {
    const spryi_graph *g;
    const spryi_groups *groups;
    spryi_graph *coarse;
    int32_t *work; /* lists: 4 numbers a group and part */
    int32_t *kept; /* 2 * room numbers a group */
    int32_t room;
    int threads;
} passes;

static list list_of_part(const passes *p, int part)
{
    const int64_t count = p->groups->count;
    int32_t *work = p->work + 4 * count * part;
    return (list){work, work + count, work + 2 * count, work + 3 * count};
}

static void clear_stamps(void *job, int64_t begin, int64_t end)
{
    const passes *p = job;
    const int64_t count = p->groups->count;
    for (int64_t part = begin; part < end; part++)
        memset(p->work + 4 * count * part, 0xff, (size_t)count * sizeof *p->work);
}

static void first_pass(void *job, int64_t begin, int64_t end, int part)
{
    const passes *p = job;
    list l = list_of_part(p, part);
    for (int32_t c = (int32_t)begin; c < end; c++) {
        const int32_t found = list_neighbours(&l, p->g, p->groups, c);
        int32_t degree = 0, weight = 0, *kept = p->kept + 2 * (int64_t)p->room * c;
        for (int32_t k = 0; k < found; k++) degree += l.links[k];
        for (int32_t m = p->groups->starts[c]; m < p->groups->starts[c + 1]; m++)
            weight += p->g->weight ? p->g->weight[p->groups->members[m]] : 1;
        p->coarse->degree[c] = degree;
        p->coarse->weight[c] = weight;
        p->coarse->offsets[c + 1] = found;
        if (found > p->room || found == 0) continue;
        memcpy(kept, l.adjacent, (size_t)found * sizeof *kept);
        memcpy(kept + p->room, l.links, (size_t)found * sizeof *kept);
    }
}

static void second_pass(void *job, int64_t begin, int64_t end, int part)
{
    const passes *p = job;
    list l = list_of_part(p, part);
    for (int32_t c = (int32_t)begin; c < end; c++) {
        const int64_t at = p->coarse->offsets[c], found = p->coarse->offsets[c + 1] - at;
        const int32_t *adjacent = p->kept + 2 * (int64_t)p->room * c, *links = adjacent + p->room;
        if (found > p->room) {
            list_neighbours(&l, p->g, p->groups, c);
            adjacent = l.adjacent;
            links = l.links;
        }
        if (found == 0) continue;
        memcpy(p->coarse->adjacent + at, adjacent, (size_t)found * sizeof *adjacent);
        memcpy(p->coarse->links + at, links, (size_t)found * sizeof *links);
    }
}

static void run_pass(const spry_context *context, passes *p, spryi_part_fn pass)
{
    spryi_loop(context, p->threads, p->threads, 1, clear_stamps, p);
    spryi_loop_in_parts(context, p->threads, p->groups->count, 16, pass, p);
}

spry_status spryi_coarsen(spry_context *context, spryi_graph *coarse, const spryi_graph *g, const spryi_groups *groups,
                          spry_error *err)
{
    enum { ROOM = 48 };
    const int64_t count = groups->count, entries = g->offsets[g->nodes];
    spry_status status = SPRY_OK;
    spryi_graph made = {.nodes = count};
    passes p = {.g = g, .groups = groups, .coarse = &made, .threads = spryi_threads(context, entries)};
    p.room = count == 0 ? 0 : entries / count < ROOM ? (int32_t)(entries / count) : ROOM;
    SPRYI_TRY(SPRYI_NEW(context, &p.work, 4 * p.threads * count, "neighbours of groups", err));
    SPRYI_TRY(SPRYI_NEW(context, &p.kept, 2 * p.room * count, "neighbours of groups", err));
    SPRYI_TRY(SPRYI_NEW(context, &made.offsets, count + 1, "offsets of the coarse graph", err));
    SPRYI_TRY(SPRYI_NEW(context, &made.degree, count, "degrees", err));
    SPRYI_TRY(SPRYI_NEW(context, &made.weight, count, "weights", err));
    run_pass(context, &p, first_pass);
    spryi_scan(made.offsets, count);
    SPRYI_TRY(SPRYI_NEW(context, &made.adjacent, made.offsets[count], "coarse graph", err));
    SPRYI_TRY(SPRYI_NEW(context, &made.links, made.offsets[count], "links of the coarse graph", err));
    run_pass(context, &p, second_pass);
    *coarse = made;
    made = (spryi_graph){0};
done:
    spryi_release(context, p.work);
    spryi_release(context, p.kept);
    spryi_graph_clear(context, &made);
    return status;
}

/* ---- and back --------------------------------------------------------------------------------------- */

typedef struct expansion {
    const spryi_graph *g;
    const spryi_groups *groups;
    int32_t *rank;   /* of a group in the coarse order */
    uint8_t *placed; /* of a node */
    int32_t *order;
    const int32_t *coarse;
    int64_t *begin, most; /* begin: of a group in order; most: members of a group */
    uint64_t *keys;       /* 2 * most for each part */
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
static void sort_anchors(uint64_t *anchors, int64_t count)
{
    int64_t moves = 8 * count;
    for (int64_t s = 1; s < count; s++) {
        const uint64_t moved = anchors[s];
        int64_t at = s;
        for (; at > 0 && anchors[at - 1] > moved; at--, moves--) anchors[at] = anchors[at - 1];
        anchors[at] = moved;
        if (moves < 0) {
            spryi_sort_keys(anchors, count);
            return;
        }
    }
}

/* anchors, keys: room for as many as the group has members. */
static void order_group(const expansion *x, int32_t *order, int32_t c, uint64_t *anchors, uint64_t *keys)
{
    const int32_t first = x->groups->starts[c], count = x->groups->starts[c + 1] - first;
    const int32_t *members = x->groups->members + first;
    int64_t anchored = 0;
    for (int32_t m = 0; m < count; m++) {
        const int32_t anchor = anchor_of(x, members[m]);
        if (anchor != INT32_MAX) anchors[anchored++] = (uint64_t)anchor << 32 | (uint32_t)m;
    }
    sort_anchors(anchors, anchored);
    for (int64_t s = 0; s < anchored; s++) {
        order[s] = members[anchors[s] & UINT32_MAX];
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

static void order_groups(void *job, int64_t begin, int64_t end, int part)
{
    const expansion *x = job;
    uint64_t *anchors = x->keys + 2 * part * x->most;
    for (int64_t p = begin; p < end; p++)
        order_group(x, x->order + x->begin[p], x->coarse[p], anchors, anchors + x->most);
}

spry_status spryi_expand(spry_context *context, int32_t *order, const spryi_graph *g, const spryi_groups *groups,
                         const int32_t *coarse, spry_error *err)
{
    const int threads = spryi_threads(context, g->offsets[g->nodes]);
    spry_status status = SPRY_OK;
    expansion x = {.g = g, .groups = groups, .order = order, .coarse = coarse};
    SPRYI_TRY(SPRYI_NEW(context, &x.rank, groups->count, "ranks of groups", err));
    SPRYI_TRY(SPRYI_NEW(context, &x.placed, g->nodes, "marks", err));
    SPRYI_TRY(SPRYI_NEW(context, &x.begin, (int64_t)groups->count + 1, "positions of groups", err));
    memset(x.placed, 0, (size_t)g->nodes);
    x.begin[0] = 0;
    for (int32_t p = 0; p < groups->count; p++) {
        const int64_t size = groups->starts[coarse[p] + 1] - groups->starts[coarse[p]];
        x.rank[coarse[p]] = p;
        x.begin[p + 1] = x.begin[p] + size;
        if (size > x.most) x.most = size;
    }
    SPRYI_TRY(SPRYI_NEW(context, &x.keys, 2 * threads * x.most, "keys", err));
    spryi_loop_in_parts(context, threads, groups->count, 16, order_groups, &x);
done:
    spryi_release(context, x.rank);
    spryi_release(context, x.placed);
    spryi_release(context, x.begin);
    spryi_release(context, x.keys);
    return status;
}
