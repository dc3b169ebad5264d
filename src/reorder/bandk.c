/*
 * Band-k: an ordering with groups of rows, and groups of these groups: the super-rows and super-super-rows of CSR-k.
 * With k = 4 there is one more level, G3.
 *
 *     G0  --aggregate-->  G1  --aggregate-->  G2        rows; super-rows; super-super-rows
 *     |                   |                   |
 *     Cuthill-McKee       weighted C-McK.     weighted C-McK.      each graph is ordered, and its levels guide
 *     |                   |                   |                    the next coarsening
 *     order in groups <-- order in groups <-- order of G2          back: each group is ordered by its own edges
 *
 * The weight of a node counts rows of the matrix. The link of two nodes counts entries. The orderings of G1 and G2
 * measure distances in rows and sort nodes by their links. At the end the order is reversed, as in RCM. Cost: the cost
 * of RCM, and three more passes over the edges. Memory: G0, and G1 and G2, which have about 1/srs and 1/(srs*ssrs) of
 * the size of G0. Source: listing 2 of P. A. Lane, J. D. Booth, Heterogeneous Sparse Matrix-Vector Multiplication via
 * Compressed Sparse Row Format, 2022, section 2.2. The aggregation is our own.
 */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "reorder/order.h"

#include <string.h>

/* ---- groups -------------------------------------------------------------------------------------------- */

/* Groups of nodes, which become the nodes of a smaller graph. */
typedef struct node_groups {
    int32_t count;
    int32_t *of;      /* node -> group */
    int32_t *starts;  /* count + 1 */
    int32_t *members; /* of group g: members[starts[g] .. starts[g+1]-1] */
} node_groups;

/*
 * Direct aggregation along the levels of a Cuthill-McKee ordering.
 *
 *     level  0   1   2   3   4   5
 *                +-----+ +-----+             Groups are like bricks: they are `depth` levels deep, and long along the
 *            o   | o o | | o o |             levels. Bricks multiply the bandwidth by little more than their depth, for
 *                | o o | | o o |             any size. Compact groups of s rows in d dimensions would multiply the
 *            o   +-----+ +-----+             bandwidth by s^(1/d), because the graph of groups has fewer levels by this
 *                | o o | | o o |             factor.
 *                +-----+ +-----+
 *
 * In each band of levels, the first node without a group begins a group, which grows breadth first inside the band. A
 * group smaller than half of `target` joins the neighbour with the most links, or else the last small group of the
 * band. A band has a weight of at least `target`, so narrow levels and small components share a band.
 *
 * Bands are independent, so the groups are the same for any number of threads. Cost: O(edges).
 */

typedef struct work {
    const spryi_graph *g;
    const spryi_levels *levels;
    const int32_t *weight;
    int64_t target;
    int32_t *group; /* group of each node; the first group of a band has the number of the band's first node */
    int32_t *size;  /* weight of each group */
    int32_t *queue; /* nodes in the order in which grow() found them, band by band */
    int32_t *tally; /* number of links from the current group to each other group; zero before the next group */
    int32_t *bands; /* band_count + 1 elements: first node of each band, then the number of nodes */
    int64_t band_count;
} work;

static void clear_groups(spry_context *context, node_groups *groups)
{
    spryi_release(context, groups->of);
    spryi_release(context, groups->starts);
    spryi_release(context, groups->members);
    *groups = (node_groups){0};
}

static int64_t weight_of(const work *w, int32_t node)
{
    return w->weight ? w->weight[node] : 1;
}

/* ---- bands ------------------------------------------------------------------------------------------ */

static int64_t weight_between(const work *w, int32_t begin, int32_t end)
{
    if (!w->weight) return end - begin;
    int64_t sum = 0;
    for (int32_t v = begin; v < end; v++) sum += w->weight[v];
    return sum;
}

/*
 * Cuts a component into bands. A band ends when it has at least `depth` levels and a weight of at least `target`. If
 * the last band has a weight below half of `target`, it joins the band before.
 */
