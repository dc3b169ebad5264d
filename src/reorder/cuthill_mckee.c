/*
 * Cuthill-McKee: breadth first from a node at the edge of the graph, the neighbours of each node by rising degree. The
 * reverse order has the same bandwidth and a smaller profile (RCM).
 *
 *     level 0    1      2          3
 *       o  -> o o  ->  o o o  -> o o o o      an edge joins nodes of one level or of two that follow each other: the
 *             bandwidth is at most what two levels hold, and the more levels there are, the narrower they are
 *
 * The node to begin at is sought as George and Liu do: walk, go on from a node of least degree in the last level,
 * until levels grow no more in number. Each walk here is a Cuthill-McKee ordering already and knows its bandwidth (a
 * node's distance to its last new neighbour), so the last walk is no extra one, and of the last two the better counts.
 *
 * Cost: two to four walks of O(edges), after one for the renumbering (graph.h); wide levels are the work of all threads
 * (level.h), with the same order. Sources: E. Cuthill, J. McKee,
 * Reducing the Bandwidth of Sparse Symmetric Matrices, 1969; A. George, J. W. H. Liu, An Implementation of a
 * Pseudoperipheral Node Finder, ACM TOMS 5 (1979).
 */
#include "base/error.h"
#include "base/memory.h"
#include "reorder/level.h"
#include "reorder/order.h"

#include <string.h>

/* ---- sorting ---------------------------------------------------------------------------------------- */

static void sift(uint64_t *keys, int64_t at, int64_t count)
{
    const uint64_t key = keys[at];
    for (int64_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && keys[child + 1] > keys[child]) child++;
        if (keys[child] <= key) break;
        keys[at] = keys[child];
    }
    keys[at] = key;
}

void spryi_sort_keys(uint64_t *keys, int64_t count)
{
    for (int64_t at = count / 2; at-- > 0;) sift(keys, at, count);
    for (int64_t end = count; end-- > 1;) {
        uint64_t largest = keys[0];
        keys[0] = keys[end];
        sift(keys, 0, end);
        keys[end] = largest;
    }
}

void spryi_sort_by_degree(int32_t *nodes, int64_t count, const int32_t *degree, uint64_t *keys)
{
    if (count > SPRYI_FEW) {
        for (int64_t c = 0; c < count; c++) keys[c] = (uint64_t)degree[nodes[c]] << 32 | (uint32_t)nodes[c];
        spryi_sort_keys(keys, count);
        for (int64_t c = 0; c < count; c++) nodes[c] = (int32_t)(keys[c] & UINT32_MAX);
        return;
    }
    for (int64_t c = 1; c < count; c++) {
        const int32_t node = nodes[c], key = degree[node];
        int64_t at = c;
        for (; at > 0 && degree[nodes[at - 1]] > key; at--) nodes[at] = nodes[at - 1];
        nodes[at] = node;
    }
}

/* ---- one walk --------------------------------------------------------------------------------------- */

enum { MOST_WALKS = 8, DONE = 255 }; /* of a component; the mark of nodes that are ordered for good */

enum { SMALL, LARGE, WEIGHTED, LARGE_FROM = 1 << 17 }; /* kinds of graphs; nodes with which one leaves the caches */

typedef struct walk {
    int32_t *order;       /* of this component alone, from 0 */
    int32_t *levels;      /* where its levels begin */
    int32_t nodes, depth; /* depth: levels */
    int64_t bandwidth;    /* in rows */
} walk;

typedef struct walker {
    const spryi_graph *g;
    uint8_t *mark;  /* of each node: the number of the last walk that came by */
    uint64_t *keys; /* as many as the largest degree; as nodes where there are claims */
    spryi_level_work work;
} walker;

/* Rows and marks of nodes that are soon to come; `queued` of them wait at `queue`. */
static inline void fetch_ahead(const spryi_graph *g, const uint8_t *mark, const int32_t *queue, int32_t queued)
{
    enum { OFFSETS_AHEAD = 24, ROWS_AHEAD = 12, MARKS_AHEAD = 4, MOST_MARKS = 32 };
    if (queued <= OFFSETS_AHEAD) return;
    __builtin_prefetch(&g->offsets[queue[OFFSETS_AHEAD]]);
    __builtin_prefetch(&g->adjacent[g->offsets[queue[ROWS_AHEAD]]]);
    const int64_t first = g->offsets[queue[MARKS_AHEAD]], last = g->offsets[queue[MARKS_AHEAD] + 1];
    const int64_t end = last - first < MOST_MARKS ? last : first + MOST_MARKS;
    for (int64_t k = first; k < end; k++) __builtin_prefetch(&mark[g->adjacent[k]]);
}