static void cut_component(work *w, int64_t first_level, int64_t end_level, int depth)
{
    const int32_t *levels = w->levels->levels;
    const int64_t first_band = w->band_count;
    int64_t size = 0, deep = 0;
    w->bands[w->band_count++] = levels[first_level];
    for (int64_t l = first_level; l < end_level; l++) {
        if (deep >= depth && size >= w->target) {
            w->bands[w->band_count++] = levels[l];
            size = deep = 0;
        }
        size += weight_between(w, levels[l], levels[l + 1]);
        deep++;
    }
    if (2 * size < w->target && w->band_count - first_band > 1) w->band_count--;
}

static void cut_bands(work *w, int depth)
{
    const spryi_levels *levels = w->levels;
    bool in_small = false; /* the last band consists of components, each with less weight than target */
    for (int64_t c = 0; c < levels->component_count; c++) {
        const int64_t first = levels->components[c], end = levels->components[c + 1];
        const bool small = weight_between(w, levels->levels[first], levels->levels[end]) < w->target;
        if (small && !in_small) w->bands[w->band_count++] = levels->levels[first];
        if (!small) cut_component(w, first, end, depth);
        in_small = small;
    }
    w->bands[w->band_count] = (int32_t)w->g->nodes;
}

/* ---- groups ----------------------------------------------------------------------------------------- */

/*
 * Adds nodes without a group to group `id`, breadth first, until the group has a weight of `target`. Returns the end of
 * the group in the queue.
 */
static int32_t grow(work *w, int32_t id, int32_t first, int32_t root, int32_t begin, int32_t end)
{
    const spryi_graph *g = w->g;
    int32_t next = first;
    w->queue[next++] = root;
    w->group[root] = id;
    int64_t size = weight_of(w, root);
    for (int32_t head = first; head < next && size < w->target; head++) {
        const int32_t u = w->queue[head];
        for (int64_t k = g->offsets[u]; k < g->offsets[u + 1] && size < w->target; k++) {
            const int32_t v = g->adjacent[k];
            if (v < begin || v >= end || w->group[v] >= 0) continue;
            w->group[v] = id;
            w->queue[next++] = v;
            size += weight_of(w, v);
        }
    }
    w->size[id] = (int32_t)size;
    return next;
}

static bool fits(const work *w, int32_t into, int32_t id)
{
    return w->size[into] + w->size[id] <= w->target + w->target / 2;
}

/* Returns the group of the band that has the most links to group `id` and has room for group `id`; -1: none. */
static int32_t best_neighbour(work *w, int32_t id, int32_t first, int32_t next, int32_t begin, int32_t end)
{
    const spryi_graph *g = w->g;
    int32_t best = -1;
    for (int clear = 0; clear < 2; clear++) /* the second pass clears the tally */
        for (int32_t q = first; q < next; q++)
            for (int64_t k = g->offsets[w->queue[q]]; k < g->offsets[w->queue[q] + 1]; k++) {
                const int32_t v = g->adjacent[k];
                if (v < begin || v >= end) continue;
                const int32_t neighbour = w->group[v];
                if (neighbour < 0 || neighbour == id || !fits(w, neighbour, id)) continue;
                w->tally[neighbour] = clear ? 0 : w->tally[neighbour] + (g->links ? g->links[k] : 1);
                if (!clear && (best < 0 || w->tally[neighbour] > w->tally[best])) best = neighbour;
            }
    return best;
}

static void group_band(work *w, int32_t begin, int32_t end)
{
    int32_t next = begin, id = begin, open = -1;
    for (int32_t root = begin; root < end; root++) {
        if (w->group[root] >= 0) continue;
        const int32_t first = next;
        next = grow(w, id, first, root, begin, end);
        if (2 * w->size[id] >= w->target) {
            id++;
            continue;
        }
        int32_t into = best_neighbour(w, id, first, next, begin, end);
        if (into < 0 && open >= 0 && fits(w, open, id)) into = open;
        if (into < 0) {
            open = id++;
            continue;
        }
        for (int32_t q = first; q < next; q++) w->group[w->queue[q]] = into;
        w->size[into] += w->size[id];
    }
}