/* The level at head .. end-1 by all threads; returns the position behind what it found. No weights. */
static int32_t spread(walk *to, const walker *w, int32_t head, int32_t end, int number, int64_t *bandwidth)
{
    spryi_level level = {.order = to->order,
                         .head = head,
                         .end = end,
                         .mark = w->mark,
                         .number = number,
                         .degree = w->g->degree,
                         .keys = w->keys,
                         .bandwidth = *bandwidth};
    const int32_t tail = spryi_spread_64_32(&level, &w->work, w->g->offsets, w->g->adjacent);
    *bandwidth = level.bandwidth;
    return tail;
}

/* `kind` is a constant where it is inlined. A node counts as new while its mark is below the walk's number. */
SPRYI_INLINE void walk_from(walk *to, walker *w, int32_t root, int number, int kind)
{
    const int weighted = kind == WEIGHTED, large = kind == LARGE;
    const spryi_graph *g = w->g;
    const int32_t *adjacent = g->adjacent;
    const int64_t *offsets = g->offsets;
    uint8_t *mark = w->mark;
    int32_t *order = to->order, head = 0, tail = 1, level_end = 1;
    int64_t bandwidth = 0, head_row = 0, tail_row = weighted ? g->weight[root] : 1;
    order[0] = root;
    mark[root] = (uint8_t)number;
    to->levels[0] = 0;
    to->depth = 1;
    for (; head < tail; head++) {
        if (head == level_end) {
            to->levels[to->depth++] = head;
            level_end = tail;
            if (large && w->work.claim && tail - head >= SPRYI_LEVEL_NODES) {
                tail = spread(to, w, head, level_end, number, &bandwidth);
                head = level_end - 1;
                head_row = level_end;
                tail_row = tail;
                continue;
            }
        }
        if (large) fetch_ahead(g, mark, order + head, tail - head);
        const int32_t u = order[head], first = tail;
        const int64_t last = offsets[u + 1];
        for (int64_t k = offsets[u]; k < last; k++) {
            const int32_t v = adjacent[k], before = mark[v], fresh = (int32_t)((uint32_t)(before - number) >> 31);
            order[tail] = v;
            mark[v] = (uint8_t)(before ^ ((before ^ number) & -fresh)); /* no branch: it would be guessed wrong */
            tail += fresh;
        }
        if (tail - first > 1) spryi_sort_by_degree(order + first, tail - first, g->degree, w->keys);
        if (weighted)
            for (int32_t c = first; c < tail; c++) tail_row += g->weight[order[c]];
        else
            tail_row = tail;
        if (tail > first && tail_row - 1 - head_row > bandwidth) bandwidth = tail_row - 1 - head_row;
        head_row += weighted ? g->weight[u] : 1;
    }
    to->nodes = tail;
    to->bandwidth = bandwidth;
}

static void walk_through(walk *to, walker *w, int32_t root, int number)
{
    if (w->g->weight)
        walk_from(to, w, root, number, WEIGHTED);
    else if (w->g->nodes >= LARGE_FROM)
        walk_from(to, w, root, number, LARGE);
    else
        walk_from(to, w, root, number, SMALL);
}

static int32_t far_end(const walk *from, const int32_t *degree)
{
    int32_t best = from->order[from->levels[from->depth - 1]];
    for (int32_t p = from->levels[from->depth - 1] + 1; p < from->nodes; p++) {
        int32_t v = from->order[p];
        if (degree[v] < degree[best] || (degree[v] == degree[best] && v < best)) best = v;
    }
    return best;
}

/*
 * Leaves the ordering in *kept; *tried is as large. A walk that does not come by as many nodes as the first did (only
 * in a graph that is directed after all, graph.h) is not taken.
 */