/* Renumbers groups by their first members. w->tally holds the new numbers. */
static void number_groups(node_groups *to, work *w)
{
    const int64_t n = w->g->nodes;
    memset(w->tally, 0xff, (size_t)n * sizeof *w->tally);
    memset(to->starts, 0, (size_t)(n + 1) * sizeof *to->starts);
    for (int64_t v = 0; v < n; v++) {
        int32_t *number = &w->tally[w->group[v]];
        if (*number < 0) *number = to->count++;
        to->of[v] = *number;
        to->starts[*number + 1]++;
    }
    for (int32_t c = 0; c < to->count; c++) to->starts[c + 1] += to->starts[c];
    for (int32_t v = 0; v < n; v++) to->members[to->starts[to->of[v]]++] = v;
    for (int32_t c = to->count; c > 0; c--) to->starts[c] = to->starts[c - 1];
    to->starts[0] = 0;
}

static void group_bands(void *job, int64_t begin, int64_t end)
{
    work *w = job;
    for (int64_t b = begin; b < end; b++) group_band(w, w->bands[b], w->bands[b + 1]);
}

/*
 * Divides the nodes into groups. A group is a part of a band, which has at least `depth` levels. A group has a weight
 * of 1/2 to 3/2 of `target`, or less if no other group has room for it. g's nodes are numbered in the order of the
 * levels (spryi_renumber). weight: one per node; NULL: all are 1.
 */
static spry_status aggregate(spry_context *context, node_groups *groups, const spryi_graph *g,
                             const spryi_levels *levels, int64_t target, int depth, const int32_t *weight,
                             spry_error *err)
{
    const int64_t n = g->nodes;
    const int threads = spryi_threads(context, g->offsets[n]);
    spry_status status = SPRY_OK;
    node_groups built = {0};
    work w = {.g = g, .levels = levels, .weight = weight, .target = target};
    SPRYI_TRY(SPRYI_NEW(context, &built.of, n, "groups", err));
    SPRYI_TRY(SPRYI_NEW(context, &built.starts, n + 1, "groups", err));
    SPRYI_TRY(SPRYI_NEW(context, &built.members, n, "members of groups", err));
    SPRYI_TRY(SPRYI_NEW(context, &w.group, n, "groups", err));
    SPRYI_TRY(SPRYI_NEW(context, &w.size, n, "sizes of groups", err));
    SPRYI_TRY(SPRYI_NEW(context, &w.queue, n, "queue", err));
    SPRYI_TRY(SPRYI_NEW(context, &w.tally, n, "links of groups", err));
    SPRYI_TRY(SPRYI_NEW(context, &w.bands, n + 1, "bands", err));
    memset(w.group, 0xff, (size_t)n * sizeof *w.group);
    memset(w.tally, 0, (size_t)n * sizeof *w.tally);
    cut_bands(&w, depth);
    spryi_loop(context, threads, w.band_count, 1, group_bands, &w);
    number_groups(&built, &w);
    *groups = built;
    built = (node_groups){0};
done:
    clear_groups(context, &built);
    spryi_release(context, w.group);
    spryi_release(context, w.size);
    spryi_release(context, w.queue);
    spryi_release(context, w.tally);
    spryi_release(context, w.bands);
    return status;
}

/* ---- graph of groups, and expansion to members ---------------------------------------------------------- */

/* Each thread processes some of the groups, which are independent. */

/* The groups next to group c. If stamp[h] is c, group h is one of them, and slot[h] is its position in `adjacent`. */
typedef struct list {
    int32_t *stamp, *slot;
    int32_t *adjacent, *links; /* one element per group */
} list;

static int32_t list_neighbours(list *l, const spryi_graph *g, const node_groups *groups, int32_t c)
{
    int32_t count = 0;
    for (int32_t m = groups->starts[c]; m < groups->starts[c + 1]; m++) {
        const int32_t u = groups->members[m];
        for (int64_t k = g->offsets[u]; k < g->offsets[u + 1]; k++) {
            const int32_t neighbour = groups->of[g->adjacent[k]];
            if (neighbour == c) continue;
            if (l->stamp[neighbour] != c) {
                l->stamp[neighbour] = c;
                l->slot[neighbour] = count;
                l->adjacent[count] = neighbour;
                l->links[count++] = 0;
            }
            l->links[l->slot[neighbour]] += g->links ? g->links[k] : 1;
        }
    }
    return count;
}

/*
 * Arguments of two passes over the groups. The first pass keeps lists of up to `room` neighbours. The second pass
 * computes the longer lists again.
 */
typedef struct passes {
    const spryi_graph *g;
    const node_groups *groups;
    spryi_graph *coarse;
    int32_t *work; /* memory of the lists: for each thread, 4 elements per group */
    int32_t *kept; /* per group: `room` neighbours, then `room` links */
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

/* Builds the graph of the groups, with sums of weights and links. */
static spry_status coarsen(spry_context *context, spryi_graph *coarse, const spryi_graph *g, const node_groups *groups,
                           spry_error *err)
{
    enum { ROOM = 48 };
    const int64_t count = groups->count, entries = g->offsets[g->nodes];
    spry_status status = SPRY_OK;
    spryi_graph built = {.nodes = count};
    passes p = {.g = g, .groups = groups, .coarse = &built, .threads = spryi_threads(context, entries)};
    p.room = count == 0 ? 0 : entries / count < ROOM ? (int32_t)(entries / count) : ROOM;
    SPRYI_TRY(SPRYI_NEW(context, &p.work, 4 * p.threads * count, "neighbours of groups", err));
    SPRYI_TRY(SPRYI_NEW(context, &p.kept, 2 * p.room * count, "neighbours of groups", err));
    SPRYI_TRY(SPRYI_NEW(context, &built.offsets, count + 1, "offsets of the coarse graph", err));
    SPRYI_TRY(SPRYI_NEW(context, &built.degree, count, "degrees", err));
    SPRYI_TRY(SPRYI_NEW(context, &built.weight, count, "weights", err));
    run_pass(context, &p, first_pass);
    spryi_scan(built.offsets, count);
    SPRYI_TRY(SPRYI_NEW(context, &built.adjacent, built.offsets[count], "coarse graph", err));
    SPRYI_TRY(SPRYI_NEW(context, &built.links, built.offsets[count], "links of the coarse graph", err));
    run_pass(context, &p, second_pass);
    *coarse = built;
    built = (spryi_graph){0};
done:
    spryi_release(context, p.work);
    spryi_release(context, p.kept);
    spryi_graph_clear(context, &built);
    return status;
}

/* ---- expansion -------------------------------------------------------------------------------------- */

typedef struct expansion {
    const spryi_graph *g;
    const node_groups *groups;
    int32_t *rank;   /* position of a group in the coarse order */
    uint8_t *placed; /* for each node: 1 if it is in `order` */
    int32_t *order;
    const int32_t *coarse;
    int64_t *begin, most; /* begin: position of each group in order; most: members of the largest group */
    uint64_t *keys;       /* 2 * most elements for each thread */
} expansion;

/*
 * Returns the position of the earliest group that the node is linked to. Returns INT32_MAX if that group is not before
 * the node's own group.
 */
static int32_t anchor_of(const expansion *x, int32_t u)
{
    const spryi_graph *g = x->g;
    const int32_t own = x->rank[x->groups->of[u]];
    int32_t anchor = INT32_MAX;
    for (int64_t k = g->offsets[u]; k < g->offsets[u + 1]; k++) {
        const int32_t neighbour = x->rank[x->groups->of[g->adjacent[k]]];
        if (neighbour < own && neighbour < anchor) anchor = neighbour;
    }
    return anchor;
}

/* Continues the walk from order[head .. count-1] through group c. Returns the new end of order. */
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

/*
 * Sorts anchors (anchor_of) by insertion. Anchors are mostly sorted, because members and groups are in the order of the
 * same levels. Switches to spryi_sort_keys after too many moves.
 */
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

/* Orders the members of group c. anchors, keys: one element per member. */
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
    for (int32_t m = 0; m < count && done < count; m++) { /* members that the walk has not reached */
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

/*
 * Computes an order of the nodes of g from an order of their groups (`coarse`), group after group. Inside a group the
 * order is Cuthill-McKee on the group's own edges. It starts with the members that are linked to earlier groups; those
 * linked to the earliest group are first.
 */
static spry_status expand(spry_context *context, int32_t *order, const spryi_graph *g, const node_groups *groups,
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

/* ---- all levels ------------------------------------------------------------------------------------------ */

enum { DEPTH = 2 }; /* levels of G0 in a super-row; not 1, because nodes of one level of a grid are not connected */

static void reverse(int32_t *order, int64_t count)
{
    for (int64_t p = 0, q = count - 1; p < q; p++, q--) {
        int32_t swap = order[p];
        order[p] = order[q];
        order[q] = swap;
    }
}

/*
 * Sets ptr[g] to the first member of group g. in_rows: members are rows. Otherwise members are groups of the level
 * below, and groups without rows are not counted. weight: number of rows of each node; NULL: 1. Skips groups that have
 * only columns (of a rectangular matrix).
 */
static void point_to_groups(int64_t *ptr, int64_t *count, const int32_t *order, const node_groups *groups,
                            const int32_t *weight, bool in_rows)
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

/* Orders g by Cuthill-McKee: renumbers g and returns its levels and order. */
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
 * Computes the order of the nodes of g, the graph of `level`, and the groups of this and all higher levels. Renumbers
 * g. starts: as for spryi_cuthill_mckee.
 */
static spry_status order_level(spry_context *context, spry_ordering *to, int32_t *order, spryi_graph *g,
                               const int32_t *starts, const int64_t *sizes, int level, spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_groups *const built = &to->groups;
    const int64_t **const ptr[] = {&built->sr_ptr, &built->ssr_ptr, &built->sssr_ptr};
    int64_t *const count[] = {&built->sr_count, &built->ssr_count, &built->sssr_count}, *pointers;
    node_groups groups = {0};
    spryi_graph coarse = {0};
    spryi_levels levels = {0};
    int32_t *outer = NULL; /* order of the groups */
    if (level == SPRYI_BANDK_LEVELS || sizes[level] == 0) {
        SPRYI_TRY(spryi_cuthill_mckee(context, &levels, g, starts, err));
        memcpy(order, levels.order, (size_t)g->nodes * sizeof *order);
        goto done;
    }
    SPRYI_TRY(put_in_order(context, g, &levels, starts, err));
    SPRYI_TRY(aggregate(context, &groups, g, &levels, sizes[level], level == 0 ? DEPTH : 1,
                        level == 0 ? g->weight : NULL, err));
    SPRYI_TRY(coarsen(context, &coarse, g, &groups, err));
    SPRYI_TRY(SPRYI_NEW(context, &outer, groups.count, "order of groups", err));
    SPRYI_TRY(SPRYI_NEW(context, &pointers, (int64_t)groups.count + 1, "pointers of groups", err));
    *ptr[level] = pointers;
    SPRYI_TRY(order_level(context, to, outer, &coarse, NULL, sizes, level + 1, err));
    SPRYI_TRY(expand(context, order, g, &groups, outer, err));
    rename_all(order, g->nodes, levels.order);
    reverse(outer, groups.count);
    point_to_groups(pointers, count[level], outer, &groups, g->weight, level == 0);
done:
    clear_groups(context, &groups);
    spryi_graph_clear(context, &coarse);
    spryi_levels_clear(context, &levels);
    spryi_release(context, outer);
    return status;
}

spry_status spryi_bandk_make(spry_context *context, spry_ordering *to, int32_t *order, spryi_local *local,
                             const int64_t sizes[SPRYI_BANDK_LEVELS], spry_error *err)
{
    SPRYI_OK_OR_RETURN(order_level(context, to, order, &local->graph, local->starts, sizes, 0, err));
    reverse(order, local->graph.nodes);
    return SPRY_OK;
}