static void order_component(walk *kept, walk *tried, walker *w, int32_t root)
{
    walk_through(kept, w, root, 1);
    for (int number = 2; number <= MOST_WALKS && kept->depth > 1; number++) {
        walk_through(tried, w, far_end(kept, w->g->degree), number);
        const int deeper = tried->depth > kept->depth;
        if (tried->nodes != kept->nodes || (!deeper && tried->bandwidth >= kept->bandwidth)) return;
        walk swapped = *kept;
        *kept = *tried;
        *tried = swapped;
        if (!deeper) return;
    }
}

/* ---- all components --------------------------------------------------------------------------------- */

void spryi_levels_clear(spry_context *context, spryi_levels *levels)
{
    spryi_release(context, levels->order);
    spryi_release(context, levels->levels);
    spryi_release(context, levels->components);
    *levels = (spryi_levels){0};
}

/* Puts a component's ordering behind the others, at position `at`. */
static void take(spryi_levels *to, const walk *from, int32_t at, uint8_t *mark)
{
    to->components[to->component_count++] = (int32_t)to->level_count;
    for (int32_t l = 0; l < from->depth; l++) to->levels[to->level_count++] = at + from->levels[l];
    for (int32_t p = 0; p < from->nodes; p++) {
        to->order[at + p] = from->order[p];
        mark[from->order[p]] = DONE;
    }
}

/* In the order they have, as one level. */
static void take_range(walk *to, int32_t first, int32_t end)
{
    for (int32_t v = first; v < end; v++) to->order[v - first] = v;
    to->levels[0] = 0;
    to->depth = 1;
    to->nodes = end - first;
}

spry_status spryi_cuthill_mckee(spry_context *context, spryi_levels *levels, const spryi_graph *g,
                                const int32_t *starts, spry_error *err)
{
    const int64_t n = g->nodes;
    spry_status status = SPRY_OK;
    walk one = {0}, other = {0};
    walker w = {.g = g};
    spryi_levels made = {0};
    int64_t largest = 0;
    for (int64_t v = 0; v < n; v++)
        if (g->offsets[v + 1] - g->offsets[v] > largest) largest = g->offsets[v + 1] - g->offsets[v];
    SPRYI_TRY(SPRYI_NEW(context, &made.order, n + 1, "ordering", err));
    SPRYI_TRY(SPRYI_NEW(context, &made.levels, n + 1, "levels", err));
    SPRYI_TRY(SPRYI_NEW(context, &made.components, n + 1, "components", err));
    SPRYI_TRY(SPRYI_NEW(context, &one.order, n + 1, "ordering", err));
    SPRYI_TRY(SPRYI_NEW(context, &one.levels, n + 1, "levels", err));
    SPRYI_TRY(SPRYI_NEW(context, &other.order, n + 1, "ordering", err));
    SPRYI_TRY(SPRYI_NEW(context, &other.levels, n + 1, "levels", err));
    SPRYI_TRY(SPRYI_NEW(context, &w.mark, n, "marks", err));
    if (n >= LARGE_FROM && !g->weight)
        SPRYI_TRY(spryi_level_work_make(context, &w.work, n, spryi_threads(context, n + g->offsets[n]), err));
    SPRYI_TRY(SPRYI_NEW(context, &w.keys, w.work.claim ? n : largest, "keys", err));
    memset(w.mark, 0, (size_t)n);
    int32_t at = 0, component = 0;
    for (int32_t v = 0; v < n; v++) {
        if (w.mark[v] == DONE) continue;
        const int32_t end = starts ? starts[component + 1] : v + 1;
        order_component(&one, &other, &w, end - 1);
        if (starts && one.nodes != end - v) take_range(&one, v, end);
        take(&made, &one, at, w.mark);
        at += one.nodes;
        component++;
    }
    made.levels[made.level_count] = at;
    made.components[made.component_count] = (int32_t)made.level_count;
    *levels = made;
    made = (spryi_levels){0};
done:
    spryi_levels_clear(context, &made);
    spryi_release(context, one.order);
    spryi_release(context, one.levels);
    spryi_release(context, other.order);
    spryi_release(context, other.levels);
    spryi_release(context, w.mark);
    spryi_release(context, w.keys);
    spryi_level_work_clear(context, &w.work);
    return status;
}
